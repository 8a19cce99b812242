"""Layers of flash-linear-attention, with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from fla.modules import activations, fused_cross_entropy, fused_kl_div, rotary, token_shift
from fla.modules import causal_conv1d as convolution
from fla.modules.fused_linear_cross_entropy import fused_linear_cross_entropy_loss
from fla.modules.norm import fused_norm_gate, l2norm, layernorm, layernorm_gated
from fla.ops.utils import (
    addmm,
    chunk_global_cumsum,
    chunk_local_cumsum,
    logsumexp_fwd,
    matmul,
    mean_pooling,
    pack_sequence,
    sinkhorn,
    softmax_bwd,
    softmax_fwd,
    solve_tril,
    unpack_sequence,
)

from benchmarks.cases.triton_corpus.checking import (
    TF32,
    Cases,
    agree,
    draw,
    integers,
    same,
)

CASES = Cases()
Tensor = torch.Tensor


def _case(name: str, *arguments: Any, **keywords: Any) -> None:
    def run() -> None:
        same(*arguments, **keywords)

    run.__name__ = name
    CASES(run)


X, Y = draw(5, 9, 96), draw(5, 9, 96, seed=1)
_case("sigmoid", activations.sigmoid, torch.sigmoid, X)
_case("swish", activations.swish, F.silu, X)
_case("logsigmoid", activations.logsigmoid, F.logsigmoid, X)
_case("elu_plus_one", activations.elu_p1, lambda x: F.elu(x) + 1, X)
_case("swiglu", activations.swiglu, lambda x, y: F.silu(x) * y, X, Y)
_case("sigmoidglu", activations.sigmoidglu, lambda x, y: x.sigmoid() * y, X, Y)

W, B = draw(96), draw(96, seed=1)
_case(
    "layer_norm",
    lambda *a: layernorm.layer_norm(*a),
    lambda x, w, b: F.layer_norm(x, (96,), w, b),
    X,
    W,
    B,
)
_case(
    "rms_norm",
    lambda x, w: layernorm.rms_norm(x, w, None, eps=1e-5),
    lambda x, w: F.rms_norm(x, (96,), w, 1e-5),
    X,
    W,
)
_case(
    "layer_norm_of_long_rows",
    lambda *a: layernorm.layer_norm(*a),
    lambda x, w, b: F.layer_norm(x, (1000,), w, b),
    draw(6, 1000),
    draw(1000),
    draw(1000, seed=1),
)
_case("l2_norm", l2norm.l2norm, lambda x: x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt(), X)
_case(
    "l2_norm_of_long_rows",
    l2norm.l2norm,
    lambda x: x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt(),
    draw(6, 1000),
)
_case(
    "gated_rms_norm",
    lambda x, g, w: fused_norm_gate.rms_norm_gated(x, g, w, None),
    lambda x, g, w: F.rms_norm(x, (96,), w, 1e-6) * F.silu(g),
    X,
    Y,
    W,
)
_case(
    "gated_rms_norm_of_long_rows",
    lambda x, g, w: fused_norm_gate.rms_norm_gated(x, g, w, None),
    lambda x, g, w: F.rms_norm(x, (1000,), w, 1e-6) * F.silu(g),
    draw(6, 1000),
    draw(6, 1000, seed=1),
    draw(1000),
)
_case(
    "gated_layer_norm_of_groups",
    lambda x, w, b, z: layernorm_gated.layernorm_fn(x, w, b, z, 1e-5),
    lambda x, w, b, z: F.layer_norm(x, (96,), w, b, 1e-5) * F.silu(z),
    X,
    W,
    B,
    Y,
)
_case(
    "token_shift",
    token_shift.token_shift,
    lambda x: F.pad(x, (0, 0, 1, -1)) - x,
    draw(2, 40, 96),
)


def _rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    one, two = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([one * cos - two * sin, two * cos + one * sin], -1)


ANGLES = draw(30, 16)
_case(
    "rotary",
    lambda x: rotary.rotary_embedding(x, ANGLES.cos(), ANGLES.sin()),
    lambda x: _rotary(x, ANGLES.cos().double(), ANGLES.sin().double()),
    draw(2, 30, 3, 32),
)
TARGET = integers(300, 12)
_case(
    "cross_entropy",
    lambda x: fused_cross_entropy.FusedCrossEntropyLoss()(x, TARGET),
    lambda x: F.cross_entropy(x, TARGET),
    draw(12, 300),
)
_case(
    "cross_entropy_of_a_product",
    lambda x, w, b: fused_linear_cross_entropy_loss(x, TARGET, w, b),
    lambda x, w, b: F.cross_entropy(x @ w.T + b, TARGET),
    draw(12, 48),
    draw(300, 48),
    draw(300),
    tolerance=TF32,
)
TEACHER = draw(12, 48, seed=3), draw(300, 48, seed=4)
_case(
    "kl_divergence_of_products",
    lambda x, w: fused_kl_div.fused_kl_div_loss(x, TEACHER[0], w, TEACHER[1]),
    lambda x, w: F.kl_div(
        (x @ w.T).log_softmax(-1),
        (TEACHER[0].double() @ TEACHER[1].double().T).softmax(-1),
        reduction="batchmean",
    ),
    draw(12, 48),
    draw(300, 48),
    tolerance=TF32,
)
_case(
    "convolution",
    lambda x, w, b: convolution.causal_conv1d(x, w, b, activation="silu")[0],
    lambda x, w, b: F.silu(
        F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), w[:, None], b, groups=96).transpose(1, 2)
    ),
    draw(2, 40, 96),
    draw(96, 4),
    draw(96),
)


@CASES
def convolution_of_one_step() -> None:
    x, cache, w = draw(3, 96), draw(3, 96, 4), draw(96, 4)
    rows = torch.cat([cache[..., 1:], x[..., None]], -1)
    found = convolution.causal_conv1d_update(x[None], cache.clone(), weight=w)
    found = found[0] if isinstance(found, tuple) else found
    agree("result", found.reshape(3, 96), (rows * w).sum(-1))


def _chunks(x: Tensor, sums: Callable[[Tensor], Tensor]) -> Tensor:
    return torch.cat([sums(part) for part in x.split(16, 1)], 1)


HEADS = draw(2, 50, 3), draw(2, 50, 3, 24)
for _index, _kind in enumerate(("numbers", "vectors")):
    _case(
        f"sums_of_{_kind}_in_chunks",
        lambda x: chunk_local_cumsum(x, 16),
        lambda x: _chunks(x, lambda part: part.cumsum(1)),
        HEADS[_index],
        gradients=False,
    )
    _case(
        f"sums_of_{_kind}",
        lambda x: chunk_global_cumsum(x),
        lambda x: x.cumsum(1),
        HEADS[_index],
        gradients=False,
    )
_case("softmax", softmax_fwd, lambda x: x.softmax(-1), draw(9, 200), gradients=False)
_case(
    "softmax_backward",
    softmax_bwd,
    lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)),
    draw(9, 200).softmax(-1),
    draw(9, 200, seed=1),
    gradients=False,
)
_case("logsumexp", logsumexp_fwd, lambda x: x.logsumexp(-1), draw(9, 200), gradients=False)
_case(
    "mean_pooling",
    lambda x: mean_pooling(x, 16),
    lambda x: torch.stack([part.mean(1) for part in x.split(16, 1)], 1),
    draw(2, 48, 3, 32),
)
_case(
    "matmul",
    matmul,
    lambda a, b: a @ b,
    draw(40, 70),
    draw(70, 50),
    gradients=False,
    tolerance=TF32,
)
_case(
    "addmm", addmm, lambda x, a, b: x + a @ b, draw(40, 50), draw(40, 70), draw(70, 50),
    gradients=False, tolerance=TF32,
)  # fmt: skip


@CASES
def packing() -> None:
    x, starts = draw(2, 9, 32), torch.tensor([0, 5, 14])
    rows = torch.cat([x[0, 4:], x[1]])
    agree("packed", pack_sequence(x, starts), rows)
    padded = torch.cat([F.pad(x[0, 4:], (0, 0, 4, 0))[None], x[1:]])
    agree("again", unpack_sequence(rows, starts, desired_shape=x.shape), padded)


@CASES
def inverses() -> None:
    for size in (16, 32, 64):
        lower = (draw(1, 128, 2, size) * 0.1).view(1, -1, size, 2, size).transpose(2, 3).tril(-1)
        given = lower.transpose(2, 3).reshape(1, 128, 2, size)
        eye = torch.eye(size, dtype=torch.float64)
        expected = torch.linalg.inv(lower.double() + eye).transpose(2, 3).reshape(1, 128, 2, size)
        agree(f"of {size}", solve_tril(given), expected, TF32)


@CASES
def sinkhorn_steps() -> None:
    def reference(x: Tensor) -> Tensor:
        found = x
        for _ in range(20):
            found = found - found.logsumexp(-1, keepdim=True)
            found = found - found.logsumexp(-2, keepdim=True)
        return found.exp()

    same(lambda x: sinkhorn(x), reference, draw(2, 6, 4, 4), tolerance=1e-3)
