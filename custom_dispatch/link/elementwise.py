"""Operations on the elements of tensors, one by one."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from custom_dispatch.link.constants import element_of
from custom_dispatch.link.operations import create, integer, last_of, size_of


def as_float(number: Any, kind: ir.Type) -> Any:
    """A float as one of another type, where the insertion point is."""
    if number.type == kind:
        return number
    if number.type.width > kind.width:
        return arith.truncf(kind, number)
    element = element_of(number)
    if element is None:
        return arith.extf(kind, number)
    # Rounded to its own type, which the compiler would see through.
    return arith.constant(kind, ir.FloatAttr(element).value)


def over_elements(op: ir.Operation) -> ir.Operation:
    """Replace an operation on tensors of one shape by a `linalg.generic` over their elements.

    Constants whose elements are all the same are constants in its body, too.

    Returns: the same operation on elements, in the body of the other; an operation on numbers as it
    is.
    """
    kind = op.result.type
    if not isinstance(kind, ir.RankedTensorType):
        return op
    inner: list[ir.Operation] = []
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
            next(rest) if number is None else arith.constant(number.type, number)
            for number in numbers
        ]
        inner.append(ir.Operation.create(op.name, [kind.element_type], operands))
        return inner[0].result

    with ir.InsertionPoint(op), op.location:
        like = Indexed(op.operands[0], axes)
        result = loops_over(axes, given, body, None, kind.element_type, [like])
    op.result.replace_all_uses_with(result.value)
    op.operation.erase()
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
    axes = tuple(sorted(axes)) if isinstance(axes, set) else tuple(axes)
    dims = sorted({*axes, *(dim for item in given for dim in item.axes)})
    out = tensor.empty(
        [next(item for item in sized if dim in item.axes).size(dim) for dim in axes], kind
    )
    if start is not None:
        out = linalg.fill(arith.constant(kind, start), outs=[out])
    maps = [
        ir.AffineMap.get(len(dims), 0, [ir.AffineDimExpr.get(dims.index(dim)) for dim in item])
        for item in (*(item.axes for item in given), axes)
    ]
    iterators = ["parallel" if dim in axes else "reduction" for dim in dims]
    loops = linalg.generic([item.value for item in given], [out], maps, iterators)
    return Indexed(loops(body), axes)


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
        last = last_of(block)
        with ir.InsertionPoint(last):
            for index, value in enumerate(last.operands):
                last.operands[index] = _hidden(value, always)


def _hidden_bit() -> Any:
    bit = ir.IntegerType.get_signless(1)
    return create("util.optimization_barrier", bit, integer(1, bit))


def _hidden(value: Any, always: Any) -> Any:
    """The same element, chosen by a condition that is always true."""
    cast = arith.uitofp if isinstance(value.type, ir.FloatType) else arith.extui
    # Not a constant, which might be that of all elements.
    other = always if value.type == always.type else cast(value.type, always)
    return arith.select(always, value, other)
