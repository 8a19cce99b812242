"""What `gpu/triton_kernels.py` runs: functions of Triton, and their declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

import custom_dispatch as cd

EPSILON = 1e-5


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    values = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + i, powers / tl.sum(powers, 0), mask=i < n)


@triton.jit
def layer_norm(x, weight, bias, out, n, BLOCK: tl.constexpr, EPSILON: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    values = tl.load(x + row + i, mask=i < n, other=0.0).to(tl.float32)
    apart = tl.where(i < n, values - tl.sum(values, 0) / n, 0.0)
    normal = apart * tl.rsqrt(tl.sum(apart * apart, 0) / n + EPSILON)
    factor, summand = tl.load(weight + i, mask=i < n), tl.load(bias + i, mask=i < n)
    tl.store(out + row + i, (normal * factor + summand).to(tl.float16), mask=i < n)


@triton.jit
def product(x, y, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        of_x, of_y = (rows[:, None] < m) & (inner < k), (inner[:, None] < k) & (columns < n)
        left = tl.load(x + rows[:, None] * k + inner, mask=of_x, other=0.0)
        right = tl.load(y + inner[:, None] * n + columns, mask=of_y, other=0.0)
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < m) & (columns < n)
    tl.store(out + rows[:, None] * n + columns, total.to(tl.float16), mask=inside)


@triton.jit
def attention(
    q, k, v, out, n, BM: tl.constexpr, BN: tl.constexpr, DIM: tl.constexpr, SCALE: tl.constexpr
):
    rows, dims = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, DIM)
    head = tl.program_id(1) * n * DIM
    queries = head + rows[:, None] * DIM + dims
    of_q = tl.load(q + queries, mask=rows[:, None] < n, other=0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    values = tl.zeros((BM, DIM), tl.float32)
    for start in range(0, n, BN):
        keys = start + tl.arange(0, BN)
        at, inside = head + keys[:, None] * DIM + dims, keys[:, None] < n
        scores = tl.dot(of_q, tl.load(k + at, mask=inside, other=0.0).trans()) * SCALE
        scores = tl.where(keys < n, scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        powers, less = tl.exp(scores - now[:, None]), tl.exp(most - now)
        total = total * less + tl.sum(powers, 1)
        of_v = tl.load(v + at, mask=inside, other=0.0)
        values = tl.dot(powers.to(tl.float16), of_v, values * less[:, None])
        most = now
    result = (values / total[:, None]).to(tl.float16)
    tl.store(out + queries, result, mask=rows[:, None] < n)


@dataclass(frozen=True)
class Case:
    """A function, as it is declared and as Triton launches it."""

    function: Any
    operands: tuple[Any, ...]
    constants: Mapping[str, Any]
    grid: Callable[..., tuple[Any, ...]]
    """Blocks, of sizes by name."""
    checked: tuple[dict[str, int], ...]
    timed: dict[str, int]
    wanted: Callable[..., Any]
    """By PyTorch, of arguments in double precision."""
    requires: tuple[Any, ...] = ()
    warps: int = 4

    @property
    def name(self) -> str:
        """The function's."""
        return str(self.function.__name__)

    def declare(self) -> Any:
        """The kernel, or choice."""
        return cd.triton.kernel(
            self.function,
            operands=self.operands,
            constexprs=self.constants,
            grid=self.grid(**{str(dim): dim for dim in (m, n, k, r, h)}),
            requires=self.requires,
            num_warps=self.warps,
        )

    def launch(self, sizes: Mapping[str, int], arguments: list[Any], out: Any) -> None:
        """Triton's own launch."""
        buffers = iter((*arguments, out))
        given = {}
        for item in self.operands:
            is_size = isinstance(item, cd.Scalar)
            given[item.name] = sizes[item.name] if is_size else next(buffers)
        self.function[self.grid(**sizes)](**given, **self.constants, num_warps=self.warps)


DIM, SCALE = 64, 0.125
m, n, k, r, h = map(cd.dim, "mnkrh")
SIZE = cd.Scalar("n", "i32", n)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return (q @ k.mT * SCALE).softmax(-1) @ v


def _layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    from torch.nn.functional import layer_norm

    return layer_norm(x, x.shape[-1:], weight, bias, EPSILON)


CASES = (
    Case(
        add,
        (cd.In("x", "f32", [n]), cd.In("y", "f32", [n]), cd.Out("out", "f32", [n]), SIZE),
        {"BLOCK": 1024},
        lambda n, **_: ((n + 1023) // 1024,),
        ({"n": 1000003}, {"n": 4096}, {"n": 17}),
        {"n": 1 << 26},
        lambda x, y: x + y,
    ),
    Case(
        softmax,
        (cd.In("x", "f32", [r, n]), cd.Out("out", "f32", [r, n]), SIZE),
        {"BLOCK": 4096},
        lambda r, **_: (r,),
        ({"r": 781, "n": 781}, {"r": 33, "n": 4096}, {"r": 5, "n": 1}),
        {"r": 32768, "n": 4096},
        lambda x: x.softmax(-1),
        (n <= 4096,),
        8,
    ),
    Case(
        layer_norm,
        (
            *(cd.In("x", "f16", [r, n]), cd.In("weight", "f16", [n]), cd.In("bias", "f16", [n])),
            *(cd.Out("out", "f16", [r, n]), SIZE),
        ),
        {"BLOCK": 4096, "EPSILON": EPSILON},
        lambda r, **_: (r,),
        ({"r": 77, "n": 1111}, {"r": 100, "n": 2048}),
        {"r": 32768, "n": 4096},
        _layer_norm,
        (n <= 4096,),
        8,
    ),
    Case(
        product,
        (
            *(cd.In("x", "f16", [m, k]), cd.In("y", "f16", [k, n]), cd.Out("out", "f16", [m, n])),
            *(cd.Scalar("m", "i32", m), SIZE, cd.Scalar("k", "i32", k)),
        ),
        {"BM": 128, "BN": 128, "BK": 64},
        lambda m, n, **_: ((m + 127) // 128, (n + 127) // 128),
        ({"m": 333, "n": 777, "k": 1111}, {"m": 512, "n": 520, "k": 4096}),
        {"m": 4096, "n": 4096, "k": 4096},
        lambda x, y: x @ y,
        (),
        8,
    ),
    Case(
        attention,
        (
            *(cd.In(name, "f16", [h, n, DIM]) for name in "qkv"),
            *(cd.Out("out", "f16", [h, n, DIM]), SIZE),
        ),
        {"BM": 128, "BN": 64, "DIM": DIM, "SCALE": SCALE},
        lambda h, n, **_: ((n + 127) // 128, h),
        ({"h": 3, "n": 1000}, {"h": 5, "n": 77}),
        {"h": 32, "n": 4096},
        _attention,
    ),
)
