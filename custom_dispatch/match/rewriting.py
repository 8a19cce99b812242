"""Places that are written another way than a pattern's first function, written as that.

A pattern's functions compute the same. Where a model has a later one, the first takes its place
before kernels are put, so that larger patterns find it: a product followed by a GELU that the model
spells out is a product and a GELU.
"""

from collections.abc import Callable, Mapping

from iree.compiler import ir

from custom_dispatch.link.dialects import torch_types
from custom_dispatch.link.operations import functions_of, is_public
from custom_dispatch.match.calls import scalar_of
from custom_dispatch.match.sizes import SHAPES, SYMBOL
from custom_dispatch.match.state import Match
from custom_dispatch.match.types import inverse, transpose

MOST_ROUNDS = 3
"""How often a model is searched again: two patterns may each have the other's first function."""


def write_first(match: Match, current: Callable[[ir.Value], ir.Value]) -> list[ir.Value]:
    """The first function of a place's pattern, at the insertion point.

    `current`: what stands in the place of a value by now.

    Returns: what has the types of the place's results.
    """
    example = match.example.first
    assert example is not None  # noqa: S101 - the caller has seen to it
    values: dict[ir.Value, ir.Value] = {}
    for value, name in example.operands.items():
        axes, its = (item.pattern.axes.get(name) for item in (match.example, example))
        back = None if axes is None or axes == its else inverse(axes)
        values[value] = transpose(current(match.operands[name]), back, "torch")
    kinds: dict[ir.Type, ir.Type | None] = {}
    for value, there in (*values.items(), *zip(example.results, match.results, strict=True)):
        kind = kinds.setdefault(value.type, there.type)
        kinds[value.type] = kind if kind == there.type else None
    given = dict(zip(example.results, match.results, strict=True))
    function = next(op for op in functions_of(example.module) if is_public(op))
    for view in list(function.regions[0].blocks[0].operations)[:-1]:
        op = view.operation
        if op.name not in (SHAPES, SYMBOL):
            _write(op, match, current, values, given, kinds)
    return [values[value] for value in example.results]


def _write(
    op: ir.Operation,
    match: Match,
    current: Callable[[ir.Value], ir.Value],
    values: dict[ir.Value, ir.Value],
    given: Mapping[ir.Value, ir.Value],
    kinds: Mapping[ir.Type, ir.Type | None],
) -> None:
    """Write one operation of an example, with the sizes of the place."""
    first = match.example.first
    assert first is not None  # noqa: S101 - as above
    if op.results and op.results[0] in first.holes:
        number = scalar_of(match, first.holes[op.results[0]])
        is_value = isinstance(number, ir.Value)
        values[op.results[0]] = current(number) if is_value else torch_types.constant(number)
        return
    types = [
        given[value].type if value in given else kinds.get(value.type) or value.type
        for value in op.results
    ]
    attributes = {name: op.attributes[name] for name in op.attributes}
    for name, scalar in first.captured_by(op).items():
        attributes[name] = ir.FloatAttr.get_f32(float(scalar_of(match, scalar)))
    new = ir.Operation.create(
        op.name,
        results=types,
        operands=[values[value] for value in op.operands],
        attributes=attributes,
    )
    values.update(zip(op.results, new.results, strict=True))
