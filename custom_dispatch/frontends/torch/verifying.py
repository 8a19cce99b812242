"""A PyTorch model with every value that is left in it as a result, and the same values in PyTorch.

Comparing them finds the first operation that is computed wrongly: a kernel's place, or what IREE
compiles itself.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from iree.compiler import ir

from custom_dispatch.frontends.torch.dtypes import element_type_of
from custom_dispatch.frontends.torch.graph import node_place
from custom_dispatch.frontends.torch.importer import Imported
from custom_dispatch.frontends.torch.weights import RESET
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import functions_of, kind_of, name_of
from custom_dispatch.match.calls import NAMESPACE
from custom_dispatch.runtime.program import Program
from custom_dispatch.verifying import Tensor, difference

_INTEGERS = ("si64", "si32", "i64", "i32")


def tensors_of(values: Any) -> list[torch.Tensor]:
    """The tensors in arguments or results, in the order of a module's."""
    leaves = torch.utils._pytree.tree_leaves(values)
    return [item for item in leaves if isinstance(item, torch.Tensor)]


def in_pytorch(model: Any, arguments: Sequence[Any]) -> list[Tensor]:
    """What a model gives in PyTorch, called once; neither it nor the arguments change."""
    program = isinstance(model, torch.export.ExportedProgram)
    run = copy.deepcopy(model.module() if program else model)
    with torch.no_grad():
        return [plain(item) for item in tensors_of(run(*copy.deepcopy(tuple(arguments))))]


def run(program: Program, name: str, arguments: Sequence[Any]) -> list[Tensor]:
    """The results of a module's function, called first of all."""
    if RESET in program.functions and name != RESET:
        program.function(RESET)()
    found = program.function(name)(*copy.deepcopy(tensors_of(arguments)))
    return [plain(item) for item in (found if isinstance(found, tuple) else (found,))]


def plain(value: Any) -> Tensor:
    """A tensor for comparing: of PyTorch, or anything that gives itself by DLPack."""
    tensor = value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)
    tensor = tensor.detach().cpu().resolve_neg().resolve_conj()
    dtype = element_type_of(tensor.dtype)
    wide = tensor.to(torch.float64) if tensor.is_floating_point() else tensor
    return Tensor(dtype.name if dtype else str(tensor.dtype), wide.numpy())


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that is left in a model."""

    node: torch.fx.Node
    """What gives it in the exported graph, as which of its results."""
    index: int
    by: str
    """What computes it: "kernel `rms_norm_f32`", "IREE's code of torch.aten.mul.Tensor"."""

    def __str__(self) -> str:
        place = node_place(self.node)
        return f"{self.by} ({place})" if place.module or place.source else self.by


def give_values(
    imported: Imported, name: str, replaced: Mapping[ir.Value, ir.Value]
) -> list[Computed]:
    """Let one of a model's functions return, behind its results, every value that is a node's.

    - `imported`: the model, in which kernels have been put; it is changed.
    - `replaced`: what stands for values that kernels give.

    Returns: the values, in the order of the model.
    """
    function = next(op for op in functions_of(imported.module) if name_of(op) == name)
    block = function.regions[0].blocks[0]
    there = {value: at for at, op in enumerate(block.operations) for value in op.results}
    last = block.operations[len(block.operations) - 1].operation
    with imported.module.context, last.location, ir.InsertionPoint(last):
        found = {
            value: key
            for key, old in imported.values.items()
            if (value := replaced.get(old, old)) in there and _is_comparable(value.type)
        }
        values = sorted(found, key=there.__getitem__)
        operands = [*last.operands, *values]
        ir.Operation.create(last.name, operands=operands)
        kinds = [value.type for value in block.arguments], [value.type for value in operands]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*kinds))
    last.erase()
    return [Computed(*found[value], _computed_by(value.owner.operation)) for value in values]


def _is_comparable(kind: ir.Type) -> bool:
    found = builtin_type(kind) if "vtensor" in str(kind) else None
    if not isinstance(found, ir.RankedTensorType):
        return False
    return isinstance(found.element_type, ir.FloatType) or str(found.element_type) in _INTEGERS


def _computed_by(op: ir.Operation) -> str:
    name = kind_of(op)
    kernel = name.removeprefix(f"torch.{NAMESPACE}.")
    return f"kernel `{kernel}`" if kernel != name else f"IREE's code of {name}"


class Values(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs an exported graph, and keeps what its nodes give."""

    def __init__(self, program: torch.export.ExportedProgram, nodes: Iterable[torch.fx.Node]):
        self._wanted = set(nodes)
        graph = next(iter(self._wanted)).graph
        super().__init__(torch.fx.GraphModule(program.graph_module, graph))
        self._held = {**program.constants, **program.state_dict}
        self._specs = program.graph_signature.input_specs
        self._values: dict[torch.fx.Node, list[Any]] = {}

    def of(self, arguments: Sequence[Any]) -> Mapping[torch.fx.Node, list[Any]]:
        """The results of each node, for the arguments of a call."""
        given = iter(torch.utils._pytree.tree_leaves(tuple(arguments)))
        user = torch.export.graph_signature.InputKind.USER_INPUT
        passed = [
            next(given) if spec.kind == user else self._held[str(spec.target)]
            for spec in self._specs
        ]
        with torch.no_grad():
            self.run(*copy.deepcopy(passed))
        return self._values

    def run_node(self, node: torch.fx.Node) -> Any:
        """As `Interpreter` does."""
        found = super().run_node(node)
        if node in self._wanted:
            results = found if isinstance(found, list | tuple) else [found]
            self._values[node] = [plain(item) for item in results]
        return found


def describe_first(
    program: torch.export.ExportedProgram,
    values: Sequence[Computed],
    found: Sequence[Tensor],
    arguments: Sequence[Any],
    tolerance: float,
) -> str:
    """The first value that differs from PyTorch's, as a sentence; empty where none does."""
    in_graph = Values(program, (value.node for value in values)).of(arguments)
    for value, here in zip(values, found, strict=True):
        said = difference(here, in_graph[value.node][value.index], tolerance)
        if said:
            return f"The first value that differs is that of {value}: it {said}."
    return "With every value as a result of its own, none differs."
