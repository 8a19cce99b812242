"""Operations of a warp's lanes together (PTX ISA 9.0, section 9.7.9.6, "shfl.sync", and 9.7.13,
"vote", "match", "activemask", "redux" and "elect").

Every lane shows its operand and waits for the lanes of its mask; when they have all come, each goes
on and works out its own result from what the others showed. Lanes that have ended are not waited
for. What a lane outside the mask showed is undefined on a GPU; here it reads as the lane's own.
"""

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.control_structures import fold
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import Operand, Pair

_SHUFFLES = frozenset({"up", "down", "bfly", "idx"})
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
    parts = frame.parts
    if len(parts) != 4 or parts[1] != "sync" or parts[2] not in _SHUFFLES or parts[3] != "b32":
        raise frame.unsupported()
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
    if parts[2] == "up":
        source = lane - amount
    elif parts[2] == "idx":
        source = first | amount & inside
    else:
        source = lane + amount if parts[2] == "down" else lane ^ amount
    valid = source.cmp("sge" if parts[2] == "up" else "sle", last)
    source = valid.select(source, lane)
    result, is_valid = _results(d)
    frame.put(result, waits.fetch(source, 0))
    if is_valid is not None:
        frame.put(is_valid, valid)


def lower_vote(frame: Frame) -> None:
    """`vote.sync`: combine a predicate over lanes."""
    parts = frame.parts
    kinds = {**dict.fromkeys(("all", "any", "uni"), "pred"), "ballot": "b32"}
    if len(parts) != 4 or parts[1] != "sync" or kinds.get(parts[2]) != parts[3]:
        raise frame.unsupported()
    d, condition, mask = frame.operands(3)
    waits = frame.waits()
    shown = frame.predicate(condition).resize(32)
    waits.meet_lanes(frame.integer(mask, 32), [shown])
    votes = waits.ballot()
    if parts[2] == "ballot":
        frame.put(d, votes)
        return
    none = votes.cmp("eq", 0)
    every = votes.cmp("eq", waits.group())
    if parts[2] == "any":
        frame.put(d, ~none)
    else:
        frame.put(d, every if parts[2] == "all" else none | every)


def lower_active_mask(frame: Frame) -> None:
    """`activemask`: the lanes that have come to this very instruction."""
    (d,) = frame.operands(1)
    waits = frame.waits()
    waits.meet_lanes(frame.b.const(0, 32), [])
    frame.put(d, waits.group())


def lower_elect(frame: Frame) -> None:
    """`elect.sync`: the lowest lane of the mask is the leader."""
    if frame.parts != ("elect", "sync"):
        raise frame.unsupported()
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
    parts = frame.parts
    operation = ".".join(parts[2:])
    if operation not in _REDUCTIONS:
        operation = parts[2] if len(parts) == 4 and parts[3] in ("b32", "u32", "s32") else ""
    if parts[1] != "sync" or operation not in _REDUCTIONS:
        raise frame.unsupported()
    name, neutral = _REDUCTIONS[operation]
    d, (shown, mask) = frame.taking(32, 32)
    waits = frame.waits()
    waits.meet_lanes(mask, [shown])
    frame.put(d, waits.reduce(name, neutral))


def lower_match(frame: Frame) -> None:
    """`match.sync`: the lanes that hold the same value."""
    b = frame.b
    parts = frame.parts
    if len(parts) != 4 or parts[2] != "sync" or parts[3] not in ("b32", "b64"):
        raise frame.unsupported()
    if parts[1] not in ("any", "all"):
        raise frame.unsupported()
    d, a, mask = frame.operands(3)
    waits = frame.waits()
    value = frame.integer(a, int(parts[3][1:]))
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
    if parts[1] == "all":
        everyone = found.cmp("eq", group)
        found = everyone.select(found, 0)
        if is_same is not None:
            frame.put(is_same, everyone)
    frame.put(result, found)
