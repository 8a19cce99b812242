"""Kernels of CUDA Tile. `python -m tests.producers.tile_kernels DIRECTORY` writes their PTX."""

import io
import re
import sys
from pathlib import Path

import cuda.tile as ct


@ct.kernel
def saxpy(x, y, out, a, SIZE: ct.Constant[int]):
    i = ct.bid(0)
    first = ct.load(x, index=(i,), shape=(SIZE,), padding_mode=ct.PaddingMode.ZERO)
    second = ct.load(y, index=(i,), shape=(SIZE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i,), tile=a * first + second)


@ct.kernel
def scale_rows(x, y, out, ROWS: ct.Constant[int], COLUMNS: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, index=(i, j), shape=(ROWS, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
    by = ct.load(y, index=(i,), shape=(ROWS,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i, j), tile=tile * ct.reshape(by, (ROWS, 1)))


@ct.kernel
def row_sum(x, out, COLUMNS: ct.Constant[int]):
    i = ct.bid(0)
    total = ct.full((1, COLUMNS), 0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, COLUMNS))):
        total += ct.load(x, index=(i, j), shape=(1, COLUMNS), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i,), tile=ct.sum(total, axis=1))


@ct.kernel
def product(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(TM, TK))):
        a = ct.load(A, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(a, b, total)
    ct.store(C, index=(i, j), tile=ct.astype(total, C.dtype))


def text_in(cubin: bytes) -> str:
    """The PTX that a cubin of CUDA Tile carries."""
    text = cubin[cubin.index(b".version ") :].replace(b"\0", b"\n").decode("utf-8", "replace")
    return text[: re.search(r"^\}", text, re.M).end()] + "\n"


if __name__ == "__main__":
    from cuda.tile.compilation import (
        ArrayConstraint,
        CallingConvention,
        KernelSignature,
        ScalarConstraint,
        export_kernel,
    )

    one, two = (
        ArrayConstraint(
            ct.float32,
            rank,
            index_dtype=ct.int32,
            stride_lower_bound_incl=0,
            alias_groups=(),
            may_alias_internally=False,
            stride_constant=(None,) * (rank - 1) + (1,),
            base_addr_divisible_by=16,
        )
        for rank in (1, 2)
    )
    for kernel, name, parameters in (
        (saxpy, "saxpy", [one, one, one, ScalarConstraint(ct.float32), 256]),
        (scale_rows, "scale_rows", [two, one, two, 8, 32]),
        (row_sum, "row_sum", [two, one, 256]),
    ):
        convention = CallingConvention.cutile_python_v1()
        signature = KernelSignature(parameters, convention, symbol=name)
        written = io.BytesIO()
        export_kernel(kernel, [signature], written, gpu_code="sm_80", output_format="cubin")
        (Path(sys.argv[1]) / f"tile_{name}.ptx").write_text(text_in(written.getvalue()))
