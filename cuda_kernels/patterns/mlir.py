"""What the kernels compute in MLIR's words, for `cd.compile(..., replace=...)`.

Models of PyTorch, JAX and ONNX have modules of their own. Each name is a tuple of patterns, none of
which has to be found.

- Most are patterns of PyTorch, which `cuda_kernels.patterns.generate` writes down in the torch
  dialect. A model in that dialect is compared with them as they are, and one in linalg with what
  IREE converts them to.
- Only plain MLIR has products as named or generic operations, with results of f32 or of the
  operands' own type; softmax and attention as operations; and heads in the batch of both.
- Models of 16 bits round once an operation; the kernels round the result alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.attention.names import HEADS, PREFIXES
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.choice import Choice

if TYPE_CHECKING:
    Patterns = tuple[cd.Pattern, ...]

FOLDER = Path(__file__).with_name("torch_dialect")
"""Patterns of PyTorch, a file a group."""
SEPARATOR = "// -----\n"
"""Between the texts of a file, as MLIR's own tools have it."""
TYPES = ("f32", "f16", "bf16")
NARROW = "bf16"
WRITTEN = re.compile(rf"^(?!.*attention_bshd).*(_(f32|{NARROW})_64|(?<!attention)_(f32|{NARROW}))$")
"""The kernels of which there are texts; those of the others follow from them. Attention of heads of
any size has none yet, and that of heads where projections leave them is found by rules alone."""
HEAD = 64
_OF_HEAD = re.compile(rf"(?<![\w.])({HEAD}|{HEAD // 2})(?![\w.])|(?<=_){HEAD}\b")
"""What a name or text has for it and for half of it."""
_FLOAT = re.compile(r"(?<=torch.constant.float )[0-9.]+(E[+-]\d+|e[+-]\d+)?(?=\n)")
_NUMBERS = {"f32": 6, "f16": 5, NARROW: 15}
"""What PyTorch calls them."""
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
    for dtype in TYPES:
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
            [_softmax(rank, dtype) for rank in (1, 2, 3, 4)],
            required=False,
        )
        for dtype in TYPES
    )


def _attention(dtype: str, dim: int, mask: str, of_scale: str) -> str:
    """IREE's operation, with heads in the batch.

    Parameters
    ----------
    mask
        "queries", one number for each key of each query; "bool", one bool; "keys" for none.
    of_scale
        The scale's type.
    """
    has_mask, of = mask != "keys", "i1" if mask == "bool" else dtype
    sizes = {"q": "?x?", "k": "?x?", "v": "?x?"}
    types = {name: f"tensor<{size}x{dim}x{dtype}>" for name, size in sizes.items()}
    kind, of_mask = types["q"], f"tensor<?x?x?x{of}>"
    names = ["(d0, d1, d3)", "(d0, d4, d3)", "(d0, d4, d2)", "()"]
    names += (["(d0, d1, d4)"] if has_mask else []) + ["(d0, d1, d2)"]
    maps = ", ".join(f"affine_map<(d0, d1, d2, d3, d4) -> {each}>" for each in names)
    given = "%q, %k, %v, %scale" + (", %mask" if has_mask else "")
    kinds = f"{kind}, {kind}, {kind}, {of_scale}" + (f", {of_mask}" if has_mask else "")
    arguments = f"%q: {kind}, %k: {kind}, %v: {kind}, " + (
        f"%mask: {of_mask}, " if has_mask else ""
    )
    return f"""
func.func @computes({arguments}%scale: {of_scale}) -> {kind} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : {kind}
  %rows = tensor.dim %q, %c1 : {kind}
  %to = tensor.empty(%batch, %rows) : {kind}
  %r = iree_linalg_ext.attention <indexing_maps = [{maps}]> ins({given} : {kinds})
      outs(%to : {kind}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {kind}
  return %r : {kind}
}}
"""


def _attentions() -> Patterns:
    return tuple(
        cd.Pattern(
            getattr(attentions, f"flat_{PREFIXES[mask]}attention_{dtype}_{dim}"),
            [_attention(dtype, dim, mask, of_scale) for of_scale in dict.fromkeys(("f32", dtype))],
            fixed={"causal": False},
            required=False,
        )
        for dtype in TYPES
        for dim in HEADS
        for mask in ("queries", "bool", "keys")
    )


def _of_torch(group: str) -> Iterator[cd.Pattern]:
    """Patterns of PyTorch, one for the texts that stand together; in other types and sizes, too."""
    sections = (FOLDER / f"{group}.mlir").read_text().split(SEPARATOR)
    for said, found in groupby(sections, lambda section: section.splitlines()[:2]):
        types, about = (json.loads(line.removeprefix("// ")) for line in said)
        texts = list(found)
        heads = HEADS if _OF_HEAD.search(texts[0]) else (HEAD,)
        for dtype, dim in product(types, heads):
            name = like(about["kernel"], dtype, dim)
            kernel = kernel_of(name)
            if kernel is None:
                continue
            fixed = {
                key: dim**-0.5 if value == HEAD**-0.5 else value
                for key, value in about["fixed"].items()
            }
            yield cd.Pattern(
                kernel,
                [like(text, dtype, dim) for text in texts],
                fixed=fixed,
                axes=about["axes"],
                required=False,
            )


def like(text: str, dtype: str, dim: int = HEAD) -> str:
    """A name or text for bf16 and heads of 64, for others; one for f32 stays so."""
    number = f"torch.constant.int {_NUMBERS[NARROW]}\n"
    text = text.replace(number, f"torch.constant.int {_NUMBERS[dtype]}\n").replace(NARROW, dtype)
    if dim != HEAD:
        text = _OF_HEAD.sub(lambda found: str(int(found[0]) * dim // HEAD), text)
        powers = {HEAD**power: dim**power for power in (0.5, -0.25)}  # its root, and the scale's
        text = _FLOAT.sub(lambda found: str(powers.get(float(found[0]), found[0])), text)
    return text


def kernel_of(name: str) -> cd.Kernel | Choice | None:
    """A kernel that ships; None where there is none of a size of heads."""
    modules = (attentions, elementwise, gemms, norms)
    return next((getattr(module, name) for module in modules if hasattr(module, name)), None)


def _with_torch(group: str, own: Callable[[], Patterns] = tuple) -> Patterns:
    """Those of 16 bits first: without casts, places of theirs are some of f32."""
    return (*sorted(_of_torch(group), key=lambda item: "_f32" in item.item.name), *own())


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "add_rms_norm",
    "attention",
    "linear_of_torch",
    "matmul_of_torch",
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
"""In this order: sums go with norms and products with attention; products take what is left."""
_TABLE: dict[str, Callable[[], Patterns]] = {
    "matmul": partial(_products, "matmul"),
    "linear": partial(_products, "linear"),
    "batch_matmul": lambda: (*_products("batch_matmul"), *_products("batch_matmul_nt")),
    "linear_of_torch": lambda: (*_with_torch("linear_swiglu"), *_with_torch("linear")),
    "matmul_of_torch": partial(_with_torch, "matmul"),
    "attention": partial(_with_torch, "attention", _attentions),
    "softmax": partial(_with_torch, "softmax", _softmaxes),
    **{
        name: partial(_with_torch, name)
        for name in (*("add_rms_norm", "layer_norm", "rms_norm", "gelu", "swiglu", "rotary"),)
    },
    "everything": lambda: where_profitable(_named(*_EVERYTHING)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
