"""Matrix products with what follows them: the declarations for `gemm_*.cu`.

Each is a `cd.Choice` for an element type: few rows, few tiles, many tiles. The tables beside this
file say which kernel of `linear` and `matmul` is for which sizes on an H200. On CPUs all are
`gemm_cpu.cu`; `kernel.own` is what GPUs run, and runs on a CPU by itself too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import erf, pi, sqrt
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.cpu import on_cpu
from cuda_kernels.gemm.names import ACTIVATIONS, CHOICES, name_of
from cuda_kernels.gemm.sm90a import Split, Warpgroups
from cuda_kernels.gemm.tiles import Rows, Tile, TileF32
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import Expr

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


@dataclass(frozen=True)
class Sizes:
    """The dims of a product."""

    batch: Expr | int
    m: Expr
    n: Expr
    k: Expr


FEW = Rows(1, 4, 8, 4)
FEW_NARROW = Rows(1, 2, 16, 4)
FEW_BY_ROWS = Tile(16, 32, 128, 6, 1, 1, 4)
FEW_WIDE = Tile(16, 64, 128, 4, 1, 1, 4)
LARGE = Tile(128, 256, 32, 4, 2, 4)
SQUARE = Tile(128, 128, 64, 3, 2, 2)
MEDIUM = Tile(64, 128, 64, 4, 2, 2)
SMALL = Tile(64, 32, 128, 4, 1, 1, 4)
TINY = Tile(32, 32, 128, 6, 1, 2, 4)
MEDIUM_F32 = TileF32(64, 64, 16, 6, 2, 2)
NARROW_F32 = TileF32(32, 32, 64, 4, 1, 2, 4)
SMALL_F32 = TileF32(32, 16, 128, 4, 1, 1, 8)


@dataclass(frozen=True)
class Form:
    """One kernel of a choice: what its blocks compute, and for which sizes it is."""

    suffix: str
    how: Tile | Rows
    hopper: Warpgroups | Split | None = None
    """The same on sm_90a, if it is something else there."""
    when: Callable[[Sizes], list[Condition]] | None = None
    """For which sizes it is, where no table says."""
    takes_all: bool = False
    """Whether it is for operands that are not whole 16 bytes, too."""

    def requires(self, has_weights: bool, sizes: Sizes) -> list[Condition]:
        """What this asks of the sizes: whole 16 bytes, unless it is for others, too."""
        if self.takes_all:
            return []
        return [sizes.k % 8 == 0, *([] if has_weights else [sizes.n % 8 == 0])]

    def rule(self, sizes: Sizes) -> list[Condition]:
        """The sizes that it is for, where no table says."""
        return [] if self.when is None else self.when(sizes)


def _few(sizes: Sizes) -> list[Condition]:
    return [sizes.m <= 16]


def _at_least(count: int, rows: int, columns: int) -> Callable[[Sizes], list[Condition]]:
    """A result has so many tiles of so many rows and columns."""
    return lambda sizes: [_tiles(sizes, rows, columns) >= count]


def _low(
    rows: int, more: Callable[[Sizes], list[Condition]] = lambda _: []
) -> Callable[[Sizes], list[Condition]]:
    """A has so few rows, and what else is asked."""
    return lambda sizes: [sizes.m <= rows, *more(sizes)]


def _tiles(sizes: Sizes, rows: int, columns: int) -> Expr:
    return cd.ceildiv(sizes.m, rows) * cd.ceildiv(sizes.n, columns) * sizes.batch


def _rounds(sizes: Sizes, rows: int, columns: int) -> Expr:
    """How often each multiprocessor computes a tile of 128 rows, `rows` at a time."""
    return cd.ceildiv(_tiles(sizes, rows, columns) * (rows // 128), MULTIPROCESSORS)


def _many(sizes: Sizes) -> list[Condition]:
    """Tiles of 256 columns take the least time, by rounds and columns.

    A sixteenth more is granted them, since they need the fewest bytes.
    """
    rounds = _rounds(sizes, 256, 256)
    return [
        sizes.m > 128,
        _tiles(sizes, 256, 256) >= MULTIPROCESSORS // 4 + 1,
        rounds * 5 <= _rounds(sizes, 128, 192) * 4,
        rounds * 15 <= _rounds(sizes, 256, 128) * 8,
    ]


def _wide(sizes: Sizes) -> list[Condition]:
    """Tiles of 192 do."""
    return [
        sizes.m > 128,
        _tiles(sizes, 128, 192) >= MULTIPROCESSORS // 2 + 1,
        _rounds(sizes, 128, 192) * 3 <= _rounds(sizes, 256, 128) * 2,
    ]


def _some(sizes: Sizes) -> list[Condition]:
    return [sizes.m > 128, _tiles(sizes, 256, 128) >= MULTIPROCESSORS // 4 + 1]


FORMS = (
    Form("few", FEW, takes_all=True),
    Form("many", LARGE, Warpgroups(128, 256, 4, 2), _many),
    Form("wide", LARGE, Warpgroups(128, 192, 4, 1), _wide),
    Form("some", SQUARE, Warpgroups(128, 128, 6, 2), _some),
    Form("half_low", MEDIUM, Warpgroups(128, 256, 4, 1), _low(64, _at_least(67, 128, 256))),
    Form("half", LARGE, Warpgroups(128, 256, 4, 1), _at_least(67, 128, 256)),
    Form("little_low", SMALL, Split(128, 96, 7, 2), _low(64, _at_least(45, 128, 128))),
    Form("little", MEDIUM, Split(128, 96, 7, 2), _at_least(45, 128, 128)),
    Form("any_low", TINY, Split(128, 128, 6, 3), _low(32)),
    Form("any", SMALL, Split(128, 128, 6, 3), takes_all=True),
)
"""In the order in which they are chosen where sizes are not known or no table tells. Fewer tiles
than multiprocessors leave some of these without work: then tiles are smaller, or blocks share k."""
FORMS_BY_ROWS = (
    Form("few_wide", FEW_WIDE, when=lambda sizes: [*_few(sizes), sizes.n >= 64 * MULTIPROCESSORS]),
    Form("few", FEW_BY_ROWS, when=_few),
    *FORMS[1:],
)
"""Where b is [k, n]."""
FORMS_OF_TABLES = (
    Form("turns_128", SQUARE, Warpgroups(128, 128, 6, 2, 1)),
    Form("turns_176", LARGE, Warpgroups(128, 176, 5, 2, 1)),
    Form("wide_pair", LARGE, Warpgroups(128, 192, 4, 2)),
    Form("turns_64x128", SMALL, Warpgroups(64, 128, 8, 1, 1)),
    Form("wide_224", LARGE, Warpgroups(128, 224, 4, 1)),
    Form("some_alone", MEDIUM, Warpgroups(128, 128, 6, 1)),
    Form("split_128x64", MEDIUM, Split(128, 64, 8, 2)),
    Form("split_128x128", MEDIUM, Split(128, 128, 6, 2)),
    Form("split_64x64", SMALL, Split(64, 64, 12, 2)),
    Form("split_64x96", SMALL, Split(64, 96, 10, 2)),
    Form("split_64x128", SMALL, Split(64, 128, 8, 2)),
)
"""More for `linear` and `matmul`; `custom-dispatch tune` says which is for which sizes."""
FORMS_OF_TABLES_FOR_WEIGHTS = (
    *FORMS_OF_TABLES,
    Form("few_narrow", FEW_NARROW, takes_all=True),  # of few columns, too few blocks of 32
)
"""For `linear`."""
FORMS_F32 = (
    Form("few", SMALL_F32, when=_few),  # which are something else on CPUs
    Form("many", MEDIUM_F32, when=_at_least(MULTIPROCESSORS, 64, 64)),
    Form("some", NARROW_F32, when=_at_least(MULTIPROCESSORS, 32, 32)),
    Form("any", SMALL_F32, takes_all=True),
)


def _activated(name: str, x: Array) -> Array:
    result: Array = x
    with numpy.errstate(over="ignore", invalid="ignore"):
        match name:
            case "relu":
                result = numpy.where(x < 0, 0.0, x)
            case "silu":
                result = x / (1.0 + numpy.exp(-x))
            case "gelu_erf":
                below = numpy.vectorize(erf, otypes=[numpy.float64])(x / sqrt(2.0))
                result = 0.5 * x * (1.0 + below)
            case "gelu_tanh":
                inner = numpy.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3))
                result = 0.5 * x * (1.0 + inner)
    return result


def _reference(layout: str, activation: str, out: str) -> Callable[..., Array]:
    dtype = cd.Out("c", out, [1]).dtype.to_numpy()

    def gemm(a: Array, b: Array, bias: Array | None = None, residual: Array | None = None) -> Array:
        right = b.astype(numpy.float64)
        with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
            result = a.astype(numpy.float64) @ (
                right.swapaxes(-1, -2) if layout in ("linear", "batch_matmul_nt") else right
            )
            for added in (bias, residual):
                if added is not None and added.size:
                    result = result + added.astype(numpy.float64)
            return _activated(activation, result).astype(dtype)

    return gemm


def declare(
    layout: str,
    dtype: str,
    activation: str = "",
    out: str | None = None,
    *,
    how: Tile | Rows | None = None,
    hopper: Warpgroups | Split | None = None,
    suffix: str = "any",
    requires: Callable[[Sizes], Sequence[Condition]] | None = None,
) -> cd.Kernel:
    """A kernel of one form, for any sizes unless more is required; of `Rows`, for so many rows.

    Parameters
    ----------
    layout
        "linear", "matmul", "batch_matmul" or "batch_matmul_nt".
    dtype, out
        Of a, b and the bias, "f32", "f16" or "bf16"; of the result and the residual, that or "f32".
    activation
        A key of `names.ACTIVATIONS`.
    how
        What a block computes: small tiles, if it is left out.
    hopper
        What it computes on sm_90a, if that is something else.
    suffix
        Of its name.

    Raises
    ------
    DeclarationError
        `Rows` are given for a b that is [k, n].
    """
    out = out or dtype
    how = how or (SMALL_F32 if dtype == "f32" else SMALL)
    is_batch, has_weights = layout.startswith("batch"), _has_weights(layout)
    sizes = _sizes(layout)
    m, n, k = sizes.m, sizes.n, sizes.k
    if isinstance(how, Rows) and not has_weights:
        raise DeclarationError(
            f"how={how} is for weights, and of `{layout}` b is [k, n].",
            expected="a Tile, where b is [k, n]",
            next_step="give Tile(16, 32, 128, 6, 1, 1, 4), which is for few rows of that.",
        )
    lead, of_b = [..., m] if is_batch else [...], [n, k] if has_weights else [k, n]
    of_rows = [sizes.m <= 16 * how.rows] if isinstance(how, Rows) else []
    function = f"cuda_kernels::{ACTIVATIONS[activation]}"
    described = (dtype, out, function, has_weights, (sizes.batch, sizes.m, n))
    others = {"cpu": on_cpu(*described, few=suffix.startswith("few"))}
    if hopper is not None:
        others["cuda:sm_90a"] = hopper.implementation(*described)
    return cd.Kernel(
        f"{name_of(layout, dtype, activation, out)}_{suffix}",
        source=how.source,
        entry=how.entry(dtype, out, function, str(has_weights).lower()),
        operands=[
            cd.In("a", dtype, [*lead, k]),
            cd.In("b", dtype, [..., *of_b] if is_batch else of_b),
            cd.In("bias", dtype, [n], optional=True),
            cd.In("residual", out, [*lead, n], optional=True),
            cd.Out("c", out, [*lead, n]),
            cd.Scalar("batch", "i32", sizes.batch),
            cd.Scalar("m", "i32", sizes.m),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", k),
        ],
        block=how.threads,
        grid=how.blocks(sizes.m, n) * sizes.batch,
        dynamic_shared_memory=how.shared_bytes,
        implementations=others,
        requires=[*of_rows, *(requires(sizes) if requires else ())],
        reference=_reference(layout, activation, out),
        flops=2 * cd.batch * n * k * (m if is_batch else 1),
    )


@cache
def choice(layout: str, dtype: str, activation: str = "", out: str | None = None) -> cd.Choice:
    """The kernels of one form: for few rows, for many tiles, for fewer, for any sizes.

    Which is taken was measured on an H200 for `linear` and `matmul` of bf16; what else has 16 bits
    takes the same.
    """
    name = name_of(layout, dtype, activation, out or dtype)
    measured = dtype != "f32" and not layout.startswith("batch")
    forms = FORMS_F32 if dtype == "f32" else FORMS if _has_weights(layout) else FORMS_BY_ROWS
    for_tables = FORMS_OF_TABLES_FOR_WEIGHTS if _has_weights(layout) else FORMS_OF_TABLES
    more = for_tables if measured else ()
    kernels = [
        declare(
            layout,
            dtype,
            activation,
            out,
            how=form.how,
            hopper=form.hopper,
            suffix=form.suffix,
            requires=partial(form.requires, _has_weights(layout)),
        )
        for form in (*forms, *more)
    ]
    pairs = zip(kernels, (*forms, *more), strict=True)
    rules = {kernel.name: form.rule(_sizes(layout)) for kernel, form in pairs if form.when}
    tuning: str | cd.Choice | None = None
    if measured:
        is_own = (dtype, activation, out or dtype) == ("bf16", "", "bf16")
        tuning = f"gemm_{layout}.tuning.json" if is_own else choice(layout, "bf16")
    return cd.Choice(name, kernels, tuning=tuning, rules=rules)


def _sizes(layout: str) -> Sizes:
    m, n, k = cd.dim("m"), cd.dim("n"), cd.dim("k")
    return Sizes(cd.batch, m, n, k) if layout.startswith("batch") else Sizes(1, cd.batch, n, k)


def _has_weights(layout: str) -> bool:
    return layout in ("linear", "batch_matmul_nt")


__getattr__, __dir__ = lazily(
    globals(), {name: partial(choice, *form) for name, form in CHOICES.items()}
)
