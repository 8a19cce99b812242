"""Weights that a graph computes of narrow numbers, as scales times numbers less zeros.

What a graph does with its weights is done once, while a model is compiled. Whatever it does with
integers (shifts, masks, any library's way of packing) gives integers; from where they become floats
on, each element is kept with the number, scale and zero that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import aten, named
from custom_dispatch.frontends.torch.graph import tensor_of

FLOAT8 = torch.float8_e4m3fn
_VIEWS = (
    *(aten.reshape.default, aten.permute.default, aten.expand.default, aten.unsqueeze.default),
    *(aten.squeeze.dim, aten.squeeze.default, aten.slice.Tensor, aten.select.int),
    *(aten.index_select.default, aten.index.Tensor, aten.gather.default, aten.flip.default),
    *(aten.repeat_interleave.self_int, aten.repeat.default, aten.clone.default),
    *(aten.cat.default, aten.stack.default),
)
"""What moves elements of its first argument, or of several, and changes none."""
_PUT_INTO = (aten.slice_scatter.default, aten.select_scatter.default)
_SUMS = (aten.add.Tensor, aten.sub.Tensor)
_SCALINGS = (aten.mul.Tensor, aten.div.Tensor)


@dataclass(frozen=True)
class Dequantised:
    """A tensor, and what its elements are made of: scales * (numbers - zeros)."""

    value: Tensor
    numbers: Tensor
    """Integers, or e4m3."""
    scales: Tensor
    """F32, as zeros; both have the shape of the value."""
    zeros: Tensor
    plain: bool = False
    """Whether scales are 1 and zeros 0."""

    @staticmethod
    def of(numbers: Tensor, dtype: torch.dtype) -> Dequantised:
        """Narrow numbers that were converted to floats."""
        sizes, device = numbers.shape, numbers.device
        one, zero = (
            torch.full((), each, dtype=torch.float32, device=device) for each in (1.0, 0.0)
        )
        return Dequantised(
            numbers.to(dtype), numbers, one.expand(sizes), zero.expand(sizes), plain=True
        )

    def scaled(self, value: Tensor, by: Any) -> Dequantised:
        """The value after it was multiplied."""
        return self._made(value, self.scales * by, self.zeros)

    def less(self, value: Tensor, by: Any) -> Dequantised:
        """The value after something was taken from it."""
        return self._made(value, self.scales, self.zeros + by / self.scales)

    def _made(self, value: Tensor, scales: Tensor, zeros: Tensor) -> Dequantised:
        sizes = value.shape
        return Dequantised(
            value, self.numbers.expand(sizes), scales.expand(sizes), zeros.expand(sizes)
        )

    def rounded(self, dtype: torch.dtype) -> Dequantised:
        """The value in another float type."""
        return Dequantised(self.value.to(dtype), self.numbers, self.scales, self.zeros, self.plain)

    def t(self) -> Dequantised:
        """The transpose of a matrix."""
        numbers, scales, zeros = (each.t() for each in (self.numbers, self.scales, self.zeros))
        return Dequantised(self.value.t(), numbers, scales, zeros, self.plain)


def is_narrow(value: Any) -> bool:
    """Whether a tensor, or a node that is one, holds integers or 8-bit floats."""
    tensor = tensor_of(value) if isinstance(value, Node) else value
    return isinstance(tensor, Tensor) and (tensor.dtype == FLOAT8 or _is_integer(tensor))


def _is_integer(tensor: Tensor) -> bool:
    kind = tensor.dtype
    return not kind.is_floating_point and not kind.is_complex and kind != torch.bool


class Weights:
    """The values of a graph's nodes that do not depend on a model's arguments.

    Parameters
    ----------
    held
        What reads a weight or constant; None for any other node.
    """

    def __init__(self, held: Callable[[Node], Tensor | None]) -> None:
        self._held = held
        self._narrow: dict[Node, bool | None] = {}

    def is_dequantised(self, node: Any) -> bool:
        """Whether a value is computed, of weights alone, some of which are narrow."""
        return isinstance(node, Node) and node.op == "call_function" and self._of(node) is True

    def is_known(self, node: Any) -> bool:
        """Whether a value is one of weights alone."""
        return isinstance(node, Node) and self._of(node) is not None

    def _of(self, node: Node) -> bool | None:
        """Whether something narrow is in it; None where an argument of the model is."""
        if node not in self._narrow:
            found: bool | None = None
            if node.op in ("placeholder", "get_attr"):
                found = None if self._held(node) is None else is_narrow(node)
            elif node.op == "call_function" and _is_function(node.target):
                sources = [self._of(each) for each in node.all_input_nodes]
                found = None if None in sources else any(sources)
            self._narrow[node] = found
        return self._narrow[node]

    def value(self, node: Node) -> Any:
        """A node's value, with its parts where these are known."""
        with torch.no_grad():
            return self._value(node, {})

    def _value(self, node: Any, known: dict[Node, Any]) -> Any:
        if node not in known:
            if node.op != "call_function":
                held = self._held(node)
                assert held is not None  # noqa: S101 - as `_of` has seen
                known[node] = held.detach()
            else:
                given, more = torch.fx.node.map_arg(
                    (node.args, node.kwargs), lambda each: self._value(each, known)
                )
                known[node] = _computed(node, given, more)
        return known[node]


def _is_function(target: Any) -> bool:
    """Whether an operator's result depends on its arguments alone."""
    return (
        isinstance(target, torch._ops.OpOverload)
        and not target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
    )


def _computed(node: Node, given: Any, more: Any) -> Any:
    values = torch.utils._pytree.tree_map(_value_of, (given, more))
    result = node.target(*values[0], **values[1])
    if not isinstance(result, Tensor) or not result.is_floating_point():
        return result
    if node.target in (aten.to.dtype, aten.copy.default) and result.dtype != FLOAT8:
        x = given[0] if node.target is aten.to.dtype else given[1]
        if is_narrow(x):
            return Dequantised.of(x.expand(result.shape), result.dtype)
        is_known = isinstance(x, Dequantised) and x.value.shape == result.shape
        return x.rounded(result.dtype) if is_known else result
    if node.target in _PUT_INTO and isinstance(given[1], Dequantised):
        return _put_into(node.target, given, more, result)
    if node.target in _VIEWS:
        return _moved(node.target, given, more, result)
    if node.target in (*_SUMS, *_SCALINGS):
        return _arithmetic(node, given, result)
    if node.target is aten.neg.default and isinstance(given[0], Dequantised):
        return given[0].scaled(result, -1.0)
    return _of_torchao(node, values, result)


def _value_of(value: Any) -> Any:
    return value.value if isinstance(value, Dequantised) else value


def _moved(target: Any, given: Any, more: Any, result: Tensor) -> Any:
    first = given[0] if isinstance(given[0], list | tuple) else [given[0]]
    if not all(isinstance(each, Dequantised) for each in first):
        return result
    parts = []
    for part in ("numbers", "scales", "zeros"):
        moved = [getattr(each, part) for each in first]
        argument = moved if isinstance(given[0], list | tuple) else moved[0]
        parts.append(target(argument, *given[1:], **more))
    numbers, scales, zeros = parts
    plain = all(each.plain for each in first)
    return Dequantised(result, numbers, scales, zeros, plain)


def _put_into(target: Any, given: Any, more: Any, result: Tensor) -> Dequantised:
    """A tensor of which a part is written; what is known of no number has no scale."""
    whole, part = given[:2]
    if not isinstance(whole, Dequantised):
        unknown = torch.full_like(whole, torch.nan, dtype=torch.float32)
        nothing = torch.zeros_like(whole, dtype=torch.int8)
        whole = Dequantised(whole, nothing, unknown, unknown)
    numbers, scales, zeros = (
        target(one, other.to(one.dtype), *given[2:], **more)
        for one, other in (
            (_as_wide(whole.numbers, part.numbers), part.numbers),
            (whole.scales, part.scales),
            (whole.zeros, part.zeros),
        )
    )
    return Dequantised(result, numbers, scales, zeros, whole.plain and part.plain)


def _as_wide(tensor: Tensor, other: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, other.dtype))


def _arithmetic(node: Node, given: Any, result: Tensor) -> Any:
    """A sum, difference, product or quotient of which one side has parts."""
    left, right = (
        Dequantised.of(each, result.dtype) if is_narrow(each) else each for each in given[:2]
    )
    is_sum, is_second = node.target in _SUMS, False
    if is_sum and named(node)["alpha"] != 1:
        return result
    if isinstance(right, Dequantised):
        if isinstance(left, Dequantised):
            if is_sum and left.plain and right.plain and FLOAT8 not in _kinds(left, right):
                numbers = node.target(left.numbers.int(), right.numbers.int())
                return Dequantised.of(numbers, result.dtype)
            # Scales and zeros may be quantised themselves.
            is_second = right.numbers.numel() > left.numbers.numel()
        else:
            is_second = True
    x, by = (right, _value_of(left)) if is_second else (left, _value_of(right))
    if not isinstance(x, Dequantised):
        return result
    by = by.float() if isinstance(by, Tensor) else by
    if node.target is aten.mul.Tensor:
        return x.scaled(result, by)
    if node.target is aten.div.Tensor:
        return result if is_second else x.scaled(result, 1.0 / by)
    if node.target is aten.add.Tensor:
        return x.less(result, -by)
    return x.scaled(-result, -1.0).less(result, -by) if is_second else x.less(result, by)


def _kinds(*values: Dequantised) -> list[torch.dtype]:
    return [each.numbers.dtype for each in values]


def _of_torchao(node: Node, values: Any, result: Tensor) -> Any:
    """`torchao.dequantize_affine`, which has a scale for each block of elements."""
    if node.target._schema.name != "torchao::dequantize_affine":
        return result
    names = [each.name for each in node.target._schema.arguments]
    given = dict(zip(names, values[0], strict=False)) | values[1]
    blocks, numbers = given["block_size"], given["input"]
    if not isinstance(numbers, Tensor) or not is_narrow(numbers):
        return result
    parts = []
    for part in (given["scale"], given["zero_point"]):
        each = torch.zeros((), device=numbers.device) if part is None else part
        sizes = [size // block for size, block in zip(numbers.shape, blocks, strict=True)]
        each = each.float().expand(sizes) if each.dim() == 0 else each.float().reshape(sizes)
        for axis, block in enumerate(blocks):
            each = each.repeat_interleave(block, axis)
        parts.append(each)
    return Dequantised(result, numbers, *parts)
