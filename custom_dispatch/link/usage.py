"""Counting the calls of kernels in a model's public functions, before anything is replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from iree.compiler import ir

from custom_dispatch.format.usage import FunctionUse, KernelUse
from custom_dispatch.link.symbols import (
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_public,
    name_of,
)

_Counts = dict[str, tuple[int, bool]]


def kernel_uses(
    module: ir.Module, kernels: Mapping[str, Sequence[str]], direct: Collection[str]
) -> tuple[FunctionUse, ...]:
    """The kernels that each public function calls, by itself or through private functions.

    Parameters
    ----------
    kernels
        The kernels' names, by the symbols of the functions without a body that stand for them; of
        a choice several, one of which runs.
    direct
        Those of these functions that take and return just what their kernel does.
    """
    bodies = {name_of(op): op for op in functions_of(module) if not is_declaration(op)}
    found = []
    for name, op in bodies.items():
        if not is_public(op):
            continue
        counts = _count(name, bodies, kernels, frozenset())
        uses = tuple(KernelUse(kernel, *counts[kernel]) for kernel in sorted(counts))
        symbol = _direct(op, direct)
        found.append(FunctionUse(name, uses, None if symbol is None else kernels[symbol][0]))
    return tuple(found)


def _count(
    name: str,
    bodies: dict[str, ir.Operation],
    kernels: Mapping[str, Sequence[str]],
    callers: frozenset[str],
) -> _Counts:
    """Calls of each kernel, and whether data decides how many of them are made."""
    op = bodies[name]
    total: _Counts = {}
    for call in calls_of(op, {*kernels, *bodies}):
        callee = callee_of(call)
        varies = not _runs_once(call, op)
        if callee in kernels:
            inner: _Counts = {name: (1, len(kernels[callee]) > 1) for name in kernels[callee]}
        elif callee in callers or callee == name:
            # A function that calls itself: what it calls, it calls as often as data says.
            inner = {}
            total = {kernel: (count, True) for kernel, (count, _) in total.items()}
        else:
            inner = _count(callee, bodies, kernels, callers | {name})
        for kernel, (count, also) in inner.items():
            before, already = total.get(kernel, (0, False))
            total[kernel] = (before + count, already or also or varies)
    return total


def _runs_once(call: ir.Operation, function: ir.Operation) -> bool:
    """Whether a call stands in the function's only block, and in no operation inside it."""
    return call.parent == function and len(function.regions[0].blocks) == 1


def _direct(op: ir.Operation, kernels: Collection[str]) -> str | None:
    """The kernel that a function hands its arguments on to, where it does nothing else."""
    if len(op.regions[0].blocks) != 1:
        return None
    block = op.regions[0].blocks[0]
    body = [inner.operation for inner in block.operations]
    if len(body) != 2 or body[0].name not in ("func.call", "util.call"):
        return None
    call, end = body
    passed = list(call.operands) == list(block.arguments)
    returned = list(end.operands) == list(call.results)
    return callee_of(call) if passed and returned and callee_of(call) in kernels else None
