"""Writing operations of MLIR's LLVM dialect as text, one line an operation.

Values are SSA names (``%7``) and types are their spelling (``i32``, ``f32``, ``!llvm.ptr``). A
Python number in a value's place is a constant. No name a user gives ever passes through here:
symbols are checked before. A builder that spells operations in another way has its own methods for
those with an underscore.
"""

import functools
from collections.abc import Callable, Iterable, Sequence

from custom_dispatch.cpu.cpu_kernel import UNKNOWN
from custom_dispatch.cpu.text.ssa_value import SsaValue

POINTER = "!llvm.ptr"
FAILURE = "%failure"
"""The function argument that points to the i32 a workgroup returns: 0, or a `Failure`."""


LongFunction = Callable[[list[SsaValue]], SsaValue]
"""Writes operations on values; returns the last one's result."""

Given = str | float
"""A value, or a number that becomes a constant."""

Arguments = Sequence[tuple[Given, str]]
"""Values with their types."""

Signature = Sequence[tuple[str, str]]
"""Names with their types."""


def int_type(bits: int) -> str:
    """The integer type of a width: ``i32``."""
    return f"i{bits}"


class Builder:
    """Collects the lines of one function's body."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.processor = UNKNOWN
        """What the code is for."""
        self.block_start = 0
        """The number of lines before the basic block's first."""
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
        self.block_start = len(self.lines)

    def branch(self, label: str, *arguments: tuple[Given, str]) -> None:
        """Go to a block."""
        self.line(f"llvm.br ^{label}{self.passed(arguments)}")

    def passed(self, arguments: Arguments) -> str:
        """What a branch gives to a block."""
        if not arguments:
            return ""
        names = ", ".join(self.typed(*argument) for argument in arguments)
        types = ", ".join(type_name for _, type_name in arguments)
        return f"({names} : {types})"

    def return_(self, value: Given = "", type_name: str = "") -> None:
        """Leave the function, with a value if it is of a type."""
        returned = f" {self.typed(value, type_name)} : {type_name}" if type_name else ""
        self.line(f"llvm.return{returned}")

    def cond_branch(self, condition: str, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.line(f"llvm.cond_br {condition}, ^{yes}, ^{no}")

    def named(self, name: str, type_name: str) -> SsaValue:
        """A value of this builder, by its name."""
        return SsaValue(name, type_name, self)

    def const(self, value: int, bits: int) -> SsaValue:
        """An integer constant, taken modulo two to the power of its width."""
        return SsaValue(self._const(value, bits), f"i{bits}", self)

    def _const(self, value: int, bits: int) -> str:
        return self.value(constant_text(value, bits))

    def float_const(self, value: float, type_name: str) -> SsaValue:
        """A floating-point constant that is finite."""
        return SsaValue(self._float_const(value, type_name), type_name, self)

    def _float_const(self, value: float, type_name: str) -> str:
        return self.value(float_text(value, type_name))

    def typed(self, operand: Given, type_name: str) -> str:
        """A value: a number as a constant of a type."""
        if isinstance(operand, str):
            return operand
        if type_name[0] == "i":
            return self._const(int(operand), int(type_name[1:]))
        return self._float_const(operand, type_name)

    def binary(self, operation: str, a: Given, b: Given, type_name: str = "i32") -> SsaValue:
        """An operation on two values of one type, such as ``add`` or ``fmul``."""
        a, b = self.typed(a, type_name), self.typed(b, type_name)
        return SsaValue(self._binary(operation, a, b, type_name), type_name, self)

    def _binary(self, operation: str, a: str, b: str, type_name: str) -> str:
        return self.value(f"llvm.{operation} {a}, {b} : {type_name}")

    def compare(self, condition: str, a: Given, b: Given, type_name: str = "i32") -> SsaValue:
        """Compare integers or floating-point numbers, by LLVM's name: ``"ult"``, ``"olt"``."""
        a, b = self.typed(a, type_name), self.typed(b, type_name)
        operation = "fcmp" if type_name[0] == "f" else "icmp"
        return SsaValue(self._compare(operation, condition, a, b, type_name), "i1", self)

    def _compare(self, operation: str, condition: str, a: str, b: str, type_name: str) -> str:
        return self.value(f'llvm.{operation} "{condition}" {a}, {b} : {type_name}')

    def negate(self, a: str, type_name: str) -> SsaValue:
        """A floating-point number with the other sign."""
        return SsaValue(self._negate(a, type_name), type_name, self)

    def _negate(self, a: str, type_name: str) -> str:
        return self.value(f"llvm.fneg {a} : {type_name}")

    def select(self, condition: str, a: Given, b: Given, type_name: str = "i32") -> SsaValue:
        """One of two values."""
        a, b = self.typed(a, type_name), self.typed(b, type_name)
        return SsaValue(self._select(condition, a, b, type_name), type_name, self)

    def _select(self, condition: str, a: str, b: str, type_name: str) -> str:
        return self.value(f"llvm.select {condition}, {a}, {b} : i1, {type_name}")

    def cast(self, operation: str, a: str, source: str, target: str) -> SsaValue:
        """Convert; nothing is written when the types are the same."""
        name = a if source == target else self._cast(operation, a, source, target)
        return SsaValue(name, target, self)

    def _cast(self, operation: str, a: str, source: str, target: str) -> str:
        return self.value(self._cast_text(operation, a, source, target))

    def _cast_text(self, operation: str, a: str, source: str, target: str) -> str:
        return f"llvm.{operation} {a} : {source} to {target}"

    def call_intrinsic(
        self, name: str, arguments: Sequence[Given], result: str = "i32", types: Sequence[str] = ()
    ) -> SsaValue:
        """Call an LLVM intrinsic by its name without the overload suffix, ``"llvm.fma"``.

        `types`: the arguments' types, where they differ from the result's.
        """
        types = types or [result] * len(arguments)
        names = list(map(self.typed, arguments, types))
        return SsaValue(self._call_intrinsic(name, names, result, types), result, self)

    def _call_intrinsic(
        self, name: str, arguments: Sequence[str], result: str, types: Sequence[str]
    ) -> str:
        listed = ", ".join(arguments)
        return self.value(
            f'llvm.call_intrinsic "{name}"({listed}) : ({", ".join(types)}) -> {result}'
        )

    def call(self, symbol: str, arguments: Arguments, result: str = "", kind: str = "") -> SsaValue:
        """Call a function; returns its result, or an empty text where it has none.

        - `arguments`: values with their types.
        - `kind`: what stands behind the arguments of a function that takes a variable number of
          them.
        """
        names = ", ".join(self.typed(*argument) for argument in arguments)
        types = ", ".join(type_name for _, type_name in arguments)
        text = f"llvm.call @{symbol}({names}){kind} : ({types}) -> {result or '()'}"
        if result:
            return SsaValue(self.value(text), result, self)
        self.line(text)
        return SsaValue("", "", self)

    def address_of(self, symbol: str) -> SsaValue:
        """A pointer to a global."""
        return SsaValue(self.value(f"llvm.mlir.addressof @{symbol} : {POINTER}"), POINTER, self)

    def alloca(self, *types: str) -> list[SsaValue]:
        """Memory on the stack for a value of each type: pointers to them."""
        count = self.const(1, 32)
        texts = (f"llvm.alloca {count} x {type_name} : (i32) -> {POINTER}" for type_name in types)
        return [SsaValue(self.value(text), POINTER, self) for text in texts]

    def long_function(self, what: str, arguments: list[SsaValue], write: LongFunction) -> SsaValue:
        """A function of some values of one type, its result's too, that takes many operations.

        - `what`: its name; the same name is the same function.
        - `write`: writes it for the values given; returns the result.
        """
        del what
        return write(arguments)

    def offset(self, pointer: str, offset: int | str) -> SsaValue:
        """A pointer moved by bytes: a constant, or an i64 value."""
        return SsaValue(self._offset(pointer, offset) if offset != 0 else pointer, POINTER, self)

    def _offset(self, pointer: str, offset: int | str) -> str:
        index = "" if isinstance(offset, int) else ", i64"
        return self.value(
            f"llvm.getelementptr {pointer}[{offset}] : ({POINTER}{index}) -> {POINTER}, i8"
        )

    def element(self, array: str, index: str, size: int, start: int = 0) -> SsaValue:
        """A pointer to an element, by an i32 and its bytes, of an array that begins somewhere."""
        wide = self.cast("zext", index, "i32", "i64")
        wide = wide if size == 1 else wide * size
        return self.offset(self.offset(array, start), wide)

    def fail(self, failure: int) -> None:
        """End the thread, or the warp, and let the workgroup return a failure."""
        self.store(failure, FAILURE)
        self.branch("exit")

    def read(self, place: str, type_name: str) -> SsaValue:
        """What a variable on the stack holds."""
        return self.named(self.value(f"llvm.load {place} : {POINTER} -> {type_name}"), type_name)

    def write(self, value: str, place: str, type_name: str) -> None:
        """Give a variable on the stack a value."""
        self.line(f"llvm.store {value}, {place} : {type_name}, {POINTER}")

    def load(self, pointer: str, type_name: str = "i32", align: int = 0, how: str = "") -> SsaValue:
        """Load; `how` is ``volatile`` or an atomic ordering, `align` by default the type's size."""
        return SsaValue(self._load(pointer, type_name, align, how), type_name, self)

    def _load(self, pointer: str, type_name: str, align: int, how: str) -> str:
        volatile, atomic = _ordered(how)
        return self.value(
            f"llvm.load {volatile}{pointer}{atomic} <alignment = {align or bytes_of(type_name)}> : "
            f"{POINTER} -> {type_name}"
        )

    def store(
        self, value: Given, pointer: str, type_name: str = "i32", align: int = 0, how: str = ""
    ) -> None:
        """Store; `how` and `align` as in `load`."""
        volatile, atomic = _ordered(how)
        self.line(
            f"llvm.store {volatile}{self.typed(value, type_name)}, {pointer}{atomic} "
            f"<alignment = {align or bytes_of(type_name)}> : {type_name}, {POINTER}"
        )


class FunctionBuilder(Builder):
    """Collects the lines of a function that has each constant once, at its start.

    `symbol`: start of the names of the functions it calls; without one it calls none.
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

    def _const(self, value: int, bits: int) -> str:
        return self.shared(constant_text(value, bits))

    def _float_const(self, value: float, type_name: str) -> str:
        return self.shared(float_text(value, type_name))

    def long_function(self, what: str, arguments: list[SsaValue], write: LongFunction) -> SsaValue:
        """The same, written once and called."""
        if not self.symbol:
            return write(arguments)
        name, type_name = f"{self.symbol}.{what}", arguments[0].type
        if name not in self.functions:
            body = FunctionBuilder()
            body.processor = self.processor
            given = [body.named(f"%a{index}", type_name) for index in range(len(arguments))]
            result = write(given)
            self.functions[name] = function_text(
                name,
                [(value, type_name) for value in given],
                [*body.entry_lines, *body.lines, f"    llvm.return {result} : {type_name}"],
                type_name,
                "no_inline",
            )
        return self.call(name, [(value, type_name) for value in arguments], type_name)

    def _cast(self, operation: str, a: str, source: str, target: str) -> str:
        """Convert; nothing is written to come back to what a value was before a bitcast."""
        if operation != "bitcast":
            return super()._cast(operation, a, source, target)
        before = self.cast_from.get((a, target))
        if before is None:
            before = super()._cast(operation, a, source, target)
            self.cast_from[(before, source)] = a
        return before


@functools.lru_cache(maxsize=4096)
def constant_text(value: int, bits: int) -> str:
    """The operation that makes an integer constant."""
    number = integer_literal(value, bits)
    return f"llvm.mlir.constant({number}) : i{bits}"


def integer_literal(value: int, bits: int) -> str:
    """An integer with its type, as attributes have it; of one bit, whether it is set."""
    if bits == 1:
        return "true" if value & 1 else "false"
    value &= (1 << bits) - 1
    if value >> (bits - 1):
        value -= 1 << bits
    return f"{value} : i{bits}"


def float_text(value: float, type_name: str) -> str:
    """The operation that makes a floating-point constant."""
    return f"llvm.mlir.constant({float_literal(value, type_name)}) : {type_name}"


def float_literal(value: float, type_name: str) -> str:
    """A finite floating-point number with its type, as attributes have it."""
    text = repr(float(value))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return f"{text} : {type_name}"


def bytes_of(type_name: str) -> int:
    """The bytes that an integer or a pointer takes in memory."""
    return 8 if type_name == POINTER else max(int(type_name[1:]) // 8, 1)


def function_text(
    symbol: str, arguments: Signature, body: Iterable[str], result: str = "", attribute: str = ""
) -> list[str]:
    """The lines of a function that only this module calls.

    - `arguments`: names with their types.
    - `body`: the lines between its braces.
    - `attribute`: such as ``no_inline``.
    """
    arrow = f" -> {result}" if result else ""
    attributes = f" attributes {{{attribute}}}" if attribute else ""
    listed = ", ".join(f"{name}: {type_name}" for name, type_name in arguments)
    head = f"  llvm.func internal @{symbol}({listed}){arrow}{attributes} {{"
    return [head, *body, "  }"]


def _ordered(how: str) -> tuple[str, str]:
    """What stands before and behind the pointer of an access."""
    if how == "volatile":
        return "volatile ", ""
    return "", f" atomic {how}" if how else ""
