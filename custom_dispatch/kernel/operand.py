"""Operands: what a kernel's C signature takes, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.dtypes import ElementType, element_type
from custom_dispatch.kernel.expr import Constant, Expr, as_expr, uses_device
from custom_dispatch.kernel.names import check_name, is_list, shown


@dataclass(frozen=True, slots=True, init=False)
class Buffer:
    """A pointer parameter: a dense, row-major buffer. Use `In`, `Out` or `InOut`.

    Parameters
    ----------
    name
        The operand's name, in errors, generated functions and keyword calls.
    dtype
        The element type: "f32", "bf16", "i32", ...
    shape
        One entry a dimension, outermost first: a dim, an integer or an expression of dims.
        An empty shape is a single element.

    Raises
    ------
    DeclarationError
        The name, dtype or shape is none.
    """

    name: str
    dtype: ElementType
    shape: tuple[Expr, ...]

    def __init__(self, name: str, dtype: str | ElementType, shape: Sequence[Expr | int]) -> None:
        check_name(name, "operand")
        where = f"Operand `{name}`"
        if not is_list(shape):
            given = str(shape) if isinstance(shape, Expr) else shown(shape)
            raise DeclarationError(
                f"{where}: its shape is given as {given}.",
                expected="a list with one size a dimension, such as [rows, columns]",
                next_step="put the sizes in brackets: [n].",
            )
        sizes = tuple(as_expr(size, where=f"{where}: a size of its shape") for size in shape)
        for size in sizes:
            if uses_device(size):
                raise DeclarationError(
                    f"{where}: its shape depends on the device ({size}).",
                    expected="dims and integers only: a result's shape is the same everywhere",
                    next_step="use cd.compute_capability in `grid` alone.",
                )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "dtype", element_type(dtype, where=where))
        object.__setattr__(self, "shape", sizes)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{type(self).__name__}({self.name}: {self.dtype}[{sizes}])"


class In(Buffer):
    """A buffer that the kernel only reads: `const float*`."""

    __slots__ = ()


class Out(Buffer):
    """A buffer that the kernel writes completely, and whose old content it never reads.

    It is allocated by IREE, uninitialised, and becomes a result of the call.
    """

    __slots__ = ()


class InOut(Buffer):
    """A buffer that the kernel updates in place.

    The call takes it and returns the updated one. The caller's own array stays as it is: IREE
    copies it first, unless it is an intermediate value of the model that nobody else reads.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, init=False)
class Scalar:
    """A parameter passed by value.

    Parameters
    ----------
    name
        The operand's name.
    dtype
        "i32", "u32", "f32", or a smaller type.
    value
        An expression of dims that is passed by itself; without it the scalar is an argument of
        the call.

    Raises
    ------
    DeclarationError
        The name, dtype or value is none.
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

    @property
    def is_argument(self) -> bool:
        """Whether the caller passes it."""
        return self.value is None

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value}"
        return f"Scalar({self.name}: {self.dtype}{value})"


Operand = Buffer | Scalar
