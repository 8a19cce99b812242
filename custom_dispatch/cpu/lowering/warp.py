"""Operations of a warp's lanes together (PTX ISA 9.0, section 9.7.9.6, "shfl.sync", and 9.7.13,
"vote", "match", "activemask", "redux" and "elect").

Every lane shows its operand and waits for the lanes of its mask; when they have all come, each goes
on and works out its own result from what the others showed. Lanes that have ended are not waited
for. What a lane outside the mask showed is undefined on a GPU; here it reads as the lane's own.
"""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.control_structures import fold
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
    b = frame.b
    parts = frame.parts
    if len(parts) != 4 or parts[1] != "sync" or parts[2] not in _SHUFFLES or parts[3] != "b32":
        raise frame.unsupported()
    d, a, distance, clamp, mask = frame.operands(5)
    waits = frame.waits()
    shown = frame.integer(a, 32)
    waits.meet_lanes(frame.integer(mask, 32), [shown], keep=[distance, clamp])
    lane = waits.lane()
    bounds = frame.integer(clamp, 32)
    amount = b.binary("and", frame.integer(distance, 32), 31)
    limit = b.binary("and", bounds, 31)
    segment = b.binary("lshr", bounds, 8)
    segment = b.binary("and", segment, 31)
    inside = b.binary("xor", segment, -1)
    first = b.binary("and", lane, segment)
    last = b.binary("or", first, b.binary("and", limit, inside))
    if parts[2] == "up":
        source = b.binary("sub", lane, amount)
        valid = b.icmp("sge", source, last)
    else:
        if parts[2] == "idx":
            source = b.binary("or", first, b.binary("and", amount, inside))
        else:
            source = b.binary("add" if parts[2] == "down" else "xor", lane, amount)
        valid = b.icmp("sle", source, last)
    source = b.select(valid, source, lane)
    result, is_valid = _results(d)
    frame.set_integer(result, waits.fetch(source, 0), 32)
    if is_valid is not None:
        frame.set_integer(is_valid, valid, 1)


def lower_vote(frame: Frame) -> None:
    """`vote.sync`: combine a predicate over lanes."""
    b = frame.b
    parts = frame.parts
    if parts[1:] not in (
        ("sync", "all", "pred"),
        ("sync", "any", "pred"),
        ("sync", "uni", "pred"),
        ("sync", "ballot", "b32"),
    ):
        raise frame.unsupported()
    d, condition, mask = frame.operands(3)
    waits = frame.waits()
    shown = b.resize(frame.predicate(condition), 1, 32)
    waits.meet_lanes(frame.integer(mask, 32), [shown])
    votes = waits.ballot()
    if parts[2] == "ballot":
        frame.set_integer(d, votes, 32)
        return
    none = b.icmp("eq", votes, 0)
    every = b.icmp("eq", votes, waits.group())
    if parts[2] == "any":
        result = b.binary("xor", none, 1, "i1")
    else:
        result = every if parts[2] == "all" else b.binary("or", none, every, "i1")
    frame.set_integer(d, result, 1)


def lower_active_mask(frame: Frame) -> None:
    """`activemask`: the lanes that have come to this very instruction."""
    (d,) = frame.operands(1)
    waits = frame.waits()
    waits.meet_lanes(frame.b.const(0, 32), [])
    frame.set_integer(d, waits.group(), 32)


def lower_elect(frame: Frame) -> None:
    """`elect.sync`: the lowest lane of the mask is the leader."""
    b = frame.b
    if frame.parts != ("elect", "sync"):
        raise frame.unsupported()
    d, mask = frame.operands(2)
    waits = frame.waits()
    waits.meet_lanes(frame.integer(mask, 32), [])
    leader = b.call_intrinsic("llvm.cttz", [waits.group(), 1], "i32", ["i32", "i1"])
    result, is_leader = _results(d)
    frame.set_integer(result, leader, 32)
    if is_leader is not None:
        frame.set_integer(is_leader, b.icmp("eq", leader, waits.lane()), 1)


def lower_reduction(frame: Frame) -> None:
    """`redux.sync`: combine an integer over lanes."""
    parts = frame.parts
    operation = ".".join(parts[2:])
    if operation not in _REDUCTIONS:
        operation = parts[2] if len(parts) == 4 and parts[3] in ("b32", "u32", "s32") else ""
    if parts[1] != "sync" or operation not in _REDUCTIONS:
        raise frame.unsupported()
    name, neutral = _REDUCTIONS[operation]
    d, a, mask = frame.operands(3)
    waits = frame.waits()
    shown = frame.integer(a, 32)
    waits.meet_lanes(frame.integer(mask, 32), [shown])
    frame.set_integer(d, waits.reduce(name, neutral), 32)


def lower_match(frame: Frame) -> None:
    """`match.sync`: the lanes that hold the same value."""
    b = frame.b
    parts = frame.parts
    if len(parts) != 4 or parts[2] != "sync" or parts[3] not in ("b32", "b64"):
        raise frame.unsupported()
    if parts[1] not in ("any", "all"):
        raise frame.unsupported()
    bits = int(parts[3][1:])
    d, a, mask = frame.operands(3)
    waits = frame.waits()
    value = frame.integer(a, bits)
    words = [b.resize(value, bits, 32)]
    if bits == 64:
        upper = b.binary("lshr", value, 32, "i64")
        words.append(b.resize(upper, 64, 32))
    waits.meet_lanes(frame.integer(mask, 32), words)
    group = waits.group()
    mine = [waits.seen(waits.lane(), word) for word in range(len(words))]

    def collect(lane: str, carried: list[str]) -> list[str]:
        same = b.const(1, 1)
        for word, wanted in enumerate(mine):
            equal = b.icmp("eq", waits.seen(lane, word), wanted)
            same = b.binary("and", same, equal, "i1")
        bit = b.binary("shl", b.resize(same, 1, 32), lane)
        return [b.binary("or", carried[0], bit)]

    (found,) = fold(b, 32, [(0, "i32")], collect)
    found = b.binary("and", found, group)
    result, is_same = _results(d)
    if parts[1] == "all":
        everyone = b.icmp("eq", found, group)
        found = b.select(everyone, found, 0)
        if is_same is not None:
            frame.set_integer(is_same, everyone, 1)
    frame.set_integer(result, found, 32)
