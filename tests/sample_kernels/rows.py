"""Normalisations that tests put into models: the declarations for `rows.cu`.

They have the operands of the kernels that ship, whose code for the CPU takes a compiler seconds.
Their references are those of the kernels that ship.
"""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd
from cuda_kernels.norms import layer_norm, rms_norm

_columns = cd.dim("columns")
_BLOCK = 32


def _declare(name: str, operands: list[Any], reference: Any) -> cd.Kernel:
    sizes = [cd.Scalar("rows", "i32", cd.batch), cd.Scalar("columns", "i32", _columns)]
    return cd.Kernel(
        name,
        source="rows.cu",
        operands=[*operands, cd.Scalar("epsilon", "f32"), *sizes],
        block=_BLOCK,
        grid=cd.ceildiv(cd.batch, _BLOCK),
        reference=reference,
    )


def _of_rows(kind: type[cd.In] | type[cd.Out], name: str, dtype: str = "f32") -> Any:
    return kind(name, dtype, [..., _columns])


def _row_norm(name: str, dtype: str) -> cd.Kernel:
    weight = cd.In("weight", dtype, [_columns])
    operands = [_of_rows(cd.In, "x", dtype), weight, _of_rows(cd.Out, "y", dtype)]
    return _declare(name, operands, rms_norm.rms_norm_f32.kernels[0].reference)


row_norm = _row_norm("row_norm", "f32")
row_norm_f16 = _row_norm("row_norm_f16", "f16")
add_row_norm = _declare(
    "add_row_norm",
    [
        _of_rows(cd.In, "x"),
        _of_rows(cd.In, "residual"),
        cd.In("weight", "f32", [_columns]),
        _of_rows(cd.Out, "sum"),
        _of_rows(cd.Out, "y"),
    ],
    rms_norm.add_rms_norm_f32.kernels[0].reference,
)
row_layer_norm = _declare(
    "row_layer_norm",
    [
        _of_rows(cd.In, "x"),
        cd.In("weight", "f32", [_columns], optional=True),
        cd.In("bias", "f32", [_columns], optional=True),
        _of_rows(cd.Out, "y"),
    ],
    layer_norm.layer_norm_f32.kernels[0].reference,
)
