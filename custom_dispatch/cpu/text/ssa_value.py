"""SSA values on which Python's operators write operations: ``bits >> 52 & 0x7FF``.

A value knows its type and its builder. So lowerings say which operations there are, and the builder
how they are spelled: for one thread, or for all lanes of a warp (`warps/lane_builder.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from custom_dispatch.cpu.text.builder import Builder, Given

_FLOATING: Final = {"add": "fadd", "sub": "fsub", "mul": "fmul", "udiv": "fdiv"}


class SsaValue(str):
    """The name of a value, such as ``%7``.

    Operators take values of the same type, and Python numbers, which become constants. `//`, `%`
    and `>>` of integers are unsigned; `/` is for floating-point numbers.
    """

    __slots__ = ("b", "type")
    b: Builder
    """What writes operations on it."""
    type: str
    """Its type's spelling: ``i32``, ``f32``, ``!llvm.ptr``."""

    def __new__(cls, name: str, type_name: str, builder: Builder) -> SsaValue:  # noqa: D102
        value = str.__new__(cls, name)
        value.b, value.type = builder, type_name
        return value

    @property
    def bits(self) -> int:
        """The width of a number."""
        return int(self.type[1:])

    def _with(self, operation: str, other: Given) -> SsaValue:
        if self.type[0] == "f":
            operation = _FLOATING[operation]
        return self.b.binary(operation, self, other, self.type)

    def _behind(self, operation: str, other: Given) -> SsaValue:
        if self.type[0] == "f":
            operation = _FLOATING[operation]
        return self.b.binary(operation, other, self, self.type)

    def __add__(self, other: Given) -> SsaValue:
        return self._with("add", other)

    def __sub__(self, other: Given) -> SsaValue:
        return self._with("sub", other)

    def __rsub__(self, other: Given) -> SsaValue:
        return self._behind("sub", other)

    def __mul__(self, other: Given) -> SsaValue:  # type: ignore[override]
        return self._with("mul", other)

    def __truediv__(self, other: Given) -> SsaValue:
        return self._with("udiv", other)

    def __rtruediv__(self, other: Given) -> SsaValue:
        return self._behind("udiv", other)

    __floordiv__ = __truediv__

    def __mod__(self, other: Given) -> SsaValue:
        return self._with("urem", other)

    def __and__(self, other: Given) -> SsaValue:
        return self._with("and", other)

    def __or__(self, other: Given) -> SsaValue:
        return self._with("or", other)

    def __xor__(self, other: Given) -> SsaValue:
        return self._with("xor", other)

    def __lshift__(self, other: Given) -> SsaValue:
        return self._with("shl", other)

    def __rlshift__(self, other: Given) -> SsaValue:
        return self._behind("shl", other)

    def __rshift__(self, other: Given) -> SsaValue:
        return self._with("lshr", other)

    def __invert__(self) -> SsaValue:
        return self._with("xor", -1)

    def __neg__(self) -> SsaValue:
        if self.type[0] == "f":
            return self.b.negate(self, self.type)
        return self._behind("sub", 0)

    def ashr(self, other: Given) -> SsaValue:
        """Shifted to the right with copies of the sign."""
        return self._with("ashr", other)

    def cmp(self, condition: str, other: Given) -> SsaValue:
        """Whether it compares so with another, by LLVM's name: ``"ult"``, ``"olt"``; an i1."""
        return self.b.compare(condition, self, other, self.type)

    def select(self, yes: Given, no: Given, type_name: str = "") -> SsaValue:
        """One of two values, by an i1: of their type, or of i32 if they are numbers."""
        if not type_name:
            types = (value.type for value in (yes, no) if isinstance(value, SsaValue))
            type_name = next(types, "i32")
        return self.b.select(self, yes, no, type_name)

    def call(self, intrinsic: str, *others: Given) -> SsaValue:
        """What an LLVM intrinsic of values of its type gives, such as ``"smax"``."""
        return self.b.call_intrinsic(f"llvm.{intrinsic}", [self, *others], self.type)

    def leading_zeros(self) -> SsaValue:
        """How many zeros stand before an integer's first one."""
        kinds = [self.type, "i1"]
        return self.b.call_intrinsic("llvm.ctlz", [self, 0], self.type, kinds)

    def resize(self, bits: int, *, signed: bool = False) -> SsaValue:
        """An integer truncated or extended to a width."""
        if bits == self.bits:
            return self
        operation = "trunc" if bits < self.bits else "sext" if signed else "zext"
        return self.b.cast(operation, self, self.type, f"i{bits}")

    def cast(self, operation: str, type_name: str) -> SsaValue:
        """Another type of it, as `Builder.cast`."""
        return self.b.cast(operation, self, self.type, type_name)

    def as_bits(self) -> SsaValue:
        """The integer of the same bits as a floating-point number."""
        return self.cast("bitcast", f"i{self.type[1:]}")

    def as_float(self) -> SsaValue:
        """The floating-point number of the same bits as an integer."""
        return self.cast("bitcast", f"f{self.type[1:]}")
