"""What models from PyTorch compute, as IREE's conversion of the torch dialect writes it."""

from __future__ import annotations

from cuda_kernels.shared.mlir_text import Function, Tensor

RANKS = ("ik", "bik", "abik")
"""Dims of rows, and of all that lead; the last is what a norm or a softmax goes over."""


def _summed(f: Function, x: Tensor) -> Tensor:
    kept = x.dims[:-1] + "1"
    return f.generic(
        [x],
        f"%r = arith.addf %0, %old : {x.dtype}",
        kept,
        x.dtype,
        into=f.filled("0.0", kept, x.dtype),
    )


def _mean(f: Function, x: Tensor) -> Tensor:
    total = _summed(f, x)
    _, count = f.size_as_float(x.dims[-1], x.dtype)
    body = f"{count}\n%r = arith.divf %0, %count : {x.dtype}"
    return f.generic([total], body, total.dims, x.dtype)


def _root(f: Function, variance: Tensor) -> Tensor:
    dims, dtype = variance.dims, variance.dtype
    total = f.generic([variance], f"%r = arith.addf %0, %epsilon : {dtype}", dims, dtype)
    return f.generic([total], f"%r = math.rsqrt %0 : {dtype}", dims, dtype)


def _product(f: Function, one: Tensor, other: Tensor, dims: str) -> Tensor:
    return f.generic([one, other], f"%r = arith.mulf %0, %1 : {one.dtype}", dims, one.dtype)


def _spread(f: Function, x: Tensor, dims: str) -> Tensor:
    """A column [.., 1] as wide as the rows."""
    kept = x.dims[:-1]
    last = len(kept) - 1
    groups = ", ".join([*(f"[{axis}]" for axis in range(last)), f"[{last}, {last + 1}]"])
    flat = Tensor("", kept, x.dtype)
    flat = f.named(
        f"tensor.collapse_shape {x.name} [{groups}] : {x.type} into {flat.type}", kept, x.dtype
    )
    wide = f.empty(dims, x.dtype)
    axes = ", ".join(f"d{index}" for index in range(len(dims)))
    some = ", ".join(f"d{index}" for index in range(len(kept)))
    kinds = ", ".join(['"parallel"'] * len(dims))
    return f.named(
        f"linalg.generic {{indexing_maps = [affine_map<({axes}) -> ({some})>, "
        f"affine_map<({axes}) -> ({axes})>], iterator_types = [{kinds}]}} "
        f"ins({flat.name} : {flat.type}) outs({wide.name} : {wide.type}) {{\n"
        f"^bb0(%e0: {x.dtype}, %old: {x.dtype}):\nlinalg.yield %e0 : {x.dtype}\n}} -> {wide.type}",
        dims,
        x.dtype,
    )


def layer_norm(dims: str, *, has_weight: bool) -> str:
    """`torch.nn.functional.layer_norm` over the last dim, of f32."""
    weights = [("weight", dims[-1], "f32"), ("bias", dims[-1], "f32")] if has_weight else []
    f = Function([("x", dims, "f32"), *weights], ["epsilon"])
    x = f.operands[0]
    mean = _spread(f, _mean(f, x), dims)
    centred = f.generic([x, mean], "%r = arith.subf %0, %1 : f32", dims, "f32")
    root = _root(f, _mean(f, _product(f, centred, centred, dims)))
    result = _product(f, centred, _spread(f, root, dims), dims)
    if has_weight:
        result = _product(f, result, f.operands[1], dims)
        result = f.generic([result, f.operands[2]], "%r = arith.addf %0, %1 : f32", dims, "f32")
    return f.text(result)


def rms_norm(dims: str, dtype: str, square: str, rounds: str) -> str:
    """`x * rsqrt(mean(x^2) + epsilon) * weight`, in f32.

    Parameters
    ----------
    square
        "mulf" for x * x, "fpowi" for x.pow(2).
    rounds
        Of 16 bits: "before" or "after" it is multiplied with the weight.
    """
    f = Function([("x", dims, dtype), ("weight", dims[-1], dtype)], ["epsilon"])
    x, weight = f.operands
    if dtype != "f32":
        x = f.generic([x], f"%r = arith.extf %0 : {dtype} to f32", dims, "f32")
    if square == "mulf":
        squared = _product(f, x, x, dims)
    else:
        two = f.number("2", "i64")
        squared = f.generic([x], f"%r = math.fpowi %0, {two} : f32, i64", dims, "f32")
    result = _product(f, x, _root(f, _mean(f, squared)), dims)
    if dtype == "f32":
        return f.text(_product(f, weight, result, dims))
    narrow = f"%r = arith.truncf %0 : f32 to {dtype}"
    if rounds == "before":
        result = f.generic([result], narrow, dims, dtype)
        return f.text(_product(f, weight, result, dims))
    wide = f.generic([weight], f"%r = arith.extf %0 : {dtype} to f32", dims[-1], "f32")
    return f.text(f.generic([_product(f, wide, result, dims)], narrow, dims, dtype))


def softmax(dims: str, dtype: str) -> str:
    """`torch.softmax` over the last dim: f32 inside, whatever the type."""
    f = Function([("x", dims, dtype)])
    x, kept = f.operands[0], dims[:-1]
    if dtype != "f32":
        x = f.generic([x], f"%r = arith.extf %0 : {dtype} to f32", dims, "f32")
    least, none = f.filled("0xFF800000", kept, "f32"), f.filled("0", kept, "i64")
    axes = ", ".join(f"d{index}" for index in range(len(dims)))
    some = ", ".join(f"d{index}" for index in range(len(kept)))
    kinds = ", ".join([*['"parallel"'] * len(kept), '"reduction"'])
    maps = f"affine_map<({axes}) -> ({axes})>" + f", affine_map<({axes}) -> ({some})>" * 2
    name = "%largest"
    f.line(
        f"{name}:2 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
        f"ins({x.name} : {x.type}) outs({least.name}, {none.name} : {least.type}, {none.type}) {{\n"
        "^bb0(%e0: f32, %old: f32, %at: i64):\n"
        f"%i = linalg.index {len(kept)} : index\n%j = arith.index_cast %i : index to i64\n"
        "%m = arith.maximumf %e0, %old : f32\n%g = arith.cmpf ogt, %e0, %old : f32\n"
        "%s = arith.select %g, %j, %at : i64\nlinalg.yield %m, %s : f32, i64\n"
        f"}} -> ({least.type}, {none.type})"
    )
    last = len(kept) - 1
    groups = ", ".join([*(f"[{axis}]" for axis in range(last)), f"[{last}, {last + 1}]"])
    sizes = ", ".join([*(f.size(dim) for dim in kept), "1"])
    column = Tensor("", kept + "1", "f32")
    column = f.named(
        f"tensor.expand_shape {name}#0 [{groups}] output_shape [{sizes}] : {least.type} "
        f"into {column.type}",
        kept + "1",
        "f32",
    )
    below = f.generic([x, column], "%r = arith.subf %0, %1 : f32", dims, "f32")
    powers = f.generic([below], "%r = math.exp %0 : f32", dims, "f32")
    result = f.generic([powers, _summed(f, powers)], "%r = arith.divf %0, %1 : f32", dims, "f32")
    if dtype != "f32":
        result = f.generic([result], f"%r = arith.truncf %0 : f32 to {dtype}", dims, dtype)
    return f.text(result)


def activated(f: Function, x: Tensor, activation: str) -> Tensor:
    """ReLU, SiLU and both GELUs of f32, as operations on elements; "" for none."""
    dims, one = x.dims, f.number("1.0", "f32")
    half, zero = f.number("0.5", "f32"), f.number("0.0", "f32")
    if activation == "relu":
        body = f"%c = arith.cmpf ugt, %0, {zero} : f32\n%r = arith.select %c, %0, {zero} : f32"
        return f.generic([x], body, dims, "f32")
    if activation == "silu":
        body = (
            "%n = arith.negf %0 : f32\n%p = math.exp %n : f32\n"
            f"%s = arith.addf %p, {one} : f32\n%r = arith.divf {one}, %s : f32"
        )
        return _product(f, f.generic([x], body, dims, "f32"), x, dims)
    if activation == "gelu_erf":
        root = f.number("1.41421354", "f32")
        body = (
            f"%q = arith.divf %0, {root} : f32\n%p = math.erf %q : f32\n"
            f"%s = arith.addf %p, {one} : f32\n%h = arith.mulf %s, {half} : f32\n"
            "%r = arith.mulf %0, %h : f32"
        )
        return f.generic([x], body, dims, "f32")
    if activation == "gelu_tanh":  # the first constant is sqrt(2 / pi) with the digits it has there
        three, cubed = f.number("3", "i64"), f.number("4.471500e-02", "f32")
        factor = f.number("7.977240e-01", "f32")
        body = (
            f"%c = math.fpowi %0, {three} : f32, i64\n%d = arith.mulf %c, {cubed} : f32\n"
            f"%a = arith.addf %0, %d : f32\n%m = arith.mulf %a, {factor} : f32\n"
            f"%t = math.tanh %m : f32\n%s = arith.addf %t, {one} : f32\n"
            f"%h = arith.mulf %s, {half} : f32\n%r = arith.mulf %0, %h : f32"
        )
        return f.generic([x], body, dims, "f32")
    return x


def gelu(dims: str, form: str) -> str:
    """`torch.nn.functional.gelu`, of f32."""
    f = Function([("x", dims, "f32")])
    return f.text(activated(f, f.operands[0], f"gelu_{form}"))


def swiglu(dims: str) -> str:
    """`silu(gate) * up`, of f32."""
    f = Function([("gate", dims, "f32"), ("up", dims, "f32")])
    gate, up = f.operands
    return f.text(_product(f, activated(f, gate, "silu"), up, dims))


def product(
    layout: str, dims: str, dtype: str, activation: str = "", *, bias: bool, residual: bool = False
) -> str:
    """`torch.nn.functional.linear`, or `x @ b`: rows [.., k] with one matrix.

    Parameters
    ----------
    dims
        Of the rows: "ik", or "bik", of which each batch gets the matrix.
    """
    is_linear, out = layout == "linear", dims[:-1] + "j"
    added = [("bias", "j", dtype)] if bias else []
    added += [("residual", out, dtype)] if residual else []
    f = Function([("a", dims, dtype), ("b", "jk" if is_linear else "kj", dtype), *added])
    a, b = f.operands[:2]
    if is_linear:
        to = f.empty("kj", dtype)
        b = f.named(
            f"linalg.transpose ins({b.name} : {b.type}) outs({to.name} : {to.type}) "
            "permutation = [1, 0]",
            "kj",
            dtype,
        )
    if len(dims) == 3:
        b = _of_each(f, b)
    zeros = f.filled("0.0", out, "f32")
    name = "matmul" if len(dims) == 2 else "batch_matmul"
    result = f.named(
        f"linalg.{name} ins({a.name}, {b.name} : {a.type}, {b.type}) "
        f"outs({zeros.name} : {zeros.type}) -> {zeros.type}",
        out,
        "f32",
    )
    if dtype != "f32":
        result = f.generic([result], f"%r = arith.truncf %0 : f32 to {dtype}", out, dtype)
    if bias:
        body = f"%r = arith.addf %0, %1 : {dtype}"
        result = f.generic([result, f.operands[2]], body, out, dtype)
    result = activated(f, result, activation)
    if residual:
        body = f"%r = arith.addf %0, %1 : {dtype}"
        result = f.generic([f.operands[3], result], body, out, dtype)
    return f.text(result)


def _of_each(f: Function, b: Tensor) -> Tensor:
    """A matrix once for each of a batch."""
    to = f.empty("b" + b.dims, b.dtype)
    return f.named(
        "linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, "
        "affine_map<(d0, d1, d2) -> (d0, d1, d2)>], "
        'iterator_types = ["parallel", "parallel", "parallel"]} '
        f"ins({b.name} : {b.type}) outs({to.name} : {to.type}) {{\n"
        f"^bb0(%e0: {b.dtype}, %old: {b.dtype}):\nlinalg.yield %e0 : {b.dtype}\n}} -> {to.type}",
        "b" + b.dims,
        b.dtype,
    )


def attention(dtype: str, dim: int, mask: str) -> str:
    """`iree_linalg_ext.attention`, with heads in the batch.

    Parameters
    ----------
    mask
        "queries", one number for each key of each query; "bool", one bool; "keys" for none.
    """
    has_mask, of = mask != "keys", "i1" if mask == "bool" else dtype
    sizes = {"q": "?x?", "k": "?x?", "v": "?x?"}
    types = {name: f"tensor<{size}x{dim}x{dtype}>" for name, size in sizes.items()}
    kind, of_mask = types["q"], f"tensor<?x?x?x{of}>"
    names = ["(d0, d1, d3)", "(d0, d4, d3)", "(d0, d4, d2)", "()"]
    names += (["(d0, d1, d4)"] if has_mask else []) + ["(d0, d1, d2)"]
    maps = ", ".join(f"affine_map<(d0, d1, d2, d3, d4) -> {each}>" for each in names)
    given = "%q, %k, %v, %scale" + (", %mask" if has_mask else "")
    kinds = f"{kind}, {kind}, {kind}, f32" + (f", {of_mask}" if has_mask else "")
    arguments = f"%q: {kind}, %k: {kind}, %v: {kind}, " + (
        f"%mask: {of_mask}, " if has_mask else ""
    )
    return f"""
func.func @computes({arguments}%scale: f32) -> {kind} {{
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
