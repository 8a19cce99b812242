"""What the kernels compute in MLIR's words, for `cd.compile(..., replace=...)`.

In the dialects linalg, tensor and iree_linalg_ext; models of PyTorch, JAX and ONNX have modules of
their own. Each name is a tuple of patterns, none of which has to be found.

- A product begins with a fill of zeros, and a bias may follow. It is a named operation or a generic
  one, with results of f32 or of the operands' own type, for which the kernels sum in f32 all the
  same. `linear_of_torch` is what comes of PyTorch's: a transposed matrix, for each of a batch, a
  bias, an activation, a residual.
- Attention is IREE's operation, or written out; heads are part of its batch. A mask that is made
  for a causal one is read as any other.
- Rotary embeddings are those with halves, and tables that are broadcast to all heads.
- Norms, activations and softmax are what IREE's conversion of the torch dialect leaves, for any
  number of rows. Models of 16 bits round once an operation; the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.rotary import declare as declare_rotary
from cuda_kernels.patterns import mlir_attention, mlir_forms
from cuda_kernels.patterns.mlir_forms import RANKS
from cuda_kernels.shared.lazily import lazily

if TYPE_CHECKING:
    Patterns = tuple[cd.Pattern, ...]

_TYPES = ("f32", "f16", "bf16")
_ACTIVATIONS = ("gelu_erf", "gelu_tanh", "silu", "relu")
_ROUNDS = ("before", "after", "last", "always")
"""Of RMS norms of 16 bits; `mlir_forms.rms_norm` says where."""
_WIDE_LAST = ("f16", "bf16", "f32")
"""For what is computed in f32 in any case, where it would be found without the conversions."""

# By layout: the dims of the loops, and which of them a, b and the result have.
_BATCH, _ROWS = "(b, i, j, l)", "(i, j, l)"
_MAPS = {
    "matmul": (_ROWS, "(i, l)", "(l, j)", "(i, j)"),
    "linear": (_ROWS, "(i, l)", "(j, l)", "(i, j)"),
    "batch_matmul": (_BATCH, "(b, i, l)", "(b, l, j)", "(b, i, j)"),
    "batch_matmul_nt": (_BATCH, "(b, i, l)", "(b, j, l)", "(b, i, j)"),
}


def _dims(of: str) -> list[str]:
    return of.strip("()").split(", ")


def _product(layout: str, dtype: str, out: str, form: str, has_bias: bool = False) -> str:
    """A product as text: `form` is "named", "generic" or "casting", which widens what it reads."""
    every, *maps = _MAPS[layout]
    ranks = [len(_dims(each)) for each in maps]
    types = [
        f"tensor<{'?x' * rank}{kind}>"
        for rank, kind in zip(ranks, (dtype, dtype, out), strict=True)
    ]
    loops = ", ".join(['"parallel"'] * ranks[2])
    lines, sizes = [], []
    for index, dim in enumerate(_dims(maps[2])):
        side = 0 if dim in _dims(maps[0]) else 1
        lines.append(f"%at{index} = arith.constant {_dims(maps[side]).index(dim)} : index")
        lines.append(f"%size{index} = tensor.dim %{'ab'[side]}, %at{index} : {types[side]}")
        sizes.append(f"%size{index}")
    lines += [
        f"%zero = arith.constant 0.0 : {out}",
        f"%empty = tensor.empty({', '.join(sizes)}) : {types[2]}",
        f"%zeros = linalg.fill ins(%zero : {out}) outs(%empty : {types[2]}) -> {types[2]}",
    ]
    of_maps = ", ".join(f"affine_map<{every} -> {each}>" for each in maps)
    operands = f"ins(%a, %b : {types[0]}, {types[1]}) outs(%zeros : {types[2]})"
    if form == "named":
        name = "batch_matmul" if layout.startswith("batch") else "matmul"
        given = "" if layout == name else f" indexing_maps = [{of_maps}]"
        lines.append(f"%c = linalg.{name}{given} {operands} -> {types[2]}")
    else:
        widen = form == "casting" and dtype != out
        lines.append(
            f"%c = linalg.generic {{indexing_maps = [{of_maps}], "
            f'iterator_types = [{loops}, "reduction"]}} {operands} {{'
        )
        lines.append(f"^bb0(%x: {dtype}, %y: {dtype}, %sum: {out}):")
        if widen:
            lines += [f"%{v}w = arith.extf %{v} : {dtype} to {out}" for v in "xy"]
        x, y = ("%xw", "%yw") if widen else ("%x", "%y")
        lines += [
            f"%p = arith.mulf {x}, {y} : {out}",
            f"%s = arith.addf %sum, %p : {out}",
            f"linalg.yield %s : {out}",
            f"}} -> {types[2]}",
        ]
    operands, result = f"%a: {types[0]}, %b: {types[1]}", "%c"
    if has_bias:
        every, last = f"affine_map<{maps[2]} -> {maps[2]}>", f"affine_map<{maps[2]} -> (j)>"
        operands, result = f"{operands}, %bias: tensor<?x{out}>", "%d"
        lines += [
            f"%d = linalg.generic {{indexing_maps = [{every}, {last}, {every}], "
            f"iterator_types = [{loops}]}} "
            f"ins(%c, %bias : {types[2]}, tensor<?x{out}>) outs(%empty : {types[2]}) {{",
            f"^bb0(%x: {out}, %y: {out}, %old: {out}):",
            f"%s = arith.addf %x, %y : {out}",
            f"linalg.yield %s : {out}",
            f"}} -> {types[2]}",
        ]
    body = "\n  ".join(lines)
    return (
        f"func.func @product({operands}) -> {types[2]} {{\n  {body}\n"
        f"  return {result} : {types[2]}\n}}\n"
    )


def _products(layout: str) -> Patterns:
    found = []
    for dtype in _TYPES:
        for out in dict.fromkeys((dtype, "f32")):
            forms = ("named", "generic") if dtype == out else ("named", "casting")
            name = f"{layout}_{dtype}" + ("" if dtype == out else f"_{out}")
            for has_bias in (
                (True, False) if dtype == out else (False,)
            ):  # what stands for more first
                texts = [_product(layout, dtype, out, form, has_bias) for form in forms]
                found.append(cd.Pattern(getattr(gemms, name), texts, required=False))
    return tuple(found)


def _softmax(rank: int, dtype: str) -> str:
    kind = f"tensor<{'?x' * rank}{dtype}>"
    lines, sizes = [], []
    for axis in range(rank):
        lines.append(f"%at{axis} = arith.constant {axis} : index")
        lines.append(f"%size{axis} = tensor.dim %x, %at{axis} : {kind}")
        sizes.append(f"%size{axis}")
    lines.append(f"%empty = tensor.empty({', '.join(sizes)}) : {kind}")
    lines.append(
        f"%y = linalg.softmax dimension({rank - 1}) ins(%x : {kind}) outs(%empty : {kind}) "
        f"-> {kind}"
    )
    body = "\n  ".join(lines)
    return f"func.func @softmax(%x: {kind}) -> {kind} {{\n  {body}\n  return %y : {kind}\n}}\n"


def _softmaxes() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(norms, f"softmax_{dtype}"),
            [
                *(_softmax(rank, dtype) for rank in (1, 2, 3, 4)),
                *(mlir_forms.softmax(dims, dtype) for dims in RANKS),
            ],
            required=False,
        )
        for dtype in _WIDE_LAST
    )


def _products_of_torch(layout: str) -> Patterns:
    """Those that stand for most first: of places that overlap, the first pattern's are taken."""
    found = []
    for dtype in _TYPES:
        for activation, added in (
            *((each, ((True, False), (False, False))) for each in _ACTIVATIONS),
            *(("", (each,)) for each in ((True, True), (True, False), (False, False))),
        ):
            name = "_".join(filter(None, (layout, activation, dtype)))
            texts = [
                mlir_forms.product(layout, dims, dtype, activation, bias=bias, residual=residual)
                for bias, residual in added
                for dims in RANKS[:2]
            ]
            found.append(cd.Pattern(getattr(gemms, name), texts, required=False))
    return tuple(found)


def _attentions_written_out() -> Patterns:
    found = []
    for dtype in _TYPES:
        for dim in (32, 64, 128):
            for prefix, masks in _MASKS.items():
                kernel = getattr(attentions, f"flat_{prefix}attention_{dtype}_{dim}")
                for scales, fixed in (
                    (("times", "times_tensor"), {}),
                    (("over", "over_tensor"), {"scale": dim**-0.5}),
                    (("",), {"scale": 1.0}),
                ):
                    texts = [
                        mlir_attention.written_out(dtype, dim, mask, scale, apart=apart)
                        for mask, apart in masks
                        for scale in scales
                    ]
                    if dtype == "f32" and scales == ("",):
                        texts += [
                            mlir_attention.decomposed(dtype, dim, mask)
                            for mask, apart in masks
                            if apart
                        ]
                    found.append(
                        cd.Pattern(
                            kernel,
                            texts,
                            fixed={"causal": False, **fixed},
                            axes={"k": (0, 2, 1)},
                            required=False,
                        )
                    )
    return tuple(found)


def _decomposed_attentions() -> Patterns:
    """Those of 16 bits, in which heads are apart, and causal ones, which may be within these."""
    found = []
    for dim in (32, 64, 128):
        for dtype in _TYPES[1:]:
            for prefix, mask, causal in (
                ("", "", True),
                ("", "", False),
                ("", "key", False),
                ("masked_", "shared", False),
            ):
                found.append(
                    cd.Pattern(
                        getattr(attentions, f"{prefix}attention_{dtype}_{dim}"),
                        mlir_attention.decomposed(dtype, dim, mask, causal=causal),
                        fixed={"causal": causal, "scale": dim**-0.5},
                        required=False,
                    )
                )
        flat = getattr(attentions, f"flat_attention_f32_{dim}")
        text = mlir_attention.decomposed("f32", dim, "", causal=True)
        fixed = {"causal": True, "scale": 1.0}
        found.append(cd.Pattern(flat, text, fixed=fixed, axes={"k": (0, 2, 1)}, required=False))
    return tuple(found)


_MASKS = {
    "": (("", True), ("", False)),
    "masked_": (("queries", False),),
    "shared_masked_": (("shared", True), ("one", True)),
    "key_masked_": (("key", True), ("one_key", True)),
}
"""By the kernels' names: masks of `mlir_attention.MASKS`, and whether heads are apart there."""


def _attentions() -> Patterns:
    return (
        *_decomposed_attentions(),
        *_attentions_written_out(),
        *(
            cd.Pattern(
                getattr(attentions, f"flat_{PREFIXES[mask]}attention_{dtype}_{dim}"),
                [mlir_attention.attention(dtype, dim, mask, of_scale) for of_scale in of_scales],
                fixed={"causal": False},
                required=False,
            )
            for dtype, of_scales in (
                ("f32", ("f32",)),
                ("f16", ("f32", "f16")),
                ("bf16", ("f32", "bf16")),
            )
            for dim in (32, 64, 128)
            for mask in ("queries", "bool", "keys")
        ),
    )


def _layer_norms() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(norms, f"layer_norm_{dtype}"),
            [
                mlir_forms.layer_norm(dims, dtype, has_weight=has, wide=wide)
                for wide in ((False,) if dtype == "f32" else (False, True))
                for dims in RANKS
            ],
            required=False,
        )
        for dtype in _WIDE_LAST
        for has in (True, False)  # what stands for more first
    )


def _rms_norms() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(norms, f"rms_norm_{dtype}"),
            [
                mlir_forms.rms_norm(dims, dtype, square, rounds)
                for square in ("mulf", "fpowi")
                for rounds in (("before",) if dtype == "f32" else _ROUNDS)
                for dims in RANKS
            ],
            required=False,
        )
        for dtype in _WIDE_LAST
    )


def _gelus() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(elementwise, f"gelu_{of}_{dtype}"),
            [mlir_forms.gelu(dims, form, dtype) for form in forms for dims in RANKS],
            required=False,
        )
        for dtype in _TYPES
        for of, forms in (("erf", ("erf",)), ("tanh", ("tanh", "new")))
    )


def _swiglus() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(elementwise, f"swiglu_{dtype}"),
            [
                mlir_forms.swiglu(dims, dtype, wide=wide)
                for wide in ((False,) if dtype == "f32" else (False, True))
                for dims in RANKS
            ],
            required=False,
        )
        for dtype in _WIDE_LAST
    )


def _rotaries() -> Patterns:
    return tuple(
        cd.Pattern(
            declare_rotary(dtype, apart=True),
            [mlir_forms.rotary(dim, tables, dtype) for dim in "SML" for tables in "b1"],
            required=False,
        )
        for dtype in _TYPES
    )


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "linear_of_torch",
    "matmul_of_torch",
    "attention",
    "matmul",
    "linear",
    "batch_matmul",
    "layer_norm",
    "rms_norm",
    "swiglu",
    "gelu",
    "softmax",
    "rotary",
)
_TABLE: dict[str, Callable[[], Patterns]] = {
    "matmul": partial(_products, "matmul"),
    "linear": partial(_products, "linear"),
    "batch_matmul": lambda: (*_products("batch_matmul"), *_products("batch_matmul_nt")),
    "linear_of_torch": partial(_products_of_torch, "linear"),
    "matmul_of_torch": partial(_products_of_torch, "matmul"),
    "attention": _attentions,
    "layer_norm": _layer_norms,
    "rms_norm": _rms_norms,
    "softmax": _softmaxes,
    "gelu": _gelus,
    "swiglu": _swiglus,
    "rotary": _rotaries,
    "everything": lambda: _named(*_EVERYTHING),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
