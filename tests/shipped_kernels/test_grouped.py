"""Products of groups of rows, on the CPU: the kernels, and where a model gets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from shipped import DTYPES, assert_close, unaligned
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import moe
from cuda_kernels.gemm import SkinnyTile, Tile, TileF32
from cuda_kernels.patterns import torch as torch_patterns
from tests.places import replaced_in_torch

Random = np.random.Generator
KERNELS = {
    # Layout and type, tiles that are compiled in less time than those for GPUs, and whether CPUs
    # have the code for few rows.
    "few rows": ("grouped_linear", "bf16", SkinnyTile(1, 4, 2, 2), True),
    "tiles": ("grouped_linear", "f16", Tile(32, 32, 32, 3, 2, 1), False),
    "f32": ("grouped_matmul", "f32", TileF32(32, 16, 32, 3, 2, 1, 2), False),
    "few rows of matrices": ("grouped_matmul", "bf16", Tile(16, 32, 64, 2, 1, 1, 2), True),
    "weights of f32": ("grouped_linear", "f32", TileF32(32, 16, 32, 3, 2, 1, 2), False),
}
THOROUGH = ("few rows of matrices", "weights of f32")
SIZES = (
    # Rows, n, k, and where groups end: some of them are empty, and some rows in none.
    (7, 16, 24, (2, 2, 7)),
    (40, 33, 17, (0, 40, 40)),
    (70, 40, 72, (1, 1, 50, 50, 66)),
    (1, 8, 8, (0, 0, 1, 1)),
    (65, 20, 1, (65,)),
    (0, 8, 8, (0, 0)),
)


def operands(random: Random, layout: str, kind: str, size: Any) -> list[Any]:
    rows, n, k, ends = size
    of_b = (len(ends), n, k) if layout == "grouped_linear" else (len(ends), k, n)
    a, b, residual = (
        (random.standard_normal(shape) / scale).astype(DTYPES[kind])
        for shape, scale in (((rows, k), k**0.5), (of_b, 1), ((rows, n), 1))
    )
    return [a, b, np.array(ends, np.int32), residual]


def many_groups(random: Random) -> Any:
    """More than the lanes of a warp, which look for a block's group together."""
    return (150, 24, 40, tuple(sorted(random.integers(0, 150, 70).tolist())))


@pytest.mark.parametrize("own", [False, True], ids=["cpus", "what gpus run"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in THOROUGH else [])
        for name in KERNELS
    ],
)
def test_products_of_groups(random: Random, name: str, own: bool) -> None:
    layout, kind, *form = KERNELS[name]
    kernel = moe.declare(layout, kind, *form)
    reference, call = kernel.reference, (kernel.own if own else kernel).on("cpu")
    assert reference is not None
    for size in (*SIZES, many_groups(random)):
        for view in (np.asarray, unaligned):
            a, b, offsets, residual = operands(random, layout, kind, size)
            if len(a) > 5:  # they reach their own rows alone
                a[3, 0], a[5, -1], b[-1, 0, 0] = np.inf, np.nan, np.nan
            for added in (residual, residual[:, :0]):
                got = call(view(a), view(b), offsets, view(added) if added.size else None)
                want = reference(a, b, offsets, added)
                assert_close(np.asarray(got).view(DTYPES[kind]), want, 8)


@pytest.mark.parametrize(
    ("rows", "name"),
    [(1, "t16x32_s4"), (64, "t16x32_s4"), (200, "t64x128_s4"), (5000, "t128x256_s4")],
)
def test_the_rows_of_a_group_choose_the_tile(rows: int, name: str) -> None:
    sizes = {"rows": rows, "groups": 4, "n": 32, "k": 64}
    taken = moe.grouped_linear_bf16.which(target="cuda:sm_80", **sizes)
    assert taken.kernel == f"grouped_linear_bf16_{name}"


class Experts(torch.nn.Module):
    """A mixture of experts as transformers has it."""

    def __init__(self, count: int = 5, top: int = 2, hidden: int = 32, inner: int = 24) -> None:
        super().__init__()
        self.count, self.top = count, top
        self.router = torch.nn.Linear(hidden, count)
        self.gate_up = torch.nn.Parameter(torch.randn(count, 2 * inner, hidden) / hidden**0.5)
        self.down = torch.nn.Parameter(torch.randn(count, inner, hidden) / inner**0.5)
        self.bias = torch.nn.Parameter(torch.randn(count, hidden))

    def product(self, x: torch.Tensor, weights: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        return functional.grouped_mm(x, weights, offs=ends)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores, picked = torch.topk(
            torch.softmax(self.router(x).float(), -1), self.top, sorted=False
        )
        expert, order = torch.sort(picked.flatten())
        counts = torch.histc(expert.float(), bins=self.count, min=0, max=self.count - 1)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        rows = x[order // self.top]
        gate, up = self.product(rows, self.gate_up.transpose(1, 2), ends).chunk(2, -1)
        rows = self.product(functional.silu(gate) * up, self.down, ends) + self.bias[expert]
        weighted = rows * scores.flatten()[order].unsqueeze(-1).to(x.dtype)
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        return weighted[back].view(*x.shape[:1], self.top, -1).sum(1)


class Exact(Experts):
    """The same, one expert after the other."""

    def product(self, x: torch.Tensor, weights: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        starts = [0, *ends.tolist()]
        parts = zip(starts, starts[1:], weights, strict=False)
        return torch.cat([x[start:end] @ matrix for start, end, matrix in parts])


def test_where_a_model_gets_them() -> None:
    model, x = Experts().eval().bfloat16(), torch.randn(9, 32).bfloat16()
    report = replaced_in_torch(model, (x,), torch_patterns.grouped)
    assert sorted(item.kernel for item in report) == ["grouped_linear_bf16", "grouped_matmul_bf16"]


def test_experts_are_chosen_by_sorts() -> None:
    model, x = Experts().eval().bfloat16(), torch.randn(9, 32).bfloat16()
    report = replaced_in_torch(model, (x,), torch_patterns.sort)
    assert sorted(item.kernel for item in report) == ["sort_f32", "sort_i64"]


@pytest.mark.parametrize(
    "patterns",
    [
        pytest.param([], marks=pytest.mark.thorough),
        (*torch_patterns.grouped, *torch_patterns.sort),
    ],
    ids=["alone", "kernels"],
)
@pytest.mark.parametrize(
    "tokens", [2, pytest.param(17, marks=pytest.mark.thorough)], ids=["few", "many"]
)
def test_a_model_with_them_is_right(patterns: Any, tokens: int) -> None:
    torch.manual_seed(3)
    model, x = Experts().eval().bfloat16(), torch.randn(tokens, 32).bfloat16()
    program = cd.load(cd.torch.compile(model, (x,), ["cpu"], replace=patterns), "cpu")
    exact = Exact().double()
    exact.load_state_dict(model.state_dict())
    fresh = torch.randn(tokens, 32).bfloat16()
    want = exact(fresh.double())
    off = (torch.from_dlpack(program.main(fresh)).double() - want).norm() / want.norm()
    assert off <= 1.1 * (model(fresh).double() - want).norm() / want.norm()
