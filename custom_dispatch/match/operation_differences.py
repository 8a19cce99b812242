"""Two operations of one kind: what tells them apart, besides the values that they read."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import constant_value, element_of, number_of, owner_of
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import kind_of, last_of
from custom_dispatch.match.example import Example
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.state import Pair, State
from custom_dispatch.match.types import EVERY, fits


def other_form(
    example: Example, mine: ir.Operation, its: ir.Operation, *, loose: bool
) -> tuple[Any, ...]:
    """What tells two operations of one name apart, but for what they read; () if nothing."""
    sized = mine.name in known_operations()["sized"]
    if not sized and len(mine.operands) != len(its.operands):
        return (
            f"{kind_of(its)} has {len(its.operands)} operands, and in the pattern "
            f"{len(mine.operands)}",
        )
    if len(mine.results) != len(its.results):
        return (f"{kind_of(its)} has other results",)
    any_sizes = EVERY if loose else example.any_sizes
    for one, other in zip(mine.results, its.results, strict=True):
        if not fits(one.type, other.type, any_sizes=any_sizes):
            return (f"{kind_of(its)} gives ", other.type, ", and in the pattern ", one.type)
    if mine.name == "tensor.extract_slice" and (place := other_slice(mine, its)):
        return place
    defaults = example.defaults.get(kind_of(mine), {})
    besides = example.captured_by(mine)
    name = ""
    if not sized:
        name = other_attribute(mine, its, defaults, besides=besides, loose=loose)
    if name:
        one, other = (attribute_of(op, name, defaults) for op in (mine, its))
        what = name.removeprefix("torch.onnx.")
        return (f"`{what}` of {kind_of(its)} is ", other, ", and in the pattern ", one)
    return ()


def sized(mine: ir.Operation, its: ir.Operation, state: State) -> tuple[tuple[Pair, ...], State]:
    """An operation whose result's type says its sizes, as far as they are known."""
    pair = Pair(mine.results[0], its.results[0], its)
    following = replace(state, sizes=(*state.sizes, pair))
    if mine.name == "tensor.empty":
        return (), following
    return (Pair(mine.operands[0], its.operands[0], its),), following


def regions_of(
    mine: ir.Operation, its: ir.Operation, order: tuple[int, ...], state: State, *, loose: bool
) -> tuple[tuple[Pair, ...], State] | str:
    """What has to agree for the regions of two operations to do so; or what differs."""
    pairs: tuple[Pair, ...] = ()
    another = f"{kind_of(its)} has another region"
    blocks = [[len(region.blocks) for region in op.regions] for op in (mine, its)]
    if blocks[0] != blocks[1] or max(blocks[0], default=0) > 1:
        return another
    for one, other in zip(mine.regions, its.regions, strict=True):
        if not len(one.blocks):
            continue
        first, second = one.blocks[0], other.blocks[0]
        arguments = list(second.arguments)
        if mine.name.startswith("linalg.") and len(arguments) == len(order):
            arguments = [arguments[index] for index in order]
        ends = [last_of(block) for block in (first, second)]
        if (
            len(first.arguments) != len(arguments)
            or not all(
                fits(a.type, b.type, any_sizes=EVERY if loose else ())
                for a, b in zip(first.arguments, arguments, strict=True)
            )
            or ends[0].name != ends[1].name
            or len(ends[0].operands) != len(ends[1].operands)
        ):
            return another
        state = replace(
            state,
            arguments=(*state.arguments, *zip(first.arguments, arguments, strict=True)),
            operations={**state.operations, ends[0]: frozenset({ends[1]})},
        )
        pairs += tuple(
            Pair(a, b, its) for a, b in zip(ends[0].operands, ends[1].operands, strict=True)
        )
    return pairs, state


def is_overwritten(op: ir.Operation, index: int) -> bool:
    """Whether an operand only gives a result its type: `outs` whose content is not read."""
    if not op.name.startswith("linalg.") or not op.regions or not len(op.regions[0].blocks):
        return False
    if index < len(op.operands) - len(op.results):
        return False
    arguments = op.regions[0].blocks[0].arguments
    return index < len(arguments) and not any(True for _ in arguments[index].uses)


_AXES = ("torch.onnx.axis", "torch.onnx.axes")
_PRECISION = "precision_config"
"""Exporting leaves it out where it says nothing."""


Defaults = Mapping[str, ir.Attribute | None]


def other_attribute(
    mine: ir.Operation,
    its: ir.Operation,
    defaults: Defaults,
    *,
    besides: Collection[str] = (),
    loose: bool = False,
) -> str:
    """The name of an attribute that differs; empty where none does.

    - `mine`, `its`: the example's operation and the model's, of one name.
    - `defaults`: what attributes are that they do not say.
    - `besides`: those that are not compared.
    - `loose`: whether what may be sizes is not compared.
    """
    names = {*mine.attributes, *its.attributes} - {*known_operations()["not_compared"], *besides}
    if mine.name == "linalg.generic":
        names -= {"indexing_maps"}  # compared with the operands that they belong to
    for name in sorted(names):
        one, other = (attribute_of(op, name, defaults) for op in (mine, its))
        # An attribute cannot be compared with None.
        both = one is not None and other is not None
        if both and (one == other or (loose and _is_of_sizes(one, other))):
            continue
        if both and name in _AXES and axes_of(its, one) == axes_of(its, other) is not None:
            continue
        if one is None and other is None:
            continue
        if not both and name == _PRECISION and _is_default(one or other):
            continue
        return str(name)
    return ""


def axes_of(its: ir.Operation, said: ir.Attribute | ir.Value) -> list[int] | None:
    """The axes that a node of ONNX says, from the front; None where they or the rank are not known.

    - `its`: the node in the model, where tensors have ranks: those of patterns have any.
    - `said`: an attribute or an operand of that node, or of the pattern's.
    """
    tensors = its.results if kind_of(its) in known_operations()["axes_of_results"] else its.operands
    kind = builtin_type(tensors[0].type) if len(tensors) else None
    if isinstance(said, ir.Value):
        owner = owner_of(said)
        found = None if owner is None else constant_value(owner)
        numbers = [*found] if isinstance(found, ir.DenseElementsAttr) else None
    elif isinstance(said, ir.ArrayAttr):
        numbers = [number_of(item) for item in said]
    else:
        numbers = [number_of(said)]
    if numbers is None or not isinstance(kind, ir.RankedTensorType):
        return None
    return [int(number) + kind.rank * (number < 0) for number in numbers]


def are_axes(mine: ir.Operation, its: ir.Operation, index: int) -> bool:
    """Whether an operand says axes that are the same in an example and a model, in any way."""
    if known_operations()["axes_operands"].get(kind_of(its)) != index:
        return False
    found = axes_of(its, its.operands[index])
    return found is not None and found == axes_of(its, mine.operands[index])


def attribute_of(op: ir.Operation, name: str, defaults: Defaults) -> ir.Attribute | None:
    """An attribute of an operation, as it says it or as it is by default."""
    found = op.attributes.get(name)
    return defaults.get(name) if found is None else found


def other_slice(mine: ir.Operation, its: ir.Operation) -> tuple[str, ...]:
    """What tells two slices apart, but for their sizes: where they begin, and their strides."""
    for name in ("static_offsets", "static_strides"):
        one, other = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for op in (mine, its))
        is_known = ir.ShapedType.get_dynamic_stride_or_offset() not in (*one, *other)
        if one != other or not is_known:
            shown = str(other) if is_known else "computed"
            return (f"`{name}` of {its.name} is {shown}, and in the pattern {one}",)
    return ()


def _is_default(precision: ir.Attribute) -> bool:
    return all("DEFAULT" in str(item) for item in ir.ArrayAttr(precision))


def _is_of_sizes(one: ir.Attribute, other: ir.Attribute) -> bool:
    kinds = (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseElementsAttr)
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in kinds)


_MOST_PERMUTED = 4


def orders_of(mine: ir.Operation, its: ir.Operation) -> list[tuple[int, ...]]:
    """For each order, which operand of the model each one of the example is.

    The inputs of `linalg.generic` are as good in any order as their indexing maps allow.
    """
    count = len(mine.operands)
    plain = tuple(range(count))
    kind = kind_of(mine)
    if kind in known_operations()["commutative"]:
        # A third operand of PyTorch's is what the second is multiplied with.
        moved = 2 if kind.startswith("torch.") else count
        if moved <= _MOST_PERMUTED and all(map(_is_one, list(its.operands)[moved:])):
            return [(*order, *plain[moved:]) for order in itertools.permutations(range(moved))]
    if mine.name == "linalg.generic":
        inputs = count - len(mine.results)
        orders = [plain]
        if 1 < inputs <= _MOST_PERMUTED:
            rest = plain[inputs:]
            orders = [(*order, *rest) for order in itertools.permutations(range(inputs))]
        return [order for order in orders if _has_maps(mine, its, order)]
    return [plain]


def _is_one(value: ir.Value) -> bool:
    """Whether a factor says nothing: `torch.add(x, y, alpha=1)`."""
    element = element_of(value)
    return element is not None and number_of(element) == 1


def _has_maps(mine: ir.Operation, its: ir.Operation, order: tuple[int, ...]) -> bool:
    one, other = (_maps(op) for op in (mine, its))
    if len(one) != len(other):
        return False
    single: frozenset[int] | None = None
    for index, position in enumerate(order):
        if one[index] == other[position]:
            continue
        if single is None:
            single = _single_loops(its, other)
        if not _is_same(one[index], other[position], single):
            return False
    return True


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])]


def _single_loops(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> frozenset[int]:
    """The loops of an operation that go once, as it says in a tensor's type."""
    found = set()
    for value, each in zip(op.operands, maps, strict=True):
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType):
            continue
        for axis, expr in enumerate(each.results):
            if isinstance(expr, ir.AffineDimExpr) and kind.shape[axis] == 1:
                found.add(expr.position)
    return frozenset(found)


def _is_same(one: ir.AffineMap, other: ir.AffineMap, single: frozenset[int]) -> bool:
    """Whether two maps read the same: where a loop goes once, its number is 0."""
    mine, its = list(one.results), list(other.results)
    if one.n_dims != other.n_dims or len(mine) != len(its):
        return False
    return all(
        a == b or {_loop(a, single), _loop(b, single)} == {0}
        for a, b in zip(mine, its, strict=True)
    )


def _loop(expr: ir.AffineExpr, single: frozenset[int]) -> int | None:
    """The number that an expression is: 0 of a loop that goes once; None where it may be others."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    is_single = isinstance(expr, ir.AffineDimExpr) and expr.position in single
    return 0 if is_single else None
