"""`printf` in checked code (CUDA C++ Programming Guide, "Formatted Output").

nvcc calls `vprintf` with a format and a buffer of the arguments, each of 4 or 8 bytes as C's
default promotions have it, and each at a multiple of its size. The format is taken apart when the
kernel runs, and every conversion is printed by the C library's own `fprintf`. What one call prints
is written at once, to standard error.
"""

from __future__ import annotations

from custom_dispatch.cpu.checked.monitor import is_null, text_global
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.control_structures import Cell, when
from custom_dispatch.cpu.text.ssa_value import SsaValue

_MAX_SPECIFICATION = 64
_WIDE_LENGTHS = "ljzt"
"""Of these lengths an integer has 8 bytes; `h` and `hh` are promoted to 4."""


def print_globals() -> list[str]:
    """What the function refers to."""
    return [text_global("check.null", "(null)"), text_global("check.decimal", "%d")]


def print_function() -> list[str]:
    """``@check.print(format, arguments) -> i32``: returns how many arguments were printed."""
    b = Builder()
    _Printer(b).write()
    return [
        f"  llvm.func internal @check.print(%format: {POINTER}, %arguments: {POINTER}) -> i32 "
        "attributes {no_inline} {",
        *b.lines,
        "  }",
    ]


class _Printer:
    """The function's body: a loop over the format, one conversion after the other.

    A conversion's specification ("%-8ld") is put together first, with widths that are arguments as
    numbers in it, and then given to `fprintf` with its argument.
    """

    def __init__(self, builder: Builder) -> None:
        self._b = b = builder
        kind = f"!llvm.array<{_MAX_SPECIFICATION} x i8>"
        self._text, self._length, self._specification = b.alloca(POINTER, "i64", kind)
        # Bytes of the format that were read, and of the arguments that were taken.
        self._read, self._taken = Cell(b, 0, 64), Cell(b, 0, 64)
        self._copied, self._wide, self._count = Cell(b, 0, 64), Cell(b, 0), Cell(b, 0)
        self._stream = call_c(b, "open_memstream", self._text, self._length)

    def write(self) -> None:
        """Write all of it."""
        b = self._b
        b.branch("next")
        b.block("next")
        character = self._peek()
        b.cond_branch(character.cmp("eq", 0), "end", "some")
        b.block("some")
        self._step()
        b.cond_branch(self._is_one_of(character, "%"), "percent", "plain")
        b.block("plain")
        call_c(b, "fputc", character.resize(32), self._stream)
        b.branch("next")
        self._conversion(self._modifiers())
        self._end()

    def _modifiers(self) -> SsaValue:
        """Copy flags, width, precision and length; return the character behind them."""
        b = self._b
        b.block("percent")
        self._copied.set(b.const(0, 64))
        self._wide.set(0)
        self._put(b.const(ord("%"), 8))
        b.branch("modifier")
        b.block("modifier")
        character = self._peek()
        flags = self._is_one_of(character, "-+ #0123456789.hljzt")
        b.cond_branch(flags, "flag", "star_or_end")
        b.block("flag")
        self._step()
        self._put(character)
        with when(b, self._is_one_of(character, _WIDE_LENGTHS)):
            self._wide.set(1)
        b.branch("modifier")
        b.block("star_or_end")
        b.cond_branch(self._is_one_of(character, "*"), "star", "conversion")
        self._star()
        return character

    def _star(self) -> None:
        """A width or precision that is an argument: put into the specification."""
        b = self._b
        b.block("star")
        self._step()
        self._end_specification()
        number = self._take(4, "i32")
        with when(b, self._copied.get().cmp("ult", _MAX_SPECIFICATION - 16)):
            decimal = b.address_of("check.decimal")
            end = b.offset(self._specification, self._copied.get())
            written = call_c(b, "snprintf", end, 16, decimal, number)
            self._copied.set(self._copied.get() + written.resize(64))
        b.branch("modifier")

    def _conversion(self, character: SsaValue) -> None:
        """Print the argument as the character says."""
        b = self._b
        b.block("conversion")
        b.cond_branch(character.cmp("eq", 0), "end", "known")
        b.block("known")
        self._step()
        self._put(character)
        conversions = {"integer": "diuoxX", "floating": "fFeEgGaA", "char": "c", "text": "s"}
        conversions |= {"pointer": "p", "literal": "%"}
        cases = ", ".join(
            f"{ord(letter)}: ^{label}"
            for label, letters in conversions.items()
            for letter in letters
        )
        b.line(f"llvm.switch {character} : i8, ^unknown [{cases}]")
        b.block("integer")
        b.cond_branch(self._wide.get().cmp("ne", 0), "long", "int")
        for label, size, type_name in (
            ("long", 8, "i64"),
            ("int", 4, "i32"),
            ("floating", 8, "f64"),
            ("char", 4, "i32"),
        ):
            b.block(label)
            self._show(self._take(size, type_name))
        b.block("text")
        text = self._take(8, POINTER)
        null = b.address_of("check.null")
        self._show(is_null(b, text).select(null, text))
        b.block("pointer")
        self._show(self._take(8, POINTER))
        b.block("literal")
        call_c(b, "fputc", ord("%"), self._stream)
        b.branch("next")
        b.block("unknown")  # printed as it is
        self._end_specification()
        call_c(b, "fputs", self._specification, self._stream)
        b.branch("next")

    def _end(self) -> None:
        """Write what was printed to standard error, at once."""
        b = self._b
        b.block("end")
        call_c(b, "fclose", self._stream)
        text, size = b.load(self._text, POINTER), b.load(self._length, "i64")
        call_c(b, "write", 2, text, size)
        call_c(b, "free", text)
        b.return_(self._count.get(), "i32")

    # ---- parts

    def _peek(self) -> SsaValue:
        return self._b.load(self._b.offset("%format", self._read.get()), "i8")

    def _step(self) -> None:
        self._read.set(self._read.get() + 1)

    def _is_one_of(self, character: SsaValue, characters: str) -> SsaValue:
        found = self._b.const(0, 1)
        for wanted in characters:
            found = found | character.cmp("eq", ord(wanted))
        return found

    def _put(self, character: str) -> None:
        """Append to the specification, if there is room for it and what follows."""
        b = self._b
        with when(b, self._copied.get().cmp("ult", _MAX_SPECIFICATION - 2)):
            b.store(character, b.offset(self._specification, self._copied.get()), "i8")
            self._copied.set(self._copied.get() + 1)

    def _end_specification(self) -> None:
        b = self._b
        b.store(0, b.offset(self._specification, self._copied.get()), "i8")

    def _take(self, size: int, type_name: str) -> SsaValue:
        """The next argument."""
        b = self._b
        aligned = self._taken.get() + (size - 1) & -size
        self._taken.set(aligned + size)
        self._count.set(self._count.get() + 1)
        return b.load(b.offset("%arguments", aligned), type_name, size)

    def _show(self, value: SsaValue) -> None:
        """Print a value by the specification."""
        b = self._b
        self._end_specification()
        call_c(b, "fprintf", self._stream, self._specification, value)
        b.branch("next")
