"""Warp operations with member masks: every warp in two or three groups, each with its mask."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
from cpu_harness import Runner
from properties import ROWS, Table, check_tables, generator, integers, signed

FULL = (1 << 32) - 1


def masks(name: str) -> np.ndarray:
    """Each row's mask: its warp's lanes fall into one, two or three groups."""
    random = generator(f"masks {name}")
    found = []
    for warp in range(ROWS // 32):
        groups = random.integers(0, 1 + warp % 3, 32)
        found += [sum(1 << i for i in range(32) if groups[i] == groups[lane]) for lane in range(32)]
    return np.array(found, np.uint32)


def members(mask: int) -> Iterator[int]:
    return (lane for lane in range(32) if mask >> lane & 1)


def of_lanes(function: Callable[[list[int], int], int]) -> Callable[..., list[int | None]]:
    """A result that depends on the values in a lane's group, and on its own."""

    def want(values: list[int], _: list[int], masks: list[int]) -> list[int | None]:
        return [
            function([values[lane] for lane in members(mask)], value)
            for value, mask in zip(values, masks, strict=True)
        ]

    return want


def shuffled(mode: str, bounds: int) -> Callable[..., list[int | None]]:
    """The manual's own pseudo-code of `shfl`."""

    def source(lane: int, amount: int) -> tuple[int, bool]:
        amount, clamp, segment = amount & 31, bounds & 31, bounds >> 8 & 31
        last, first = (lane & segment) | (clamp & ~segment & 31), lane & segment
        if mode == "up":
            place, inside = lane - amount, lane - amount >= last
        elif mode == "down":
            place, inside = lane + amount, lane + amount <= last
        elif mode == "bfly":
            place, inside = lane ^ amount, lane ^ amount <= last
        else:
            place = first | (amount & ~segment & 31)
            inside = place <= last
        return (place if inside else lane), inside

    def want(values: list[int], amounts: list[int], masks: list[int]) -> list[int | None]:
        found: list[int | None] = []
        for lane in range(32):
            place, inside = source(lane, amounts[lane])
            came = masks[lane] >> place & 1
            found.append(((values[place] << 1 | inside) & FULL) if came else None)
        return found

    return want


def tables() -> list[Table]:
    random = generator("warps")
    few = random.choice(integers("few", 32)[:5], ROWS)
    alike = np.where(
        np.arange(ROWS) // 32 % 2, few, np.repeat(few[::32], 32)
    )  # in every other warp
    table = Table((integers("value", 32), random.integers(0, 64, ROWS, np.uint32), masks("a")), 32)
    for mode in ("up", "down", "bfly", "idx"):
        for width in (32, 16, 4, 1):
            bounds = (32 - width) << 8 | (0 if mode == "up" else 31)
            text = (
                f"shfl.sync.{mode}.b32 %d|%p, %a, %b, {bounds}, %c;"
                "selp.u32 %e, 1, 0, %p; shl.b32 %d, %d, 1; or.b32 %d, %d, %e;"
            )
            table.add_of_warp(text, shuffled(mode, bounds))
    for name, operation in (("add", lambda x, y: x + y), ("min", min), ("max", max)):
        for kind in ("u32", "s32"):

            def reduced(
                values: list[int], _: int, kind: str = kind, op: Callable = operation
            ) -> int:
                return functools.reduce(op, (signed(v, 32) if kind == "s32" else v for v in values))

            table.add_of_warp(f"redux.sync.{name}.{kind} %d, %a, %c;", of_lanes(reduced))
    for name, operation in (
        ("and", lambda x, y: x & y),
        ("or", lambda x, y: x | y),
        ("xor", lambda x, y: x ^ y),
    ):
        table.add_of_warp(
            f"redux.sync.{name}.b32 %d, %a, %c;",
            of_lanes(lambda values, _, op=operation: functools.reduce(op, values)),
        )
    same = Table((alike, few, masks("b")), 32)
    votes: dict[str, Callable[[list[int]], bool]] = {
        "all": lambda bits: all(bits),
        "any": lambda bits: any(bits),
        "uni": lambda bits: len(set(bits)) == 1,
    }
    for name, decide in votes.items():

        def decided(values: list[int], own: int, decide: Callable = decide) -> int:
            return decide([value & 1 for value in values])

        text = f"and.b32 %e, %a, 1; setp.ne.u32 %p, %e, 0; vote.sync.{name}.pred %q, %p, %c;"
        same.add_of_warp(f"{text} selp.u32 %d, 1, 0, %q;", of_lanes(decided))
    same.add_of_warp(
        "setp.lt.s32 %p, %a, 0; vote.sync.ballot.b32 %d, %p, %c;",
        lambda values, _, masks: [
            sum(1 << i for i in members(mask) if values[i] >> 31) for mask in masks
        ],
    )
    for name, value in (("b32", "%a"), ("b64", "wide")):
        same.add_of_warp(
            "{ .reg .b64 wide; mov.b64 wide, {%b, %a};"
            f"match.any.sync.{name} %d, {value}, %c; }}",
            lambda a, b, masks, name=name: [matching(name, a, b, masks, i) for i in range(32)],
        )
        same.add_of_warp(
            "{ .reg .b64 wide; mov.b64 wide, {%b, %a};"
            f"match.all.sync.{name} %d|%p, {value}, %c; }} @!%p not.b32 %d, %d;",
            lambda a, b, masks, name=name: [
                mask if matching(name, a, b, masks, i) == mask else FULL
                for i, mask in enumerate(masks)
            ],
        )
    same.add_of_warp(
        "elect.sync %d|%p, %c; selp.u32 %e, 32, 0, %p; or.b32 %d, %d, %e;",
        lambda values, _, masks: [
            next(members(mask)) | (32 if next(members(mask)) == i else 0)
            for i, mask in enumerate(masks)
        ],
    )
    return [table, same]


def matching(name: str, a: list[int], b: list[int], masks: list[int], lane: int) -> int:
    keys = [(x, y) if name == "b64" else x for x, y in zip(a, b, strict=True)]
    return sum(1 << i for i in members(masks[lane]) if keys[i] == keys[lane])


def test_operations_of_groups_of_lanes(run_ptx: Runner) -> None:
    check_tables(run_ptx, tables())
