"""Products of 8-bit floats with scales (W8A8): the declarations for `gemm_f8.cu`.

y = x_scales scales (x W^T) + bias, for weights [n, k]. The name says the element type of x, "e4m3"
or "e5m2", and of y: `scaled_linear_e4m3_bf16`. Weights are e4m3. Scales are f32, each for an equal
part of the rows of x, or of the weights: one for all, or one for each.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.cpu import LANES, ROWS, STEP, WARPS
from cuda_kernels.gemm.forms import Form, Sizes
from cuda_kernels.gemm.names import SCALED
from cuda_kernels.gemm.sm90a import HopperForm, WarpSpecialised
from cuda_kernels.gemm.tiles import Tile
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Expr

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

F8_TYPES = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
_WEIGHTS = "e4m3"


@dataclass(frozen=True)
class TileF8(Tile):
    """The tile of a block of `gemm_f8.cu`, and its warps."""

    source: ClassVar[str] = "gemm_f8.cu"
    element_bytes: ClassVar[int] = 1

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name in C++, with its template arguments."""
        return (
            f"cuda_kernels::gemm_f8<{_types(dtype, out)}, {_numbers(*arguments, *astuple(self))}>"
        )


@dataclass(frozen=True)
class WarpSpecialisedF8(WarpSpecialised):
    """A block of `gemm_f8_sm90a.cu`: as those of 16 bits, with 128 of k in a stage."""

    source: ClassVar = "gemm_f8_sm90a.cu"

    def entry(self, dtype: str, out: str, activation: str = "", has_weights: bool = True) -> str:
        """The kernel's name in C++, with its template arguments."""
        del activation, has_weights  # there are no others
        numbers = _numbers(self.m, self.n, self.stages, self.cluster)
        return f"cuda_kernels::gemm_f8_sm90a<{_types(dtype, out)}, {numbers}>"


@dataclass(frozen=True)
class SplitKF8(HopperForm):
    """A cluster of `gemm_f8_split_sm90a.cu`: a tile of m x n, whose k its blocks split."""

    m: int
    n: int
    stages: int
    split: int = 1

    source: ClassVar = "gemm_f8_split_sm90a.cu"

    @property
    def name(self) -> str:
        """The tile, the stages, and the blocks that split k."""
        return f"t{self.m}x{self.n}_s{self.stages}_k{self.split}"

    @property
    def parameters(self) -> tuple[int, ...]:
        """Template arguments."""
        return astuple(self)

    def entry(self, dtype: str, out: str, activation: str = "", has_weights: bool = True) -> str:
        """The kernel's name in C++, with its template arguments."""
        del activation, has_weights  # there are no others
        return (
            f"cuda_kernels::gemm_f8_split_sm90a<{_types(dtype, out)}, {_numbers(*self.parameters)}>"
        )

    def launch(self, batch: Expr | int, m: Expr, n: Expr) -> dict[str, Any]:
        """That of a product of m x n, as `cd.Implementation` takes it."""
        return {
            "block": 2 * self.n,
            "grid": cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n) * batch * self.split,
            "dynamic_shared_memory": self.stages * (self.m + self.n) * 128,
            "cluster": self.split,
        }


def _types(dtype: str, out: str) -> str:
    return f"__nv_fp8_{dtype}, __nv_fp8_{_WEIGHTS}, {C_TYPES[out]}"


def _numbers(*values: object) -> str:
    return ", ".join(map(str, values))


LARGE, SQUARE = TileF8(128, 256, 64, 4, 2, 4), TileF8(128, 128, 128, 3, 2, 4)
MEDIUM, TINY = TileF8(64, 128, 128, 4, 2, 2), TileF8(32, 32, 256, 6, 1, 2, 4)
FORMS = (
    Form(TileF8(16, 32, 256, 6, 1, 1, 4), skinny=True),
    Form(LARGE, WarpSpecialisedF8(128, 256, 4, 2)),
    Form(LARGE, WarpSpecialisedF8(128, 192, 4, 1)),
    Form(SQUARE, WarpSpecialisedF8(128, 128, 6, 2)),
    Form(SQUARE, WarpSpecialisedF8(128, 128, 6, 1)),
    Form(MEDIUM, SplitKF8(96, 64, 5, 2)),
    Form(MEDIUM, SplitKF8(64, 64, 6)),
    Form(MEDIUM, SplitKF8(64, 64, 6, 2)),
    Form(TINY, SplitKF8(32, 64, 8)),
    Form(TINY, SplitKF8(32, 64, 8, 4)),
    Form(TileF8(64, 32, 256, 4, 1, 1, 4), align1=True),
)
"""The table says which is for which sizes."""


def _reference(out: str) -> Any:
    dtype = cd.Out("y", out, [1]).dtype.to_numpy()

    def product(
        x: Array, weight: Array, x_scales: Array, scales: Array, bias: Array | None = None
    ) -> Array:
        with numpy.errstate(invalid="ignore", over="ignore"):
            left, right = x.astype(numpy.float64), weight.astype(numpy.float64)
            result = left @ right.T
            flat = result.reshape(-1, weight.shape[0])
            flat *= numpy.repeat(x_scales, flat.shape[0] // x_scales.size)[:, None]
            flat *= numpy.repeat(scales, flat.shape[1] // scales.size)
            if bias is not None and bias.size:
                result = result + bias.astype(numpy.float64)
            return result.astype(dtype)

    return product


def declare(dtype: str, out: str, form: Form) -> cd.Kernel:
    """A kernel of one form.

    Parameters
    ----------
    dtype
        Of x, "e4m3" or "e5m2".
    out
        Of y and the bias, "f32", "f16" or "bf16".
    """
    m, n, k, parts_x, parts = cd.batch, *map(cd.dim, ("n", "k", "x_parts", "parts"))
    tile = form.tile
    others: dict[str, cd.Implementation] = {"cpu": _on_cpu(dtype, out, m, n)}
    if form.hopper is not None:
        others["cuda:sm_90a"] = form.hopper.implementation(dtype, out, "", True, (1, m, n))
    return cd.Kernel(
        f"scaled_linear_{dtype}_{out}_{form.name(True)}",
        source=tile.source,
        entry=tile.entry(dtype, out),
        operands=[
            cd.In("x", F8_TYPES[dtype], [..., k]),
            cd.In("weight", F8_TYPES[_WEIGHTS], [n, k]),
            cd.In("x_scales", "f32", [parts_x]),
            cd.In("scales", "f32", [parts]),
            cd.In("bias", out, [n], optional=True),
            cd.Out("y", out, [..., n]),
            *(
                cd.Scalar(name, "i32", value)
                for name, value in zip(
                    ("m", "n", "k", "x_parts", "parts"), (m, n, k, parts_x, parts), strict=True
                )
            ),
        ],
        block=tile.threads,
        grid=tile.blocks(m, n),
        dynamic_shared_memory=tile.shared_bytes,
        implementations=others,
        requires=[
            m % parts_x == 0,
            n % parts == 0,
            *form.requires(True, Sizes(1, m, n, k)),
        ],
        reference=_reference(out),
        flops=2 * m * n * k,
    )


def _on_cpu(dtype: str, out: str, m: Expr, n: Expr) -> cd.Implementation:
    return cd.Implementation(
        source="gemm_f8_cpu.cu",
        entry=f"cuda_kernels::gemm_f8_cpu<{_types(dtype, out)}, {WARPS}, {STEP}>",
        block=LANES * WARPS,
        grid=cd.ceildiv(m, WARPS * ROWS) * cd.ceildiv(n, LANES),
        dynamic_shared_memory=0,
    )


@cache
def choice(dtype: str, out: str) -> cd.Choice:
    """The kernels of a product of 8-bit floats."""
    kernels = [declare(dtype, out, form) for form in FORMS]
    sizes = Sizes(1, cd.batch, cd.dim("n"), cd.dim("k"))
    pairs = zip(kernels, FORMS, strict=True)
    rules = {kernel.name: form.rule(sizes) for kernel, form in pairs if form.skinny}
    measured = ("e4m3", "bf16")
    tuning = "gemm_scaled.tuning.json" if (dtype, out) == measured else choice(*measured)
    return cd.Choice(f"scaled_linear_{dtype}_{out}", kernels, tuning=tuning, rules=rules)


__getattr__, __dir__ = lazily(
    globals(), {name: partial(choice, *types) for name, types in SCALED.items()}
)
