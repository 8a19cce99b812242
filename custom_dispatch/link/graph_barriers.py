"""Barriers between commands, as CUDA graphs that IREE makes of them need them.

Where a stream runs commands one after another, a graph has no order but that of its barriers
(iree/hal/drivers/cuda/graph_command_buffer.c).
"""

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, scf, util

from custom_dispatch.link.operations import integer, last_of

_RECORDED = "custom_dispatch.recorded"
"""A global: whether a command was recorded since the last barrier."""
_BARRIER = "execution_barrier"
_MOST_AT_ONCE = 32
"""IREE_HAL_CUDA_MAX_CONCURRENT_GRAPH_NODE_COUNT (iree/hal/drivers/cuda/graph_command_buffer.c)."""
_AMOUNTS = {
    "dispatch": slice(3, 6),
    "copy_buffer": slice(5, 6),
    "fill_buffer": slice(3, 4),
    "update_buffer": slice(6, 7),
}
"""Which operands of a command say how much it does: workgroups, or bytes."""


def limit_width(function: Any, most: int = _MOST_AT_ONCE) -> None:
    """Put a barrier after as many commands without one as a CUDA graph of IREE's may hold.

    And one after the first of several that follow several: what has many before it and many beside
    it begins 2 to 4 us late on an H200, as long as a small kernel runs. Blocks of which one runs,
    that of the device's target, are counted each for itself: a barrier must not follow a barrier
    (see `keep_order`).
    """
    blocks = list(function.regions[0].blocks)
    reached = {0: (0, 0)}
    for index, block in enumerate(blocks):
        before, commands = reached.pop(index, (0, 0))
        for kind, op in _commands(block):
            if kind == "create":
                before = commands = 0
            elif kind == _BARRIER:
                before, commands = commands, 0
            elif kind in _AMOUNTS:
                if commands == most or (commands == 1 and before > 1):
                    barrier_of(op.operands[0]).clone(ip=ir.InsertionPoint(op))
                    before, commands = commands, 0
                commands += 1
        for successor in last_of(block).successors:
            later = next((i for i in range(index + 1, len(blocks)) if blocks[i] == successor), None)
            if later is not None:  # else a loop, and no command buffer outlives a turn
                other = reached.get(later, (0, 0))
                reached[later] = (max(before, other[0]), max(commands, other[1]))


def barrier_of(commands: Any) -> Any:
    """A barrier of a command buffer: IREE writes one at the end of each."""
    users = (use.owner.operation for use in commands.uses)
    return next(op for op in users if op.name.endswith(_BARRIER))


def keep_order(module: ir.Module, function: Any) -> None:
    """Let a function that is no graph record one command after another, as on a stream.

    A barrier is recorded only if a command was. IREE records none of no workgroups
    (iree/hal/command_buffer.c), such as a kernel that is not the one for a call's sizes; and a
    barrier right after another would be a node that waits for nothing, so that what follows would
    not wait for what came before. Each target's commands are in blocks of their own, so a global
    counts. One thread at a time runs the code of a module.
    """
    limit_width(function, 1)
    commands = [each for block in function.regions[0].blocks for each in _commands(block)]
    for kind, op in commands:
        if kind not in (*_AMOUNTS, _BARRIER):
            continue
        with ir.InsertionPoint(op):
            recorded = util.GlobalLoadOp(ir.IndexType.get(), _RECORDED).result
            now = integer(0)
            if kind == _BARRIER:
                wanted = arith.cmpi(arith.CmpIPredicate.ne, recorded, now)
                block = scf.IfOp(wanted).then_block
                end = scf.YieldOp([], ip=ir.InsertionPoint(block))
            else:
                now = recorded
                for amount in list(op.operands)[_AMOUNTS[kind]]:
                    now = arith.ori(now, amount)
            util.GlobalStoreOp(now, _RECORDED)
        if kind == _BARRIER:
            op.move_before(end.operation)
    if _RECORDED not in ir.SymbolTable(module.operation):
        text = f"util.global private mutable @{_RECORDED} = 0 : index"
        made = ir.Module.parse(text, module.context)
        module.body.append(made.body.operations[0].operation)


def _commands(block: Any) -> list[tuple[str, Any]]:
    """The operations of a block, by kind: those that record by what they record."""
    every = [op.operation for op in block.operations]
    return [(op.name.removeprefix("hal.command_buffer."), op) for op in every]
