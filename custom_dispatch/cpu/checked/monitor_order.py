"""Which accesses of a block's threads come before which (PTX ISA 9.0, chapter 8, "Memory
Consistency Model").

The threads run in turns, so every access has a time: the clock's when it was made. A thread keeps
up to when the accesses of others come before what it does next on any GPU: those before the last
barrier of the whole block; by warp, those before a barrier that the warp took part in; by lane,
those before an operation of its own warp; and those that were followed by a fence, before a fence
of its own. Stamps pass on what is known: who meets a thread knows what that thread knew.

It errs towards order, so that what is found is a race indeed. `shfl`, `vote` and the like order the
lanes they name, which PTX promises for `bar.warp.sync` only; a barrier that names a count orders
whole warps; two fences order their threads even if no flag between them was read.
"""

from __future__ import annotations

from custom_dispatch.cpu.checked.monitor import (
    CONTEXT,
    MEETING_BYTES,
    WARPS,
    Context,
    Record,
    function,
    get,
    number_of,
    put,
    tick,
)
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import fold, loop, when


def order_functions() -> list[str]:
    """The functions of this module."""
    return [
        *function("ordered", _ordered, "i1", thread="i32", other="i32", stamp="i32"),
        *function("lanes_met", _lanes_met, first="i32", lanes="i32", group="i32"),
        *function("come", _come, thread="i32", barrier="i32"),
        *function("leave", _leave, thread="i32", barrier="i32"),
        *function("clear", _clear, free="i32"),
        *function("all_met", _all_met),
        *function("fence", _fence, thread="i32"),
    ]


def _record(b: Builder, thread: str) -> str:
    return b.element(get(b, CONTEXT, Context.records), thread, Record.SIZE)


def _stamp(b: Builder, record: str, start: int, index: str) -> str:
    return b.element(b.offset(record, start), index, 4)


def _later(b: Builder, x: str, y: str) -> str:
    return b.call_intrinsic("llvm.umax", [x, y])


def _raise(b: Builder, place: str, stamp: str) -> None:
    b.store(_later(b, b.load(place), stamp), place)


def _ordered(b: Builder) -> None:
    """Whether an access that another thread made at a time comes before what this one does now."""
    one = b.const(1, 1)
    same = b.icmp("eq", "%thread", "%other")
    met = b.icmp("ule", "%stamp", get(b, CONTEXT, Context.barrier))
    b.cond_branch(b.binary("or", same, met, "i1"), "yes", "ask")
    b.block("ask")
    b.cond_branch(
        b.icmp("eq", number_of(b, get(b, CONTEXT, Context.records)), 0, "i64"), "no", "look"
    )
    b.block("look")
    mine, theirs = _record(b, "%thread"), _record(b, "%other")
    warp = b.binary("lshr", "%other", 5)
    known = b.load(_stamp(b, mine, Record.warp_stamps, warp))
    lane = b.binary("and", "%other", 31)
    by_lane = b.load(_stamp(b, mine, Record.lane_stamps, lane))
    neighbour = b.icmp("eq", warp, b.binary("lshr", "%thread", 5))
    known = _later(b, known, b.select(neighbour, by_lane, 0))
    fences = [get(b, mine, Record.sees_fences), get(b, theirs, Record.fenced)]
    known = _later(b, known, b.call_intrinsic("llvm.umin", fences))
    b.return_(b.icmp("ule", "%stamp", known), "i1")
    b.block("yes")
    b.return_(one, "i1")
    b.block("no")
    b.return_(0, "i1")


def _lanes_met(b: Builder) -> None:
    """Lanes of the warp that begins with a thread have met: each now knows what all knew."""
    now, zero, warp = tick(b), b.const(0, 32), b.const(WARPS, 32)

    def taking_part(lane: str) -> str:
        return b.resize(b.binary("lshr", "%group", lane), 32, 1)

    with loop(b, warp) as entry:

        def gather(lane: str, carried: list[str]) -> list[str]:
            record = _record(b, b.binary("add", "%first", lane))
            found = []
            for start, stamp in zip((Record.warp_stamps, Record.lane_stamps), carried, strict=True):
                theirs = b.load(_stamp(b, record, start, entry))
                theirs = b.select(taking_part(lane), theirs, zero)
                found.append(_later(b, stamp, theirs))
            return found

        by_warp, by_lane = fold(b, "%lanes", [(zero, "i32"), (zero, "i32")], gather)
        by_lane = _later(b, by_lane, b.select(taking_part(entry), now, zero))
        with loop(b, "%lanes") as lane, when(b, taking_part(lane)):
            record = _record(b, b.binary("add", "%first", lane))
            b.store(by_warp, _stamp(b, record, Record.warp_stamps, entry))
            b.store(by_lane, _stamp(b, record, Record.lane_stamps, entry))

    def latest(lane: str, carried: list[str]) -> list[str]:
        record = _record(b, b.binary("add", "%first", lane))
        theirs = b.select(taking_part(lane), get(b, record, Record.sees_fences), zero)
        return [_later(b, carried[0], theirs)]

    (fences,) = fold(b, "%lanes", [(zero, "i32")], latest)
    with loop(b, "%lanes") as lane, when(b, taking_part(lane)):
        record = _record(b, b.binary("add", "%first", lane))
        put(b, record, Record.sees_fences, fences)


def _meeting(b: Builder, barrier: str) -> str:
    return b.element(b.offset(CONTEXT, Context.meetings), barrier, MEETING_BYTES)


def _come(b: Builder) -> None:
    """A thread has come to a barrier, to wait there or not: it brings what it knows."""
    now, record, meeting = tick(b), _record(b, "%thread"), _meeting(b, "%barrier")
    with loop(b, WARPS) as warp:
        theirs = b.load(_stamp(b, record, Record.warp_stamps, warp))
        _raise(b, b.element(meeting, warp, 4), theirs)
    warp = b.binary("lshr", "%thread", 5)
    _raise(b, b.element(meeting, warp, 4), now)


def _leave(b: Builder) -> None:
    """A thread goes on from a barrier: it takes what the others brought."""
    record, meeting = _record(b, "%thread"), _meeting(b, "%barrier")
    with loop(b, WARPS) as warp:
        brought = b.load(b.element(meeting, warp, 4))
        _raise(b, _stamp(b, record, Record.warp_stamps, warp), brought)


def _clear(b: Builder) -> None:
    """All have left the barriers whose bits are set: what was brought there is forgotten."""
    with loop(b, 16) as barrier:
        left = b.resize(b.binary("lshr", "%free", barrier), 32, 1)
        with when(b, left), loop(b, WARPS) as warp:
            b.store(0, b.element(_meeting(b, barrier), warp, 4))


def _all_met(b: Builder) -> None:
    """All threads of the block that there still are have met."""
    put(b, CONTEXT, Context.barrier, tick(b))


def _fence(b: Builder) -> None:
    """A thread executes a fence: it publishes what it did, and sees what others published."""
    now, record = tick(b), _record(b, "%thread")
    put(b, record, Record.fenced, now)
    put(b, record, Record.sees_fences, now)
