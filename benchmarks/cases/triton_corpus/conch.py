"""Operations of Conch: what vLLM and detectors of objects in images call."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.attention.varlen_attention import varlen_attention
from conch.ops.embedding.rotary_embedding import rotary_embedding
from conch.ops.normalization import gemma_rms_norm, rms_norm
from conch.ops.quantization.bitsandbytes.functional import dequantize_blockwise, quantize_blockwise
from conch.ops.quantization.gemm import mixed_precision_gemm, scaled_gemm
from conch.ops.quantization.int8 import scaled_int8_quant
from conch.ops.vision.bev_pool import bev_pool, bev_pool_backward
from conch.ops.vision.nms import nms
from conch.ops.vllm.copy_blocks import copy_blocks
from conch.ops.vllm.reshape_and_cache import reshape_and_cache

from benchmarks.cases.triton_corpus.checking import EXACT, TF32, Cases, agree, draw, integers

CASES = Cases()
Tensor = torch.Tensor


@CASES
def gelu_mul() -> None:
    x = draw(9, 200)
    a, b = x.chunk(2, -1)
    agree("result", gelu_tanh_and_mul(x), F.gelu(a, approximate="tanh") * b)


@CASES
def silu_mul() -> None:
    x = draw(9, 200)
    a, b = x.chunk(2, -1)
    agree("result", silu_and_mul(x), F.silu(a) * b)


@CASES
def norms() -> None:
    x, w = draw(9, 200), draw(200)
    agree("rms", rms_norm.rms_norm(x.clone(), w, 1e-6), F.rms_norm(x, (200,), w, 1e-6))
    expected = F.rms_norm(x, (200,), 1 + w, 1e-6)
    agree("gemma", gemma_rms_norm.gemma_rms_norm(x.clone(), w, 1e-6), expected)


@CASES
def rotary() -> None:
    positions, angles = integers(50, 12), draw(50, 16)
    q, k = draw(12, 4 * 32), draw(12, 2 * 32)

    def reference(x: Tensor) -> Tensor:
        parts = x.view(12, -1, 32)
        one, two = parts.chunk(2, -1)
        cos, sin = angles[positions].cos()[:, None], angles[positions].sin()[:, None]
        return torch.cat([one * cos - two * sin, two * cos + one * sin], -1).reshape(x.shape)

    table = torch.cat([angles.cos(), angles.sin()], -1)
    found = rotary_embedding(positions, q.clone(), k.clone(), 32, table)
    agree("result", found, (reference(q), reference(k)))


def _attention(q: Tensor, k: Tensor, v: Tensor, first: int) -> Tensor:
    """Of [queries, heads, dim] with [keys, heads, dim], causal from a query's place on."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1).double() for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.double(), k) / q.shape[-1] ** 0.5
    future = torch.arange(k.shape[0])[None] > torch.arange(q.shape[0])[:, None] + first
    return torch.einsum("hqk,khd->qhd", scores.masked_fill(future, -torch.inf).softmax(-1), v)


def _rows(cache: Tensor, blocks: Tensor, length: int) -> Tensor:
    return cache[blocks.long()].flatten(0, 1)[:length]


@CASES
def paged() -> None:
    caches = [draw(8, 16, 2, 64, dtype=torch.float16, seed=i) for i in range(2)]
    q, table = draw(2, 4, 64, dtype=torch.float16), torch.tensor([[3, 1, 5], [0, 2, 7]]).int()
    lengths = torch.tensor([37, 20]).int()
    expected = [
        _attention(q[i : i + 1], *(_rows(c, table[i], n) for c in caches), n)[0]
        for i, n in enumerate(lengths.tolist())
    ]
    agree("result", paged_attention(q, *caches, table, lengths), torch.stack(expected), TF32)


@CASES
def of_several_lengths() -> None:
    caches = [draw(8, 16, 2, 64, dtype=torch.float16, seed=i) for i in range(2)]
    counts, lengths = [5, 9], [37, 20]
    q, table = draw(14, 4, 64, dtype=torch.float16), torch.tensor([[3, 1, 5], [0, 2, 7]]).int()
    starts = torch.tensor([0, 5, 14]).int()
    found = varlen_attention(
        q, *caches, starts, 9, torch.tensor(lengths).int(), 37, table, causal=True
    )
    expected = [
        _attention(part, *(_rows(c, table[i], n) for c in caches), 0)
        for i, (part, n) in enumerate(zip(q.split(counts), lengths, strict=True))
    ]
    agree("result", found, torch.cat(expected), TF32)


@CASES
def products_of_int8() -> None:
    a, b = (integers(200, *shape).sub(100).to(torch.int8) for shape in ((20, 64), (64, 48)))
    one, two = draw(20, 1).abs(), draw(48, 1).abs()
    expected = (a.double() @ b.double()) * one.double() * two.double().T
    agree("result", scaled_gemm(a, b, one, two, torch.float32), expected)


@CASES
def products_of_4_bits() -> None:
    numbers, x = integers(16, 128, 64), draw(20, 128, dtype=torch.float16)
    packed = torch.zeros(16, 64, dtype=torch.int64)
    for place in range(8):
        packed |= numbers[place::8] << (4 * place)
    packed = torch.where(packed >= 1 << 31, packed - (1 << 32), packed).int()
    scales = draw(2, 64).abs().half()
    weights = (numbers.double() - 8) * scales.double().repeat_interleave(64, 0)
    found = mixed_precision_gemm(x, packed, scales, None, 4, 8, 64)
    agree("result", found, x.double() @ weights, TF32)


@CASES
def quantisation_to_int8() -> None:
    x, scale = draw(9, 200), torch.tensor([0.03])
    expected = (x / scale).clamp(-128, 127)
    found = scaled_int8_quant(x, scale)[0]
    agree("result", found.int(), expected.int(), 1 / 100)


@CASES
def quantisation_to_4_bits() -> None:
    for kind in ("nf4", "fp4"):
        x = draw(1024)
        packed, state = quantize_blockwise(x, blocksize=64, quant_type=kind)
        found = dequantize_blockwise(packed, state, blocksize=64, quant_type=kind)
        largest = x.view(-1, 64).abs().amax(1)
        agree("largest", state.absmax, largest, EXACT)
        # Both steps are right where no number is farther off than half the widest gap.
        error = (found.view(-1, 64) - x.view(-1, 64)).abs() / largest[:, None]
        assert float(error.max()) < (0.16 if kind == "nf4" else 0.18), float(error.max())


@CASES
def pooling() -> None:
    x, starts = draw(40, 32), torch.tensor([0, 7, 20]).int()
    lengths = torch.tensor([7, 13, 20]).int()
    places = torch.zeros(40, 4).int()
    for index, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        places[start : start + length] = torch.tensor([index, 2 - index, 0, index % 2]).int()
    expected = torch.zeros(2, 1, 3, 3, 32)
    for index, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        expected[index % 2, 0, index, 2 - index] = x[start : start + length].sum(0)
    agree("result", bev_pool(x, places, starts, lengths, 2, 1, 3, 3), expected)
    gradient = draw(2, 1, 3, 3, 32)
    rows = gradient[places[:, 3].long(), 0, places[:, 0].long(), places[:, 1].long()]
    agree("gradient", bev_pool_backward(gradient, places, starts, lengths), rows, EXACT)


@CASES
def suppression() -> None:
    corners = draw(40, 2).abs() * 10
    boxes = torch.cat([corners, corners + draw(40, 2, seed=1).abs() * 8 + 1], 1)
    scores = draw(40)
    kept: list[int] = []
    for index in scores.argsort(descending=True).tolist():
        low = torch.maximum(boxes[index, :2], boxes[kept][:, :2])
        high = torch.minimum(boxes[index, 2:], boxes[kept][:, 2:])
        shared = (high - low).clamp(min=0).prod(1)
        size = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        if not (shared / (size[index] + size[kept] - shared) > 0.5).any():
            kept.append(index)
    agree("result", nms(boxes, scores, 0.5), torch.tensor(kept), EXACT)


@CASES
def caches() -> None:
    key, value = draw(6, 2, 64), draw(6, 2, 64, seed=1)
    ours = [draw(8, 16, 2, 64, seed=i) for i in range(2)]
    theirs = [each.clone() for each in ours]
    slots = torch.tensor([3, 40, 41, 99, 7, 64])
    reshape_and_cache(key, value, *ours, slots)
    for each, rows in zip(theirs, (key, value), strict=True):
        each.view(-1, 2, 64)[slots] = rows
    agree("result", ours, theirs, EXACT)


@CASES
def blocks() -> None:
    ours = [[draw(8, 2048, seed=2 * i + j) for j in range(2)] for i in range(2)]
    theirs = [[each.clone() for each in part] for part in ours]
    copy_blocks(*ours, torch.tensor([[1, 5], [2, 7]]))
    for part in theirs:
        for each in part:
            each[[5, 7]] = each[[1, 2]]
    agree("keys", ours[0], theirs[0], EXACT)
    agree("values", ours[1], theirs[1], EXACT)
