"""Updates in place that might reach a buffer of the caller's, and what keeps them from it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.frontends.public_functions import updates_of
from custom_dispatch.frontends.symbols import (
    STATE,
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_function,
    is_public,
    name_of,
)
from custom_dispatch.frontends.values import may_become, values_from_outside
from custom_dispatch.kernel.buffer import InOut
from custom_dispatch.kernel.kernel import Kernel

_VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")
_RETURNS = ("func.return", "util.return")


def updated_arguments(
    module: ir.Module, kernels: Mapping[str, Kernel]
) -> dict[str, tuple[int, ...]]:
    """For each public function, the tensor arguments that an update in place might reach, and that
    it is not to write into.

    IREE updates a buffer where it stands when its value has no later use, and that buffer may be
    the caller's: also where what was computed before turns out to be an argument (`values.py`).
    """
    found = {}
    outside = values_from_outside(module)
    updates = [call for call in calls_of(module, set(kernels)) if _updates(call, kernels)]
    for op in functions_of(module):
        if is_declaration(op) or not is_public(op):
            continue
        arguments = op.regions[0].blocks[0].arguments
        everything = frozenset(range(len(arguments)))
        own = [call for call in updates if _function_around(call) == op]
        buffers = _Buffers(kernels, everything, outside)
        for call in own:
            for operand, value in zip(
                kernels[callee_of(call)].arguments, call.operands, strict=True
            ):
                if isinstance(operand, InOut):
                    buffers.add(value)
        if len(own) < len(updates):
            # Other functions update their operands, which may be anything of this one.
            buffers.arguments |= everything
        found[name_of(op)] = tuple(
            index
            for index in sorted(buffers.arguments.difference(updates_of(op)))
            if isinstance(arguments[index].type, ir.RankedTensorType)
        )
    return found


def _updates(call: ir.Operation, kernels: Mapping[str, Kernel]) -> bool:
    return any(isinstance(operand, InOut) for operand in kernels[callee_of(call)].inputs)


def _function_around(op: ir.Operation) -> ir.Operation:
    while not is_function(op):
        op = op.parent.operation
    return op


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
        if op.name in _VIEWS:
            return [op.operands[0]]
        if op.name == "util.global.load" and _loaded(op).startswith(STATE):
            return ()  # IREE copies an argument that a call before has stored there
        if op.name in ("func.call", "util.call") and callee_of(op) in self._kernels:
            kernel = self._kernels[callee_of(op)]
            output = kernel.outputs[value.result_number]
            if not isinstance(output, InOut):
                return ()
            return [op.operands[kernel.arguments.index(output)]]
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
