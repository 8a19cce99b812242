"""Models that write into their arguments and buffers, as a step of a decoder writes into its cache.

A module's function writes into an argument where a kernel does, in place: an argument goes into one
as its `InOut`, perhaps into another after it, and nothing else looks at what was there before.
Whatever else a model writes would be computed elsewhere and copied, and IREE 3.13 does not let such
copies wait for all who read the argument (docs/iree-notes.md): it is refused. A buffer may become
any new value, since it is the module's own (`states.py`).
"""

import copy
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

import torch
from iree.compiler import ir
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.buffers import STATES
from custom_dispatch.frontends.torch.forms import VIEWS
from custom_dispatch.frontends.torch.graph import (
    CASTS,
    CHANGES,
    arguments_of,
    changes_a_value,
    is_identity,
    may_be_a_view,
    may_be_identity,
)
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import InOut
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.dialects.torch_dialect import OPERATOR, kernel_name
from custom_dispatch.link.operations import functions_of, kind_of, name_of
from custom_dispatch.match.state import place_of

aten = torch.ops.aten
_RESHAPES = ("torch.aten.reshape", "torch.aten.view", "torch.aten._unsafe_view")
_MUTATIONS = {
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
}
_ALIASES = (aten.alias.default, aten.detach.default, *CASTS)
"""They give the very tensor that they take, where they convert nothing."""
_FILLS = {"fill", "full", "full_like", "ones", "ones_like", "zero", "zeros", "zeros_like"}


def make_updates_values(
    program: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram | None:
    """A model whose writes into arguments and buffers are values that it returns; else as it was.

    PyTorch's own way, `run_decompositions`, writes other operations anew as well, in which patterns
    are not found. None where only that will do: what may be a view is written, or views of it
    are used.
    """
    graph = copy.deepcopy(program.graph)
    for old, new in zip(program.graph.nodes, graph.nodes, strict=True):
        new.name = old.name  # a copy renames what is called like a function of Python
    order = {node: index for index, node in enumerate(graph.nodes)}
    _drop_aliases(graph)
    inputs = {
        node.name: spec
        for node, spec in zip(graph.nodes, program.graph_signature.input_specs, strict=False)
        if spec.kind in _MUTATIONS
    }
    latest = _follow_writes(graph, inputs, order)
    if latest is None:
        return None
    end = next(iter(reversed(graph.nodes)))
    end.args = ((*latest.values(), *end.args[0]),)
    signature = copy.deepcopy(program.graph_signature)
    results = [
        OutputSpec(spec.kind, TensorArgument(node.name), spec.target)
        if isinstance(node, torch.fx.Node) and isinstance(spec.arg, TensorArgument)
        else spec
        for node, spec in zip(end.args[0][len(latest) :], signature.output_specs, strict=True)
    ]
    updates = [
        OutputSpec(
            _MUTATIONS[inputs[name].kind], TensorArgument(node.name), inputs[name].target or name
        )
        for name, node in latest.items()
    ]
    signature.output_specs = [*updates, *results]
    graph.lint()
    return program._update(torch.fx.GraphModule(program.graph_module, graph), signature)


def _follow_writes(
    graph: torch.fx.Graph, inputs: Container[str], order: Mapping[torch.fx.Node, int]
) -> dict[str, torch.fx.Node] | None:
    """Make each write a new value, which all that comes after it reads.

    - `inputs`: the names of arguments and buffers.
    - `order`: each node's place in the model as it is written.

    Returns: by name, the last value of each that is written; None where what may be a view is
    written, or views of it are used.
    """
    holds = {node: node.name for node in graph.nodes if node.name in inputs}
    """Values of arguments and buffers, the latest of each among them."""
    latest: dict[str, torch.fx.Node] = {}
    for node in filter(changes_a_value, list(graph.nodes)):
        written, target = node.args[0], _functional(node)
        if node.target == aten.copy_.default and node.args[1] is written:
            # What PyTorch ends `self.x += 1` with, when the sum is there already.
            node.replace_all_uses_with(written)
            graph.erase_node(node)
            continue
        if written not in holds and written.op == "call_function" and not may_be_a_view(written):
            holds[written] = ""  # a value of the model's own
        if target is None or written not in holds:
            return None
        before = [user for user in written.users if order[user] < order[node]]
        if any(map(may_be_a_view, before)):
            return None
        node.target = target
        name = holds[written]
        written.replace_all_uses_with(
            node, delete_user_cb=lambda user, here=node: order[user] > order[here]
        )
        holds[node] = name
        if name:
            latest[name] = node
    return latest


def _drop_aliases(graph: torch.fx.Graph) -> None:
    """Use tensors themselves where a model has other names of them: `x.to(x.dtype)`."""
    for node in list(graph.nodes):
        if node.target not in _ALIASES or not is_identity(node):
            continue
        given = arguments_of(node)
        if not given.get("copy") and given.get("memory_format") is None:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def _functional(node: torch.fx.Node) -> torch._ops.OpOverload | None:
    """The operation that returns what a call writes into its first argument."""
    target = node.target
    written = [bool(a.alias_info and a.alias_info.is_write) for a in target._schema.arguments]
    packet = target._schema.name.removeprefix("aten::")
    only_first = [index == 0 for index in range(len(written))]
    if target.namespace != "aten" or not packet.endswith("_") or written != only_first:
        return None
    packet_found = getattr(aten, packet.removesuffix("_"), None)
    if packet_found is None or target._overloadname not in packet_found.overloads():
        return None
    found: torch._ops.OpOverload = getattr(packet_found, target._overloadname)
    return found if _gives_the_same(found, node) else None


def _gives_the_same(target: torch._ops.OpOverload, node: torch.fx.Node) -> bool:
    """Whether an operation gives what is written, and nothing wider: f16 += f32 is f16."""
    values = torch.fx.map_arg((node.args, node.kwargs), lambda argument: argument.meta["val"])
    old = node.meta["val"]
    try:
        with old.fake_mode:
            new = target(*values[0], **values[1])
    except Exception:  # noqa: BLE001 - whatever an operation says of arguments that it has not
        return False
    return (old.dtype, str(old.shape)) == (new.dtype, str(new.shape))


@dataclass(frozen=True, slots=True)
class Updates:
    """A model that returns what it would write, and writes into nothing any more."""

    program: torch.export.ExportedProgram
    arguments: Mapping[int, str] = field(default_factory=dict)
    """Which of its arguments, as a module's function counts them, the results are that come first
    once those are left out that are states; and their names."""
    states: Mapping[int, str] = field(default_factory=dict)
    """By position among all results, the buffer that each is the new value of."""
    computed: frozenset[str] = frozenset()
    """The buffers whose new value is computed for them, and is no other one's value or constant."""


def return_updates(program: torch.export.ExportedProgram, states: Container[str] = ()) -> Updates:
    """A model that returns what it would write into its arguments and buffers.

    - `states`: the names of those that change between calls, though this program may not change
      them.
    """
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes}
    for spec in signature.input_specs:
        if spec.target in states:
            nodes[spec.arg.name].meta[CHANGES] = True
    mutations = set(_MUTATIONS.values())
    if not any(spec.kind in mutations for spec in signature.output_specs):
        return Updates(program)
    _drop_copies(program)
    nodes = {node.name: node for node in program.graph.nodes}
    changed = [
        str(spec.target)
        for spec in signature.output_specs
        if spec.kind == OutputKind.USER_INPUT_MUTATION
    ]
    arguments = [
        spec.arg.name
        for spec in signature.input_specs
        if spec.kind == InputKind.USER_INPUT and nodes[spec.arg.name].meta.get("val") is not None
    ]
    returned = copy.deepcopy(signature)
    returned.output_specs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(spec.arg.name), None)
        if spec.kind in mutations
        else spec
        for spec in returned.output_specs
    ]
    new = {
        index: str(spec.target)
        for index, spec in enumerate(signature.output_specs)
        if spec.kind in STATES
    }
    for spec in signature.input_specs:
        if spec.target in new.values():
            nodes[spec.arg.name].meta[CHANGES] = True
    # What a program holds of mutations comes first among what it returns.
    return Updates(
        program._update(program.graph_module, returned),
        {arguments.index(name): name for name in changed},
        new,
        _computed(
            {name: nodes[signature.output_specs[index].arg.name] for index, name in new.items()}
        ),
    )


def _computed(values: Mapping[str, torch.fx.Node]) -> frozenset[str]:
    """Those of several new values that are computed, and for one buffer alone."""
    roots = {name: _root(node) for name, node in values.items()}
    return frozenset(
        name
        for name, root in roots.items()
        if root.op == "call_function"
        and not (
            isinstance(root.target, torch._ops.OpOverload)
            and root.target._schema.name.removeprefix("aten::") in _FILLS
        )
        and list(roots.values()).count(root) == 1
    )


def _root(node: torch.fx.Node) -> torch.fx.Node:
    """The value that one is a view or a copy of."""
    while node.op == "call_function" and (
        node.target in VIEWS or may_be_identity(node.target) or node.target == aten.copy.default
    ):
        before = node.args[1 if node.target == aten.copy.default else 0]
        if not isinstance(before, torch.fx.Node):
            break
        node = before
    return node


def _drop_copies(program: torch.export.ExportedProgram) -> None:
    """Drop each `copy` of a whole tensor over another, which is that tensor.

    PyTorch writes what a model does to its arguments so, when it takes operations apart.
    """
    for node in list(program.graph.nodes):
        if node.target != aten.copy.default:
            continue
        old, new = node.args[0].meta["val"], node.args[1].meta["val"]
        if (old.dtype, old.shape) == (new.dtype, new.shape):
            node.replace_all_uses_with(node.args[1])
            program.graph_signature.replace_all_uses(node.name, node.args[1].name)
            program.graph.erase_node(node)
    program.graph_module.recompile()


def check_updates(
    module: ir.Module, name: str, updates: Updates, items: Iterable[Kernel | Choice]
) -> None:
    """Require that kernels make the new value of an argument where the argument stands.

    - `module`: the model in the torch dialect, with all kernels in it.
    - `name`: its function's name.
    - `items`: the kernels that it calls.
    """
    function = next(op for op in functions_of(module) if name_of(op) == name)
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1]
    by_name = {item.name: kernels_of(item)[0] for item in items}
    for result, (index, argument) in zip(end.operands, updates.arguments.items(), strict=False):
        _check_in_place(block.arguments[index], argument, result, by_name)


def _check_in_place(
    argument: ir.Value, name: str, result: ir.Value, kernels: Mapping[str, Kernel]
) -> None:
    value = result
    while (before := _updated_from(value, kernels)) is not None:
        if len(list(before.uses)) != 1:
            value = before
            break
        if before == argument:
            return
        value = before
    op = owner_of(value)
    source = "" if op is None else place_of(op).source
    raise ModelError(
        f"The model changes its argument `{name}`"
        f"{f' at {source}' if source else ''}, and not by kernels alone that update it in place.",
        expected="a kernel that has the argument as a cd.InOut, and nothing else that reads what "
        "was there before it",
        next_step="put such a kernel there, as replace=cuda_kernels.patterns.torch.write_cache "
        "puts one in the place of index_copy_; or return the new value instead.",
    )


def _updated_from(value: ir.Value, kernels: Mapping[str, Kernel]) -> ir.Value | None:
    """The value in whose place one is; None where it has a place of its own."""
    op = owner_of(value)
    if op is None:
        return None
    if op.name in _RESHAPES:
        return op.operands[0]
    name = kernel_name(kind_of(op)) if op.name == OPERATOR else ""
    if name not in kernels:
        return None
    output = kernels[name].outputs[ir.OpResult(value).result_number]
    if not isinstance(output, InOut):
        return None
    return op.operands[kernels[name].arguments.index(output)]
