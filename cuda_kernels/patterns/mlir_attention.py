"""Attention in linalg: IREE's own operation, and written out as in PyTorch's and ONNX's models.

What is written out is a product, a scale, a mask of numbers, softmax and a product. Heads are part
of the batch in both products; where there is a mask, or where the model reshapes, they are apart
between them. Keys come transposed, [batch, dim, keys], whoever has transposed them.
"""

from __future__ import annotations

from cuda_kernels.patterns.mlir_forms import softmax_of
from cuda_kernels.patterns.mlir_text import KNOWN, Function, Tensor

SCALES = ("times", "times_tensor", "over", "over_tensor", "")
"""What is done to the scores: times the scale, over sqrt(dim), by a number or by a tensor of one
that ONNX's constants are; nothing, where queries come with their scale."""
MASKS = {
    "": "",
    "queries": "rij",
    "shared": "b1ij",
    "key": "b11j",
    "one": "11ij",
    "one_key": "111j",
}
"""The dims of masks; without one, and with the first, heads may stay in the batch."""


def written_out(dtype: str, dim: int, mask: str, scale: str, *, apart: bool) -> str:
    """softmax(q k * scale + mask) v.

    Parameters
    ----------
    mask
        A key of `MASKS`.
    scale
        One of `SCALES`.
    apart
        Whether heads and batch are two dims between the products.
    """
    given = _operands(dtype, dim, mask)
    has_tensor = scale == "times_tensor"
    if has_tensor:
        given.append(("scale", "", dtype))
    f = Function(given, ["scale"] if scale == "times" else [], dtype)
    q, k, v, *more = f.operands
    x = f.narrowed(_batch_matmul(f, q, k, "rij"), dtype)
    if apart:
        x = f.expanded(x, "bhij")
    x = _scaled(f, x, scale, dim, more[-1] if has_tensor else None)
    if mask:
        x = f.generic([x, more[0]], f"%r = arith.addf %0, %1 : {dtype}", x.dims, dtype)
    x = softmax_of(f, x)
    if apart:
        x = f.collapsed(x, "rij")
    return f.text(f.narrowed(_batch_matmul(f, x, v, q.dims), dtype))


def decomposed(dtype: str, dim: int, mask: str, *, causal: bool = False) -> str:
    """PyTorch's `scaled_dot_product_attention` after `run_decompositions()`.

    Weights of queries that see nothing become zeros. In f32 queries and keys come with their
    scales, and heads are part of the batch; what has 16 bits is widened first, so that scales,
    which are the usual ones, and heads that are apart belong to it.

    Parameters
    ----------
    mask
        A key of `MASKS`; heads and batch are two dims.
    causal
        Whether it makes a causal mask.
    """
    is_wide, d = dtype == "f32", _letter(dim)
    operands = _operands(dtype, dim, mask)
    if not is_wide:
        operands[:3] = [
            (name, f"bh{rows}{d}", dtype) for name, rows in zip("qkv", "ijj", strict=True)
        ]
    f = Function(operands)
    q, k, v, *more = f.operands
    if not is_wide:
        root = f"%r = arith.mulf %0, {f.number(repr(dim**-0.25), 'f32')} : f32"
        q = f.collapsed(f.generic([f.widened(q)], root, q.dims, "f32"), f"ri{d}")
        k = _transposed(f, f.widened(k))
        k = f.collapsed(f.generic([k], root, k.dims, "f32"), f"r{d}j")
        v = f.collapsed(f.widened(v), f"rj{d}")
    if causal:
        more = [_causal_mask(f)]
    scores = f.expanded(_batch_matmul(f, q, k, "rij"), "bhij")
    dims, kept = scores.dims, scores.dims[:-1] + "1"
    if more:
        body = "%r = arith.addf %0, %1 : f32"
        if more[0].dtype != "f32":
            body = f"%w = arith.extf %1 : {dtype} to f32\n%r = arith.addf %0, %w : f32"
        scores = f.generic([scores, more[0]], body, dims, "f32")
    weights = softmax_of(f, scores)
    least, no = f.number("0xFFF0000000000000", "f64"), f.number("false", "i1")
    body = f"%w = arith.extf %0 : f32 to f64\n%r = arith.cmpf oeq, %w, {least} : f64"
    hidden = f.generic([scores], body, dims, "i1")
    inverted = f"%r = arith.cmpi eq, %0, {no} : i1"
    seen = f.generic([hidden], inverted, dims, "i1")
    into = f.filled("false", kept, "i1")
    any_seen = f.generic([seen], "%r = arith.ori %0, %old : i1", kept, "i1", into=into)
    none_seen = f.generic([any_seen], inverted, kept, "i1")
    zeros = _all(f, f.number("0.0", "f32"), dims, "f32")
    body = "%r = arith.select %0, %1, %2 : f32"
    weights = f.generic([none_seen, zeros, weights], body, dims, "f32")
    result = _batch_matmul(f, f.collapsed(weights, "rij"), v, f"ri{d}")
    return f.text(result if is_wide else f.narrowed(f.expanded(result, f"bhi{d}"), dtype))


def _causal_mask(f: Function) -> Tensor:
    """What PyTorch makes of `is_causal`: 0 where a key is not behind its query, else -inf."""
    least = f.number("0", "i64")
    columns, rows = f.expanded(_indices(f, "j"), "1j"), f.expanded(_indices(f, "i"), "i1")
    further = f.generic([columns, rows], "%r = arith.subi %0, %1 : i64", "ij", "i64")
    seen = f.generic([further], f"%r = arith.cmpi sle, %0, {least} : i64", "ij", "i1")
    everywhere = _all(f, f.number("true", "i1"), "ij", "i1")
    seen = f.generic([seen, everywhere], "%r = arith.andi %0, %1 : i1", "ij", "i1")
    sides = [
        Tensor(f.once(f"arith.constant dense<{value}> : tensor<f32>"), "", "f32")
        for value in ("0.0", "0xFF800000")
    ]
    return f.generic([seen, *sides], "%r = arith.select %0, %1, %2 : f32", "ij", "f32")


def _indices(f: Function, dim: str) -> Tensor:
    to = f.empty(dim, "i64")
    return f.named(
        "linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], "
        f'iterator_types = ["parallel"]}} outs({to.name} : {to.type}) {{\n^bb0(%old: i64):\n'
        "%i = linalg.index 0 : index\n%r = arith.index_cast %i : index to i64\n"
        f"linalg.yield %r : i64\n}} -> {to.type}",
        dim,
        "i64",
    )


def _all(f: Function, number: str, dims: str, dtype: str) -> Tensor:
    """A tensor of one number."""
    sizes = ", ".join(f.size(dim) for dim in dims)
    kind = Tensor("", dims, dtype).type
    return f.named(f"tensor.splat {number}[{sizes}] : {kind}", dims, dtype)


def _transposed(f: Function, x: Tensor) -> Tensor:
    """Keys [batch, heads, dim, keys]."""
    dims = x.dims[:2] + x.dims[3] + x.dims[2]
    to = f.empty(dims, x.dtype)
    return f.named(
        f"linalg.transpose ins({x.name} : {x.type}) outs({to.name} : {to.type}) "
        "permutation = [0, 1, 3, 2]",
        dims,
        x.dtype,
    )


def _letter(dim: int) -> str:
    return next(letter for letter, size in KNOWN.items() if size == dim)


def _operands(dtype: str, dim: int, mask: str) -> list[tuple[str, str, str]]:
    d = _letter(dim)
    found = [("q", f"ri{d}", dtype), ("k", f"r{d}j", dtype), ("v", f"rj{d}", dtype)]
    return [*found, ("mask", MASKS[mask], dtype)] if mask else found


def _scaled(f: Function, x: Tensor, scale: str, dim: int, tensor: Tensor | None) -> Tensor:
    if not scale:
        return x
    operation = "arith.mulf" if scale.startswith("times") else "arith.divf"
    if scale == "over":
        root = f.number(repr(dim**0.5), x.dtype)
        return f.generic([x], f"%r = {operation} %0, {root} : {x.dtype}", x.dims, x.dtype)
    if scale == "over_tensor":
        value = f.once(f"arith.constant dense<{dim**0.5!r}> : tensor<{x.dtype}>")
        tensor = Tensor(value, "", x.dtype)
    if tensor is not None:
        body = f"%r = {operation} %0, %1 : {x.dtype}"
        return f.generic([x, tensor], body, x.dims, x.dtype)
    return f.generic([x], f"%r = {operation} %0, %scale : {x.dtype}", x.dims, x.dtype)


def _batch_matmul(f: Function, a: Tensor, b: Tensor, dims: str) -> Tensor:
    zeros = f.filled("0.0", dims, "f32")
    return f.named(
        f"linalg.batch_matmul ins({a.name}, {b.name} : {a.type}, {b.type}) "
        f"outs({zeros.name} : {zeros.type}) -> {zeros.type}",
        dims,
        "f32",
    )


def attention(dtype: str, dim: int, mask: str, of_scale: str) -> str:
    """`iree_linalg_ext.attention`, with heads in the batch.

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
