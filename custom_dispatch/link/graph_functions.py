"""Functions of a model that become graphs: see `ir/graph_interface.py`."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import GraphError
from custom_dispatch.ir import graph_interface
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.function_body import Value
from custom_dispatch.ir.interface import NEXT, Interface
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.call_site import place_of
from custom_dispatch.link.operations import name_of, operations_of, outwards, type_of
from custom_dispatch.link.states import (
    check_kinds,
    check_states,
    outline_first_values,
    pass_states,
    states_of,
    value_of,
)

_DECIDES = ("scf.", "cf.cond_br", "cf.switch", "tensor.extract ")
"""How operations begin that are done on the host, with values that it waits for."""
_OVER_TENSORS = ("linalg.", "tensor.generate", "iree_linalg_ext.")


def why_no_graph(
    op: ir.Operation, inputs: Sequence[Value], outputs: Sequence[Value]
) -> GraphError | None:
    """What of a function depends on a call: sizes, numbers, what the host decides."""
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
            return GraphError(
                f"`{name_of(op)}` cannot be a graph: {what} {index} {found}: {value.type}.",
                expected="tensors whose sizes are known when the model is compiled",
                next_step=f'{step}; or write graph="where possible".',
            )
    for inner in operations_of(op):
        if not f"{inner.name} ".startswith(_DECIDES) or _is_within_tensor(inner, op):
            continue
        return GraphError(
            f"`{name_of(op)}` cannot be a graph: `{inner.name}`{place_of(inner)} lets the host "
            "wait for values of a call.",
            expected="a function that runs the same kernels in every call",
            next_step="compute both sides and select, unroll a loop (jax.lax.scan(..., "
            "unroll=True)), index with tensors, or pass random numbers as an argument; or write "
            'graph="where possible".',
        )
    return None


def read_on_device(function: ir.Operation) -> None:
    """Read elements of tensors within the loops over others that use them, not before these."""
    for op in operations_of(function, "tensor.extract"):
        for use in [] if _is_within_tensor(op, function) else list(op.results[0].uses):
            user = use.owner.operation
            loops = user.parent.operation
            if loops.name.startswith(_OVER_TENSORS) and op.operands[0] not in list(loops.operands):
                copy = op.clone(ip=ir.InsertionPoint(user)).operation
                user.operands[use.operand_number] = copy.results[0]
        if not list(op.results[0].uses):
            op.erase()


def _is_within_tensor(op: Any, function: Any) -> bool:
    """Whether an operation is in the body of one over tensors, and so runs on the device."""
    around = itertools.takewhile(lambda each: each != function, outwards(op.parent))
    return any(each.name.startswith(_OVER_TENSORS) for each in around)


def write_graphs(
    module: ir.Module,
    functions: Sequence[tuple[ir.Operation, Interface]],
    kernels: Mapping[str, Kernel],
    plain: Collection[str],
) -> list[str]:
    """Turn functions into graphs; return the text of what they are called through.

    They are private already.

    - `kernels`: those that the model calls, by symbol.
    - `plain`: the names of functions that are to be none: they share the others' states.
    """
    check_kinds(module)
    states = states_of(module)
    written, next_values = [], dict[str, Value]()
    for op, interface in functions:
        is_plain = interface.name in plain
        used = pass_states(op, states, kernels, copies=is_plain)
        changed = sum(state.is_changed for state in used)
        # A bool is taken as a byte and returned as a bit.
        outputs = map(value_of, type_of(op).results[:changed])
        whole = replace(interface, states=used, outputs=(*outputs, *interface.outputs))
        written.append(f"{interface.dialect}.func private @{quote(interface.body)}{type_of(op)}\n")
        written[-1] += whole.write() if is_plain else graph_interface.GraphInterface(whole).write()
        next_values |= {s.name + NEXT: s.value for s in whole.changed if not s.in_place}
    first = outline_first_values(module, states)
    check_states(module, states)
    for op in list(module.body.operations):
        if op.operation.name == "util.global" and name_of(op.operation) in states:
            op.operation.erase()
    buffers = next_values | {name: value_of(kind) for name, kind in states.items()}
    sizes = {name: graph_interface.byte_size(value) for name, value in buffers.items()}
    return [
        # The size of the last is not known yet.
        graph_interface.allocate_buffers({**sizes, graph_interface.TRANSIENTS: 1}),
        *(
            f"func.func private @{quote(symbol)}{type_of(op)}\n"
            + graph_interface.write_first_values(
                symbol, used, tuple(map(value_of, type_of(op).results))
            )
            for symbol, op, used in first
        ),
        *written,
    ]
