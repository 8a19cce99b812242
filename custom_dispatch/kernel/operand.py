"""Operands: what a kernel's C signature takes, in its order: buffers, scalars and structs."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.dtypes import ElementType, element_type
from custom_dispatch.kernel.evaluation import refuse_device
from custom_dispatch.kernel.expr import Constant, Expr, as_expr, batch, maximum
from custom_dispatch.kernel.names import as_integer, check_name, is_list, shown


def set_fields(item: object, **values: object) -> None:
    """Give a frozen dataclass that makes itself, from what users write, its fields."""
    for name, value in values.items():
        object.__setattr__(item, name, value)


@dataclass(frozen=True, slots=True, init=False)
class Buffer:
    """A pointer parameter: a dense, row-major buffer. Use `In`, `Out` or `InOut`.

    - `name`: the operand's name, in errors, generated functions and keyword calls.
    - `dtype`: the element type: "f32", "bf16", "i32", ...
    - `shape`: one entry a dimension, outermost first: a dim, an integer or an expression of dims.
      An empty shape is a single element. `...`, first in it, stands for any number of leading dims,
      none among them: the same ones in every operand that has it.

    Raises `DeclarationError`: the name, dtype or shape is not valid.
    """

    name: str
    dtype: ElementType
    shape: tuple[Expr, ...]
    """As the kernel sees it: leading dims are one, `cd.batch`."""
    batched: bool
    """Whether its first dim stands for any number of leading ones."""
    optional: bool
    """Whether it may be absent; of an `In` alone."""

    def __init__(
        self, name: str, dtype: str | ElementType, shape: Sequence[Expr | int | EllipsisType]
    ) -> None:
        check_name(name, "operand")
        where = f"Operand `{name}`"
        if not is_list(shape):
            given = str(shape) if isinstance(shape, Expr) else shown(shape)
            raise DeclarationError(
                f"{where}: its shape is given as {given}.",
                expected="a list with one size a dimension, such as [rows, columns]",
                next_step="put the sizes in brackets: [n].",
            )
        batched = len(shape) > 0 and shape[0] is ...
        sizes = tuple(
            batch if batched and axis == 0 else _size(size, where)
            for axis, size in enumerate(shape)
        )
        refuse_device(f"{where}: its shape", *sizes, why="a result's shape")
        kind = element_type(dtype, where=where)
        set_fields(self, name=name, dtype=kind, shape=sizes, batched=batched, optional=False)

    @property
    def rank(self) -> int:
        """The number of dimensions, as the kernel sees them."""
        return len(self.shape)

    @property
    def least_rank(self) -> int:
        """The number of dimensions that a call has to give: leading ones may be missing."""
        return len(self.shape) - self.batched

    def has_rank(self, rank: int) -> bool:
        """Whether a call may give it so many dimensions."""
        return rank >= self.least_rank if self.batched else rank == self.rank

    @property
    def declared_shape(self) -> str:
        """The shape as it is declared: "..., n"."""
        sizes = list(map(str, self.shape))
        return ", ".join(["...", *sizes[1:]] if self.batched else sizes)

    def __str__(self) -> str:
        optional = ", optional" if self.optional else ""
        return f"{type(self).__name__}({self.name}: {self.dtype}[{self.declared_shape}]{optional})"


def _size(size: Expr | int | EllipsisType, where: str) -> Expr:
    if size is ...:
        raise DeclarationError(
            f"{where}: its shape has `...` in another place than the first.",
            expected="leading dims alone, as in [..., n]",
            next_step="give each other dimension a dim of its own.",
        )
    return as_expr(size, where=f"{where}: a size of its shape")


class In(Buffer):
    """A buffer that the kernel only reads: `const float*`.

    - `name, dtype, shape`: as of every buffer.
    - `optional`: whether it may be absent. The kernel gets a null pointer then. A call passes None,
      or leaves it out; a model passes a tensor without elements. Its dims come from other operands.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        dtype: str | ElementType,
        shape: Sequence[Expr | int | EllipsisType],
        *,
        optional: bool = False,
    ) -> None:
        super().__init__(name, dtype, shape)
        if not isinstance(optional, bool) or (optional and not self.shape):
            raise DeclarationError(
                f"Operand `{name}`: optional is {shown(optional)}, with {self.rank} dimensions.",
                expected="True or False; True for a buffer of at least one dimension, since one "
                "without elements is absent",
                next_step="give a single element the shape [1].",
            )
        set_fields(self, optional=optional)


class Out(Buffer):
    """A buffer that the kernel writes completely, and whose old content it never reads.

    It is allocated by IREE, uninitialised, and becomes a result of the call.
    """

    __slots__ = ()


class InOut(Buffer):
    """A buffer that the kernel updates in place.

    The call takes it and returns the updated one. The caller's own array stays as it is: IREE
    copies it first, unless it is an intermediate value of the model without other readers.
    """

    __slots__ = ()


class Scratch(Buffer):
    """Memory that the kernel needs while it runs: a pointer that the caller never sees.

    It is neither an argument nor a result. IREE allocates it for each call, uninitialised: a kernel
    has to write what it reads, and the content is lost after the call. The address is a multiple of
    64 bytes.

    - `name, dtype, shape`: as of every buffer; the shape has no `...`, where `cd.batch` can stand.
    """

    __slots__ = ()

    def __init__(
        self, name: str, dtype: str | ElementType, shape: Sequence[Expr | int | EllipsisType]
    ) -> None:
        super().__init__(name, dtype, shape)
        if self.batched:
            raise DeclarationError(
                f"Operand `{name}`: the shape of a cd.Scratch has `...`.",
                expected="the sizes that the kernel needs: no caller gives it leading dims",
                next_step="write cd.batch in its place, which is their product.",
            )

    @property
    def size_bytes(self) -> Expr:
        """How many bytes it takes; at least one, so that there is an address."""
        size: Expr = Constant(self.dtype.bytes)
        for extent in self.shape:
            size = size * extent
        return maximum(size, 1)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Scalar:
    """A parameter passed by value.

    - `name`: the operand's name.
    - `dtype`: "i32", "u64", "f64", "bool", "f16", ...: any element type but the 8-bit floats.
    - `value`: an expression of dims that is passed automatically; without it the scalar is an
      argument of the call.

    Raises `DeclarationError`: the name, dtype or value is not valid.
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
        if expr is not None:
            refuse_device(f"{where}: its value", expr)
        if isinstance(expr, Constant) and expr.value > kind.largest:
            raise DeclarationError(
                f"{where}: its value is {expr}.",
                expected=f"at most {kind.largest}, what {kind} holds",
                next_step="use a larger type, or correct the number.",
            )
        set_fields(self, name=name, dtype=kind, value=expr)

    def __eq__(self, other: object) -> bool:
        # Within tuples expressions are the same or not; by itself, `==` compares sizes.
        parts = (self.name, self.dtype, self.value)
        return isinstance(other, Scalar) and parts == (other.name, other.dtype, other.value)

    def __hash__(self) -> int:
        return hash((self.name, self.dtype, self.value))

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
    items: tuple[Buffer | Scalar, ...]
    """What fills it, an item an element; nothing where a call passes its numbers."""


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

    With buffers or numbers that are computed, as in `cd.Struct("a", data=cd.In("x", "f32", [n]),
    size=("i32", n), strides=("i64", [n, 1]))`, it is no argument itself: the buffers are operands
    like others, and a field `alpha` that is given by its type alone is a scalar argument `a_alpha`.

    - `name`: the operand's name.
    - `alignment`: bytes, if C aligns the struct more strictly than its fields: 16 for a `float4`, 8
      for a `float2`. Positional only, like the name: every keyword is a field.
    - `**fields`: the fields in the order of the C declaration: an element type, or (type, count)
      for an array; a buffer or `cd.Scalar`, or a list of them; (type, expression) for a number that
      is computed from dims, and (type, [expression, ...]) for an array of them. They are laid out
      as in C. Instead of an inner struct, list its fields, if it needs no padding of its own.

    Raises `DeclarationError`: the name, a field or the alignment is not valid.
    """

    name: str
    fields: tuple[Field, ...]
    alignment: int
    size_bytes: int
    """Padding at its end included."""

    def __init__(self, name: str, alignment: int | None = None, /, **fields: FieldType) -> None:
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
            dtype, count, items = _field_type(given, where, f"{name}_{field}")
            offset = -(-end // dtype.bytes) * dtype.bytes
            placed.append(Field(field, dtype, count, offset, items))
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
        whole = -(-end // wanted) * wanted
        set_fields(self, name=name, fields=tuple(placed), alignment=wanted, size_bytes=whole)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Every number in it, in order."""
        found: list[Leaf] = []
        for field in self.fields:
            name = f"{self.name}.{field.name}"  # no operand's, as these have no dots
            names = [f"{name}.{index}" for index in range(field.count or 0)]
            for index, leaf in enumerate([name] if field.count is None else names):
                scalar = object.__new__(Scalar)
                set_fields(scalar, name=leaf, dtype=field.dtype, value=None)
                found.append(Leaf(scalar, field.offset + index * field.dtype.bytes))
        return tuple(found)

    @property
    def is_split(self) -> bool:
        """Whether its fields are operands of their own."""
        return any(field.items for field in self.fields)

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
    given: FieldType, where: str, name: str
) -> tuple[ElementType, int | None, tuple[Buffer | Scalar, ...]]:
    """A field's type, an array's count, and what fills it; `name`: of scalars made of it."""
    if isinstance(given, Buffer | Scalar):
        return _type_in_struct(given), None, (given,)
    if not isinstance(given, tuple | list):
        return element_type(given, where=where), None, ()  # type: ignore[arg-type]
    items = tuple(item for item in given if isinstance(item, Buffer | Scalar))
    if len(items) == len(given) and len(set(map(_type_in_struct, items))) == 1:
        return _type_in_struct(items[0]), len(items), items
    match given:
        case [kind, Expr() as value]:
            made = Scalar(name, kind, value)
            return made.dtype, None, (made,)
        case [kind, [_, *_] as values]:
            scalars = tuple(Scalar(f"{name}_{i}", kind, each) for i, each in enumerate(values))
            return scalars[0].dtype, len(values), scalars
        case [kind, value] if 1 <= (count := as_integer(value) or 0) <= 8 * _MAX_ELEMENTS:
            return element_type(kind, where=where), count, ()
    raise DeclarationError(
        f"{where} is given as {shown(given)}.",
        expected='an element type; (type, count) for an array: ("f32", 4); a buffer, a cd.Scalar '
        'or a list of one kind; or (type, expression): ("i32", n)',
        next_step="correct the field.",
    )


def _type_in_struct(item: Buffer | Scalar) -> ElementType:
    return item.dtype if isinstance(item, Scalar) else element_type("u64", where="")


FieldType = str | ElementType | Buffer | Scalar | Sequence[Any]
"""A field of a struct as it is declared."""
Operand = Buffer | Scalar | Struct
