"""Functions of a model that become graphs: see `ir/graph_interface.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import GraphError
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.function_body import Value
from custom_dispatch.ir.graph_interface import (
    TRANSIENTS,
    GraphInterface,
    allocate_buffers,
    byte_size,
    write_first_values,
)
from custom_dispatch.ir.interface import Interface
from custom_dispatch.link.call_site import place_of
from custom_dispatch.link.operations import name_of, operations_of, type_of
from custom_dispatch.link.states import (
    check_kinds,
    check_states,
    outline_first_values,
    pass_states,
    states_of,
)

_DECIDES = ("scf.", "cf.cond_br", "cf.switch", "tensor.extract ")
"""How operations begin that are done on the host, with values that it waits for."""
_OVER_TENSORS = ("linalg.", "tensor.generate", "iree_linalg_ext.")


def check_graph(op: ir.Operation, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
    """Require a function whose sizes are known, without numbers among its arguments or results."""
    for what, values in (("argument", inputs), ("result", outputs)):
        for index, value in enumerate(values):
            if value.sizes is not None and all(value.sizes):
                continue
            if value.sizes is None:
                found, step = "is a number", "pass it as a tensor of rank 0 or 1"
            elif None in value.sizes:
                found, step = "has an open size", "compile it for known sizes, one file for each"
            else:
                found, step = "has no elements", "leave it out"
            raise GraphError(
                f"`{name_of(op)}` cannot be a graph: {what} {index} {found}: {value.type}.",
                expected="tensors whose sizes are known when the model is compiled",
                next_step=f'{step}; or write graph="where possible".',
            )
    for inner in operations_of(op):
        if not f"{inner.name} ".startswith(_DECIDES) or _is_within_tensor(inner, op):
            continue
        raise GraphError(
            f"`{name_of(op)}` cannot be a graph: `{inner.name}`{place_of(inner)} lets the host "
            "wait for values of a call.",
            expected="a function that runs the same kernels in every call",
            next_step='compute both sides and select; or write graph="where possible".',
        )


def _is_within_tensor(op: Any, function: Any) -> bool:
    """Whether an operation is in the body of one over tensors, and so runs on the device."""
    while (op := op.parent.operation) != function:
        if op.name.startswith(_OVER_TENSORS):
            return True
    return False


def write_graphs(
    module: ir.Module, functions: Sequence[tuple[ir.Operation, Interface]]
) -> list[str]:
    """Turn functions into graphs; return the text of what they are called through.

    They are private already.
    """
    check_kinds(module)
    states = states_of(module)
    written = []
    for op, interface in functions:
        used, changed = pass_states(op, states)
        kind = type_of(op)
        taken = tuple(map(_state, kind.inputs[len(interface.inputs) :]))
        returned = tuple(map(_state, kind.results[: len(changed)]))
        whole = Interface(
            interface.name,
            interface.body,
            (*interface.inputs, *taken),
            (*returned, *interface.outputs),
            interface.dialect,
            interface.reflection,
            interface.names,
            updates=interface.updates,
        )
        declared = f"{interface.dialect}.func private @{quote(interface.body)}{type_of(op)}\n"
        written.append(declared + GraphInterface(whole, used, len(changed)).write())
    first = outline_first_values(module, states)
    check_states(module, states)
    for op in list(module.body.operations):
        if op.operation.name == "util.global" and name_of(op.operation) in states:
            op.operation.erase()
    sizes = {name: byte_size(_state(kind)) for name, kind in states.items()}
    return [
        # The size of the last is not known yet.
        allocate_buffers({**sizes, TRANSIENTS: 1}),
        *(
            f"func.func private @{quote(symbol)}{type_of(op)}\n"
            + write_first_values(symbol, {name: _state(states[name]) for name in names})
            for symbol, op, names in first
        ),
        *written,
    ]


def _state(kind: ir.Type) -> Value:
    kind = ir.RankedTensorType(kind)
    return Value(str(kind), tuple(kind.shape))
