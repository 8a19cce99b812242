"""Products of 8-bit floats with scales (W8A8), as the operators that kernels compute.

`torch._scaled_mm` and `torch.nn.functional.scaled_mm` with one scale for all, or one for each row,
of x and of the weights.
"""

from __future__ import annotations

from typing import Any

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


@keeps_results
def write_scaled(program: torch.export.ExportedProgram) -> None:
    """Write such products as calls of the operators."""
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
