"""Writing operations of MLIR's LLVM dialect as text, one line an operation.

Values are SSA names (``%7``) and types are their spelling (``i32``, ``f32``, ``!llvm.ptr``). No
name a user gives ever passes through here: symbols are checked before.
"""

from __future__ import annotations

from custom_dispatch.cpu.processor import UNKNOWN

POINTER = "!llvm.ptr"


def int_type(bits: int) -> str:
    """The integer type of a width: ``i32``."""
    return f"i{bits}"


class Builder:
    """Collects the lines of one function's body."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.processor = UNKNOWN
        """What the code is for."""
        self._values = 0
        self._labels = 0

    def line(self, text: str) -> None:
        """Write an operation without a result."""
        self.lines.append(f"    {text}")

    def value(self, text: str) -> str:
        """Write an operation with one result; returns its name."""
        name = self.fresh()
        self.lines.append(f"    {name} = {text}")
        return name

    def fresh(self) -> str:
        """A new value's name."""
        self._values += 1
        return f"%{self._values}"

    def fresh_label(self, prefix: str) -> str:
        """A new block's name, without its caret."""
        self._labels += 1
        return f"{prefix}{self._labels}"

    def block(self, label: str, *arguments: tuple[str, str]) -> None:
        """Start a block; arguments are (name, type)."""
        listed = ", ".join(f"{name}: {type_name}" for name, type_name in arguments)
        self.lines.append(f"  ^{label}({listed}):" if listed else f"  ^{label}:")

    def branch(self, label: str, *arguments: tuple[str, str]) -> None:
        """Go to a block."""
        self.line(f"llvm.br ^{label}{_passed(arguments)}")

    def cond_branch(self, condition: str, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.line(f"llvm.cond_br {condition}, ^{yes}, ^{no}")

    def const(self, value: int, bits: int) -> str:
        """An integer constant, taken modulo two to the power of its width."""
        if bits == 1:
            return self.value(f"llvm.mlir.constant({'true' if value & 1 else 'false'}) : i1")
        value &= (1 << bits) - 1
        if value >> (bits - 1):
            value -= 1 << bits
        return self.value(f"llvm.mlir.constant({value} : i{bits}) : i{bits}")

    def float_const(self, value: float, type_name: str) -> str:
        """A floating-point constant that is finite."""
        text = repr(float(value))
        if "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return self.value(f"llvm.mlir.constant({text} : {type_name}) : {type_name}")

    def binary(self, operation: str, a: str, b: str, type_name: str) -> str:
        """An operation on two values of one type, such as ``add`` or ``fmul``."""
        return self.value(f"llvm.{operation} {a}, {b} : {type_name}")

    def icmp(self, condition: str, a: str, b: str, type_name: str) -> str:
        """Compare integers."""
        return self.value(f'llvm.icmp "{condition}" {a}, {b} : {type_name}')

    def fcmp(self, condition: str, a: str, b: str, type_name: str) -> str:
        """Compare floating-point numbers."""
        return self.value(f'llvm.fcmp "{condition}" {a}, {b} : {type_name}')

    def unary(self, operation: str, a: str, type_name: str) -> str:
        """An operation on one value, such as ``fneg``."""
        return self.value(f"llvm.{operation} {a} : {type_name}")

    def select(self, condition: str, a: str, b: str, type_name: str) -> str:
        """One of two values."""
        return self.value(f"llvm.select {condition}, {a}, {b} : i1, {type_name}")

    def cast(self, operation: str, a: str, source: str, target: str) -> str:
        """Convert; nothing is written when the types are the same."""
        return a if source == target else self.value(f"llvm.{operation} {a} : {source} to {target}")

    def resize(self, a: str, source_bits: int, target_bits: int, *, signed: bool = False) -> str:
        """Truncate or extend an integer to a width."""
        operation = "trunc" if target_bits < source_bits else "sext" if signed else "zext"
        return self.cast(operation, a, int_type(source_bits), int_type(target_bits))

    def call_intrinsic(self, name: str, arguments: list[str], types: list[str], result: str) -> str:
        """Call an LLVM intrinsic by its name without the overload suffix, ``"llvm.fma"``."""
        return self.value(
            f'llvm.call_intrinsic "{name}"({", ".join(arguments)}) : '
            f"({', '.join(types)}) -> {result}"
        )

    def offset(self, pointer: str, offset: int | str) -> str:
        """A pointer moved by bytes: a constant, or an i64 value."""
        if offset == 0:
            return pointer
        index = "" if isinstance(offset, int) else ", i64"
        return self.value(
            f"llvm.getelementptr {pointer}[{offset}] : ({POINTER}{index}) -> {POINTER}, i8"
        )

    def load(self, pointer: str, type_name: str, align: int, how: str = "") -> str:
        """Load; `how` is ``volatile`` or an atomic ordering."""
        volatile = "volatile " if how == "volatile" else ""
        atomic = f" atomic {how}" if how not in ("", "volatile") else ""
        return self.value(
            f"llvm.load {volatile}{pointer}{atomic} <alignment = {align}> : "
            f"{POINTER} -> {type_name}"
        )

    def store(self, value: str, pointer: str, type_name: str, align: int, how: str = "") -> None:
        """Store; `how` is ``volatile`` or an atomic ordering."""
        volatile = "volatile " if how == "volatile" else ""
        atomic = f" atomic {how}" if how not in ("", "volatile") else ""
        self.line(
            f"llvm.store {volatile}{value}, {pointer}{atomic} <alignment = {align}> : "
            f"{type_name}, {POINTER}"
        )


def _passed(arguments: tuple[tuple[str, str], ...]) -> str:
    if not arguments:
        return ""
    names = ", ".join(name for name, _ in arguments)
    types = ", ".join(type_name for _, type_name in arguments)
    return f"({names} : {types})"
