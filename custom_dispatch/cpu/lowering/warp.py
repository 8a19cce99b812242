"""Operations of a warp's lanes together (PTX ISA 9.0, section 9.7.9.6, "shfl.sync", and 9.7.13,
"vote", "match", "activemask", "redux" and "elect").

Every lane shows its operand and waits for the lanes of its mask; when they have all come, each goes
on and works out its own result from what the others showed. Lanes that have ended are not waited
for. What a lane outside the mask showed is undefined on a GPU; here it reads as the lane's own.
"""

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.control_structures import fold
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import TYPE_BITS, Operand, Pair

_REDUCTIONS = {
    "add": ("add", 0),
    "and": ("and", -1),
    "or": ("or", 0),
    "xor": ("xor", 0),
    "min.u32": ("llvm.umin", -1),
    "max.u32": ("llvm.umax", 0),
    "min.s32": ("llvm.smin", 0x7FFFFFFF),
    "max.s32": ("llvm.smax", -0x80000000),
}


def _results(operand: Operand) -> tuple[Operand, Operand | None]:
    if isinstance(operand, Pair):
        return operand.first, operand.second
    return operand, None


def lower_shuffle(frame: Frame) -> None:
    """`shfl.sync`: read another lane's register."""
    how = frame.parts[2]
    d, a, distance, clamp, mask = frame.operands(5)
    waits = frame.waits()
    shown = frame.integer(a, 32)
    waits.meet_lanes(frame.integer(mask, 32), [shown], keep=[distance, clamp])
    lane = waits.lane()
    bounds = frame.integer(clamp, 32)
    amount = frame.integer(distance, 32) & 31
    limit = bounds & 31
    segment = bounds >> 8 & 31
    inside = ~segment
    first = lane & segment
    last = first | limit & inside
    if how == "up":
        source = lane - amount
    elif how == "idx":
        source = first | amount & inside
    else:
        source = lane + amount if how == "down" else lane ^ amount
    valid = source.cmp("sge" if how == "up" else "sle", last)
    source = valid.select(source, lane)
    result, is_valid = _results(d)
    frame.put(result, waits.fetch(source, 0))
    if is_valid is not None:
        frame.put(is_valid, valid)


def lower_vote(frame: Frame) -> None:
    """`vote.sync`: combine a predicate over lanes."""
    how = frame.parts[2]
    d, condition, mask = frame.operands(3)
    waits = frame.waits()
    shown = frame.predicate(condition).resize(32)
    waits.meet_lanes(frame.integer(mask, 32), [shown])
    votes = waits.ballot()
    if how == "ballot":
        frame.put(d, votes)
        return
    none = votes.cmp("eq", 0)
    every = votes.cmp("eq", waits.group())
    if how == "any":
        frame.put(d, ~none)
    else:
        frame.put(d, every if how == "all" else none | every)


def lower_active_mask(frame: Frame) -> None:
    """`activemask`: the lanes that have come to this very instruction."""
    (d,) = frame.operands(1)
    waits = frame.waits()
    waits.meet_lanes(frame.b.const(0, 32), [])
    frame.put(d, waits.group())


def lower_elect(frame: Frame) -> None:
    """`elect.sync`: the lowest lane of the mask is the leader."""
    d, (mask,) = frame.taking(32)
    waits = frame.waits()
    waits.meet_lanes(mask, [])
    leader = frame.b.call_intrinsic("llvm.cttz", [waits.group(), 1], "i32", ["i32", "i1"])
    result, is_leader = _results(d)
    frame.put(result, leader)
    if is_leader is not None:
        frame.put(is_leader, leader.cmp("eq", waits.lane()))


def lower_reduction(frame: Frame) -> None:
    """`redux.sync`: combine an integer over lanes."""
    operation, type_name = frame.parts[2:]
    name, neutral = _REDUCTIONS.get(operation) or _REDUCTIONS[f"{operation}.{type_name}"]
    d, (shown, mask) = frame.taking(32, 32)
    waits = frame.waits()
    waits.meet_lanes(mask, [shown])
    frame.put(d, waits.reduce(name, neutral))


def lower_match(frame: Frame) -> None:
    """`match.sync`: the lanes that hold the same value."""
    b = frame.b
    _, how, _, type_name = frame.parts
    d, a, mask = frame.operands(3)
    waits = frame.waits()
    value = frame.integer(a, TYPE_BITS[type_name])
    words = [value.resize(32)]
    if value.bits == 64:
        words.append((value >> 32).resize(32))
    waits.meet_lanes(frame.integer(mask, 32), words)
    group = waits.group()
    mine = [waits.seen(waits.lane(), word) for word in range(len(words))]

    def collect(lane: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        same = b.const(1, 1)
        for word, wanted in enumerate(mine):
            same = same & waits.seen(lane, word).cmp("eq", wanted)
        return [carried[0] | same.resize(32) << lane]

    (found,) = fold(b, 32, [(0, "i32")], collect)
    found = found & group
    result, is_same = _results(d)
    if how == "all":
        everyone = found.cmp("eq", group)
        found = everyone.select(found, 0)
        if is_same is not None:
            frame.put(is_same, everyone)
    frame.put(result, found)
