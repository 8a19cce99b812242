"""Copies that a GPU makes in the background (PTX ISA 9.0, section 9.7.9.25, "Asynchronous copy").

`cp.async` copies at once, which is one of the orders that a GPU may choose; so there is nothing
left to wait for. Copies that report to a barrier in shared memory (`cp.async.mbarrier`,
`cp.async.bulk`, TMA) are refused: a waiting thread has to be suspended until such a barrier's phase
ends. They would be lowered here, with a third reason to wait beside `AT_BARRIER` and `IN_WARP`
(`custom_dispatch.cpu.block_memory`), and the scheduler would look at the barriers' counts.
"""

from __future__ import annotations

from custom_dispatch.cpu.frame import Frame
from custom_dispatch.cpu.structure import when
from custom_dispatch.ptx import Instruction, Integer, Register

_WAITS = (("commit_group",), ("wait_group",), ("wait_all",))
_HINTS = frozenset({"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"})


def lower_async_copy(frame: Frame, instruction: Instruction) -> None:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory, and the waits for it."""
    b = frame.b
    parts = instruction.parts
    if parts[:2] != ("cp", "async"):
        raise frame.unsupported(instruction)
    if parts[2:] in _WAITS:
        return
    if parts[2:3] not in (("ca",), ("cg",)) or parts[4:5] != ("global",):
        raise frame.unsupported(instruction)
    if parts[3] not in ("shared", "shared::cta") or not _HINTS.issuperset(parts[5:]):
        raise frame.unsupported(instruction)
    operands = list(instruction.operands)
    if "L2::cache_hint" in parts:
        operands = operands[:-1]
    if len(operands) not in (3, 4):
        frame.operands(instruction, 3)
    target, source, size, *rest = operands
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        raise frame.unsupported(instruction)
    to, at = frame.address(target, "shared"), frame.address(source)
    given = b.const(size.value, 32)
    if rest:
        if isinstance(rest[0], Register) and rest[0].type == "pred":  # whether to ignore the source
            given = b.select(frame.predicate(rest[0]), b.const(0, 32), given, "i32")
        else:
            given = frame.integer(rest[0], 32)
    for start in range(0, size.value, 4):
        b.store(b.const(0, 32), b.offset(to, start), "i32", 4)
        if not rest:
            b.store(b.load(b.offset(at, start), "i32", 4), b.offset(to, start), "i32", 4)
            continue
        for byte in range(start, start + 4):
            with when(b, b.icmp("ugt", given, b.const(byte, 32), "i32")):
                b.store(b.load(b.offset(at, byte), "i8", 1), b.offset(to, byte), "i8", 1)
