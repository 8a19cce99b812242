"""Operands: what a kernel's C signature takes, in its order: buffers, scalars and structs."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.dtypes import ElementType, element_type
from custom_dispatch.kernel.expr import Constant, Expr, as_expr, uses_device
from custom_dispatch.kernel.names import as_integer, check_name, shown


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Scalar:
    """A parameter passed by value.

    Parameters
    ----------
    name
        The operand's name.
    dtype
        "i32", "u64", "f64", "bool", "f16", ...: any element type but the 8-bit floats.
    value
        An expression of dims that is passed by itself; without it the scalar is an argument of
        the call.

    Raises
    ------
    DeclarationError
        The name, dtype or value is not valid.
    """

    name: str
    dtype: ElementType
    value: Expr | None

    def __init__(
        self, name: str, dtype: str | ElementType, value: Expr | int | None = None
    ) -> None:
        check_name(name, "operand")
        where = f"Operand `{name}`"
        kind = element_type(dtype, where=where)
        expr = None if value is None else as_expr(value, where=f"{where}: its value")
        if expr is not None and kind.is_float:
            raise DeclarationError(
                f"{where}: a {kind} scalar is given the integer expression {expr}.",
                expected="an integer type for a value computed from dims",
                next_step='use "i32", or leave the value out to pass it at each call.',
            )
        if expr is not None and uses_device(expr):
            raise DeclarationError(
                f"{where}: its value depends on the device ({expr}).",
                expected="dims and integers only",
                next_step="use cd.compute_capability in `grid` alone.",
            )
        if isinstance(expr, Constant) and expr.value > kind.largest:
            raise DeclarationError(
                f"{where}: its value is {expr}.",
                expected=f"at most {kind.largest}, what {kind} holds",
                next_step="use a larger type, or correct the number.",
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "dtype", kind)
        object.__setattr__(self, "value", expr)

    def __eq__(self, other: object) -> bool:
        # Within tuples expressions are the same or not; by itself, `==` compares sizes.
        return isinstance(other, Scalar) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.name, self.dtype, self.value

    @property
    def is_argument(self) -> bool:
        """Whether the caller passes it."""
        return self.value is None

    @property
    def argument_type(self) -> str:
        """The type of the argument in a model: the dtype's own; f32 for f16 and bf16.

        IREE's host code cannot hold floats of 16 bits. The f32 is rounded to them, to nearest even.
        """
        return "f32" if self.dtype.is_float and self.dtype.bits == 16 else self.dtype.mlir

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value}"
        return f"Scalar({self.name}: {self.dtype}{value})"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    name: str
    dtype: ElementType
    count: int | None
    """Elements, where it is an array; None where it is none."""
    offset: int
    """Bytes from the struct's start."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One number in a struct: a field, or an element of one that is an array."""

    scalar: Scalar
    """It as an argument of a model's function: `params.alpha`, `params.strides.0`."""
    offset: int
    """Bytes from the struct's start."""


@dataclass(frozen=True, slots=True, init=False)
class Struct:
    """A struct passed by value: `cd.Struct("params", alpha="f32", strides=("i64", 2))`.

    It is an argument of the call, given as a mapping from field names to values. In a model's
    function its numbers are consecutive scalar arguments, the elements of an array one by one.

    Parameters
    ----------
    name
        The operand's name.
    alignment
        Bytes, where C aligns it more than its fields need: 16 for a `float4`, 8 for a `float2`.
        By position only, as is the name: every keyword is a field.
    **fields
        The fields in the order of the C declaration: an element type, or (type, count) for an
        array. They lie as C lays them out; the fields of an inner struct stand for it where that
        needs no padding of its own.

    Raises
    ------
    DeclarationError
        The name, a field or the alignment is not valid.
    """

    name: str
    fields: tuple[Field, ...]
    alignment: int
    size_bytes: int
    """Padding at its end included."""

    def __init__(
        self,
        name: str,
        alignment: int | None = None,
        /,
        **fields: str | ElementType | tuple[str | ElementType, int],
    ) -> None:
        check_name(name, "operand")
        if not fields:
            raise DeclarationError(
                f"Operand `{name}`: the struct has no field.",
                expected="a keyword for each field, in the order of the C declaration",
                next_step=f'write cd.Struct("{name}", alpha="f32", count="i32").',
            )
        placed: list[Field] = []
        end, natural = 0, 1
        for field, given in fields.items():
            check_name(field, "field")
            where = f"Operand `{name}`: field `{field}`"
            dtype, count = _field_type(given, where)
            offset = -(-end // dtype.bytes) * dtype.bytes
            placed.append(Field(field, dtype, count, offset))
            end = offset + dtype.bytes * (1 if count is None else count)
            natural = max(natural, dtype.bytes)
        wanted = natural if alignment is None else as_integer(alignment)
        if wanted is None or wanted < natural or wanted & (wanted - 1) or wanted > _MAX_ALIGNMENT:
            raise DeclarationError(
                f"Operand `{name}`: its alignment is given as {shown(alignment)}.",
                expected=f"a power of two from {natural}, what its fields need, to "
                f"{_MAX_ALIGNMENT}",
                next_step="leave it out, unless the struct is declared with __align__.",
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "fields", tuple(placed))
        object.__setattr__(self, "alignment", wanted)
        object.__setattr__(self, "size_bytes", -(-end // wanted) * wanted)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every number in it, in order."""
        return tuple(
            Leaf(_leaf(name, field.dtype), field.offset + index * field.dtype.bytes)
            for field in self.fields
            for index, name in enumerate(_leaf_names(self.name, field))
        )

    def __str__(self) -> str:
        fields = ", ".join(
            f"{field.name}: {field.dtype}" + ("" if field.count is None else f"[{field.count}]")
            for field in self.fields
        )
        natural = max(field.dtype.bytes for field in self.fields)
        aligned = "" if self.alignment == natural else f", aligned {self.alignment}"
        return f"Struct({self.name}: {{{fields}}}{aligned})"


_MAX_ALIGNMENT = 128
_MAX_ELEMENTS = 64
"""IREE's limit of 32-bit constants; the check of all operands together comes later."""


def _field_type(
    given: str | ElementType | tuple[str | ElementType, int], where: str
) -> tuple[ElementType, int | None]:
    if not isinstance(given, tuple | list):
        return element_type(given, where=where), None
    count = as_integer(given[1]) if len(given) == 2 else None
    if count is None or not 1 <= count <= 8 * _MAX_ELEMENTS:
        raise DeclarationError(
            f"{where} is given as {shown(given)}.",
            expected='an element type, or (type, count) for an array: ("f32", 4)',
            next_step="correct the field.",
        )
    return element_type(given[0], where=where), count


def _leaf_names(struct: str, field: Field) -> list[str]:
    """Names with dots, which no operand has."""
    name = f"{struct}.{field.name}"
    return [name] if field.count is None else [f"{name}.{i}" for i in range(field.count)]


def _leaf(name: str, dtype: ElementType) -> Scalar:
    scalar = object.__new__(Scalar)
    object.__setattr__(scalar, "name", name)
    object.__setattr__(scalar, "dtype", dtype)
    object.__setattr__(scalar, "value", None)
    return scalar


Operand = Buffer | Scalar | Struct
