"""Scans of state-space models and gated delta rules: the declarations for `selective_scan*.cu`.

`selective_scan` is Mamba's and Mamba 2's; `delta_scan` is the same with the delta rule, which first
takes from x what the state already knows of it. What they compute is written in the source, and in
`_reference`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cache, partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.expr import Condition

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
THREADS, ANY_THREADS = 128, 32
MOST_OF_DELTA = 256
"""States of the delta rule, which CPUs have in local memory."""


@dataclass(frozen=True)
class Tile:
    """Over how many lanes a channel's states are, how many each has, and steps that are staged."""

    lanes: int
    per: int
    steps: int
    blocks: int
    """Of a multiprocessor, at least: registers are kept to what allows as many."""

    @property
    def states(self) -> int:
        """How many states there may be."""
        return self.lanes * self.per

    @property
    def channels(self) -> int:
        """Of a block."""
        return THREADS // self.lanes


TILES = (
    Tile(1, 2, 8, 5),
    Tile(8, 2, 16, 7),
    Tile(8, 8, 8, 5),
    Tile(8, 16, 8, 4),
    Tile(8, 32, 8, 2),
)
"""For 2, 16, 64, 128 and 256 states."""
CHUNKS = 8
"""Of a sequence that is split: as many blocks as a cluster may have on every GPU with clusters."""
_SPLIT_TILES, _SPLIT_LENGTH, _SPLIT_BLOCKS = TILES[:4], 256, MULTIPROCESSORS
"""Of which tiles, from how many steps on, and up to how many blocks of unsplit sequences they are
split. On an H200 96 blocks took 0.60 of the time for 16 states and 0.67 for 128, but 320 blocks
1.2 and 1.4 times as long, since half of the work is done twice; with 256 states so did 96."""

batch, length, heads, elements = (cd.dim(each) for each in ("batch", "length", "heads", "elements"))
groups, states, rates = cd.dim("groups"), cd.dim("states"), cd.dim("rates")


def _reference(is_delta: bool) -> Callable[..., tuple[Array, Array]]:
    def scan(
        x: Array,
        dt: Array,
        a: Array,
        b: Array,
        c: Array,
        d: Array | None,
        z: Array | None,
        first: Array | None,
        times_dt: int,
        plain: int,
        beta: Array | None = None,
    ) -> tuple[Array, Array]:
        wide = [each.astype(numpy.float64) for each in (x, dt, a, b, c)]
        each, time, rate, into, out_of = wide
        of_group = x.shape[2] // b.shape[2]
        into, out_of = (numpy.repeat(of_time, of_group, axis=2) for of_time in (into, out_of))
        shape = (x.shape[0], *x.shape[2:], b.shape[3])
        state = numpy.zeros(shape) if first is None or not first.size else first.astype(float)
        y = numpy.zeros(x.shape)
        for t in range(x.shape[1]):
            decay = time[:, t, :, None, None]
            if not plain:
                whole = numpy.tile(rate, b.shape[3] // rate.shape[1])
                decay = numpy.exp(decay * whole[:, None, :])
            state = state * decay
            u = each[:, t] * (time[:, t, :, None] if times_dt else 1.0)
            if beta is not None:
                known = numpy.einsum("bhpn,bhn->bhp", state, into[:, t])
                u = beta[:, t, :, None] * (u - known)
            state = state + u[..., None] * into[:, t, :, None]
            y[:, t] = numpy.einsum("bhpn,bhn->bhp", state, out_of[:, t])
        if d is not None and d.size:
            y = y + d.astype(numpy.float64)[:, None] * each
        if z is not None and z.size:
            gate = z.astype(numpy.float64)
            y = y * gate / (1.0 + numpy.exp(-gate))
        return y.astype(x.dtype), state.astype(numpy.float32)

    if not is_delta:
        return scan

    def delta(
        x: Array,
        dt: Array,
        a: Array,
        b: Array,
        c: Array,
        d: Array | None,
        z: Array | None,
        beta: Array,
        first: Array | None,
        times_dt: int,
        plain: int,
    ) -> tuple[Array, Array]:
        return scan(x, dt, a, b, c, d, z, first, times_dt, plain, beta)

    return delta


def declare(dtype: str, tile: Tile | None, *, is_delta: bool = False, chunks: int = 1) -> cd.Kernel:
    """A kernel.

    Parameters
    ----------
    dtype
        Of x, b, c, z and y; what else there is is f32.
    tile
        None for the one that takes any number of states; not for the delta rule.
    is_delta
        Whether it is the delta rule, which has an operand more.
    chunks
        The blocks of a cluster that share a sequence, on GPUs with clusters; not for the delta
        rule.
    """
    of_group = heads // groups * elements
    name, c_type = "delta_scan" if is_delta else "selective_scan", C_TYPES[dtype]
    sequence = [batch, length, heads, elements]
    of_states = [batch, length, groups, states]
    numbers = {
        "length": length,
        "heads": heads,
        "elements": elements,
        "groups": groups,
        "states": states,
        "rates": rates,
    }
    on_any: dict[str, Any] = {
        "source": "selective_scan_any.cu",
        "entry": f"cuda_kernels::{name}_any<{c_type}>",
        "block": ANY_THREADS,
        "grid": _blocks(of_group, ANY_THREADS),
        "dynamic_shared_memory": 4 * ANY_THREADS * MOST_OF_DELTA if is_delta else 0,
    }
    operands = [
        cd.In("x", dtype, sequence),
        cd.In("dt", "f32", [batch, length, heads]),
        cd.In("a", "f32", [heads, rates]),
        cd.In("b", dtype, of_states),
        cd.In("c", dtype, of_states),
        cd.In("d", "f32", [heads], optional=True),
        cd.In("z", dtype, sequence, optional=True),
        *([cd.In("beta", "f32", [batch, length, heads])] if is_delta else []),
        cd.In("first", "f32", [batch, heads, elements, states], optional=True),
        cd.Out("y", dtype, sequence),
        cd.Out("last", "f32", [batch, heads, elements, states]),
        *(cd.Scalar(each, "i32", value) for each, value in numbers.items()),
        cd.Scalar("times_dt", "i32"),
        cd.Scalar("plain", "i32"),
    ]
    requires = [heads % groups == 0, states % rates == 0]
    common: dict[str, Any] = {
        "operands": operands,
        "reference": _reference(is_delta),
        "flops": 6 * batch * length * heads * elements * states,
    }
    if tile is None:
        return cd.Kernel(f"{name}_{dtype}_any", requires=requires, **on_any, **common)
    shape = ", ".join(map(str, astuple(tile)))
    blocks = _blocks(of_group, tile.channels)
    implementations = {"cpu": cd.Implementation(**on_any)}
    if chunks > 1:
        on_clusters = cd.Implementation(
            entry=f"cuda_kernels::{name}_split<{c_type}, {shape}, {chunks}>",
            grid=blocks * chunks,
            cluster=chunks,
        )
        implementations |= {"cuda:sm_90": on_clusters, "cuda:sm_90a": on_clusters}
    return cd.Kernel(
        f"{name}_{dtype}_{tile.states}" + (f"_c{chunks}" if chunks > 1 else ""),
        source="selective_scan.cu",
        entry=f"cuda_kernels::{name}<{c_type}, {shape}>",
        block=THREADS,
        grid=blocks,
        requires=[*requires, states <= tile.states],
        implementations=implementations,
        **common,
    )


def _blocks(of_group: Any, channels: int) -> Any:
    return batch * groups * cd.ceildiv(of_group, channels)


@cache
def choice(dtype: str, *, is_delta: bool = False) -> cd.Choice:
    """All kernels of a scan, those for fewer states first."""
    of_group = heads // groups * elements
    kernels: list[cd.Kernel] = []
    rules: dict[str, list[Condition]] = {}
    few, usual, *others = TILES
    # First is one that takes several states, as the pattern of a choice is traced for its first.
    for tile in (usual, few, *others):
        rule: list[Condition] = [states > few.states] if tile is usual else []
        if tile in _SPLIT_TILES and not is_delta:
            split = declare(dtype, tile, chunks=CHUNKS)
            is_small = _blocks(of_group, tile.channels) <= _SPLIT_BLOCKS
            rules[split.name] = [*rule, length >= _SPLIT_LENGTH, is_small]
            kernels.append(split)
        kernels.append(declare(dtype, tile, is_delta=is_delta))
        if rule:
            rules[kernels[-1].name] = rule
    if not is_delta:
        kernels.append(declare(dtype, None))
    return cd.Choice(f"{'delta' if is_delta else 'selective'}_scan_{dtype}", kernels, rules=rules)


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{name}_{dtype}": partial(choice, dtype, is_delta=name == "delta_scan")
        for name in ("selective_scan", "delta_scan")
        for dtype in TYPES
    },
)
