"""What models from PyTorch compute, as IREE's conversion of the torch dialect writes it."""

from __future__ import annotations

from cuda_kernels.patterns.mlir_text import KNOWN, Function, Tensor

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
    flat = f.collapsed(x, kept, len(kept) - 1)
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


def layer_norm(dims: str, dtype: str, *, has_weight: bool, wide: bool = False) -> str:
    """`torch.nn.functional.layer_norm` over the last dim.

    Parameters
    ----------
    wide
        Whether what has 16 bits is normalised in f32, as ONNX's operator is, and rounded before the
        weight; PyTorch's is not.
    """
    weights = [("weight", dims[-1], dtype), ("bias", dims[-1], dtype)] if has_weight else []
    within = "f32" if wide else dtype
    f = Function([("x", dims, dtype), *weights], ["epsilon"], within)
    x = f.widened(f.operands[0]) if wide else f.operands[0]
    mean = _spread(f, _mean(f, x), dims)
    centred = f.generic([x, mean], f"%r = arith.subf %0, %1 : {within}", dims, within)
    root = _root(f, _mean(f, _product(f, centred, centred, dims)))
    result = _product(f, centred, _spread(f, root, dims), dims)
    if wide:
        result = f.narrowed(result, dtype)
    if has_weight:
        result = _product(f, result, f.operands[1], dims)
        body = f"%r = arith.addf %0, %1 : {dtype}"
        result = f.generic([result, f.operands[2]], body, dims, dtype)
    return f.text(result)


def rms_norm(dims: str, dtype: str, square: str, rounds: str) -> str:
    """`x * rsqrt(mean(x^2) + epsilon) * weight`, in f32 unless it rounds always.

    Parameters
    ----------
    square
        "mulf" for x * x, "fpowi" for x.pow(2).
    rounds
        Of 16 bits: "before" or "after" it is multiplied with the weight, "last", likewise after it
        with the weight widened there, or "always".
    """
    within = dtype if rounds == "always" else "f32"
    f = Function([("x", dims, dtype), ("weight", dims[-1], dtype)], ["epsilon"], within)
    x, weight = f.operands
    if rounds != "always":
        x = f.widened(x)
    if square == "mulf":
        squared = _product(f, x, x, dims)
    else:
        two = f.number("2", "i64")
        squared = f.generic([x], f"%r = math.fpowi %0, {two} : {within}, i64", dims, within)
    result = _product(f, x, _root(f, _mean(f, squared)), dims)
    if within == dtype:
        return f.text(_product(f, weight, result, dims))
    if rounds == "before":
        return f.text(_product(f, weight, f.narrowed(result, dtype), dims))
    if rounds == "after":
        return f.text(f.narrowed(_product(f, f.widened(weight), result, dims), dtype))
    body = f"%w = arith.extf %1 : {dtype} to f32\n%r = arith.mulf %0, %w : f32"
    return f.text(f.narrowed(f.generic([result, weight], body, dims, "f32"), dtype))


def softmax(dims: str, dtype: str) -> str:
    """`torch.softmax` over the last dim: f32 inside, whatever the type."""
    f = Function([("x", dims, dtype)])
    return f.text(softmax_of(f, f.operands[0]))


def softmax_of(f: Function, x: Tensor) -> Tensor:
    """The same of a tensor."""
    dims, kept, dtype = x.dims, x.dims[:-1], x.dtype
    x = f.widened(x)
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
    largest = Tensor(f"{name}#0", kept, "f32")
    column = f.expanded(largest, kept + "1", len(kept) - 1)
    below = f.generic([x, column], "%r = arith.subf %0, %1 : f32", dims, "f32")
    powers = f.generic([below], "%r = math.exp %0 : f32", dims, "f32")
    result = f.generic([powers, _summed(f, powers)], "%r = arith.divf %0, %1 : f32", dims, "f32")
    return f.narrowed(result, dtype)


def activated(f: Function, x: Tensor, activation: str) -> Tensor:
    """ReLU, SiLU and both GELUs, as operations on elements; "" for none."""
    dims, dtype = x.dims, x.dtype
    one, half, zero = (f.number(each, dtype) for each in ("1.0", "0.5", "0.0"))
    if activation == "relu":
        body = f"%c = arith.cmpf ugt, %0, {zero} : T\n%r = arith.select %c, %0, {zero} : T"
    elif activation == "silu":
        body = (
            "%n = arith.negf %0 : T\n%p = math.exp %n : T\n"
            f"%s = arith.addf %p, {one} : T\n%r = arith.divf {one}, %s : T"
        )
        return _product(f, _elements(f, x, body), x, dims)
    elif activation == "gelu_erf":
        root, of_two = f.number("1.41421354", dtype), ""
        if dtype != "f32":  # nobody computes it before
            root, of_two = "%w", f"%w = math.sqrt {f.number('2.0', dtype)} : T\n"
        body = (
            f"{of_two}%q = arith.divf %0, {root} : T\n%p = math.erf %q : T\n"
            f"%s = arith.addf %p, {one} : T\n%h = arith.mulf %s, {half} : T\n"
            "%r = arith.mulf %0, %h : T"
        )
    elif activation == "gelu_tanh":
        # The second constant is sqrt(2 / pi) with the digits that it has there.
        three, cubed = f.number("3", "i64"), f.number("4.471500e-02", dtype)
        factor = f.number("7.977240e-01", dtype)
        body = (
            f"%c = math.fpowi %0, {three} : T, i64\n%d = arith.mulf %c, {cubed} : T\n"
            f"%a = arith.addf %0, %d : T\n%m = arith.mulf %a, {factor} : T\n"
            f"%t = math.tanh %m : T\n%s = arith.addf %t, {one} : T\n"
            f"%h = arith.mulf %s, {half} : T\n%r = arith.mulf %0, %h : T"
        )
    else:
        return x
    return _elements(f, x, body)


def _elements(f: Function, x: Tensor, body: str) -> Tensor:
    """An operation on each element, of `T`."""
    return f.generic([x], body.replace(" T", f" {x.dtype}"), x.dims, x.dtype)


def gelu(dims: str, form: str, dtype: str) -> str:
    """`torch.nn.functional.gelu` ("erf", "tanh"); `NewGELUActivation` of transformers ("new")."""
    f = Function([("x", dims, dtype)])
    x = f.operands[0]
    if form != "new":
        return f.text(activated(f, x, f"gelu_{form}"))
    three, one = f.number("3", "i64"), f.number("1.0", dtype)
    cubed, factor = f.number("4.471500e-02", dtype), f.number("0.79788456080286541", dtype)
    half = _elements(f, x, f"%r = arith.mulf %0, {f.number('0.5', dtype)} : T")
    inner = _elements(f, x, f"%r = math.fpowi %0, {three} : T, i64")
    inner = _elements(f, inner, f"%r = arith.mulf %0, {cubed} : T")
    inner = f.generic([x, inner], f"%r = arith.addf %0, %1 : {dtype}", dims, dtype)
    inner = _elements(f, inner, f"%r = arith.mulf %0, {factor} : T")
    inner = _elements(f, inner, "%r = math.tanh %0 : T")
    inner = _elements(f, inner, f"%r = arith.addf %0, {one} : T")
    return f.text(_product(f, half, inner, dims))


def swiglu(dims: str, dtype: str, *, wide: bool = False) -> str:
    """`silu(gate) * up`.

    Parameters
    ----------
    wide
        Whether SiLU of 16 bits is in f32, as in decompositions of PyTorch.
    """
    f = Function([("gate", dims, dtype), ("up", dims, dtype)])
    gate, up = f.operands
    if wide:
        gate = f.narrowed(activated(f, f.widened(gate), "silu"), dtype)
    else:
        gate = activated(f, gate, "silu")
    return f.text(_product(f, gate, up, dims))


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
    result = f.narrowed(result, dtype)
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


def rotary(dim: str, tables: str, dtype: str) -> str:
    """`x * cos + rotate_half(x) * sin`, as transformers has it, with tables [.., 1, length, dim].

    Parameters
    ----------
    dim
        The letter of a head's size.
    tables
        "b" for tables of each sequence, "1" for one.
    """
    half = {"S": "H", "M": "S", "L": "M"}[dim]
    kinds = [(name, f"{tables}1l{dim}", dtype) for name in ("cos", "sin")]
    f = Function([("x", f"bhl{dim}", dtype), *kinds])
    x, cos, sin = f.operands
    part = Tensor("", f"bhl{half}", dtype)

    def sliced(start: int) -> Tensor:
        sizes = ", ".join(f.size(letter) for letter in "bhl")
        text = (
            f"tensor.extract_slice {x.name}[0, 0, 0, {start}] [{sizes}, {KNOWN[half]}] "
            f"[1, 1, 1, 1] : {x.type} to {part.type}"
        )
        return f.named(text, part.dims, dtype)

    turned = f.generic([sliced(KNOWN[half])], f"%r = arith.negf %0 : {dtype}", part.dims, dtype)
    lower = sliced(0)
    both = f.named(
        f"tensor.concat dim(3) {turned.name}, {lower.name} : ({part.type}, {part.type}) "
        f"-> {x.type}",
        x.dims,
        dtype,
    )
    first, second = _product(f, x, cos, x.dims), _product(f, both, sin, x.dims)
    return f.text(f.generic([first, second], f"%r = arith.addf %0, %1 : {dtype}", x.dims, dtype))
