"""Operands that follow from a model's conditions, computed in the torch dialect."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.dialects.torch_types import CODES, constant, element_type, with_element
from custom_dispatch.link.operations import create
from custom_dispatch.match.conditions import Solved, said
from custom_dispatch.match.polynomial import Atom, Polynomial
from custom_dispatch.match.positions import INTEGERS
from custom_dispatch.match.sizes import SHAPES, bind_shape, extents_of
from custom_dispatch.match.state import Match

_STEP = 1e-6
"""Between an operation of the model and what is put behind it, in the model's order."""
_LIMITS = {32: (-(2**31), 2**31 - 1), 64: (-(2**63), 2**63 - 1)}


class Computer:
    """Puts into a model what operands have to be.

    `order`: where the model's operations stand in it; gets the new ones.
    """

    def __init__(self, order: dict[ir.Operation, float]) -> None:
        self._order = order
        self._known: dict[Any, ir.Value | None] = {}

    def computed(self, match: Match) -> Match | str:
        """A place whose operands are all there, or why one cannot be computed."""
        operands = dict(match.operands)
        for name, solved in match.operands.items():
            if isinstance(solved, tuple):
                operands[name] = self._of_shape(match, name, solved)
            if isinstance(solved, Solved):
                value = self._operand(match, name, solved)
                if value is None:
                    # The words of a condition, without what it compares with.
                    found = said([solved.value]).removesuffix(" >= 0")
                    return f"`{name}` would be {found}, which is not known how to compute"
                operands[name] = value
        return replace(match, operands=operands)

    def _operand(self, match: Match, name: str, solved: Solved) -> ir.Value | None:
        kernel = match.example.pattern.kernel
        operand = next(item for item in kernel.arguments if item.name == name)
        if not isinstance(operand, Buffer) or len(operand.shape) != 1:
            return None
        size = _source_of(match, operand.shape[0])
        if size is None:
            return None
        element = f"s{operand.dtype.mlir}"
        key = (solved, element, extents_of(size[0])[size[1]])
        if key not in self._known:
            self._known[key] = self._one_for_each(solved, element, *size)
        return self._known[key]

    def _of_shape(self, match: Match, name: str, shape: tuple[int, ...]) -> ir.Value:
        """A tensor of which nothing but the shape is read."""
        kernel = match.example.pattern.kernel
        dtype = next(str(item.dtype) for item in kernel.arguments if item.name == name)
        element = {"u": "ui", "i": "si"}.get(dtype[0], dtype[0]) + dtype[1:]
        block = match.root.owner.operation.block
        if (shape, element, block) not in self._known:
            listed = ",".join(map(str, shape))
            zeros = f"dense<{'' if 0 in shape else 0}> : "
            held = ir.Attribute.parse(f"{zeros}tensor<{listed.replace(',', 'x')}x{element}>")
            kind = ir.Type.parse(f"!torch.vtensor<[{listed}],{element}>")
            with ir.InsertionPoint.at_block_begin(block):
                found = create("torch.vtensor.literal", kind, value=held)
            self._order[ir.OpResult(found).owner.operation] = -1.0
            self._known[shape, element, block] = found
        return self._known[shape, element, block]

    def _one_for_each(
        self, solved: Solved, element: str, tensor: ir.Value, axis: int
    ) -> ir.Value | None:
        """A value for each index of an axis of a tensor."""
        size = extents_of(tensor)[axis].number
        value = self._sum(solved.value, solved.axes)
        if value is None or element not in INTEGERS:
            return None
        # A number that has no place in fewer bits is behind all others there as well.
        low, high = _LIMITS[int(element[2:])]
        value = self._call("clamp", value.type, value, low, high)
        value = self._cast(value, element)
        if not extents_of(value):
            if size is None:
                return None
            wide = ir.Type.parse(f"!torch.vtensor<[{size}],{element}>")
            return self._call("expand", wide, value, [size], False)
        if size is None:
            self._bind(value, tensor, axis)
        return value

    def _bind(self, value: ir.Value, tensor: ir.Value, axis: int) -> None:
        """Say that a tensor of one axis has the size of another's."""
        for use in tensor.uses:
            op = use.owner.operation
            if op.name == SHAPES:
                each = ir.AffineMapAttr(op.attributes["shape_expressions"]).value
                sizes = [each.results[axis]]
                bind_shape(value, list(op.operands)[1:], sizes, ir.InsertionPoint(op))
                return

    def _sum(self, value: Polynomial, axes: Sequence[Polynomial]) -> ir.Value | None:
        """A number, or one for each index, of i64; None of what follows from no tensor, too."""
        total: ir.Value | None = None
        for product, factor in value.terms.items():
            if not product:
                continue
            atom = Polynomial({product: 1}).atom
            found = None if atom is None else self._atom(atom, axes)
            if found is None:
                return None
            found = self._cast(found, "si64")
            if factor != 1:
                found = self._call("mul.Scalar", found.type, found, factor)
            total = (
                found if total is None else self._call("add.Tensor", found.type, total, found, 1)
            )
        if total is None or not value.constant:
            return total
        return self._call("add.Scalar", total.type, total, value.constant, 1)

    def _atom(self, atom: Atom, axes: Sequence[Polynomial]) -> ir.Value | None:
        match atom.of:
            case ("element", source, at):
                return self._element(source, at, axes)
            case ("wrapped", inner, size):
                position = self._sum(inner, axes)
                if position is None or size.number is None:
                    return None
                from_end = self._call("add.Scalar", position.type, position, size.number, 1)
                bits = with_element(position.type, "i1")
                is_before = self._call("lt.Scalar", bits, position, 0)
                return self._call("where.self", position.type, is_before, from_end, position)
        return None

    def _element(
        self, source: ir.Value, at: Sequence[Polynomial], axes: Sequence[Polynomial]
    ) -> ir.Value | None:
        element = element_type(source)
        if element not in INTEGERS:
            return None
        if not all(each.number is not None or each in axes for each in at):
            return None
        found, sizes = source, list(extents_of(source))
        for axis in reversed(range(len(at))):
            number = at[axis].number
            if number is not None:
                del sizes[axis]
                shape = ",".join("?" if s.number is None else str(s.number) for s in sizes)
                kind = ir.Type.parse(f"!torch.vtensor<[{shape}],{element}>")
                found = self._call("select.int", kind, found, axis, number)
        return found

    # -- operations

    def _cast(self, value: ir.Value, element: str) -> ir.Value:
        if element_type(value) == element:
            return value
        kind = with_element(value.type, element)
        return self._call("to.dtype", kind, value, CODES[element], False, False, None)

    def _call(self, name: str, kind: ir.Type, *given: Any) -> ir.Value:
        """A call behind those whose values it takes."""
        tensors = [value for value in given if isinstance(value, ir.Value)]
        last: ir.Operation | None = None
        for op in filter(None, map(owner_of, tensors)):
            if last is None or last.is_before_in_block(op):
                last = op
        if last is None:
            point, order = ir.InsertionPoint.at_block_begin(tensors[0].owner), -1.0
        else:
            point, order = ir.InsertionPoint.after(last), self._order[last] + _STEP
        with point:
            values = [value if isinstance(value, ir.Value) else constant(value) for value in given]
            found: ir.Value = create(f"torch.aten.{name}", kind, *values)
        self._order[ir.OpResult(found).owner.operation] = order
        return found


def _source_of(match: Match, expr: Any) -> tuple[ir.Value, int] | None:
    """An operand, and the axis whose size a kernel's dim is; None where no operand has it."""
    for item in match.example.pattern.kernel.arguments:
        value = match.operands.get(item.name)
        if isinstance(item, Buffer) and isinstance(value, ir.Value) and isinstance(expr, Dim):
            rank = len(extents_of(value))
            for axis, other in enumerate(reversed(item.shape)):
                if isinstance(other, Dim) and other.name == expr.name and axis < rank:
                    return value, rank - 1 - axis
    return None
