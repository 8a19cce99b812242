"""Products of 8-bit floats with scales (W8A8), as the operators that kernels compute.

`torch._scaled_mm` and `torch.nn.functional.scaled_mm` with one scale for all, or one for each row,
of x and of the weights. Models make x of 8 bits by a conversion. IREE 3.13 has none for GPUs, and
on CPUs makes zero of what rounds up to the least normal number, and NaN of what PyTorch makes the
largest one: it is written with integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    keeps_results,
    named,
    put,
    same,
    shape_of,
)

X_TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
_WEIGHTS = torch.float8_e4m3fn
OUT_TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
_OF_ALL, _OF_ROWS = 0, 1
"""`torch.nn.functional.ScalingType`: TensorWise and RowWise."""


def _operator(out: str) -> Any:
    def product(
        x: Tensor, weight: Tensor, x_scales: Tensor, scales: Tensor, bias: Tensor | None
    ) -> Tensor:
        y = x.float() @ weight.float().t()
        flat = y.reshape(-1, len(weight))
        for scale, size, shape in ((x_scales, len(flat), (-1, 1)), (scales, len(weight), (-1,))):
            flat = flat * scale[torch.arange(size) * len(scale) // size].reshape(shape)
        y = flat.reshape(y.shape) if bias is None else flat.reshape(y.shape) + bias
        return y.to(OUT_TYPES[out])

    def like(x: Tensor, weight: Tensor, *_: Tensor | None) -> Tensor:
        return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=OUT_TYPES[out])

    schema = "(Tensor x, Tensor weight, Tensor x_scales, Tensor scales, Tensor? bias) -> Tensor"
    name = f"custom_dispatch_forms::scaled_linear_{out}"
    made = torch.library.custom_op(name, product, mutates_args=(), schema=schema)
    made.register_fake(like)
    return made._opoverload


OPERATORS = {out: _operator(out) for out in OUT_TYPES}


@dataclass(frozen=True)
class _Format:
    """An 8-bit float (OCP 8-bit Floating Point Specification, 1.0, table 1)."""

    fraction: int
    """Bits."""
    bias: int
    top: int
    """The code of the largest number, or of infinity; those above are NaN."""


_FORMATS = {torch.float8_e4m3fn: _Format(3, 7, 0x7E), torch.float8_e5m2: _Format(2, 15, 0x7C)}
_NAN, _SIGN, _INFINITY = 0x7F, 0x80, 0x7F800000


def _write_conversion(node: Node, to: _Format) -> None:
    """Round to nearest, ties to even, as PyTorch does: what is too large is the largest number."""
    write, i32 = Writer(node), torch.int32
    wide = write.cast(node.args[0], torch.float32)
    bits = write.call(aten.view.dtype, wide, i32)
    size = write.call(aten.bitwise_and.Scalar, bits, 0x7FFFFFFF)
    drop, exponent = 23 - to.fraction, 127 - to.bias
    # Of normal numbers, the bits that are left out round up the ones above, with the exponent.
    odd = write.call(aten.bitwise_right_shift.Tensor_Scalar, size, drop)
    odd = write.call(aten.bitwise_and.Scalar, odd, 1)
    more = write.call(aten.add.Tensor, size, (1 << drop - 1) - 1)
    more = write.call(aten.add.Tensor, more, odd)
    normal = write.call(aten.bitwise_right_shift.Tensor_Scalar, more, drop)
    normal = write.call(aten.sub.Tensor, normal, exponent << to.fraction)
    # Others are counted in steps of the least one: those of f32 from this number on.
    start = 1.5 * 2.0 ** (24 - to.fraction - to.bias)
    small = write.call(aten.add.Tensor, write.call(aten.view.dtype, size, torch.float32), start)
    small = write.call(aten.view.dtype, small, i32)
    small = write.call(aten.sub.Tensor, small, int(numpy.float32(start).view(numpy.int32)))
    is_small = write.call(aten.lt.Scalar, size, exponent + 1 << 23)
    code = write.call(aten.where.self, is_small, small, normal)
    code = write.call(aten.clamp.default, code, None, to.top)
    is_nan = write.call(aten.gt.Scalar, size, _INFINITY)
    code = write.call(aten.where.ScalarSelf, is_nan, _NAN, code)
    sign = write.call(aten.bitwise_right_shift.Tensor_Scalar, bits, 24)
    sign = write.call(aten.bitwise_and.Scalar, sign, _SIGN)
    code = write.cast(write.call(aten.bitwise_or.Tensor, code, sign), torch.int8)
    put(node, write.call(aten.view.dtype, code, dtype_of(node)))


@keeps_results
def write_scaled(program: torch.export.ExportedProgram) -> None:
    """Write such products as calls of the operators, and conversions so that IREE takes them."""
    for node in calls(program.graph, aten.to.dtype):
        to, source = _FORMATS.get(dtype_of(node)), dtype_of(node.args[0])
        if to is not None and source in OUT_TYPES.values():
            _write_conversion(node, to)
    kinds = {kind: out for out, kind in OUT_TYPES.items()}
    for node in calls(program.graph, aten._scaled_mm.default, aten._scaled_mm_v2.default):
        given, out = named(node), kinds.get(dtype_of(node))
        x, weight, bias = given["self"], given["mat2"], given["bias"]
        scales = _scales(given)
        is_known = dtype_of(x) in X_TYPES.values() and dtype_of(weight) == _WEIGHTS
        if not is_known or out is None or scales is None or given.get("scale_result") is not None:
            continue
        if bias is not None and dtype_of(bias) != OUT_TYPES[out]:
            continue
        rows, columns = shape_of(x)[0], shape_of(weight)[1]
        if not (_fits(scales[0], rows) and _fits(scales[1], columns)):
            continue
        write = Writer(node)
        each = [write.call(aten.reshape.default, scale, [-1]) for scale in scales]
        operands = (x, write.permute(weight, [1, 0]), *each, bias)
        put(node, write.call(OPERATORS[out], *operands))


def _scales(given: dict[str, Any]) -> tuple[Node, Node] | None:
    if "recipe_a" not in given:
        return given["scale_a"], given["scale_b"]
    plain = all(list(given[f"swizzle_{side}"]) in ([], [0]) for side in "ab")
    usual = all(list(given[f"recipe_{side}"]) in ([_OF_ALL], [_OF_ROWS]) for side in "ab")
    if not (plain and usual) or list(given.get("contraction_dim") or []):
        return None
    return given["scale_a"][0], given["scale_b"][0]


def _fits(scale: Any, size: Any) -> bool:
    """Whether there is one scale for all, or one for each of so many."""
    sizes = [each for each in shape_of(scale) if not same(each, 1)]
    is_f32 = dtype_of(scale) == torch.float32
    return is_f32 and (not sizes or (len(sizes) == 1 and same(sizes[0], size)))
