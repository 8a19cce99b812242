"""Where a model's values come from: what is constant, and what is the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.frontends.symbols import (
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_function,
    is_public,
    name_of,
)
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import InOut

# Operations whose results are new values, never a view of an operand.
_COMPUTING = ("arith.", "linalg.", "math.", "tosa.", "stablehlo.")
_RETURNS = ("func.return", "util.return")


def hide_constants(module: ir.Module, kernels: Mapping[str, Kernel]) -> None:
    """Put a barrier on an operand of every call whose operands may all be constants.

    The compiler would evaluate such a kernel itself, where no GPU is, and crashes. A call is safe
    when an operand comes from an argument of a public function: nobody knows that one yet. What a
    loop carries is hidden where it goes into the loop: of a barrier on a loop's own value, IREE
    forgets that it has to wait for the turn before (docs/iree-notes.md).
    """
    for call in calls_of(module, set(kernels)):
        tensors = [v for v in call.operands if isinstance(v.type, ir.RankedTensorType)]
        if not tensors or any(_comes_from_outside(value, set()) for value in tensors):
            continue
        op, values = call, tensors[:1]
        while (loop := _loop_around(values[0])) is not None:
            carried = [v for v in loop.operands if isinstance(v.type, ir.RankedTensorType)]
            if not carried:
                break
            op, values = loop, carried
        for value in values:
            index = next(i for i, operand in enumerate(op.operands) if operand == value)
            op.operands[index] = _hidden(op, value)


def _loop_around(value: Any) -> ir.Operation | None:
    """The loop whose turns get a value; None for one that is no loop's."""
    if not isinstance(value.owner, ir.Block):
        return None
    owner = value.owner.owner.operation
    return None if is_function(owner) else owner


def _hidden(op: ir.Operation, value: Any) -> Any:
    """A value that an operation takes, behind a barrier."""
    with ir.InsertionPoint(op):
        hidden = ir.Operation.create(
            "util.optimization_barrier", results=[value.type], operands=[value]
        ).result
        sizes = [_size(value, axis) for axis in range(value.type.rank)
                 if value.type.is_dynamic_dim(axis)]  # fmt: skip
        if sizes:  # they are not seen through the barrier
            hidden = ir.Operation.create(
                "flow.tensor.tie_shape", results=[value.type], operands=[hidden, *sizes]
            ).result
    return hidden


def _size(value: Any, axis: int) -> Any:
    index = ir.IndexType.get()
    position = ir.Operation.create(
        "arith.constant", results=[index], attributes={"value": ir.IntegerAttr.get(index, axis)}
    )
    size = ir.Operation.create("tensor.dim", results=[index], operands=[value, position.result])
    return size.result


def _comes_from_outside(value: Any, seen: set[int]) -> bool:
    if isinstance(value.owner, ir.Block):
        owner = value.owner.owner.operation
        if is_function(owner):
            return is_public(owner)
        op = owner  # a loop, whose turns get what goes into it
    else:
        op = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    if hash(op) in seen:
        return False
    seen.add(hash(op))
    return any(_comes_from_outside(operand, seen) for operand in op.operands)


def updated_arguments(
    module: ir.Module, kernels: Mapping[str, Kernel]
) -> dict[str, tuple[int, ...]]:
    """For each public function, the tensor arguments that an update in place might reach.

    IREE updates a buffer where it stands when its value has no later use, and that buffer may be
    the caller's.
    """
    found = {}
    for op in functions_of(module):
        if is_declaration(op) or not is_public(op):
            continue
        arguments = op.regions[0].blocks[0].arguments
        reached: set[int] = set()
        for call in calls_of(op, set(kernels)):
            arguments_of_call = kernels[callee_of(call)].arguments
            for operand, value in zip(arguments_of_call, call.operands, strict=True):
                if isinstance(operand, InOut):
                    reached |= _may_be(value, kernels, len(arguments))
        # Kernels that other functions call: their operands may be anything of this one.
        inner = calls_of(module, set(kernels))
        if any(_function_around(call) != op and _updates(call, kernels) for call in inner):
            reached = set(range(len(arguments)))
        found[name_of(op)] = tuple(
            index
            for index in sorted(reached)
            if isinstance(arguments[index].type, ir.RankedTensorType)
        )
    return found


def _updates(call: ir.Operation, kernels: Mapping[str, Kernel]) -> bool:
    return any(isinstance(operand, InOut) for operand in kernels[callee_of(call)].inputs)


def _function_around(op: ir.Operation) -> ir.Operation:
    while not is_function(op):
        op = op.parent.operation
    return op


def _may_be(value: Any, kernels: Mapping[str, Kernel], count: int) -> set[int]:
    """The function's arguments whose buffer a value may be; every one where that is unclear."""
    if isinstance(value.owner, ir.Block):
        in_function = is_function(value.owner.owner.operation)
        return {value.arg_number} if in_function else set(range(count))
    op = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    if op.name.startswith(_COMPUTING) or op.name in ("tensor.empty", "tensor.splat"):
        return set()
    if op.name in ("func.call", "util.call") and callee_of(op) in kernels:
        kernel = kernels[callee_of(op)]
        output = kernel.outputs[value.result_number]
        if not isinstance(output, InOut):
            return set()
        return _may_be(op.operands[kernel.arguments.index(output)], kernels, count)
    if op.name in ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape"):
        return _may_be(op.operands[0], kernels, count)
    return set(range(count))


def keep_arguments(module: ir.Module, arguments: Mapping[str, Sequence[int]]) -> None:
    """Use arguments once more when a function returns: an update in place then copies them."""
    for op in functions_of(module):
        for block in op.regions[0].blocks if name_of(op) in arguments else ():
            terminator = block.operations[len(block.operations) - 1].operation
            if terminator.name not in _RETURNS:
                continue
            for index in arguments[name_of(op)]:
                argument = op.regions[0].blocks[0].arguments[index]
                ir.Operation.create(
                    "util.optimization_barrier",
                    results=[argument.type],
                    operands=[argument],
                    ip=ir.InsertionPoint(terminator),
                )
