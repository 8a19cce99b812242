"""Masks of attention that a model writes out, as one operand of the call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    dtype_of,
    is_call,
    is_wider,
    number_of,
    same,
    shape_of,
)

LOWEST = {torch.float32: -1e30, torch.bfloat16: -1e30, torch.float16: -65504.0}
"""What hides a key where something finite does in the model; in units of log2(e) it is finite."""


HIDES = -1e4
"""Numbers from here down hide a key."""

CAUSAL, NOTHING = "causal", "nothing"
_MOST_ELEMENTS = 2**26
"""Of a mask that is worked out."""


@dataclass(frozen=True, slots=True)
class Added:
    """A mask that is added."""

    mask: Node
    factor: float
    """What it is multiplied by."""
    scores: tuple[Any, ...]
    """The sizes of the scores that it is added to."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Keys that a number is filled in for."""

    mask: Node
    """Bools."""
    hides: bool
    """What they are where a key is hidden."""
    number: float
    scores: tuple[Any, ...]


def as_operand(
    masks: Sequence[Added | Hidden],
    sizes: tuple[Any, ...],
    like: Sequence[Node],
    write: Writer,
    constants: Mapping[str, torch.Tensor],
) -> Node | None:
    """All masks as one of four dims, of bools if all are and hide by -inf.

    Parameters
    ----------
    sizes
        Of the scores: batch, heads, queries, keys.
    like
        Queries and keys.

    Raises
    ------
    ValueError
        It cannot be one of the queries' type.
    """
    dtype = dtype_of(like[0])
    assert dtype is not None  # noqa: S101 - queries are tensors
    are_bools = all(isinstance(each, Hidden) and math.isinf(each.number) for each in masks)
    found: Node | None = None
    for each in masks:
        if isinstance(each, Hidden):
            mask = _placed(each.mask, each.scores, sizes, write)
            mask = (
                _seen(mask, each.hides, write) if are_bools else _numbers(mask, each, dtype, write)
            )
        else:
            mask = _rounded(each.mask, dtype, write, constants)
            if each.factor != 1.0:
                mask = write.call(aten.mul.Tensor, mask, each.factor)
            mask = _placed(mask, each.scores, sizes, write)
        if found is None:
            found = mask
        else:
            both = aten.logical_and.default if are_bools else aten.add.Tensor
            found = write.call(both, found, mask)
    return None if found is None else of_four_dims(found, sizes, like, write)


def of_four_dims(mask: Node, sizes: tuple[Any, ...], like: Sequence[Node], write: Writer) -> Node:
    """A mask that broadcasts with the scores as [.., .., .., keys], of which others may be 1."""
    while is_call(mask, aten.expand.default):
        mask = mask.args[0]  # over heads it would be one for each
    shape = shape_of(mask)
    if len(shape) < 4:
        mask = write.reshape(mask, (*[1] * (4 - len(shape)), *shape), mask)
        shape = shape_of(mask)
    if same(shape[3:], sizes[3:]):
        return mask
    keys = write.sizes((like[1],), sizes[3:])
    return write.call(aten.expand.default, mask, [-1, -1, -1, *keys])


def meaning_of(mask: Node, constants: Mapping[str, torch.Tensor]) -> str | None:
    """What a mask says that follows from no input; None for any other."""
    while is_call(mask, aten.expand.default):
        mask = mask.args[0]  # of which all copies say the same
    if not _follows(mask, constants, {}):
        return None
    value = _worked_out(mask, constants, {})
    if value is None or value.dim() < 2:
        return None
    shown = value if value.dtype == torch.bool else value == 0
    if value.dtype != torch.bool:
        # A row that sees no key is the mean of all where a finite number hides them.
        hides = value <= HIDES if bool(shown.any(-1).all()) else value == -math.inf
        if not bool((shown | hides).all()):
            return None
    if bool(shown.all()):
        return NOTHING
    is_causal = torch.equal(shown, torch.ones_like(shown).tril())
    return CAUSAL if is_causal and min(shown.shape[-2:]) > 1 else None


def _follows(
    node: Node, constants: Mapping[str, torch.Tensor], known: dict[Node, bool], steps: int = 100
) -> bool:
    """Whether a value follows from constants in few steps, none of them large or by chance."""
    if not steps:
        return False
    if node not in known:
        value = node.meta.get("val")
        if node.op == "placeholder":
            known[node] = node.name in constants
        elif node.op != "call_function" or not isinstance(value, torch.Tensor):
            known[node] = False
        else:
            sizes = list(value.shape)
            known[node] = (
                all(isinstance(size, int) for size in sizes)
                and math.prod(sizes) <= _MOST_ELEMENTS
                and torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ())
                and all(
                    _follows(each, constants, known, steps - 1) for each in node.all_input_nodes
                )
            )
    return known[node]


def _worked_out(
    node: Node, constants: Mapping[str, torch.Tensor], known: dict[Node, torch.Tensor]
) -> torch.Tensor | None:
    """Its elements; None where PyTorch cannot compute it here."""
    if node.op == "placeholder":
        return constants[node.name]
    if node not in known:
        given = {each: _worked_out(each, constants, known) for each in node.all_input_nodes}
        if any(value is None for value in given.values()):
            return None
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), given.__getitem__)
        try:
            with torch.no_grad():
                known[node] = node.target(*args, **kwargs)
        except (RuntimeError, NotImplementedError, TypeError):
            return None
    return known[node]


def _placed(mask: Node, scores: tuple[Any, ...], sizes: tuple[Any, ...], write: Writer) -> Node:
    """A mask of scores of other dims as one of scores of four."""
    if len(scores) == len(sizes):
        return mask
    shape = shape_of(mask)
    shape = (*[1] * (len(scores) - len(shape)), *shape)
    if len(scores) == 3:  # batch and heads are one
        if same(shape[0], 1):
            return write.reshape(mask, (1, *shape), mask)
        if not same(shape[0], sizes[0] * sizes[1]):
            raise ValueError("a mask of another batch")
        source = mask.args[0] if is_call(mask, aten.reshape.default) else None
        if isinstance(source, Node) and len(shape_of(source)) == 4:
            return source
        return write.reshape(mask, (*sizes[:2], *shape[1:]), mask)
    # [batch, windows, heads, ..] of what is [batch * windows, heads, ..] elsewhere.
    if len(scores) != 5 or not same(scores[2], sizes[1]):
        raise ValueError("a mask of other heads")
    mask = write.reshape(mask, shape, mask)
    wide = write.call(aten.expand.default, mask, write.sizes(mask, (*scores[:2], *shape[2:])))
    return write.reshape(wide, (sizes[0], *shape[2:]), wide)


def _seen(mask: Node, hides: bool, write: Writer) -> Node:
    """Where keys are seen."""
    if not hides:
        return mask
    if is_call(mask, aten.logical_not.default, aten.bitwise_not.default):
        source = mask.args[0]
        if dtype_of(source) == torch.bool:
            return source
    if is_call(mask, aten.eq.Scalar) and mask.args[1] == 0:
        return write.call(aten.ne.Scalar, mask.args[0], 0)
    return write.call(aten.logical_not.default, mask)


def _numbers(mask: Node, each: Hidden, dtype: torch.dtype, write: Writer) -> Node:
    """A number where keys are hidden, and 0 elsewhere."""
    lowest = each.number if math.isinf(each.number) else LOWEST[dtype]
    device = mask.meta["val"].device
    values = [
        write.call(aten.full.default, [], number, dtype=dtype, device=device)
        for number in (lowest, 0.0)
    ]
    return write.call(aten.where.self, mask, *(values if each.hides else values[::-1]))


def _rounded(
    mask: Node, dtype: torch.dtype, write: Writer, constants: Mapping[str, torch.Tensor]
) -> Node:
    """A mask in the queries' type.

    Raises
    ------
    ValueError
        It would be less exact.
    """
    if dtype_of(mask) == dtype:
        return mask
    if is_wider(mask) and dtype_of(mask.args[0]) == dtype:
        return mask.args[0]
    if dtype_of(mask) == torch.float32 and _is_of_numbers(mask, constants):
        return write.cast(mask, dtype)
    raise ValueError("a mask of more exact numbers than the queries")


def _is_of_numbers(mask: Node, constants: Mapping[str, torch.Tensor]) -> bool:
    """Whether a mask has 0 where keys are seen, and numbers that hide them elsewhere."""
    if is_call(mask, aten.expand.default, aten.reshape.default, aten.slice.Tensor):
        return _is_of_numbers(mask.args[0], constants)
    if is_call(mask, aten.unsqueeze.default, aten.permute.default):
        return _is_of_numbers(mask.args[0], constants)
    if not is_call(mask, aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf):
        return False
    numbers = [number_of(value, constants) for value in mask.args[1:3]]
    return all(number is not None and (number == 0.0 or number <= HIDES) for number in numbers)
