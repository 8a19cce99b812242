"""Launches of Triton in PyTorch's models: what PyTorch records of each is a kernel's declaration.

While a model is exported, launches become nodes that hold the kernel, the grid, every argument and
what is written. Such a node becomes a call of an operator, as `cd.torch.register` makes them.
"""

import operator
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from typing import Any

import torch

from custom_dispatch.errors import DeclarationError, ModelError
from custom_dispatch.frontends.torch.dtypes import element_type_of
from custom_dispatch.frontends.torch.graph import node_place
from custom_dispatch.frontends.torch.operator import register
from custom_dispatch.frontends.torch.symbols import Sizes
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import In, InOut, Operand, Out, Scalar

_EMPTY = ("empty", "empty_like", "empty_strided", "empty_permuted")
_MOST_I32 = 2**31 - 1
_HEX_DIGITS = 8


def is_loaded() -> bool:
    """Whether this process has Triton: no model can launch its kernels otherwise."""
    return "triton" in sys.modules


def traced() -> AbstractContextManager[None]:
    """Let launches of Triton become nodes while a model is exported."""
    if not is_loaded():
        return nullcontext()
    from custom_dispatch.frontends.triton.tracing import launches_traced

    return launches_traced(torch.library.wrap_triton, torch._subclasses.FakeTensor)


def run_on_cpu() -> AbstractContextManager[None]:
    """Let a model's launches of Triton run on the CPU."""
    if not is_loaded():
        return nullcontext()
    from custom_dispatch.frontends.triton.on_cpu import launches_on_cpu

    return launches_on_cpu()


def has_launches(program: torch.export.ExportedProgram) -> bool:
    """Whether a model launches kernels of Triton."""
    if not is_loaded():
        return False
    from torch._library.triton import triton_ops_to_kernels

    targets = (node.target for node in program.graph.nodes)
    operators = (each for each in targets if isinstance(each, torch._ops.OpOverload))
    inside = any(each.name() in triton_ops_to_kernels for each in operators)
    return inside or any(map(_is_launch, program.graph.nodes))


def _is_launch(node: torch.fx.Node) -> bool:
    operators = torch.ops.higher_order
    return node.op == "call_function" and node.target in (
        operators.triton_kernel_wrapper_mutation,
        operators.triton_kernel_wrapper_functional,
    )


def call_kernels(program: torch.export.ExportedProgram) -> None:
    """Put calls of kernels in the places of launches."""
    graph = program.graph
    for node in [each for each in graph.nodes if _is_launch(each)]:
        with graph.inserting_before(node):
            _Launch(node).replace(program.graph_signature)
        graph.erase_node(node)
    program.graph_module.recompile()


class _Launch:
    """A node that launches a kernel, and the kernel that it is."""

    def __init__(self, node: torch.fx.Node) -> None:
        from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

        self.node = node
        given = node.kwargs
        self.function = kernel_side_table.get_kernel(given["kernel_idx"])
        constants = kernel_side_table.get_constant_args(given["constant_args_idx"])
        self.values: dict[str, Any] = {**constants, **given["kwargs"]}
        self.written: Sequence[str] = given["tensors_to_clone"]
        self.orders: dict[str, tuple[int, ...]] = {}
        inner = self.function
        while hasattr(inner, "fn") and hasattr(inner.fn, "arg_names"):
            inner = inner.fn
        self.name, self.parameters = inner.__name__, inner.params
        if given["tma_descriptor_metadata"]:
            raise self._error(
                "takes a tensor descriptor that the model makes",
                "pointers, and descriptors that the kernel makes: tl.make_tensor_descriptor",
                "make the descriptor in the kernel.",
            )
        tensors = [value.meta["val"] for value in self.values.values() if _is_tensor(value)]
        self.sizes = Sizes([tuple(each.shape) for each in tensors])

    def _error(self, found: str, expected: str, next_step: str) -> ModelError:
        place = node_place(self.node)
        where = f" ({place.source})" if place.source else ""
        return ModelError(
            f"The launch of Triton's `{self.name}`{where} {found}.",
            expected=expected,
            next_step=next_step,
        )

    def replace(self, signature: torch.export.ExportGraphSignature) -> None:
        """Call an operator in the node's place, also where a program's results are named."""
        kernel = self._declare()
        first = kernel.kernels[0] if isinstance(kernel, Choice) else kernel
        graph = self.node.graph
        given = [self._passed(item.name) for item in first.arguments]
        call = graph.call_function(register(kernel)._opoverload, tuple(given))
        call.meta = {k: v for k, v in self.node.meta.items() if k != "val"}
        results: dict[str, torch.fx.Node] = {}
        for index, item in enumerate(first.outputs):
            several = len(first.outputs) > 1
            one = graph.call_function(operator.getitem, (call, index)) if several else call
            order = self.orders[item.name]
            fake = self.values[item.name].meta["val"]
            one.meta = {**call.meta, "val": fake.permute(order)}
            results[item.name] = self._permuted(one, _inverse(order), fake)
        if len(first.outputs) > 1:
            call.meta["val"] = tuple(results[i.name].meta["val"] for i in first.outputs)
        for user in list(self.node.users):
            user.replace_all_uses_with(results[user.args[1]])
            signature.replace_all_uses(user.name, results[user.args[1]].name)
            graph.erase_node(user)

    def _passed(self, name: str) -> Any:
        value = self.values[name]
        if not _is_tensor(value):
            return value
        fake = value.meta["val"]
        return self._permuted(value, self.orders[name], fake.permute(self.orders[name]))

    def _permuted(self, value: torch.fx.Node, order: tuple[int, ...], fake: Any) -> torch.fx.Node:
        if order == tuple(range(len(order))):
            return value
        made = self.node.graph.call_function(torch.ops.aten.permute.default, (value, list(order)))
        made.meta = {**self.node.meta, "val": fake}
        return made

    def _declare(self) -> Kernel | Choice:
        from custom_dispatch.frontends.triton import declaring

        constants: dict[str, Any] = {}
        operands: list[Operand] = []
        for parameter in self.parameters:
            if parameter.name not in self.values:
                continue
            operand = None
            if not parameter.is_constexpr:
                operand = self._operand(parameter.name, self.values[parameter.name])
            if operand is None:
                constants[parameter.name] = self.values[parameter.name]
            else:
                operands.append(operand)
        if not any(isinstance(item, In | InOut) for item in operands):
            operands = [
                InOut(i.name, i.dtype, i.shape) if isinstance(i, Out) else i for i in operands
            ]
        grids = [tuple(map(self._size, each)) for each in self.node.kwargs["grid"]]
        text = f"{self.name} {getattr(self.function, 'cache_key', '')} {constants} {grids} "
        digest = sha256((text + " ".join(map(str, operands))).encode()).hexdigest()
        name = f"{self.name}_{digest[:_HEX_DIGITS]}"
        try:
            launch = declaring.Launch(name, self.function, operands, constants, {}, {})
            if len(grids) == 1:
                return declaring.of_launch(launch, grids[0])
            return declaring.of_configs(launch, zip(self.function.configs, grids, strict=True))
        except DeclarationError as error:
            where = self._error("cannot be a kernel", "", "").found
            raise error.saying(f"{where} {error.found}") from error

    def _operand(self, name: str, value: Any) -> Operand | None:
        """What a parameter is; None for a constant."""
        if _is_tensor(value):
            return self._buffer(name, value)
        if isinstance(value, torch.fx.Node):
            held = value.meta["val"]
            if isinstance(held, torch.SymInt):
                return Scalar(name, "i32", self.sizes.expression(held))
            return Scalar(name, "bool" if isinstance(held, torch.SymBool) else "f32")
        if isinstance(value, bool):
            return Scalar(name, "bool")
        if isinstance(value, int):
            kind = "i32" if -_MOST_I32 <= value <= _MOST_I32 else "i64"
            return Scalar(name, kind, value if value >= 0 else None)
        return Scalar(name, "f32") if isinstance(value, float) else None

    def _buffer(self, name: str, node: torch.fx.Node) -> Operand:
        fake = node.meta["val"]
        kind = element_type_of(fake.dtype)
        if kind is None:
            raise self._error(
                f"gives `{name}` a tensor of {fake.dtype}",
                "a type that kernels take",
                "convert it.",
            )
        self.orders[name] = order = _order(fake)
        dense = fake.permute(order)
        if not dense.is_contiguous():
            raise self._error(
                f"gives `{name}` a view of shape {list(fake.shape)} with strides "
                f"{list(fake.stride())}, which has gaps",
                "a tensor that is dense, in any order of its dims: values of a module are",
                "copy it before the launch: x.contiguous().",
            )
        shape = [self.sizes.size(each, f"{name}_{axis}") for axis, each in enumerate(dense.shape)]
        if name not in self.written:
            return In(name, kind, shape)
        is_new = isinstance(node.target, torch._ops.OpOverload) and (
            node.target._schema.name.removeprefix("aten::").removeprefix("new_") in _EMPTY
        )
        return (Out if is_new else InOut)(name, kind, shape)

    def _size(self, value: Any) -> Any:
        if isinstance(value, int):
            return value
        held = value.meta["val"] if isinstance(value, torch.fx.Node) else value
        found = self.sizes.expression(held) if isinstance(held, torch.SymInt) else None
        if found is None:
            raise self._error(
                f"has a grid of {held}, which its tensors' sizes do not give",
                "a grid that is computed from the sizes of the tensors that it takes",
                "pass a tensor of that size, or fix the size.",
            )
        return found


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.Tensor)


def _order(fake: torch.Tensor) -> tuple[int, ...]:
    """The order of dims in which a tensor lies in memory, outermost first."""
    if fake.is_contiguous():
        return tuple(range(fake.dim()))
    key = [(-int(step) if isinstance(step, int) else -step.node.hint) for step in fake.stride()]
    return tuple(sorted(range(fake.dim()), key=lambda axis: (key[axis], axis)))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))
