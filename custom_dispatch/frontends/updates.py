"""Updates in place that might reach a buffer of the caller's, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.frontends.public_functions import updates_of
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
_VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")
_RETURNS = ("func.return", "util.return")


def updated_arguments(
    module: ir.Module, kernels: Mapping[str, Kernel]
) -> dict[str, tuple[int, ...]]:
    """For each public function, the tensor arguments that an update in place might reach, and that
    it is not to write into.

    IREE updates a buffer where it stands when its value has no later use, and that buffer may be
    the caller's.
    """
    found = {}
    updates = [call for call in calls_of(module, set(kernels)) if _updates(call, kernels)]
    for op in functions_of(module):
        if is_declaration(op) or not is_public(op):
            continue
        arguments = op.regions[0].blocks[0].arguments
        everything = frozenset(range(len(arguments)))
        own = [call for call in updates if _function_around(call) == op]
        buffers = _Buffers(kernels, everything)
        reached: set[int] = set()
        for call in own:
            for operand, value in zip(
                kernels[callee_of(call)].arguments, call.operands, strict=True
            ):
                if isinstance(operand, InOut):
                    reached |= buffers.may_be(value)
        if len(own) < len(updates):
            # Other functions update their operands, which may be anything of this one.
            reached |= everything
        found[name_of(op)] = tuple(
            index
            for index in sorted(reached.difference(updates_of(op)))
            if isinstance(arguments[index].type, ir.RankedTensorType)
        )
    return found


def _updates(call: ir.Operation, kernels: Mapping[str, Kernel]) -> bool:
    return any(isinstance(operand, InOut) for operand in kernels[callee_of(call)].inputs)


def _function_around(op: ir.Operation) -> ir.Operation:
    while not is_function(op):
        op = op.parent.operation
    return op


class _Buffers:
    """Whose buffers the values of one function may be in."""

    def __init__(self, kernels: Mapping[str, Kernel], everything: frozenset[int]) -> None:
        self._kernels = kernels
        self._everything = everything
        self._known: dict[ir.Value, frozenset[int]] = {}

    def may_be(self, value: Any) -> frozenset[int]:
        """The function's arguments whose buffer it may be; every one where that is unclear."""
        passed = []
        while value not in self._known:
            passed.append(value)
            before = self._before(value)
            if isinstance(before, frozenset):
                self._known[value] = before
            else:
                value = before
        found = self._known[value]
        self._known.update(dict.fromkeys(passed, found))
        return found

    def _before(self, value: Any) -> Any:
        """The arguments that a value may be; or the value in whose buffer it would be."""
        if isinstance(value.owner, ir.Block):
            block = value.owner
            function = block.owner.operation
            # What other blocks are given, and what a loop carries, may be anything.
            is_argument = is_function(function) and block == function.regions[0].blocks[0]
            return frozenset([value.arg_number]) if is_argument else self._everything
        op = value.owner.operation
        if op.name.startswith(_COMPUTING) or op.name in ("tensor.empty", "tensor.splat"):
            return frozenset()
        if op.name in _VIEWS:
            return op.operands[0]
        if op.name in ("func.call", "util.call") and callee_of(op) in self._kernels:
            kernel = self._kernels[callee_of(op)]
            output = kernel.outputs[value.result_number]
            if not isinstance(output, InOut):
                return frozenset()
            return op.operands[kernel.arguments.index(output)]
        return self._everything


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
