"""Barriers that hide constants from the compiler, which would run kernels on them itself."""

from collections.abc import Mapping
from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.operations import calls_of, create, is_function, last_of, open_sizes
from custom_dispatch.link.values import operands_for, values_from_outside
from custom_dispatch.reachable import reachable

Use = tuple[ir.Operation, int]
"""An operation, and which of its operands."""


def hide_constants(module: ir.Module, kernels: Mapping[str, Kernel]) -> None:
    """Put a barrier on an operand of every call whose operands may all be constants.

    The compiler would evaluate such a kernel itself, where no GPU is, and crashes. A call is safe
    when an operand comes from an argument of a public function: nobody knows that one yet. What a
    loop carries, and what blocks are given, is hidden where it goes in: of a barrier on a loop's
    own value, IREE forgets that it has to wait for the turn before (docs/iree-notes.md).
    """
    outside = values_from_outside(module)
    starts: list[Use] = []
    for call in calls_of(module, set(kernels)):
        tensors = [i for i, value in enumerate(call.operands) if _is_tensor(value)]
        if tensors and not any(call.operands[index] in outside for index in tensors):
            starts.append((call, tensors[0]))
    for op, index in list(reachable(starts, _goes_in)):
        if not _goes_in((op, index)):
            _hide(op, index)


def _is_tensor(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _goes_in(use: Use) -> list[Use]:
    """Where a value that is used goes into the loop or the blocks that it is passed around in.

    Nothing, for one that is no such value; then it is hidden where it is used.
    """
    value: Any = use[0].operands[use[1]]
    if not isinstance(value.owner, ir.Block):
        return []
    block = value.owner
    owner = block.owner.operation
    if not list(block.predecessors):  # the first of a function or of a region
        if is_function(owner):
            return []
        return [(owner, i) for i, operand in enumerate(owner.operands) if _is_tensor(operand)]
    later = set(reachable(block.successors, lambda other: other.successors))
    found = []
    for before in block.predecessors:
        branch = last_of(before)
        given = operands_for(branch, block, value.arg_number) or [
            i for i, operand in enumerate(branch.operands) if operand.type == value.type
        ]
        if before not in later:  # else the turn before gives it
            found += [(branch, index) for index in given]
    return found


def _hide(op: ir.Operation, index: int) -> None:
    value = op.operands[index]
    with ir.InsertionPoint(op):
        hidden = create("util.optimization_barrier", value.type, value)
        sizes = open_sizes(value)
        if sizes:  # they are not seen through the barrier
            hidden = create("flow.tensor.tie_shape", value.type, hidden, *sizes)
    op.operands[index] = hidden
