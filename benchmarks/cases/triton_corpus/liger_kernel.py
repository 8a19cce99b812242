"""Operations of Liger, with their gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from liger_kernel import ops
from liger_kernel.ops.experimental import embedding as experimental_embedding

from benchmarks.cases.triton_corpus.checking import TF32, Cases, draw, integers, same

CASES = Cases()
Tensor = torch.Tensor


@CASES
def silu_mul() -> None:
    same(ops.LigerSiLUMulFunction.apply, lambda a, b: F.silu(a) * b, draw(6, 5, 72), draw(6, 5, 72))


@CASES
def silu_mul_of_one_tensor() -> None:
    def reference(y: Tensor) -> Tensor:
        a, b = y.chunk(2, -1)
        return F.silu(a) * b

    same(ops.LigerFusedGateUpSiLUMulFunction.apply, reference, draw(9, 136))


@CASES
def gelu_mul() -> None:
    same(
        ops.LigerGELUMulFunction.apply,
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        draw(7, 100),
        draw(7, 100, seed=1),
    )


@CASES
def relu_squared() -> None:
    same(ops.LigerReLUSquaredFunction.apply, lambda x: F.relu(x) ** 2, draw(11, 130))


def _rms(x: Tensor) -> Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


@CASES
def rms_norm() -> None:
    same(
        lambda x, w: ops.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False, True),
        lambda x, w: _rms(x) * w,
        draw(10, 200),
        draw(200),
    )


@CASES
def rms_norm_of_blocks_of_rows() -> None:
    same(
        lambda x, w: ops.LigerRMSNormFunction.apply(x, w, 1e-6, 1.0, "gemma", False, False),
        lambda x, w: _rms(x) * (1 + w),
        draw(4096 * 8 + 5, 16),
        draw(16),
    )


@CASES
def add_and_rms_norm() -> None:
    def reference(x: Tensor, r: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        return _rms(x + r) * w, x + r

    same(
        lambda x, r, w: ops.LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6),
        reference,
        draw(10, 96),
        draw(10, 96, seed=1),
        draw(96),
    )


@CASES
def modulated_rms_norm() -> None:
    def reference(x: Tensor, w: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        return (1 + scale[:, None]) * (_rms(x) * w) + shift[:, None]

    same(
        lambda x, w, a, b: ops.LigerModulatedRMSNormFunction.apply(
            x, w, a, b, 1e-6, 0.0, "llama", False
        ),
        reference,
        draw(3, 5, 96),
        draw(96),
        draw(3, 96),
        draw(3, 96, seed=1),
    )


@CASES
def poly_norm() -> None:
    def reference(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return w[0] * _rms(x**3) + w[1] * _rms(x**2) + w[2] * _rms(x) + b

    same(
        lambda x, w, b: ops.LigerPolyNormFunction.apply(x, w, b, 1e-6, False),
        reference,
        draw(6, 100),
        draw(3),
        draw(),
    )


@CASES
def layer_norm() -> None:
    same(
        lambda x, w, b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-6),
        lambda x, w, b: F.layer_norm(x, (200,), w, b, 1e-6),
        draw(9, 200),
        draw(200),
        draw(200, seed=1),
    )


@CASES
def group_norm() -> None:
    same(
        lambda x, w, b: ops.LigerGroupNormFunction.apply(x, w, b, 6, 3, 1e-6),
        lambda x, w, b: F.group_norm(x, 3, w, b, 1e-6),
        draw(2, 6, 40),
        draw(6),
        draw(6, seed=1),
    )


@CASES
def dynamic_tanh() -> None:
    same(
        ops.LigerDyTFunction.apply,
        lambda x, a, g, b: g * torch.tanh(a * x) + b,
        draw(8, 130),
        draw(1),
        draw(130),
        draw(130, seed=1),
    )


@CASES
def softmax() -> None:
    same(ops.LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), draw(6, 300))


def _sparsemax(x: Tensor) -> Tensor:
    ordered = x.sort(-1, descending=True).values
    steps = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    count = (1 + steps * ordered > ordered.cumsum(-1)).sum(-1, keepdim=True)
    threshold = (ordered.cumsum(-1).gather(-1, count - 1) - 1) / count
    return (x - threshold).clamp(min=0)


@CASES
def sparsemax() -> None:
    same(lambda x: ops.LigerSparsemaxFunction.apply(x, -1), _sparsemax, draw(6, 90))


@CASES
def attention_of_residuals() -> None:
    def reference(v: Tensor, query: Tensor, norm: Tensor) -> Tensor:
        keys = v * (v.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * norm
        weights = (keys * query).sum(-1, keepdim=True).softmax(0)
        return (weights * v).sum(0)

    same(
        lambda v, q, n: ops.LigerAttnResFunction.apply(v, q, n, 1e-6),
        reference,
        draw(4, 2, 5, 64),
        draw(64),
        draw(64, seed=1),
    )


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    one, two = x.chunk(2, -1)
    return x * cos + torch.cat([-two, one], -1) * sin


@CASES
def rope() -> None:
    angles = draw(1, 7, 16)
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
    same(
        lambda q, k: ops.LigerRopeFunction.apply(q, k, cos, sin),
        lambda q, k: (
            _rotated(q, cos[:, None], sin[:, None]),
            _rotated(k, cos[:, None], sin[:, None]),
        ),
        draw(2, 4, 7, 32),
        draw(2, 2, 7, 32),
    )


@CASES
def rope_of_llama4() -> None:
    angles = draw(7, 16)
    turns = torch.polar(torch.ones_like(angles), angles)

    def reference(x: Tensor) -> Tensor:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns[:, None]).flatten(-2)

    same(
        lambda q, k: ops.LigerLlama4RopeFunction.apply(q, k, turns),
        lambda q, k: (reference(q), reference(k)),
        draw(2, 7, 4, 32),
        draw(2, 7, 2, 32),
    )


@CASES
def rope_of_qwen2vl() -> None:
    sections = [4, 6, 6]
    angles = draw(3, 2, 7, 16)
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()

    def chosen(table: Tensor) -> Tensor:
        parts = table.split(sections * 2, -1)
        return torch.cat([part[index % 3] for index, part in enumerate(parts)], -1)[:, None]

    same(
        lambda q, k: ops.LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, sections),
        lambda q, k: (_rotated(q, chosen(cos), chosen(sin)), _rotated(k, chosen(cos), chosen(sin))),
        draw(2, 4, 7, 32),
        draw(2, 2, 7, 32),
    )


@CASES
def embedding() -> None:
    indices = integers(50, 4, 9)
    same(
        lambda w: experimental_embedding.LigerEmbeddingFunction.apply(w, indices),
        lambda w: F.embedding(indices, w),
        draw(50, 72),
    )


@CASES
def multi_token_attention() -> None:
    def reference(scores: Tensor, weight: Tensor) -> Tensor:
        future = torch.ones(12, 12, dtype=torch.bool).triu(1)
        probabilities = scores.masked_fill(future, -torch.inf).softmax(-1)
        return F.conv2d(probabilities, weight, padding=1).masked_fill(future, 0)

    same(
        lambda s, w: ops.LigerMultiTokenAttentionFunction.apply(s, w, None, 1, 1),
        reference,
        draw(2, 3, 12, 12),
        draw(3, 3, 3, 3),
    )


@CASES
def neighborhood_attention() -> None:
    def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        place = torch.arange(40)
        near = (place[:, None] - place[None]).abs() <= 3
        scores = (q @ k.transpose(-1, -2)) / 32**0.5
        return scores.masked_fill(~near, -torch.inf).softmax(-1) @ v

    same(
        lambda q, k, v: ops.LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, 7, 1),
        reference,
        draw(1, 2, 40, 32),
        draw(1, 2, 40, 32, seed=1),
        draw(1, 2, 40, 32, seed=2),
        tolerance=TF32,
    )


@CASES
def mixture_of_experts() -> None:
    chosen = torch.stack(
        [torch.randperm(4, generator=torch.Generator().manual_seed(i))[:2] for i in range(24)]
    )
    weights = draw(24, 2).softmax(-1)

    def reference(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
        rows = []
        for row, experts, share in zip(x, chosen, weights.double(), strict=True):
            found = 0
            for expert, part in zip(experts.tolist(), share, strict=True):
                gate, up = (gate_up[expert] @ row).chunk(2)
                found = found + part * (down[expert] @ (F.silu(gate) * up))
            rows.append(found)
        return torch.stack(rows)

    same(
        lambda x, g, d: ops.LigerFusedMoEFunction.apply(x, g, d, chosen.int(), weights),
        reference,
        draw(24, 32),
        draw(4, 64, 32) * 0.3,
        draw(4, 32, 32) * 0.3,
        tolerance=TF32,
    )


@CASES
def hyper_connections_before() -> None:
    same(
        ops.LigerMHCPreFunction.apply,
        lambda x, h: (x * h[..., None]).sum(-2),
        draw(6, 4, 64),
        draw(6, 4),
    )


@CASES
def hyper_connections_after() -> None:
    def reference(x: Tensor, f: Tensor, post: Tensor, mix: Tensor) -> Tensor:
        return mix @ x + post[..., None] * f[..., None, :]

    same(
        ops.LigerMHCPostResFunction.apply,
        reference,
        draw(6, 4, 64),
        draw(6, 64),
        draw(6, 4),
        draw(6, 4, 4),
    )
