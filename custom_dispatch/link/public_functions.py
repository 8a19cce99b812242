"""Giving a model's public functions the interface that callers need: see `ir/interface.py`."""

from collections.abc import Collection, Mapping

from iree.compiler import ir

from custom_dispatch.errors import GraphError
from custom_dispatch.format.keys import ASYNC, BUFFERS, FINDINGS_FUNCTION, GRAPH, RESULTS_KEY
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.function_body import Value
from custom_dispatch.ir.interface import Interface
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.graph_functions import read_on_device, why_no_graph, write_graphs
from custom_dispatch.link.operations import (
    REFLECTION,
    functions_of,
    is_declaration,
    is_function,
    is_public,
    known_sizes,
    name_of,
    reflection_of,
    symbols_of,
    type_of,
    updates_of,
)

_PREFIX = "custom_dispatch_function_"
# IREE's own words on how a function is called from outside. What has some is left to IREE.
_ABI = "iree.abi"
_UNSIGNED = "iree.abi.encoding"
"""What IREE's conversion of StableHLO writes where a tensor had unsigned integers."""


def open_to_callers(
    module: ir.Module,
    kernels: Mapping[str, Kernel],
    *,
    stateless: bool,
    graph: bool = False,
    plain: Collection[str] = (),
) -> bool:
    """Replace every public function by the functions through which it is called from outside;
    return whether any is a graph.

    - `kernels`: those that the model calls, by symbol.
    - `stateless`: whether no call leaves anything behind.
    - `graph`: whether each becomes a graph over buffers that stay.
    - `plain`: the names of those that do not.

    Raises `GraphError`: functions cannot be graphs; it is about the first of them.
    """
    names = {name_of(op) for op in symbols_of(module)}
    written: list[tuple[ir.Operation, Interface]] = []
    problems: dict[str, GraphError] = {}
    for op in functions_of(module):
        name = name_of(op)
        # What was found is asked for at once, when nothing else runs.
        if is_declaration(op) or not is_public(op) or name.startswith(FINDINGS_FUNCTION):
            continue
        kind = type_of(op)
        inputs, outputs = _values(kind.inputs), _values(kind.results)
        if inputs is None or outputs is None or _has_interface(op, names):
            if graph:
                raise GraphError(
                    f"`{name}` cannot be a graph: it has an interface already, or takes what is no "
                    "tensor.",
                    expected="a function of tensors, into which no kernel was linked before",
                    next_step="compile the model that it was linked from; or write "
                    'graph="where possible".',
                )
            continue
        if graph and name not in plain:
            read_on_device(op)
            if problem := why_no_graph(op, inputs, outputs):
                problems[name] = problem
        body = _PREFIX + name
        while body in names:
            body += "_"
        dialect = op.name.partition(".")[0]
        updates = updates_of(op)
        interface = Interface(
            name,
            body,
            inputs,
            outputs,
            dialect,
            _take_reflection(op),
            stateless=stateless,
            updates=updates,
        )
        _make_private(module, op, body)
        written.append((op, interface))
    for error in problems.values():
        error.refused = {name: each.found for name, each in problems.items()}
        raise error
    # What gives states their first values is no reason for a graph.
    if graph and any(
        interface.name not in plain and (interface.inputs or interface.outputs)
        for _, interface in written
    ):
        for text in write_graphs(module, written, kernels, plain):
            append_text(module, text)
        return True
    for op, interface in written:
        declared = f"{interface.dialect}.func private @{quote(interface.body)}{type_of(op)}"
        append_text(module, f"{declared}\n{interface.write()}")
    return False


def append_text(module: ir.Module, text: str) -> list[ir.Operation]:
    """Add what a text says to a module, but for what it only declares; return what was added."""
    known = {name_of(op): str(op) for op in symbols_of(module) if op.name == "util.global"}
    named = [item for name, item in known.items() if f"@{quote(name)}" in text]
    added = ir.Module.parse("\n".join([*named, text]), module.context)
    operations = [op.operation for op in added.body.operations][len(named) :]
    kept = [op for op in operations if not (is_function(op) and is_declaration(op))]
    for op in kept:
        module.body.append(op)
    return kept


def _has_interface(op: ir.Operation, names: set[str]) -> bool:
    name = name_of(op)
    ends = (ASYNC, GRAPH, BUFFERS)
    if name.endswith(ends) or any(name + end in names for end in ends):
        return True
    attributes = list(op.attributes)
    # A front end says itself which results are unsigned.
    is_described = RESULTS_KEY in reflection_of(op)
    known = _UNSIGNED if is_described else ""
    for which in ("arg_attrs", "res_attrs"):
        if which in op.attributes:
            for each in ir.ArrayAttr(op.attributes[which]):
                attributes += [item.name for item in ir.DictAttr(each) if item.name != known]
    return any(attribute.startswith(_ABI) for attribute in attributes)


def _values(types: list[ir.Type]) -> tuple[Value, ...] | None:
    """The types as values to be passed; None where there is something else among them."""
    found = []
    for kind in types:
        if isinstance(kind, ir.RankedTensorType):
            if kind.encoding is not None:
                return None
            found.append(Value(str(kind), known_sizes(kind)))
        elif isinstance(kind, ir.IntegerType | ir.FloatType | ir.IndexType):
            found.append(Value(str(kind)))
        else:
            return None
    return tuple(found)


def _take_reflection(op: ir.Operation) -> str:
    """Move a function's reflection out of it, as text."""
    entries = reflection_of(op)
    if entries:
        del op.attributes[REFLECTION]
    return ", ".join(f"{quote(name)} = {said}" for name, said in entries.items())


def _make_private(module: ir.Module, op: ir.Operation, symbol: str) -> None:
    """Rename a function, also where others call it."""
    ir.SymbolTable.replace_all_symbol_uses(name_of(op), symbol, module.operation)
    op.attributes["sym_name"] = ir.StringAttr.get(symbol)
    op.attributes["sym_visibility"] = ir.StringAttr.get("private")
