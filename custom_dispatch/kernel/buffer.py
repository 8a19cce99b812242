"""Buffers: the pointers of a kernel's C signature, and what lies behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.dtypes import ElementType, element_type
from custom_dispatch.kernel.expr import Constant, Expr, as_expr, batch, maximum, uses_device
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
        An empty shape is a single element. `...`, first in it, stands for any number of leading
        dims, none among them: the same ones in every operand that has it.

    Raises
    ------
    DeclarationError
        The name, dtype or shape is not valid.
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
        object.__setattr__(self, "batched", batched)
        object.__setattr__(self, "optional", False)

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

    Parameters
    ----------
    name, dtype, shape
        As of every buffer.
    optional
        Whether it may be absent. The kernel gets a null pointer then. A call passes None, or leaves
        it out; a model passes a tensor without elements. Its dims come from other operands.
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
        object.__setattr__(self, "optional", optional)


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


class Scratch(Buffer):
    """Memory that the kernel needs while it runs: a pointer that the caller never sees.

    It is neither an argument nor a result. IREE allocates it for each call, uninitialised: a kernel
    writes what it reads, and what it leaves there nobody sees. It begins at a multiple of 64 bytes.

    Parameters
    ----------
    name, dtype, shape
        As of every buffer; the shape has no `...`, where `cd.batch` can stand.
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
