"""Updates in place that might reach a buffer of the caller's, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import InOut
from custom_dispatch.link.elementwise import hidden_copy
from custom_dispatch.link.operations import (
    STATE,
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_function,
    is_public,
    name_of,
    operations_of,
)
from custom_dispatch.link.public_functions import updates_of
from custom_dispatch.link.values import may_become, values_from_outside

# Results of these may be any of their tensors.
_OF_TENSORS = ("tensor.", "iree_linalg_ext.", "flow.tensor.")
_DESTINATIONS = {
    "flow.tensor.update": 0,
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.parallel_insert_slice": 1,
    "tensor.scatter": 1,
}
"""Operations that IREE does in place, and the operands in whose buffers it does."""
_LINALG = "linalg."
_FROM_OUTSIDE = ("util.global.load", "func.call", "util.call")
_RETURNS = ("func.return", "util.return")


def updated_arguments(
    module: ir.Module, kernels: Mapping[str, Kernel]
) -> dict[str, tuple[int, ...]]:
    """For each public function, the tensor arguments that an update in place might reach, and that
    it is not to write into.

    IREE updates a buffer where it stands when its value has no later use, and that buffer may be
    the caller's: also where what was computed before turns out to be an argument (`values.py`).
    """
    outside = values_from_outside(module)
    functions = [op for op in functions_of(module) if not is_declaration(op)]
    reached = {name_of(op): _reached(op, kernels, outside) for op in functions}
    # One that is called may get anything of its caller's.
    called = {callee_of(call) for call in calls_of(module, set(reached))}
    is_anything = any(reached[name] for name in called)
    found = {}
    for op in functions:
        if is_public(op):
            arguments = op.regions[0].blocks[0].arguments
            numbers = set(range(len(arguments)) if is_anything else reached[name_of(op)])
            found[name_of(op)] = tuple(
                index
                for index in sorted(numbers.difference(updates_of(op)))
                if isinstance(arguments[index].type, ir.RankedTensorType)
            )
    return found


def _reached(
    function: ir.Operation, kernels: Mapping[str, Kernel], outside: Container[ir.Value]
) -> set[int]:
    """The arguments in whose buffers a function's own updates in place may be."""
    everything = frozenset(range(len(function.regions[0].blocks[0].arguments)))
    buffers = _Buffers(kernels, everything, outside)
    calls = calls_of(function, set(kernels))
    updated = [value for call in calls for value in _updated(call, kernels)]
    updated += [value for op in operations_of(function) for value in _destinations(op)]
    for value in updated:
        buffers.add(value)
    return buffers.arguments


def _updated(call: ir.Operation, kernels: Mapping[str, Kernel]) -> list[ir.Value]:
    """The operands that a kernel updates in place."""
    arguments = kernels[callee_of(call)].arguments
    pairs = zip(arguments, call.operands, strict=True)
    return [value for operand, value in pairs if isinstance(operand, InOut)]


def _destinations(op: ir.Operation) -> list[ir.Value]:
    """The tensors in whose buffers IREE puts results of an operation of its own."""
    return [op.operands[index] for index in _destination_numbers(op)]


def _destination_numbers(op: ir.Operation) -> list[int]:
    if op.name in _DESTINATIONS:
        return [_DESTINATIONS[op.name]]
    is_filled = op.name == "linalg.fill"  # whatever was there
    if is_filled or not op.name.startswith((_LINALG, "iree_linalg_ext.")):
        return []
    # Those whose results are elements, such as `linalg.index`, have no destination.
    return [
        len(op.operands) - len(op.results) + index
        for index, result in enumerate(op.results)
        if isinstance(result.type, ir.RankedTensorType)
    ]


def _loaded(op: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(op.attributes["global"]).value)


class _Buffers:
    """Whose buffers values of one function may be in.

    Parameters
    ----------
    everything
        The numbers of its arguments, for values of which that is unclear.
    outside
        What nobody knows when the model is compiled.
    """

    def __init__(
        self,
        kernels: Mapping[str, Kernel],
        everything: frozenset[int],
        outside: Container[ir.Value],
    ) -> None:
        self._kernels = kernels
        self._everything = everything
        self._outside = outside
        self._seen: set[ir.Value] = set()
        self.arguments: set[int] = set()
        """The arguments whose buffers they may be in."""

    def add(self, value: Any) -> None:
        """Add a value, and all that it may be."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if one in self._seen:
                continue
            self._seen.add(one)
            before = self._before(one)
            if isinstance(before, frozenset):
                self.arguments |= before
            else:
                waiting += before

    def _before(self, value: Any) -> frozenset[int] | Sequence[ir.Value]:
        """The arguments that a value may be; or the values in whose buffers it would be."""
        computed = may_become(value, self._outside)
        if computed is not None:
            return computed
        if isinstance(value.owner, ir.Block):
            block = value.owner
            function = block.owner.operation
            # What other blocks are given, and what a loop carries, may be anything.
            is_argument = is_function(function) and block == function.regions[0].blocks[0]
            return frozenset([value.arg_number]) if is_argument else self._everything
        op = value.owner.operation
        if op.name.startswith(_OF_TENSORS):
            return [item for item in op.operands if isinstance(item.type, ir.RankedTensorType)]
        if op.name == "util.global.load" and _loaded(op).startswith(STATE):
            return ()  # IREE copies an argument that a call before has stored there
        if op.name in ("func.call", "util.call") and callee_of(op) in self._kernels:
            kernel = self._kernels[callee_of(op)]
            output = kernel.outputs[value.result_number]
            if not isinstance(output, InOut):
                return ()
            return [op.operands[kernel.arguments.index(output)]]
        return self._everything


def separate_updates(module: ir.Module) -> None:
    """Give each update by IREE of what follows from nothing a copy of it that is its own.

    Two of one such value, and IREE makes equal ones that, have only one copy between them (two
    `topk` of one shape in a model): the second one updates what the first one left.
    """
    for op in operations_of(module):
        for index in _destination_numbers(op):
            if not op.name.startswith(_LINALG) and _follows_from_nothing(op.operands[index]):
                with ir.InsertionPoint(op), op.location:
                    op.operands[index] = hidden_copy(op.operands[index])


def _follows_from_nothing(value: Any) -> bool:
    """Whether a tensor is computed, and from no argument, state or other function."""
    if not isinstance(value.owner, ir.Block) and value.owner.name == "tensor.empty":
        return False
    seen: set[ir.Value] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one.owner, ir.Block):
            return False
        op = one.owner.operation
        if op.name in _FROM_OUTSIDE:
            return False
        if one not in seen:
            seen.add(one)
            waiting += op.operands
    return True


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
