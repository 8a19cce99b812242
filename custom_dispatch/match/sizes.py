"""Sizes of a model as expressions of those that its tensors come with, however they are written.

Sizes are not negative, and their products do not overflow: so what is multiplied and divided by one
number is as it was. In the torch dialect, `torch.bind_symbolic_shape` says what is known of them.
"""

import itertools
import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import element_of, is_splat, number_of, owner_of
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import operations_of
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.polynomial import Atom, Polynomial

Size = Any
"""A polynomial, a float, or ANY."""
ANY = ("any",)
"""What an example has where every size will do: `ub.poison`."""
_CONVERSIONS = ("arith.index_cast", "arith.index_castui")
_TO_FLOAT = ("arith.sitofp", "arith.uitofp", "torch.aten.Float.Scalar")
_SIGNED_LESS = 2
"""The predicate `slt` of `arith.cmpi`."""
SHAPES = "torch.bind_symbolic_shape"
SYMBOL = "torch.symbolic_int"
_LARGEST = 2**63 - 1
ANY_SIZES = "custom_dispatch.any_sizes"
"""Says of an example's function which sizes of its types stand for any."""
_LISTED = re.compile(r"array<i64: ([^>]*)>")


def any_sizes(said: str) -> set[int]:
    """The sizes of `array<i64: 11, 13>`, and the products of some of them."""
    listed = _LISTED.search(said)
    sizes = [int(size) for size in listed[1].split(",")] if listed else []
    counts = range(1, len(sizes) + 1)
    return {math.prod(some) for count in counts for some in itertools.combinations(sizes, count)}


def name_size(name: str, least: int, ip: ir.InsertionPoint) -> ir.Value:
    """A size that has a name, and is not less than a number."""
    i64 = ir.IntegerType.get_signless(64)
    found: ir.Value = ir.Operation.create(
        SYMBOL,
        results=[ir.Type.parse("!torch.int")],
        attributes={
            "symbol_name": ir.StringAttr.get(name),
            "min_val": ir.IntegerAttr.get(i64, least),
            "max_val": ir.IntegerAttr.get(i64, _LARGEST),
        },
        ip=ip,
    ).result
    return found


def bind_shape(
    value: ir.Value,
    symbols: Sequence[ir.Value],
    sizes: Sequence[ir.AffineExpr],
    ip: ir.InsertionPoint,
) -> None:
    """Say a tensor's sizes, as expressions of named ones."""
    each = ir.AffineMap.get(0, len(symbols), list(sizes))
    ir.Operation.create(
        SHAPES,
        operands=[value, *symbols],
        attributes={"shape_expressions": ir.AffineMapAttr.get(each)},
        ip=ip,
    )


def drop_sizes(module: ir.Module) -> None:
    """Take out what importers say of sizes for the matcher: IREE would take it for certain."""
    for name in (SHAPES, SYMBOL):
        for op in operations_of(module, name):
            if not any(True for result in op.results for _ in result.uses):
                op.erase()


def quotient(left: Polynomial, right: Polynomial) -> Polynomial:
    """A size divided by another one, rounded down."""
    if left.number is not None and right.number:
        return Polynomial.of(left.number // right.number)
    found = left.divided(right) if right.terms else None
    return _unknown("floordiv", left, right) if found is None else found


def remainder(left: Polynomial, right: Polynomial) -> Polynomial:
    """What is left of a size divided by another one."""
    if left.number is not None and right.number:
        return Polynomial.of(left.number % right.number)
    is_multiple = bool(right.terms) and left.divided(right) is not None
    return Polynomial.of(0) if is_multiple else _unknown("mod", left, right)


def extreme(kind: str, left: Polynomial, right: Polynomial) -> Polynomial:
    """The larger ("max") or the smaller ("min") one of two sizes."""
    larger = (left - right).least
    smaller = (right - left).least
    if larger is not None and larger >= 0:
        return left if kind == "max" else right
    if smaller is not None and smaller >= 0:
        return right if kind == "max" else left
    return Polynomial.of(Atom((kind, frozenset((left, right))), f"{kind}({left}, {right})", 0))


_COMPUTED = ("of_sizes", "of_numbers")
_ROUNDED = {"floordiv": quotient, "mod": remainder}


def _unknown(kind: str, *sizes: Size) -> Polynomial:
    name = f"{kind}({', '.join(map(str, sizes))})"
    return Polynomial.of(Atom((kind, sizes), name, 0))


_OF_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
OF_SIZES: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    **_OF_BOTH,
    "//": quotient,
    "%": remainder,
    "ceildiv": lambda left, right: quotient(left + right - 1, right),
    "minimum": partial(extreme, "min"),
    "maximum": partial(extreme, "max"),
}
"""By the names that dim expressions have for them."""
_OF_NUMBERS: dict[str, Callable[..., float]] = {
    **_OF_BOTH,
    "/": operator.truediv,
    "**": operator.pow,
    "sqrt": math.sqrt,
}


def size_of(value: ir.Value) -> Size:
    """An index, or an integer or float computed of some: a number, or where it comes from."""
    element = element_of(value)
    if element is not None:
        number = number_of(element)
        return number if isinstance(number, float) else Polynomial.of(int(number))
    op = owner_of(value)
    if op is None:
        return _value(value)
    if op.name == "ub.poison":
        return ANY
    if op.name in ("tensor.dim", "torch.aten.size.int"):
        axis = size_of(op.operands[1])
        at = axis.number if isinstance(axis, Polynomial) else None
        return _value(value) if at is None else extent_of(op.operands[0], at)
    if op.name in _CONVERSIONS:
        return size_of(op.operands[0])
    if op.name in _TO_FLOAT:
        return as_float(size_of(op.operands[0]))
    if _is_computed(op):
        return _computed(op.name, [size_of(operand) for operand in op.operands])
    if op.name == "torch.aten.neg.int":
        return -size_of(op.operands[0])
    if op.name == "affine.apply":
        each = ir.AffineMapAttr(op.attributes["map"]).value
        found = _applied(each.results[0], [size_of(operand) for operand in op.operands], each)
        return _value(value) if found is None else found
    if op.name == "arith.select" and _is_below_zero(op.operands[0]):
        return size_of(op.operands[2])  # no size of a tensor is
    return _value(value)


def _value(value: ir.Value) -> Polynomial:
    """A size of which nothing is known but which value it is."""
    op = owner_of(value)
    if op is not None and op.name == SYMBOL:
        name = str(ir.StringAttr(op.attributes["symbol_name"]).value)
        least = int(ir.IntegerAttr(op.attributes["min_val"]).value)
        return Polynomial.of(Atom(("value", value), name, max(least, 0)))
    is_size = str(value.type) in ("index", "!torch.int")
    return Polynomial.of(Atom(("value", value), "another", 0 if is_size else None))


def _is_computed(op: ir.Operation) -> bool:
    """Whether an operation computes something of sizes."""
    return any(op.name in known_operations()[each] for each in _COMPUTED)


def _computed(name: str, sizes: list[Size]) -> Size:
    if ANY in sizes:
        return ANY
    of_sizes, of_numbers = (known_operations()[each].get(name) for each in _COMPUTED)
    if of_sizes and all(isinstance(size, Polynomial) for size in sizes):
        return OF_SIZES[of_sizes](sizes[0], sizes[1])
    numbers = [size.number if isinstance(size, Polynomial) else size for size in sizes]
    if None in numbers or not of_numbers:
        return _unknown(name, *sizes)
    try:
        return float(_OF_NUMBERS[of_numbers](*numbers))
    except (ArithmeticError, ValueError):
        return _unknown(name, *sizes)


def _applied(expr: ir.AffineExpr, values: list[Size], each: ir.AffineMap) -> Polynomial | None:
    """An affine expression of sizes; None for one of what is no size."""
    if isinstance(expr, ir.AffineConstantExpr):
        return Polynomial.of(int(expr.value))
    if isinstance(expr, ir.AffineDimExpr | ir.AffineSymbolExpr):
        first = each.n_dims if isinstance(expr, ir.AffineSymbolExpr) else 0
        found = values[first + expr.position]
        return found if isinstance(found, Polynomial) else None
    left, right = (_applied(side, values, each) for side in (expr.lhs, expr.rhs))
    if left is None or right is None:
        return None
    if isinstance(expr, ir.AffineAddExpr):
        return left + right
    if isinstance(expr, ir.AffineMulExpr):
        return left * right
    if isinstance(expr, ir.AffineModExpr):
        return remainder(left, right)
    if isinstance(expr, ir.AffineCeilDivExpr):
        return quotient(left + right - 1, right)
    return quotient(left, right)


def _is_below_zero(condition: ir.Value) -> bool:
    """Whether a condition asks if a tensor's size is less than zero, as torch-mlir does."""
    op = owner_of(condition)
    if op is None or op.name != "arith.cmpi":
        return False
    if int(ir.IntegerAttr(op.attributes["predicate"]).value) != _SIGNED_LESS:
        return False
    left, right = map(size_of, op.operands)
    atom = left.atom if isinstance(left, Polynomial) else None
    return right == 0 and atom is not None and atom.least == 0


def in_terms_of(size: Size, value_of: Callable[[Atom], Size]) -> Size:
    """A size with others in the place of values and extents.

    `value_of`: what stands in the place of an atom ("value", ...) or ("extent", ...).
    """
    if not isinstance(size, Polynomial):
        return size
    if size.atom is not None:
        return _atom_in_terms_of(size.atom, value_of)
    values = {atom: _atom_in_terms_of(atom, value_of) for atom in size.atoms}
    if ANY in values.values():
        return ANY
    if not all(isinstance(value, Polynomial) for value in values.values()):
        return _unknown("of", *values.values())
    return size.replaced(values)


def _atom_in_terms_of(atom: Atom, value_of: Callable[[Atom], Size]) -> Size:
    match atom.of:
        case ("value" | "extent", *_):
            return value_of(atom)
        case ("axis" | "element" | "wrapped", *_):
            return Polynomial.of(atom)
        case (("max" | "min") as kind, sides):
            left, *right = (in_terms_of(side, value_of) for side in sides)
            return extreme(str(kind), left, right[0] if right else left)
        case ("float", (inner,)):
            return as_float(in_terms_of(inner, value_of))
        case (kind, parts):
            found = [in_terms_of(part, value_of) for part in parts]
            if all(isinstance(part, Polynomial) for part in found) and kind in _ROUNDED:
                return _ROUNDED[kind](found[0], found[1])
            return _computed(str(kind), found)
    return Polynomial.of(atom)  # pragma: no cover - there are no others


def as_float(size: Size) -> Size:
    """A size as a float."""
    if not isinstance(size, Polynomial):
        return size
    return _unknown("float", size) if size.number is None else float(size.number)


def is_same(one: Size, other: Size) -> bool:
    """Whether two sizes are known to be the same; floats that are computed may round otherwise."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


def is_size(value: ir.Value) -> bool:
    """Whether a value is computed of nothing but sizes and constants."""
    op = owner_of(value)
    if op is not None and op.name == "linalg.index":  # which element it is
        return False
    if str(value.type) == "index":
        return True
    if op is None:
        return False
    if op.name in (SYMBOL, "torch.aten.size.int"):
        return True
    if op.name in (*_CONVERSIONS, *_TO_FLOAT, "torch.aten.neg.int") or _is_computed(op):
        return all(is_size(operand) or is_splat(operand) for operand in op.operands)
    return False


def extents_of(tensor: ir.Value) -> tuple[Size, ...]:
    """A tensor's sizes."""
    kind = builtin_type(tensor.type)
    rank = kind.rank if isinstance(kind, ir.RankedTensorType) else 0
    return tuple(extent_of(tensor, axis) for axis in range(rank))


def extent_of(tensor: ir.Value, axis: int) -> Size:
    """A tensor's size in one dimension."""
    kind = builtin_type(tensor.type)
    if isinstance(kind, ir.RankedTensorType) and axis < kind.rank:
        if not kind.is_dynamic_dim(axis):
            return Polynomial.of(int(kind.get_dim_size(axis)))
        found = _from(tensor, kind, axis)
        if found is not None:
            return found
    return Polynomial.of(Atom(("extent", tensor, axis), "another", 0))


def _from(tensor: ir.Value, kind: ir.RankedTensorType, axis: int) -> Size | None:
    """An open size, from what the tensor is computed with; None where that does not say it."""
    op = owner_of(tensor)
    if kind != tensor.type:
        found = _bound(tensor, axis)
        if found is None and op is not None and op.name == "torch.aten.permute":
            dims = ir.OpResult(op.operands[1]).owner.operands  # of a place that was rewritten
            found = extent_of(op.operands[0], int(size_of(dims[axis]).number))
        if found is None and op is not None and op.name == "torch.aten.pad":
            ends = [*ir.OpResult(op.operands[1]).owner.operands]  # of the last axis first
            start = 2 * (kind.rank - 1 - axis)
            of_axis = (size_of(end) for end in ends[start : start + 2])
            found = sum(of_axis, start=extent_of(op.operands[0], axis))
        return found
    if op is None:
        return None
    if op.name == "tensor.empty":
        before = sum(kind.is_dynamic_dim(other) for other in range(axis))
        return size_of(op.operands[before])
    if op.name == "tensor.cast":
        return extent_of(op.operands[0], axis)
    if op.name == "tensor.reshape":
        given = owner_of(op.operands[1])
        if given is not None and given.name == "tensor.from_elements":
            return size_of(given.operands[axis])
    if op.name == "tensor.collapse_shape":
        group = ir.ArrayAttr(ir.ArrayAttr(op.attributes["reassociation"])[axis])
        return math.prod(
            (extent_of(op.operands[0], int(ir.IntegerAttr(item).value)) for item in group),
            start=Polynomial.of(1),
        )
    if op.name == "tensor.expand_shape":
        before = sum(kind.is_dynamic_dim(other) for other in range(axis))
        return size_of(op.operands[1 + before])
    if op.name == "tensor.extract_slice":
        static = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
        offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
        if len(static) == kind.rank:
            dynamic = ir.ShapedType.get_dynamic_size()
            return size_of(op.operands[1 + offsets.count(dynamic) + static[:axis].count(dynamic)])
    if op.name.startswith("linalg.") and len(op.operands) >= len(op.results):
        # Each result has the type and the sizes of its `outs`, which come last.
        index = ir.OpResult(tensor).result_number
        return extent_of(op.operands[len(op.operands) - len(op.results) + index], axis)
    return None


def _bound(tensor: ir.Value, axis: int) -> Size | None:
    """What `torch.bind_symbolic_shape` says of a size."""
    for use in tensor.uses:
        op = use.owner.operation
        if op.name == SHAPES:
            each = ir.AffineMapAttr(op.attributes["shape_expressions"]).value
            symbols = [_value(symbol) for symbol in list(op.operands)[1:]]
            return _applied(each.results[axis], symbols, each)
    return None
