"""Attention in models, which IREE alone computes wrongly on CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import ModelError

multiply = cd.torch.register(simple_mul, namespace="attention_tests")
HEADS = (64, 129, 160, 257, 320)
PASSENGER = torch.ones(2)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


def agree(found: Any, expected: torch.Tensor, tolerance: float = 2e-6) -> None:
    found = torch.from_dlpack(found)
    assert found.dtype == expected.dtype
    error = (found.float() - expected.float()).norm() / expected.float().norm()
    assert float(error) < tolerance  # false of NaN


def attentions(head: int) -> list[tuple[Any, tuple[torch.Tensor, ...], float]]:
    """Calls of PyTorch's attention, their arguments, and how far results may be apart."""
    two, k, v = random(1, 2, 5, head), random(1, 2, 7, head), random(1, 2, 7, head)
    seen = torch.rand(1, 1, 5, 7) > 0.4
    seen[..., 2, :] = False
    lowest = torch.zeros(1, 1, 5, 7).masked_fill(~seen, torch.finfo(torch.float32).min)
    hidden = lowest.masked_fill(~seen, -float("inf"))

    def masked(*given: torch.Tensor) -> torch.Tensor:
        return sdpa(*given[:3], attn_mask=given[3])

    calls: list[tuple[Any, tuple[torch.Tensor, ...], float]] = [
        (sdpa, (two, k, v), 2e-6),
        (sdpa, (two[:, :, :1].contiguous(), k, v), 2e-6),
        (sdpa, (two[0], k[0], v[0, :, :, :24].contiguous()), 2e-6),
        (masked, (two, k, v, seen[0, 0] | (torch.arange(7) == 3)), 2e-6),
        (masked, (two[0], k[0], v[0], random(1, 7)), 2e-6),
        (lambda q, k, v: sdpa(q, k, v, is_causal=True), (two, k, v), 2e-6),
    ]
    calls += [(masked, (two, k, v, mask), 2e-6) for mask in (seen, hidden, lowest, lowest / 1e38)]
    for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1e-2)):
        halves = [item.to(dtype) for item in (two, k, v)]
        calls += [(masked, (*halves, hidden.to(dtype)), tolerance)]
    return calls


@pytest.mark.parametrize("heads", [HEADS[:2], pytest.param(HEADS, marks=pytest.mark.thorough)])
def test_attention_of_pytorch_is_right_for_every_head_and_mask(heads: tuple[int, ...]) -> None:
    # Every mask and type of one head; of the others the first call, and one with a mask.
    calls = [call for head in heads for call in attentions(head)[:: 1 if head == 129 else 5]]
    given = random(1, 4, 5, 160), random(1, 2, 7, 160), random(1, 2, 7, 160)
    calls.append((lambda *items: sdpa(*items, enable_gqa=True, scale=0.3), given, 2e-6))

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, given: list[tuple[torch.Tensor, ...]]) -> Any:
            several = zip(calls, given, strict=True)
            return multiply(x, x), [call[0](*items) for call, items in several]

    every = [call[1] for call in calls]
    module = cd.torch.compile(Model(), (PASSENGER, every), ["cpu"])
    results = cd.load(module, "cpu").main(PASSENGER, *(item for items in every for item in items))
    for (function, arguments, tolerance), found in zip(calls, results[1:], strict=True):
        agree(found, function(*arguments), tolerance)


PASSENGERS = """
  func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.func @product(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  }"""
OPEN = "tensor<?x?x?xf32>"
MLIR = f"""
  {PASSENGERS}
  func.func @open(%q: {OPEN}, %k: {OPEN}, %v: {OPEN}, %m: {OPEN}) -> {OPEN} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %b = tensor.dim %q, %c0 : {OPEN}
    %rows = tensor.dim %q, %c1 : {OPEN}
    %width = tensor.dim %v, %c2 : {OPEN}
    %scale = arith.constant 0.1 : f32
    %two = arith.constant 2.0 : f32
    %empty = tensor.empty(%b, %rows, %width) : {OPEN}
    %0 = iree_linalg_ext.attention <indexing_maps = [
        affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
        affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
        affine_map<(b, m, n, k1, k2) -> (b, m, k2)>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
        ins(%q, %k, %v, %scale, %m : {OPEN}, {OPEN}, {OPEN}, f32, {OPEN}) outs(%empty : {OPEN}) {{
    ^bb0(%score: f32):
      %double = arith.mulf %score, %two : f32
      iree_linalg_ext.yield %double : f32
    }} -> {OPEN}
    return %0 : {OPEN}
  }}"""
KIND = "tensor<2x5x192xf32>"
TM_TENSOR = f"""
  {PASSENGERS}
  func.func @tm(%q: {KIND}, %k: {KIND}, %v: {KIND}) -> {KIND} {{
    %empty = tensor.empty() : {KIND}
    %0 = tm_tensor.attention
        ins(%q, %k, %v : {KIND}, {KIND}, {KIND}) outs(%empty : {KIND}) -> {KIND}
    return %0 : {KIND}
  }}"""


def test_attention_of_open_sizes_written_by_hand_is_right() -> None:
    """Its scores are changed by the operation's own region, too."""
    program = cd.load(cd.compile(MLIR, [simple_mul], ["cpu"]), "cpu")
    for head in (16, 144):
        q, k = random(2, 3, head), random(2, 7, head)
        v, mask = random(2, 7, 24), random(2, 3, 7)
        agree(program.open(q, k, v, mask), sdpa(q, k, v, attn_mask=mask, scale=0.2))


def test_attention_of_torch_mlir_written_by_hand_is_right() -> None:
    program = cd.load(cd.compile(TM_TENSOR, [simple_mul], ["cpu"]), "cpu")
    q, k, v = (random(2, 5, 192) for _ in range(3))
    agree(program.tm(q, k, v), sdpa(q, k, v))


def test_attention_as_iree_itself_writes_it_is_refused() -> None:
    model = (Path(__file__).parent / "online_attention.mlir").read_text()
    with pytest.raises(ModelError) as caught:
        cd.compile(model, [simple_mul], ["cpu"])
    text = str(caught.value)
    assert "has the operation `iree_linalg_ext.online_attention`, which IREE 3.13 computes" in text
    assert "expected: `iree_linalg_ext.attention`, for which products and a softmax are" in text
    assert "next step: write it so, or with products and a softmax of the model's own" in text
