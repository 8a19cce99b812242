"""Matrix products with an epilogue: the declarations for `gemm_*.cu`.

Each is a `cd.Choice` of the kernels in `forms.py`. The tables beside this file say which kernel of
`linear` and `matmul` is for which sizes on an H200. On CPUs all are
`gemm_cpu.cu`; `kernel.own` is what GPUs run, and runs on a CPU by itself too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.cpu import on_cpu
from cuda_kernels.gemm.epilogue import Epilogue, epilogue_of, epilogue_that_calls
from cuda_kernels.gemm.forms import SMALL, SMALL_F32, SMALL_TF32, Form, Sizes, forms_of
from cuda_kernels.gemm.names import CHOICES, TF32, name_of, operand_type
from cuda_kernels.gemm.tiles import SkinnyTile
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.errors import DeclarationError

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _rounded_to_tf32(x: Array) -> Array:
    """To 10 bits behind the point, to nearest, and away from zero between two (PTX: cvt.rna)."""
    bits = x.view(numpy.uint32)
    rounded: Array = ((bits + numpy.uint32(1 << 12)) & ~numpy.uint32((1 << 13) - 1)).view(x.dtype)
    return numpy.where(numpy.isfinite(x), rounded, x)


def _reference(
    layout: str, dtype: str, epilogue: Epilogue, out: str
) -> Callable[..., Array] | None:
    of_result, compute = cd.Out("c", out, [1]).dtype.to_numpy(), epilogue.compute
    if compute is None:
        return None

    def gemm(
        a: Array,
        b: Array,
        bias: Array | None = None,
        residual: Array | None = None,
        *numbers: numpy.generic,
    ) -> Array:
        a, b = map(_rounded_to_tf32, (a, b)) if dtype == TF32 else (a, b)
        right = b.astype(numpy.float64)
        with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
            result = a.astype(numpy.float64) @ (
                right.swapaxes(-1, -2) if layout in ("linear", "batch_matmul_nt") else right
            )
            for added in (bias, None if epilogue.tensor else residual):
                if added is not None and added.size:
                    result = result + added.astype(numpy.float64)
            others = [residual] if epilogue.tensor else []
            return compute(result, *others, *numbers).astype(of_result)

    return gemm


def declare(
    layout: str,
    dtype: str,
    activation: str | Epilogue = "",
    out: str | None = None,
    *,
    form: Form | None = None,
) -> cd.Kernel:
    """A kernel of one form, for any sizes unless the form requires more.

    Parameters
    ----------
    layout
        "linear", "matmul", "batch_matmul" or "batch_matmul_nt".
    dtype, out
        Of a, b and the bias, "f32", "f16" or "bf16"; of the result and the residual, that or "f32".
        "tf32" is f32 whose products are rounded to TF32, on GPUs.
    activation
        A key of `names.ACTIVATIONS`, or what a function of the user's is.
    form
        Its tiles: small ones that take any alignment, if it is left out.

    Raises
    ------
    DeclarationError
        The form is a `SkinnyTile`, and b is [k, n].
    """
    epilogue = epilogue_of(activation) if isinstance(activation, str) else activation
    name, out = name_of(layout, dtype, epilogue.label, out or dtype), operand_type(out or dtype)
    small = {"f32": SMALL_F32, TF32: SMALL_TF32}
    form = form or Form(small.get(dtype, SMALL), align1=True)
    tile, is_batch, has_weights = form.tile, layout.startswith("batch"), _has_weights(layout)
    sizes, kind = _sizes(layout), operand_type(dtype)
    n, k = sizes.n, sizes.k
    if isinstance(tile, SkinnyTile) and not has_weights:
        raise DeclarationError(
            f"{tile} is for weights, and of `{layout}` b is [k, n].",
            expected="a Tile, where b is [k, n]",
            next_step="give Tile(16, 32, 128, 6, 1, 1, 4), which is for few rows of that.",
        )
    lead, of_b = [..., sizes.m] if is_batch else [...], [n, k] if has_weights else [k, n]
    of_rows = [sizes.m <= 16 * tile.rows] if isinstance(tile, SkinnyTile) else []
    described = (dtype, out, epilogue.struct, has_weights, (sizes.batch, sizes.m, n))
    others = {"cpu": on_cpu(*described, skinny=form.skinny)}
    arguments = (kind, out, epilogue.struct, str(has_weights).lower())
    if form.hopper is not None:
        others["cuda:sm_90a"] = form.hopper.implementation(*described)
    elif isinstance(tile, SkinnyTile) and tile.on_any() != tile:
        whole = cd.Implementation(
            entry=tile.entry(*arguments), dynamic_shared_memory=tile.shared_bytes
        )
        others["cuda:sm_90a"] = whole
        tile = tile.on_any()
    return cd.Kernel(
        f"{name}_{form.name(has_weights)}",
        source=tile.source,
        entry=epilogue.entry(tile.entry(*arguments)),
        include_dirs=epilogue.include_dirs,
        options=epilogue.options,
        operands=[
            cd.In("a", kind, [*lead, k]),
            cd.In("b", kind, [..., *of_b] if is_batch else of_b),
            cd.In("bias", kind, [n], optional=True),
            cd.In(epilogue.tensor or "residual", out, [*lead, n], optional=not epilogue.tensor),
            cd.Out("c", out, [*lead, n]),
            cd.Scalar("batch", "i32", sizes.batch),
            cd.Scalar("m", "i32", sizes.m),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", k),
            *epilogue.operands,
        ],
        block=tile.threads,
        grid=tile.blocks(sizes.m, n) * sizes.batch,
        dynamic_shared_memory=tile.shared_bytes,
        implementations={on: epilogue.implementation(each) for on, each in others.items()},
        requires=[*of_rows, *form.requires(has_weights, sizes)],
        reference=_reference(layout, dtype, epilogue, out),
        flops=2 * cd.batch * n * k * (sizes.m if is_batch else 1),
    )


@cache
def choice(
    layout: str, dtype: str, activation: str | Epilogue = "", out: str | None = None
) -> cd.Choice:
    """All kernels of a product: for few rows, for many tiles, for fewer, for any sizes.

    Which one a call gets was measured on an H200 for `linear` and `matmul` of bf16, f32 and TF32;
    other products, of f16 or batched, take the models of time that were fitted to that.
    """
    label = activation if isinstance(activation, str) else activation.label
    name = name_of(layout, dtype, label, out or dtype)
    forms = forms_of(_has_weights(layout), dtype)
    kernels = [declare(layout, dtype, activation, out, form=form) for form in forms]
    pairs = zip(kernels, forms, strict=True)
    rules = {kernel.name: form.rule(_sizes(layout)) for kernel, form in pairs if form.skinny}
    measured = "linear" if _has_weights(layout) else "matmul", "bf16" if dtype == "f16" else dtype
    is_own = (layout, dtype, activation, out or dtype) == (*measured, "", dtype)
    own = f"gemm_{name.removesuffix('_bf16')}.tuning.json"
    return cd.Choice(name, kernels, tuning=own if is_own else choice(*measured), rules=rules)


def with_epilogue(
    function: cd.Function,
    layout: str = "linear",
    dtype: str = "bf16",
    out: str | None = None,
    *,
    tensors: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> cd.Choice:
    """A product that calls a function of the user's before it stores: one launch for both.

    The result is function(a b + bias + residual, ...), computed of the sum in f32 and rounded once.
    Kernels, tables and models of time are those of the product without it.

    Parameters
    ----------
    function
        Its first operand is the sum, and the others are arguments of a call, behind the product's:
        numbers, but for what follows. One that is named like an operand of the product has the
        function's name before its own.
    layout, dtype, out
        As of `declare`.
    tensors
        The name of its second operand, if that is an element of a tensor of the result's shape and
        type: this takes the residual's place.
    columns
        The names of those that are elements of vectors [n], of the type of a and b.

    Raises
    ------
    DeclarationError
        The function cannot follow a product: the message says why.
    """
    epilogue = epilogue_that_calls(function, dtype, tensors=tensors, columns=columns)
    return choice(layout, dtype, epilogue, out)


def _sizes(layout: str) -> Sizes:
    m, n, k = cd.dim("m"), cd.dim("n"), cd.dim("k")
    return Sizes(cd.batch, m, n, k) if layout.startswith("batch") else Sizes(1, cd.batch, n, k)


def _has_weights(layout: str) -> bool:
    return layout in ("linear", "batch_matmul_nt")


__getattr__, __dir__ = lazily(
    globals(), {name: partial(choice, *form) for name, form in CHOICES.items()}
)
