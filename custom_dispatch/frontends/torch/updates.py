"""Models that write into their arguments, as a step of a decoder writes into its cache.

A module's function does that where a kernel does, in place: an argument goes into one as its
`InOut`, perhaps into another after it, and nothing else looks at what was there before. Whatever
else a model writes would be computed elsewhere and copied, and IREE 3.13 does not let such copies
wait for all who read the argument (docs/iree-notes.md): it is refused.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator

import torch
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.graph import ASSERTION, arguments_of, place_of
from custom_dispatch.frontends.torch.operator import registered_kernel
from custom_dispatch.kernel.buffer import InOut
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel

aten = torch.ops.aten
_VIEWS = {aten.view.default, aten.reshape.default, aten._unsafe_view.default}


def changes_a_value(node: torch.fx.Node) -> bool:
    """Whether a call writes into one of its arguments."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def make_updates_values(
    program: torch.export.ExportedProgram,
) -> torch.export.ExportedProgram | None:
    """A model whose writes into its arguments are values that it returns; all else as it was.

    PyTorch's own way, `run_decompositions`, writes other operations anew as well, in which patterns
    are not found. None where only that will do: something else is written, or views of it are used.
    """
    graph = copy.deepcopy(program.graph)
    for old, new in zip(program.graph.nodes, graph.nodes, strict=True):
        new.name = old.name  # a copy renames what is called like a function of Python
    order = {node: index for index, node in enumerate(graph.nodes)}
    holds = {
        node: node.name
        for node, spec in zip(graph.nodes, program.graph_signature.input_specs, strict=False)
        if spec.kind == InputKind.USER_INPUT
    }
    """Values of arguments, the latest of each among them."""
    latest: dict[str, torch.fx.Node] = {}
    for node in filter(changes_a_value, list(graph.nodes)):
        written, target = node.args[0], _functional(node)
        if target is None or written not in holds:
            return None
        before = [user for user in written.users if order[user] < order[node]]
        if any(map(_may_be_a_view, before)):
            return None
        node.target = target
        name = holds[written]
        written.replace_all_uses_with(
            node, delete_user_cb=lambda user, here=node: order[user] > order[here]
        )
        holds[node] = name
        latest[name] = node
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
        OutputSpec(OutputKind.USER_INPUT_MUTATION, TensorArgument(node.name), name)
        for name, node in latest.items()
    ]
    signature.output_specs = [*updates, *results]
    graph.lint()
    return program._update(torch.fx.GraphModule(program.graph_module, graph), signature)


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


def _may_be_a_view(node: torch.fx.Node) -> bool:
    """Whether a call's result may share its argument's memory."""
    if node.target in (ASSERTION, aten.sym_size.int):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return True
    # Of others than the core's, such as dropout, the schema does not tell.
    return torch.Tag.core not in node.target.tags or any(
        result.alias_info is not None for result in node.target._schema.returns
    )


def return_updates(
    program: torch.export.ExportedProgram,
) -> tuple[torch.export.ExportedProgram, tuple[int, ...]]:
    """A model that returns what it would write into its arguments, before its other results.

    Returns
    -------
    program, positions
        The model, which writes into nothing any more; and which of its arguments, counted as a
        module's function counts them, each of the results is that comes first.

    Raises
    ------
    ModelError
        No kernel writes it in place.
    """
    signature = program.graph_signature
    if not any(map(_is_update, signature.output_specs)):
        return program, ()
    _drop_copies(program)
    changed = {
        str(spec.target): spec.arg.name for spec in signature.output_specs if _is_update(spec)
    }
    nodes = {node.name: node for node in program.graph.nodes}
    for name, result in changed.items():
        _check_in_place(nodes[name], nodes[result])
    arguments = [
        spec.arg.name
        for spec in signature.input_specs
        if spec.kind == InputKind.USER_INPUT and nodes[spec.arg.name].meta.get("val") is not None
    ]
    returned = copy.deepcopy(signature)
    returned.output_specs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(spec.arg.name), None)
        if _is_update(spec)
        else spec
        for spec in returned.output_specs
    ]
    # What a program holds of mutations comes first among what it returns.
    positions = tuple(arguments.index(name) for name in changed)
    return program._update(program.graph_module, returned), positions


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


def _is_update(spec: OutputSpec) -> bool:
    return bool(spec.kind == OutputKind.USER_INPUT_MUTATION)


def _check_in_place(argument: torch.fx.Node, result: torch.fx.Node) -> None:
    """Require that kernels make a result of an argument where it stands."""
    node = result
    for node, before in _updated_from(result):
        if len([user for user in before.users if user.target != ASSERTION]) != 1:
            node = before
            break
        if before is argument:
            return
    source = place_of(node).source
    raise ModelError(
        f"The model changes its argument `{argument.name}`"
        f"{f' at {source}' if source else ''}, and not by kernels alone that update it in place.",
        expected="a kernel that has the argument as a cd.InOut, and nothing else that reads what "
        "was there before it",
        next_step="put such a kernel there, as replace=cuda_kernels.torch_patterns.write_cache "
        "puts one in the place of index_copy_; or return the new value instead.",
    )


def _updated_from(node: torch.fx.Node) -> Iterator[tuple[torch.fx.Node, torch.fx.Node]]:
    """A value, and the one whose place it is in; then that one, and so on."""
    while True:
        index, call = 0, node
        if node.target == operator.getitem:
            call, index = node.args
        kernel = registered_kernel(call.target) if call.op == "call_function" else None
        if isinstance(kernel, Kernel | Choice):
            declared = kernels_of(kernel)[0]
            output = declared.outputs[index]
            if not isinstance(output, InOut):
                return
            before = arguments_of(call).get(output.name)
        elif node.target in _VIEWS:
            before = node.args[0]
        else:
            return
        if not isinstance(before, torch.fx.Node):
            return
        yield node, before
        node = before
