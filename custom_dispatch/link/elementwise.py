"""Operations on the elements of tensors, one by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from custom_dispatch.link.constants import element_of
from custom_dispatch.link.operations import create, integer, size_of

_ORDERED_EQUAL, _ORDERED_LESS, _UNORDERED_UNEQUAL = 1, 4, 13
"""`arith.cmpf`'s predicates. Of NaN, the last one alone is true."""
_BIT = "i1"


class Arithmetic:
    """Makes operations on floats of one type, where the insertion point is."""

    def __init__(self, kind: ir.Type) -> None:
        self.kind = kind

    def constant(self, number: float) -> Any:
        """A number."""
        return create("arith.constant", self.kind, value=ir.FloatAttr.get(self.kind, number))

    def compute(self, name: str, *operands: Any) -> Any:
        """An operation whose result is a float."""
        return create(name, self.kind, *operands)

    add = partialmethod(compute, "arith.addf")
    subtract = partialmethod(compute, "arith.subf")
    multiply = partialmethod(compute, "arith.mulf")
    divide = partialmethod(compute, "arith.divf")

    def widened(self, number: Any) -> Any:
        """A float of this type or a smaller one, as one of this type."""
        element = element_of(number)
        if element is not None:  # rounded to its own type, which the compiler would see through
            return self.constant(ir.FloatAttr(element).value)
        return number if number.type == self.kind else self.compute("arith.extf", number)

    def narrowed(self, number: Any, kind: ir.Type) -> Any:
        """A float as one of another type, which is not larger."""
        return number if number.type == kind else create("arith.truncf", kind, number)

    def equal(self, first: Any, second: Any) -> Any:
        """Whether floats are the same number; false of NaN."""
        return _compare(_ORDERED_EQUAL, first, second)

    def less(self, first: Any, second: Any) -> Any:
        """Whether a float is less than another; false of NaN."""
        return _compare(_ORDERED_LESS, first, second)

    def unequal(self, first: Any, second: Any) -> Any:
        """Whether floats are not the same number; true of NaN."""
        return _compare(_UNORDERED_UNEQUAL, first, second)

    def both(self, first: Any, second: Any) -> Any:
        """The conjunction of two conditions."""
        return create("arith.andi", first.type, first, second)

    def either(self, first: Any, second: Any) -> Any:
        """The disjunction of two conditions."""
        return create("arith.ori", first.type, first, second)

    def select(self, condition: Any, first: Any, second: Any) -> Any:
        """The first float where the condition holds, else the second."""
        return create("arith.select", self.kind, condition, first, second)


def is_odd(integer: Any) -> Any:
    """Whether an integer is odd: its lowest bit."""
    return create("arith.trunci", ir.Type.parse(_BIT), integer)


def _compare(predicate: int, first: Any, second: Any) -> Any:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return create("arith.cmpf", ir.Type.parse(_BIT), first, second, predicate=attribute)


def over_elements(op: ir.Operation) -> ir.Operation:
    """Replace an operation on tensors of one shape by a `linalg.generic` over their elements.

    Constants whose elements are all the same are constants in its body, too.

    Returns: the same operation on elements, in the body of the other.
    """
    kind, inner = op.result.type, []
    numbers = [element_of(item) for item in op.operands]
    axes = tuple(range(kind.rank))
    given = [
        Indexed(item, axes)
        for item, number in zip(op.operands, numbers, strict=True)
        if number is None
    ]

    def body(*elements: Any) -> Any:
        rest = iter(elements)
        operands = [
            next(rest) if number is None else create("arith.constant", number.type, value=number)
            for number in numbers
        ]
        inner.append(ir.Operation.create(op.name, [kind.element_type], operands))
        return inner[0].result

    like = Indexed(op.operands[0], axes)
    result = loops_over(axes, given, body, None, kind.element_type, [like])
    op.result.replace_all_uses_with(result.value)
    op.erase()
    return inner[0]


@dataclass(frozen=True, slots=True)
class Indexed:
    """A tensor, and which dims of the loops its axes are."""

    value: Any
    axes: tuple[int, ...]

    def size(self, dim: int) -> Any:
        """A size, as a number or a value."""
        kind = ir.RankedTensorType(self.value.type)
        axis = self.axes.index(dim)
        if not kind.is_dynamic_dim(axis):
            return kind.get_dim_size(axis)
        return size_of(self.value, axis)


def loops_over(
    axes: Collection[int],
    given: Sequence[Indexed],
    body: Callable[..., Any],
    start: float | None,
    kind: ir.Type,
    sized: Iterable[Indexed],
) -> Indexed:
    """A `linalg.generic` whose result has some axes, and which goes over all those of its inputs.

    Its result begins as `start`, unless that is None; the body gets it as the last argument.
    """
    axes = tuple(sorted(axes)) if isinstance(axes, set) else axes
    dims = sorted({*axes, *(dim for item in given for dim in item.axes)})
    sizes = [next(item for item in sized if dim in item.axes).size(dim) for dim in axes]
    shape = [size if isinstance(size, int) else ir.ShapedType.get_dynamic_size() for size in sizes]
    result = ir.RankedTensorType.get(shape, kind)
    out = create("tensor.empty", result, *(size for size in sizes if not isinstance(size, int)))
    if start is not None:
        number = create("arith.constant", kind, value=ir.FloatAttr.get(kind, start))
        out = linalg.fill(number, outs=[out])
    maps = [
        ir.AffineMapAttr.get(
            ir.AffineMap.get(len(dims), 0, [ir.AffineDimExpr.get(dims.index(dim)) for dim in item])
        )
        for item in (*(item.axes for item in given), axes)
    ]
    parallel, reduction = (
        ir.Attribute.parse(f"#linalg.iterator_type<{name}>") for name in ("parallel", "reduction")
    )
    operands = [*(item.value for item in given), out]
    generic = ir.Operation.create(
        "linalg.generic",
        results=[result],
        operands=operands,
        regions=1,
        attributes={
            "indexing_maps": ir.ArrayAttr.get(maps),
            "iterator_types": ir.ArrayAttr.get(
                [parallel if dim in axes else reduction for dim in dims]
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(given), 1]),
        },
    )
    kinds = [item.type.element_type for item in operands]
    block = ir.Block.create_at_start(generic.regions[0], kinds, [ir.Location.current] * len(kinds))
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[body(*block.arguments)])
    return Indexed(generic.result, tuple(axes))


def hidden_copy(tensor: Any) -> Any:
    """A copy of a tensor that the compiler cannot see through, nor make one of two."""
    kind = tensor.type.element_type
    always = _hidden_bit()
    given = Indexed(tensor, tuple(range(tensor.type.rank)))
    return loops_over(
        given.axes, (given,), lambda value, _: _hidden(value, always), None, kind, (given,)
    ).value


def hide_results(loops: ir.Operation) -> None:
    """Let what a `linalg.generic` computes depend on something that the compiler cannot see."""
    with ir.InsertionPoint(loops), loops.location:
        always = _hidden_bit()
        block = loops.regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1]
        with ir.InsertionPoint(last):
            for index, value in enumerate(last.operands):
                last.operands[index] = _hidden(value, always)


def _hidden_bit() -> Any:
    bit = ir.Type.parse(_BIT)
    return create("util.optimization_barrier", bit, integer(1, bit))


def _hidden(value: Any, always: Any) -> Any:
    """The same element, chosen by a condition that is always true."""
    cast = "arith.uitofp" if isinstance(value.type, ir.FloatType) else "arith.extui"
    # Not a constant, which might be that of all elements.
    other = always if value.type == always.type else create(cast, value.type, always)
    return create("arith.select", value.type, always, value, other)
