"""Writing operations of MLIR's LLVM dialect as text, one line an operation.

Values are SSA names (``%7``) and types are their spelling (``i32``, ``f32``, ``!llvm.ptr``). No
name a user gives ever passes through here: symbols are checked before.
"""

from __future__ import annotations

from collections.abc import Callable

from custom_dispatch.cpu.processor import UNKNOWN

POINTER = "!llvm.ptr"
FAILURE = "%failure"
"""The function argument that points to the i32 a workgroup returns: 0, or a `Failure`."""


LongFunction = Callable[["Builder", list[str]], str]
"""Writes operations on values; returns the last one's name."""


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
        return self.value(constant_text(value, bits))

    def float_const(self, value: float, type_name: str) -> str:
        """A floating-point constant that is finite."""
        return self.value(float_text(value, type_name))

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

    def long_function(
        self, what: str, arguments: list[str], type_name: str, write: LongFunction
    ) -> str:
        """A function of some values of one type that takes many operations.

        Parameters
        ----------
        what
            Its name; the same name is the same function.
        write
            Writes it with the builder given, for the values given; returns the result.
        """
        del what, type_name
        return write(self, arguments)

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


class FunctionBuilder(Builder):
    """Collects the lines of a function that has each constant once, at its start.

    Parameters
    ----------
    symbol
        Start of the names of the functions it calls; without one it calls none.
    """

    def __init__(self, symbol: str = "") -> None:
        super().__init__()
        self.symbol = symbol
        self.functions: dict[str, list[str]] = {}
        """The functions it calls, by name."""
        self.entry_lines: list[str] = []
        """What goes to the start of the function: constants and the places of variables."""
        self._shared: dict[str, str] = {}
        self.cast_from: dict[tuple[str, str], str] = {}
        """What a value was before a bitcast, by its name and the type before."""

    def shared(self, text: str) -> str:
        """A constant, made once at the start of the function."""
        if text not in self._shared:
            self._shared[text] = self.at_entry(text)
        return self._shared[text]

    def at_entry(self, text: str) -> str:
        """Write an operation at the start of the function; returns its result's name."""
        name = self.fresh()
        self.entry_lines.append(f"    {name} = {text}")
        return name

    def variable(self, type_name: str, start: str = "") -> str:
        """A variable on the stack: a pointer to it. It is zero at first, or as the value given."""
        count = self.shared(constant_text(1, 32))
        place = self.at_entry(f"llvm.alloca {count} x {type_name} : (i32) -> {POINTER}")
        value = start or self.shared(f"llvm.mlir.zero : {type_name}")
        self.entry_lines.append(f"    llvm.store {value}, {place} : {type_name}, {POINTER}")
        return place

    def const(self, value: int, bits: int) -> str:
        """An integer constant."""
        return self.shared(constant_text(value, bits))

    def float_const(self, value: float, type_name: str) -> str:
        """A floating-point constant that is finite."""
        return self.shared(float_text(value, type_name))

    def long_function(
        self, what: str, arguments: list[str], type_name: str, write: LongFunction
    ) -> str:
        """The same, written once and called."""
        if not self.symbol:
            return write(self, arguments)
        return self.call_function(what, arguments, type_name, FunctionBuilder(), write)

    def call_function(
        self,
        what: str,
        arguments: list[str],
        type_name: str,
        body: FunctionBuilder,
        write: LongFunction,
    ) -> str:
        """Call a function; where there is none of that name yet, it is written with `body`."""
        name = f"{self.symbol}.{what}"
        if name not in self.functions:
            body.processor = self.processor
            given = [f"%a{index}" for index in range(len(arguments))]
            result = write(body, given)
            listed = ", ".join(f"{value}: {type_name}" for value in given)
            head = f"llvm.func internal @{name}({listed}) -> {type_name}"
            self.functions[name] = [
                f"  {head} attributes {{no_inline}} {{",
                *body.entry_lines,
                *body.lines,
                f"    llvm.return {result} : {type_name}",
                "  }",
            ]
        types = ", ".join([type_name] * len(arguments))
        return self.value(f"llvm.call @{name}({', '.join(arguments)}) : ({types}) -> {type_name}")

    def cast(self, operation: str, a: str, source: str, target: str) -> str:
        """Convert; nothing is written to come back to what a value was before a bitcast."""
        if operation != "bitcast" or source == target:
            return super().cast(operation, a, source, target)
        before = self.cast_from.get((a, target))
        if before is None:
            made = super().cast(operation, a, source, target)
            self.cast_from[(made, source)] = a
            return made
        return before


def constant_text(value: int, bits: int) -> str:
    """The operation that makes an integer constant."""
    if bits == 1:
        return f"llvm.mlir.constant({'true' if value & 1 else 'false'}) : i1"
    value &= (1 << bits) - 1
    if value >> (bits - 1):
        value -= 1 << bits
    return f"llvm.mlir.constant({value} : i{bits}) : i{bits}"


def float_text(value: float, type_name: str) -> str:
    """The operation that makes a floating-point constant."""
    text = repr(float(value))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return f"llvm.mlir.constant({text} : {type_name}) : {type_name}"


def _passed(arguments: tuple[tuple[str, str], ...]) -> str:
    if not arguments:
        return ""
    names = ", ".join(name for name, _ in arguments)
    types = ", ".join(type_name for _, type_name in arguments)
    return f"({names} : {types})"
