"""Norms that a model writes out, as PyTorch's operators, or as the operator that a kernel computes.

All are x times one over the root of a mean of squares. Where these are squares of differences to
the mean, it is a layer norm. The mean may be a sum, a variance, or have no epsilon; the root may be
`rsqrt`, a power, or `sqrt` that is divided by. Then weights follow, before or after the result is
rounded, and may be one more than what the model holds, as Gemma's are. A bias follows for layer
norms.

The kernels compute in f32 and round once, so that no step is less exact than the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    alike,
    aten,
    calls,
    constants_of,
    dtype_of,
    is_call,
    keeps_results,
    named,
    narrow,
    number_of,
    only_user,
    put,
    same,
    scaled,
    shape_of,
)

_TYPES = (torch.float32, torch.float16, torch.bfloat16)
_LOW = _TYPES[1:]
_LEAST = 1e-10
"""Up to which number a length may be taken for it and still be the same for all that is used."""


def _rms_norm_from(x: Tensor, weight: Tensor | None, epsilon: float, offset: float) -> Tensor:
    wide = x.to(torch.float32)
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    by = offset if weight is None else weight.to(torch.float32) + offset
    return (normed * by).to(x.dtype)


def _like_x(x: Tensor, weight: Tensor | None, epsilon: float, offset: float) -> Tensor:
    del weight, epsilon, offset
    return x.new_empty(x.shape)


torch.library.custom_op(
    "custom_dispatch_forms::rms_norm_from",
    _rms_norm_from,
    mutates_args=(),
    schema="(Tensor x, Tensor? weight, float epsilon, float offset) -> Tensor",
).register_fake(_like_x)
RMS_NORM_FROM = torch.ops.custom_dispatch_forms.rms_norm_from.default
"""An RMS norm whose weights are added to a number; absent weights are zeros."""


@dataclass(frozen=True)
class _Norm:
    """A tensor over the root of the mean of its squares."""

    source: Node
    """What is normalised, as wide as that is computed."""
    is_centred: bool
    """Whether the mean is subtracted first."""
    epsilon: float
    factor: float = 1.0
    """What the result is multiplied by: not 1 where squares are added and not averaged."""


def _write(program: torch.export.ExportedProgram, kinds: frozenset[str]) -> None:
    constants = constants_of(program)
    for node in calls(program.graph, aten.mul.Tensor, aten.div.Tensor):
        norm = _norm(node, constants)
        if norm is None:
            continue
        # The kernel may take in what follows, or only some of it.
        for last, factor, weight, bias in reversed(list(_steps(node, norm, constants))):
            if _put(last, replace(norm, factor=factor), weight, bias, constants, kinds):
                break
    for node in calls(program.graph, aten.rms_norm.default) if "rms" in kinds else ():
        _bring(node, kinds)


_KINDS = (frozenset({"layer"}), frozenset({"rms"}), frozenset({"rms", "rms_from"}))
write_layer_norms, write_rms_norms, write_every_rms_norm = (
    keeps_results(partial(_write, kinds=kinds)) for kinds in _KINDS
)


def _norm(node: Node, constants: Mapping[str, Tensor]) -> _Norm | None:
    """What a product with one over a root, or a quotient with the root, is the norm of."""
    one, other = node.args[:2]
    pairs = [(one, other)]
    if node.target is aten.mul.Tensor:
        pairs.append((other, one))
    for x, by in pairs:
        if not isinstance(x, Node) or not isinstance(by, Node) or not shape_of(x):
            continue
        found = _of_length_one(x, by) if node.target is aten.div.Tensor else None
        if found is not None:
            return found
        under = _under_root(by, constants, is_inverse=node.target is aten.mul.Tensor)
        if under is None or not same(shape_of(x), shape_of(node)):
            continue
        found = _mean_of_squares(under, x, constants)
        if found is not None:
            return found
    return None


def _of_length_one(x: Node, by: Node) -> _Norm | None:
    """`torch.nn.functional.normalize`, which divides by a length, or by a number if that is larger.

    Squares of the number and the length are added: no length that is not far below 1e-9 differs.
    """
    least = 0.0
    if is_call(by, aten.expand.default, aten.expand_as.default):
        by = by.args[0]
    if is_call(by, aten.clamp_min.default) and isinstance(by.args[1], float | int):
        by, least = by.args[0], float(by.args[1])
    size = shape_of(x)[-1]
    if not is_call(by, aten.linalg_vector_norm.default) or not isinstance(size, int) or size < 1:
        return None
    given = named(by)
    is_length = given["ord"] == 2 and given["dtype"] is None and 0.0 <= least <= _LEAST
    if not is_length or not given["dim"] or not _is_of_last(by) or not _is_same(given["self"], x):
        return None
    return _Norm(x, False, least**2 / size, size**-0.5)


def _under_root(node: Node, constants: Mapping[str, Tensor], *, is_inverse: bool) -> Node | None:
    """What is under the root that a value is, or is one over."""
    while (found := scaled(node, constants)) is not None and found[1] == 1.0:
        node = found[0]  # `1.0 / x` is a reciprocal times 1.0
    if not is_inverse:
        return node.args[0] if _is_root(node, 0.5) else None
    if is_call(node, aten.rsqrt.default) or _is_root(node, -0.5):
        return node.args[0]
    if is_call(node, aten.reciprocal.default):
        root = node.args[0]
    elif is_call(node, aten.div.Tensor) and number_of(node.args[0], constants) == 1.0:
        root = node.args[1]
    elif _is_root(node, -1.0):
        root = node.args[0]
    else:
        return None
    return root.args[0] if _is_root(root, 0.5) else None


def _is_root(node: Any, exponent: float) -> bool:
    if exponent == 0.5 and is_call(node, aten.sqrt.default):
        return True
    return is_call(node, aten.pow.Tensor_Scalar) and node.args[1] == exponent


def _mean_of_squares(node: Node, x: Node, constants: Mapping[str, Tensor]) -> _Norm | None:
    """The norm of x, where a value is the mean of its squares and perhaps a small number."""
    epsilon = 0.0
    if is_call(node, aten.add.Tensor, aten.add.Scalar) and named(node)["alpha"] == 1:
        for mean, number in (node.args[:2], node.args[1::-1]):
            known = number_of(number, constants)
            if isinstance(mean, Node) and known is not None:
                node, epsilon = mean, known
                break
    size = shape_of(x)[-1]
    if not isinstance(size, int) or size < 1:
        return None
    share = 1.0
    while (found := scaled(node, constants)) is not None:
        node, share = found[0], share * found[1]
    centre = _centre(x)
    if is_call(node, aten.var.correction, aten.var.dim):
        is_whole = _is_of_last(node) and _correction(node) == 0 and centre is not None
        if not (is_whole and share == 1.0 and _is_same(named(node)["self"], centre)):
            return None
        return _Norm(named(node)["self"], True, epsilon)
    if not is_call(node, aten.mean.dim, aten.sum.dim_IntList) or not _is_of_last(node):
        return None
    squares = _squared(named(node)["self"])
    if squares is None or not _is_same(squares, x):
        return None
    if is_call(node, aten.sum.dim_IntList):
        share *= size
    if share <= 0.0:
        return None
    factor = share**-0.5 if abs(share - 1.0) > 1e-6 else 1.0
    if factor != 1.0 and centre is not None:
        return None
    return _Norm(x if centre is None else centre, centre is not None, epsilon / share, factor)


def _correction(node: Node) -> float | None:
    given = named(node)
    if "unbiased" in given:
        return 1.0 if given["unbiased"] else 0.0
    return 1.0 if given["correction"] is None else given["correction"]


def _is_of_last(node: Node) -> bool:
    """Whether a reduction is of the last axis alone, which stays as one element."""
    given = named(node)
    dims = given["dim"]
    dims = [dims] if isinstance(dims, int) else dims
    return bool(given["keepdim"]) and dims == [len(shape_of(given["self"])) - 1]


def _squared(node: Any) -> Node | None:
    if is_call(node, aten.square.default) or (
        is_call(node, aten.pow.Tensor_Scalar) and node.args[1] == 2
    ):
        return node.args[0]
    is_square = is_call(node, aten.mul.Tensor) and _is_same(node.args[0], node.args[1])
    return node.args[0] if is_square else None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, but that one may be wider than the other."""
    if alike(one, other):
        return True
    if not isinstance(one, Node) or not isinstance(other, Node):
        return False
    if alike(narrow(one), narrow(other)):
        return True
    first, second = _centre(one), _centre(other)
    return first is not None and second is not None and _is_same(first, second)


def _centre(node: Any) -> Node | None:
    """What a tensor is, before its mean over the last axis is subtracted."""
    if not is_call(node, aten.sub.Tensor) or named(node)["alpha"] != 1:
        return None
    x, mean = node.args[:2]
    if is_call(mean, aten.to.dtype):
        mean = mean.args[0]
    is_mean = is_call(mean, aten.mean.dim) and _is_of_last(mean)
    return x if isinstance(x, Node) and is_mean and _is_same(named(mean)["self"], x) else None


def _steps(
    node: Node, norm: _Norm, constants: Mapping[str, Tensor]
) -> Iterator[tuple[Node, float, Any, Any]]:
    """What may be the last operation of a norm, with the factor, weight and bias until then."""
    factor, weight, bias = norm.factor, None, None
    while True:
        yield node, 1.0 if abs(factor - 1.0) < 1e-6 else factor, weight, bias
        user = only_user(node)
        if user is None:
            return
        if is_call(user, aten.to.dtype):
            kinds = {dtype_of(user), dtype_of(node)}
            if not kinds <= {*_TYPES} or kinds == {*_LOW}:
                return
        elif factor != 1.0 and (times := scaled(user, constants)) is not None:
            if times[0] is not node or bias is not None:
                return
            factor *= times[1]
        elif is_call(user, aten.mul.Tensor) and weight is None and bias is None:
            weight = _other(user, node)
            if not _is_row(weight, node):
                return
        elif is_call(user, aten.add.Tensor) and norm.is_centred and bias is None:
            bias = _other(user, node)
            if named(user)["alpha"] != 1 or not _is_row(bias, node):
                return
        else:
            return
        node = user


def _other(user: Node, node: Node) -> Any:
    return user.args[1] if user.args[0] is node else user.args[0]


def _is_row(value: Any, like: Node) -> bool:
    """Whether a tensor has a number for each element of a row, the same for all rows."""
    shape = shape_of(value)
    return (
        0 < len(shape) <= len(shape_of(like))
        and same(shape[-1], shape_of(like)[-1])
        and all(same(size, 1) for size in shape[:-1])
    )


def _put(
    last: Node,
    norm: _Norm,
    weight: Any,
    bias: Any,
    constants: Mapping[str, Tensor],
    kinds: frozenset[str],
) -> bool:
    """Write the norm in the place of an operation; return whether there is a kernel for it.

    What is none of the kinds to be written is left as it is.
    """
    dtype = dtype_of(last)
    source = narrow(norm.source)
    if dtype_of(source) != dtype:
        source = norm.source
    if dtype not in _TYPES or dtype_of(source) != dtype:
        return False
    write = Writer(last)
    size = shape_of(source)[-1]
    row = partial(_row, dtype=dtype, size=size, write=write)
    if norm.is_centred:
        rows = [None if each is None else row(each) for each in (weight, bias)]
        if (weight, bias).count(None) != rows.count(None):
            return False
        if "layer" in kinds:
            epsilon = norm.epsilon
            put(last, write.call(aten.layer_norm.default, source, [size], *rows, epsilon, False))
        return True
    if weight is not None and norm.factor != 1.0:
        return False
    plain = None if weight is None else row(weight)
    if plain is not None:
        if "rms" in kinds:
            put(last, write.call(aten.rms_norm.default, source, [size], plain, norm.epsilon))
        return True
    offset = norm.factor
    if weight is not None:
        found = _offset(weight, constants)
        if found is None:
            return False
        plain, offset = row(found[0]), found[1]
        if plain is None:
            return False
    if "rms_from" in kinds:
        put(last, write.call(RMS_NORM_FROM, source, plain, norm.epsilon, offset))
    return True


def _row(value: Node, dtype: torch.dtype, size: int, write: Writer) -> Node | None:
    """Weights of a type with one axis; None where they are of another type."""
    if dtype_of(value) != dtype:
        value = narrow(value)
    if is_call(value, aten.reshape.default, aten.unsqueeze.default):
        source = value.args[0]
        value = source if same(shape_of(source), (size,)) else value
    return write.reshape(value, (size,)) if dtype_of(value) == dtype else None


def _offset(weight: Node, constants: Mapping[str, Tensor]) -> tuple[Node, float] | None:
    """What a number is added to, and the number."""
    weight = narrow(weight)
    if is_call(weight, aten.to.dtype) and is_call(weight.args[0], aten.add.Tensor):
        weight = weight.args[0]
    if not is_call(weight, aten.add.Tensor) or named(weight)["alpha"] != 1:
        return None
    for held, number in (weight.args[:2], weight.args[1::-1]):
        known = number_of(number, constants)
        if isinstance(held, Node) and known is not None:
            return held, known
    return None


def _bring(node: Node, kinds: frozenset[str]) -> None:
    """Say the epsilon of PyTorch's operator, and that it has no weight."""
    given = named(node)
    x, weight, epsilon = given["input"], given["weight"], given["eps"]
    if dtype_of(x) not in _TYPES or len(given["normalized_shape"]) != 1:
        return
    if epsilon is None:
        epsilon = torch.finfo(torch.float32).eps  # of 16 bits, too
        node.args, node.kwargs = (x, given["normalized_shape"], weight, epsilon), {}
    if weight is None and "rms_from" in kinds:
        put(node, Writer(node).call(RMS_NORM_FROM, x, None, epsilon, 1.0))
