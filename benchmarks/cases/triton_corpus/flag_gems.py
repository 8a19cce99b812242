"""Operations of FlagGems, which are PyTorch's own: each beside PyTorch's."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation

from benchmarks.cases.triton_corpus.checking import (
    EXACT,
    FLOAT32,
    TF32,
    Case,
    Cases,
    agree,
    draw,
    integers,
)

os.environ.setdefault("GEMS_VENDOR", "nvidia")

from flag_gems import fused, ops

CASES = Cases()
X, Y, Z = draw(7, 300), draw(7, 300, seed=1), draw(7, 300, seed=2)
POSITIVE = X.abs() + 0.1
WHOLE = integers(100, 7, 300, dtype=torch.int32)
OTHER = integers(31, 7, 300, dtype=torch.int32, seed=1)
CUBE, WIDE = draw(3, 5, 40), draw(64, 512)
IMAGE = draw(2, 4, 12, 12)
A, B = draw(48, 80), draw(80, 40)
BATCH_A, BATCH_B = draw(3, 20, 32), draw(3, 32, 24)


def _inner(name: str, kernel: str) -> Any:
    """A function beneath an operation, where this asks for tensors on a GPU."""
    return getattr(importlib.import_module(f"flag_gems.ops.{name}"), kernel)


def _launched_i0(x: torch.Tensor) -> torch.Tensor:
    found = torch.empty_like(x)
    _inner("i0", "i0_kernel")[(3,)](x, found, x.numel(), BLOCK_SIZE=1024)
    return found


def _statistics() -> tuple[torch.Tensor, torch.Tensor]:
    """Of a batch norm, which writes into its input where it is given none."""
    return torch.zeros(4), torch.ones(4)


def _case(
    name: str,
    found: Callable[[], Any],
    expected: Callable[[], Any],
    tolerance: float = FLOAT32,
) -> None:
    def run() -> None:
        agree("result", found(), expected(), tolerance)

    run.__name__ = name
    CASES(run)


def _unary(name: str, x: torch.Tensor, reference: Callable[[Any], Any] | None = None) -> None:
    function = reference or getattr(torch, name)
    _case(name, lambda: getattr(ops, name)(x), lambda: function(x), FLOAT32)


for _name in ("abs", "neg", "exp", "exp2", "sin", "cos", "tan", "tanh", "erf", "ceil", "square"):
    _unary(_name, X)
for _name in ("sqrt", "rsqrt", "reciprocal", "log", "log10"):
    _unary(_name, POSITIVE)
for _name in ("relu", "sigmoid", "signbit", "isnan", "isinf", "isfinite", "cosh", "atan", "expm1"):
    _unary(_name, X)
_unary("acos", X.tanh())
_unary("bitwise_not", WHOLE)
_unary("logical_not", WHOLE > 50)
_unary("gelu", X, F.gelu)
_unary("silu", X, F.silu)
_unary("elu", X, F.elu)
_unary("celu", X, F.celu)
_unary("selu", X, F.selu)
_unary("softplus", X, F.softplus)
_unary("log_sigmoid", X, F.logsigmoid)
_unary("nan_to_num", torch.where(X > 1, torch.nan, X))
_case("i0", lambda: _launched_i0(X), lambda: torch.i0(X))

for _name in ("add", "sub", "mul", "atan2", "hypot", "copysign", "logaddexp"):
    _case(_name, lambda n=_name: getattr(ops, n)(X, Y), lambda n=_name: getattr(torch, n)(X, Y))
for _name in ("eq", "ne", "ge", "gt", "le", "lt", "logical_and", "logical_or", "logical_xor"):
    _case(
        _name,
        lambda n=_name: getattr(ops, n)(WHOLE % 5, OTHER % 5),
        lambda n=_name: getattr(torch, n)(WHOLE % 5, OTHER % 5),
        EXACT,
    )
for _name in ("maximum", "minimum"):
    _case(
        _name,
        lambda n=_name: _inner(n, f"{n}_kernel")(X, Y),
        lambda n=_name: getattr(torch, n)(X, Y),
        EXACT,
    )
_case("div", lambda: ops.true_divide(X, POSITIVE), lambda: X / POSITIVE)
_case(
    "floor_divide", lambda: ops.floor_divide(WHOLE, OTHER + 1), lambda: WHOLE // (OTHER + 1), EXACT
)
_case("remainder", lambda: ops.remainder(WHOLE, OTHER + 1), lambda: WHOLE % (OTHER + 1), EXACT)
_case("pow", lambda: ops.pow_tensor_tensor(POSITIVE, Y), lambda: POSITIVE**Y)
_case("bitwise_and", lambda: ops.bitwise_and_tensor(WHOLE, OTHER), lambda: WHOLE & OTHER, EXACT)
_case("bitwise_or", lambda: ops.bitwise_or_tensor(WHOLE, OTHER), lambda: WHOLE | OTHER, EXACT)
_case(
    "left_shift",
    lambda: ops.bitwise_left_shift(WHOLE, OTHER % 8, out=WHOLE.clone()),
    lambda: WHOLE << OTHER % 8,
    EXACT,
)
_case("clamp", lambda: ops.clamp(X, -0.5, 0.7), lambda: X.clamp(-0.5, 0.7), EXACT)
_case("lerp", lambda: ops.lerp_tensor(X, Y, Z), lambda: X.lerp(Y, Z))
_case("addcmul", lambda: ops.addcmul(X, Y, Z, value=0.5), lambda: X.addcmul(Y, Z, value=0.5))
_case("addcdiv", lambda: ops.addcdiv(X, Y, POSITIVE), lambda: X.addcdiv(Y, POSITIVE))
_case(
    "where",
    lambda: _inner("where", "where_inner")(X > 0, X, Y),
    lambda: torch.where(X > 0, X, Y),
    EXACT,
)
_case(
    "masked_fill", lambda: ops.masked_fill(X, X > 0, 3.0), lambda: X.masked_fill(X > 0, 3.0), EXACT
)
_case("threshold", lambda: ops.threshold(X, 0.2, -1.0), lambda: F.threshold(X, 0.2, -1.0), EXACT)
_case(
    "polar",
    lambda: torch.view_as_real(ops.polar(POSITIVE, X)),
    lambda: torch.view_as_real(torch.polar(POSITIVE, X)),
)

_case("sum", lambda: ops.sum(X), lambda: X.double().sum())
_case("sum_of_rows", lambda: ops.sum_dim(CUBE, [1]), lambda: CUBE.sum(1))
_case("mean", lambda: ops.mean(X), lambda: X.mean())
_case("mean_of_rows", lambda: ops.mean_dim(CUBE, [2]), lambda: CUBE.mean(2))
_case("max", lambda: ops.max(X), lambda: X.max(), EXACT)
_case("max_of_rows", lambda: ops.max_dim(X, 1), lambda: X.max(1), EXACT)
_case("min_of_rows", lambda: ops.min_dim(X, 1), lambda: X.min(1), EXACT)
_case("amax", lambda: ops.amax(CUBE, [1]), lambda: CUBE.amax([1]), EXACT)
_case("argmax", lambda: ops.argmax(X, 1), lambda: X.argmax(1), EXACT)
# It has no masks, and asks of nobody that rows are whole blocks.
_case("argmin", lambda: ops.argmin(WIDE, 1), lambda: WIDE.argmin(1), EXACT)
_case("all", lambda: ops.all_dim(X > -2, 1), lambda: (X > -2).all(1), EXACT)
_case("any", lambda: ops.any_dim(X > 2, 1), lambda: (X > 2).any(1), EXACT)
_case("prod", lambda: ops.prod_dim(X[:, :20].contiguous(), 1), lambda: X[:, :20].prod(1))
_case("var_mean", lambda: ops.var_mean(X, [1]), lambda: torch.var_mean(X, [1]))
_case("std", lambda: ops.std(X, [1]), lambda: X.std(1))
_case(
    "vector_norm", lambda: ops.vector_norm(X, 2, [1]), lambda: torch.linalg.vector_norm(X, 2, [1])
)
_case(
    "count_nonzero",
    lambda: ops.count_nonzero(WHOLE % 2, 1),
    lambda: (WHOLE % 2).count_nonzero(1),
    EXACT,
)
_case("cumsum", lambda: ops.cumsum(X, 1), lambda: X.cumsum(1))
_case("cummax", lambda: ops.cummax(X, 1), lambda: X.cummax(1), EXACT)
_case("cummin", lambda: ops.cummin(X, 1), lambda: X.cummin(1), EXACT)
_case("softmax", lambda: ops.softmax(X, 1), lambda: X.softmax(1))
_case("log_softmax", lambda: ops.log_softmax(X, 1), lambda: X.log_softmax(1))
_case(
    "softmax_backward",
    lambda: ops.softmax_backward(Y, X.softmax(1), 1, torch.float32),
    lambda: torch._softmax_backward_data(Y, X.softmax(1), 1, torch.float32),
)
_case(
    "layer_norm",
    lambda: ops.layer_norm(X, (300,), Y[0], Z[0])[0],
    lambda: F.layer_norm(X, (300,), Y[0], Z[0]),
)
_case(
    "rms_norm",
    lambda: ops.rms_norm(X, (300,), Y[0], 1e-6),
    lambda: F.rms_norm(X, (300,), Y[0], 1e-6),
)
_case(
    "group_norm",
    lambda: ops.group_norm(IMAGE, draw(4), draw(4, seed=1), 2, 4, 144, 2)[0],
    lambda: F.group_norm(IMAGE, 2, draw(4), draw(4, seed=1)),
)
_case(
    "batch_norm",
    lambda: ops.batch_norm(IMAGE, draw(4), draw(4, seed=1), *_statistics(), True)[0],
    lambda: F.batch_norm(IMAGE, None, None, draw(4), draw(4, seed=1), True),
)
_case("mse_loss", lambda: ops.mse_loss(X, Y), lambda: F.mse_loss(X, Y))

_case("mm", lambda: ops.mm(A, B), lambda: A.double() @ B.double())
_case("bmm", lambda: ops.bmm(BATCH_A, BATCH_B), lambda: BATCH_A.double() @ BATCH_B.double(), TF32)
_case("addmm", lambda: ops.addmm(draw(40), A, B), lambda: torch.addmm(draw(40), A, B), TF32)
_case("mv", lambda: ops.mv(A, B[:, 0].contiguous()), lambda: A @ B[:, 0])
_case("dot", lambda: ops.dot(X[0], Y[0]), lambda: X[0].double() @ Y[0].double())
_case("outer", lambda: fused.outer(X[0], Y[0]), lambda: torch.outer(X[0], Y[0]))
_case("kron", lambda: ops.kron(A[:4, :6], B[:5, :3]), lambda: torch.kron(A[:4, :6], B[:5, :3]))
_case("trace", lambda: ops.trace(A), lambda: A.trace())
_case(
    "conv2d",
    lambda: ops.conv2d(IMAGE, draw(6, 4, 3, 3)),
    lambda: F.conv2d(IMAGE, draw(6, 4, 3, 3)),
    TF32,
)
_case(
    "attention",
    lambda: ops.scaled_dot_product_attention(
        *(draw(1, 2, 64, 64, seed=i).half() for i in range(3))
    ),
    lambda: F.scaled_dot_product_attention(
        *(draw(1, 2, 64, 64, seed=i).half().double() for i in range(3))
    ),
    TF32,
)

_case(
    "embedding",
    lambda: ops.embedding(X, integers(7, 9)),
    lambda: F.embedding(integers(7, 9), X),
    EXACT,
)
_case(
    "gather",
    lambda: ops.gather(X, 1, integers(300, 7, 20)),
    lambda: X.gather(1, integers(300, 7, 20)),
    EXACT,
)
_case(
    "index_select",
    lambda: ops.index_select(X, 1, integers(300, 20)),
    lambda: X.index_select(1, integers(300, 20)),
    EXACT,
)
_case(
    "scatter",
    lambda: ops.scatter(X, 0, integers(7, 1, 300), Y[:1].contiguous()),
    lambda: X.scatter(0, integers(7, 1, 300), Y[:1]),
    EXACT,
)
_case("flip", lambda: ops.flip(X, [1]), lambda: X.flip([1]), EXACT)
_case("triu", lambda: ops.triu(A, 1), lambda: A.triu(1), EXACT)
_case("tril", lambda: ops.tril(A, 1), lambda: A.tril(1), EXACT)
_case("diag", lambda: ops.diag(X[0]), lambda: X[0].diag(), EXACT)
_case("cat", lambda: ops.cat([X, Y], 1), lambda: torch.cat([X, Y], 1), EXACT)
_case("stack", lambda: ops.stack([X, Y], 1), lambda: torch.stack([X, Y], 1), EXACT)
_case("repeat", lambda: ops.repeat(X, (2, 3)), lambda: X.repeat(2, 3), EXACT)
_case("tile", lambda: ops.tile(X, (2, 3)), lambda: X.tile(2, 3), EXACT)
_case(
    "pad",
    lambda: ops.pad(X, (2, 3), "constant", 1.0),
    lambda: F.pad(X, (2, 3), "constant", 1.0),
    EXACT,
)
_case("topk", lambda: ops.topk(X, 5)[0], lambda: X.topk(5)[0], EXACT)
_case("sort", lambda: ops.sort(X, 1)[0], lambda: X.sort(1)[0], EXACT)
_case("nonzero", lambda: ops.nonzero(WHOLE % 2), lambda: (WHOLE % 2).nonzero(), EXACT)
_case("masked_select", lambda: ops.masked_select(X, X > 0), lambda: X[X > 0], EXACT)
_case("isin", lambda: ops.isin(WHOLE, OTHER[0, :9]), lambda: torch.isin(WHOLE, OTHER[0, :9]), EXACT)
_case("unique", lambda: ops._unique2(WHOLE, True, False)[0], lambda: WHOLE.unique(), EXACT)
_case("arange", lambda: ops.arange(77, device="cpu"), lambda: torch.arange(77), EXACT)
_case("linspace", lambda: ops.linspace(0, 3, 50, device="cpu"), lambda: torch.linspace(0, 3, 50))
_case("eye", lambda: ops.eye(20, device="cpu"), lambda: torch.eye(20), EXACT)
_case(
    "max_pool2d",
    lambda: ops.max_pool2d_with_indices(IMAGE, 3, 2, 1)[0],
    lambda: F.max_pool2d(IMAGE, 3, 2, 1),
    EXACT,
)
_case(
    "avg_pool2d",
    lambda: ops.avg_pool2d(IMAGE, [3, 3], [2, 2], [1, 1]),
    lambda: F.avg_pool2d(IMAGE, 3, 2, 1),
)
_case(
    "upsample_nearest2d",
    lambda: ops.upsample_nearest2d(IMAGE, [20, 30]),
    lambda: F.interpolate(IMAGE, (20, 30)),
    EXACT,
)
_case("silu_and_mul", lambda: fused.silu_and_mul(X, Y), lambda: F.silu(X) * Y)
_case("gelu_and_mul", lambda: fused.gelu_and_mul(X, Y), lambda: F.gelu(X) * Y)
_case(
    "skip_layer_norm",
    lambda: fused.skip_layer_norm(X, Y, (300,), Z[0], Z[1]),
    lambda: F.layer_norm(X + Y, (300,), Z[0], Z[1]),
)
__all__ = ["CASES", "Case"]
