"""What `gpu/kernels.py` runs: inputs on the GPU, what must come out, PyTorch's own operator.

Nothing here needs a compiler or numpy: tensors are PyTorch's, and the kernels are read as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from benchmarks.lib import gpu_objects
from cuda_kernels.norms import rms_norm
from custom_dispatch.kernel.target import Target

Tensor = torch.Tensor
TORCH_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
EPSILON = 1e-5
DEVICE = "cuda"


@dataclass(frozen=True)
class Case:
    """One call of a kernel."""

    kernel: str
    """Its name in the built objects."""
    what: str
    """The sizes."""
    arguments: tuple[Any, ...]
    """Tensors, numbers, and None for what is absent, as a call has them."""
    wanted: Callable[..., Any]
    """The results, in double precision, of the tensors in double precision."""
    beside: Callable[[], Any]
    """PyTorch's operator on the same tensors."""
    flops: int | None = None
    """Where the time goes there and not into memory."""

    @property
    def kind(self) -> str:
        """The element type."""
        return next(part for part in self.kernel.split("_") if part in TORCH_TYPES)


class Inputs:
    """Fresh random tensors, optionally beginning beside a 16-byte boundary."""

    def __init__(self, kind: str, *, misaligned: bool = False) -> None:
        self.kind = kind
        self._offset = int(misaligned)

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        count = torch.Size(shape).numel() + self._offset
        values = torch.randn(count, device=DEVICE, dtype=torch.float32) * scale
        return values.to(TORCH_TYPES[self.kind])[self._offset :].view(shape)


def rows_case(op: str, inputs: Inputs, rows: int, columns: int) -> Case:
    """An operator of rows, or an elementwise one of as many elements."""
    what, size = f"{rows} x {columns}", (columns,)
    name = f"{op}_{inputs.kind}"
    if item := getattr(rms_norm, name, None):
        dims = {"batch": rows, "columns": columns}
        name = gpu_objects.kernel_for(item, dims, Target.parse("cuda:sm_90")).name
    x = inputs(rows, columns, scale=2.0)
    if op == "softmax":
        return Case(name, what, (x,), lambda x: x.softmax(-1), lambda: x.softmax(-1))
    if op == "layer_norm":
        weight, bias = inputs(columns), inputs(columns)

        def normalised(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
            return functional.layer_norm(x, size, weight, bias, epsilon)

        own = (x, weight, bias, EPSILON)
        return Case(name, what, own, normalised, lambda: normalised(*own))
    if op == "rms_norm":
        weight = inputs(columns)

        def rms(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
            return functional.rms_norm(x, size, weight, epsilon)

        return Case(name, what, (x, weight, EPSILON), rms, lambda: rms(x, weight, EPSILON))
    if op == "add_rms_norm":
        residual, weight = inputs(rows, columns, scale=2.0), inputs(columns)
        kind = x.dtype

        def both(x: Tensor, residual: Tensor, weight: Tensor, epsilon: float) -> Any:
            total = (x + residual).to(kind).to(x.dtype)
            return total, functional.rms_norm(total, size, weight, epsilon)

        four = (x, residual, weight, EPSILON)
        return Case(name, what, four, both, lambda: both(*four))
    if op.startswith("gelu"):
        form = "tanh" if op == "gelu_tanh" else "none"

        def gelu(x: Tensor) -> Tensor:
            return functional.gelu(x, approximate=form)

        return Case(name, what, (x,), gelu, lambda: gelu(x))
    up = inputs(rows, columns)

    def gated(gate: Tensor, up: Tensor) -> Tensor:
        return functional.silu(gate) * up

    return Case(name, what, (x, up), gated, lambda: gated(x, up))


ROW_OPS = ("softmax", "layer_norm", "rms_norm", "add_rms_norm")
ELEMENTWISE_OPS = ("gelu_erf", "gelu_tanh", "swiglu")


def rotary_case(inputs: Inputs, batch: int, heads: int, length: int, dim: int, tables: int) -> Case:
    """Rotary embedding, as Llama of Hugging Face's transformers computes it."""
    x, cos, sin = inputs(batch, heads, length, dim), *(inputs(tables, length, dim) for _ in "cs")

    def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return x * cos.unsqueeze(1) + torch.cat((-b, a), -1) * sin.unsqueeze(1)

    what = f"{batch} x {heads} x {length} x {dim}"
    return Case(f"rotary_{inputs.kind}", what, (x, cos, sin), turned, lambda: turned(x, cos, sin))


def attention_case(
    inputs: Inputs,
    sizes: tuple[int, int, int, int, int, int],
    *,
    causal: bool = False,
    mask: str = "",
) -> Case:
    """Attention of (batch, heads, kv_heads, queries, keys, dim).

    Parameters
    ----------
    mask
        "": none; "keys": of the keys of each sequence; "all": of every query; "bool": the same.
    """
    batch, heads, kv_heads, queries, keys, dim = sizes
    q = inputs(batch, heads, queries, dim)
    k, v = (inputs(batch, kv_heads, keys, dim) for _ in "kv")
    added = None
    if mask:
        added = inputs(batch, 1, 1 if mask == "keys" else queries, keys)
        added[torch.rand_like(added, dtype=torch.float32) < 0.3] = -torch.inf
        added[:, :, :, : keys // 3] = 0.0
        if mask == "bool":
            added = added.isfinite()
    scale = dim**-0.5

    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Any, scale: float, causal: bool) -> Tensor:
        if mask is not None and causal:
            allowed = torch.ones(queries, keys, dtype=torch.bool, device=DEVICE).tril()
            is_bool = mask.dtype == torch.bool
            mask = mask & allowed if is_bool else mask.masked_fill(~allowed, -torch.inf)
            causal = False
        return functional.scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=heads != kv_heads
        )

    prefix = {"all": "masked_", "bool": "bool_masked_"}.get(mask, "")
    name = f"{prefix}attention_{inputs.kind}_{dim}"
    shape = f"{batch} x {heads}/{kv_heads} x {queries}/{keys} x {dim}"
    what = f"{shape}{', causal' if causal else ''}{f', mask of {mask}' if mask else ''}"
    six = (q, k, v, added, scale, causal)
    flops = 4 * batch * heads * queries * keys * dim // (2 if causal else 1)
    return Case(name, what, six, attention, lambda: attention(*six), flops)


def large_cases(lengths: tuple[int, ...], kinds: tuple[str, ...]) -> Iterator[Callable[[], Case]]:
    """What is timed: everything at 16384 x 8192, rows of other lengths, and attention.

    Yields functions, because not all inputs have room on the GPU at once.
    """
    for kind in kinds:
        for op in ROW_OPS + ELEMENTWISE_OPS:
            yield lambda op=op, kind=kind: rows_case(op, Inputs(kind), 16384, 8192)
        yield lambda kind=kind: rotary_case(Inputs(kind), 8, 32, 4096, 128, 1)
    for columns in lengths:
        for op in ROW_OPS:
            for kind in ("f32", "bf16"):
                rows = (1 << 27) // columns
                yield lambda op=op, kind=kind, rows=rows, columns=columns: rows_case(
                    op, Inputs(kind), rows, columns
                )
    for kind in kinds:
        for sizes, causal, mask in (
            ((1, 32, 32, 4096, 4096, 128), False, ""),
            ((1, 32, 8, 4096, 4096, 128), True, ""),
            ((8, 16, 16, 2048, 2048, 64), False, ""),
            ((64, 12, 12, 256, 256, 32), False, "keys"),
            ((64, 12, 12, 256, 256, 32), False, "bool"),
        ):
            yield lambda kind=kind, sizes=sizes, causal=causal, mask=mask: attention_case(
                Inputs(kind), sizes, causal=causal, mask=mask
            )


def small_cases() -> Iterator[Callable[[], Case]]:
    """What is checked alone: odd sizes, at aligned and misaligned addresses."""
    sizes = ((1, 1), (3, 7), (37, 63), (65, 64), (5, 384), (9, 1000), (3, 4095), (2, 8192))
    long = ((2, 8193), (1, 20001), (2, 40960))
    for kind in TORCH_TYPES:
        for misaligned in (False, True):
            inputs = Inputs(kind, misaligned=misaligned)
            for rows, columns in sizes + long:
                for op in ROW_OPS + ELEMENTWISE_OPS:
                    yield lambda i=inputs, op=op, r=rows, c=columns: rows_case(op, i, r, c)
            for batch, heads, length, dim, tables in (
                (1, 1, 1, 2, 1),
                (2, 3, 5, 128, 1),
                (3, 5, 70, 64, 3),
                (2, 4, 7, 10, 2),
            ):
                yield lambda i=inputs, s=(batch, heads, length, dim, tables): rotary_case(i, *s)
            for dim in (32, 64, 128):
                for shape in ((1, 1, 1, 1, 1), (2, 4, 2, 70, 100), (1, 3, 1, 130, 7)):
                    for causal in (False, True):
                        for mask in ("", "keys", "all", "bool"):
                            yield (
                                lambda i=inputs, s=(*shape, dim), c=causal, m=mask: attention_case(
                                    i, s, causal=c, mask=m
                                )
                            )
