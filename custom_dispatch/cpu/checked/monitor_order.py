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
    functions,
    is_null,
    tick,
)
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import fold, loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue


def order_functions() -> list[str]:
    """The functions of this module."""
    return functions(
        ordered=_ordered,
        lanes_met=_lanes_met,
        come=_come,
        leave=_leave,
        clear=_clear,
        all_met=_all_met,
        fence=_fence,
    )


def _record(b: Builder, thread: str) -> Record:
    return Record(b, b.element(Context(b).records, thread, Record.SIZE))


def _stamp(b: Builder, record: Record, start: int, index: str) -> SsaValue:
    return b.element(b.offset(record.at, start), index, 4)


def _raise(b: Builder, place: str, stamp: str) -> None:
    b.store(b.load(place).call("umax", stamp), place)


def _ordered(b: Builder, thread: SsaValue, other: SsaValue, stamp: SsaValue) -> None:
    """Whether an access that another thread made at a time comes before what this one does now."""
    one = b.const(1, 1)
    same = thread.cmp("eq", other)
    met = stamp.cmp("ule", Context(b).barrier)
    b.cond_branch(same | met, "yes", "ask")
    b.block("ask")
    b.cond_branch(is_null(b, Context(b).records), "no", "look")
    b.block("look")
    mine, theirs = _record(b, thread), _record(b, other)
    warp = other >> 5
    known = b.load(_stamp(b, mine, Record.warp_stamps, warp))
    by_lane = b.load(_stamp(b, mine, Record.lane_stamps, other & 31))
    neighbour = warp.cmp("eq", thread >> 5)
    known = known.call("umax", neighbour.select(by_lane, 0))
    sees, fenced = mine.sees_fences, theirs.fenced
    known = known.call("umax", sees.call("umin", fenced))
    b.return_(stamp.cmp("ule", known), "i1")
    b.block("yes")
    b.return_(one, "i1")
    b.block("no")
    b.return_(0, "i1")


def _lanes_met(b: Builder, first: SsaValue, lanes: SsaValue, group: SsaValue) -> None:
    """Lanes of the warp that begins with a thread have met: each now knows what all knew."""
    now, zero, warp = tick(b), b.const(0, 32), b.const(WARPS, 32)

    def taking_part(lane: SsaValue) -> SsaValue:
        return (group >> lane).resize(1)

    with loop(b, warp) as entry:

        def gather(lane: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
            record = _record(b, first + lane)
            found = []
            for start, stamp in zip((Record.warp_stamps, Record.lane_stamps), carried, strict=True):
                theirs = b.load(_stamp(b, record, start, entry))
                found.append(stamp.call("umax", taking_part(lane).select(theirs, zero)))
            return found

        by_warp, by_lane = fold(b, lanes, [(zero, "i32"), (zero, "i32")], gather)
        by_lane = by_lane.call("umax", taking_part(entry).select(now, zero))
        with loop(b, lanes) as lane, when(b, taking_part(lane)):
            record = _record(b, first + lane)
            b.store(by_warp, _stamp(b, record, Record.warp_stamps, entry))
            b.store(by_lane, _stamp(b, record, Record.lane_stamps, entry))

    def latest(lane: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        record = _record(b, first + lane)
        theirs = taking_part(lane).select(record.sees_fences, zero)
        return [carried[0].call("umax", theirs)]

    (fences,) = fold(b, lanes, [(zero, "i32")], latest)
    with loop(b, lanes) as lane, when(b, taking_part(lane)):
        _record(b, first + lane).sees_fences = fences


def _meeting(b: Builder, barrier: str) -> SsaValue:
    return b.element(b.offset(CONTEXT, Context.meetings), barrier, MEETING_BYTES)


def _come(b: Builder, thread: SsaValue, barrier: SsaValue) -> None:
    """A thread has come to a barrier, to wait there or not: it brings what it knows."""
    now, record, meeting = tick(b), _record(b, thread), _meeting(b, barrier)
    with loop(b, WARPS) as warp:
        theirs = b.load(_stamp(b, record, Record.warp_stamps, warp))
        _raise(b, b.element(meeting, warp, 4), theirs)
    _raise(b, b.element(meeting, thread >> 5, 4), now)


def _leave(b: Builder, thread: SsaValue, barrier: SsaValue) -> None:
    """A thread goes on from a barrier: it takes what the others brought."""
    record, meeting = _record(b, thread), _meeting(b, barrier)
    with loop(b, WARPS) as warp:
        brought = b.load(b.element(meeting, warp, 4))
        _raise(b, _stamp(b, record, Record.warp_stamps, warp), brought)


def _clear(b: Builder, free: SsaValue) -> None:
    """All have left the barriers whose bits are set: what was brought there is forgotten."""
    with loop(b, 16) as barrier, when(b, (free >> barrier).resize(1)), loop(b, WARPS) as warp:
        b.store(0, b.element(_meeting(b, barrier), warp, 4))


def _all_met(b: Builder) -> None:
    """All threads of the block that there still are have met."""
    Context(b).barrier = tick(b)


def _fence(b: Builder, thread: SsaValue) -> None:
    """A thread executes a fence: it publishes what it did, and sees what others published."""
    now, record = tick(b), _record(b, thread)
    record.fenced = now
    record.sees_fences = now
