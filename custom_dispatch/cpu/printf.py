"""`printf` in checked code (CUDA C++ Programming Guide, "Formatted Output").

nvcc calls `vprintf` with a format and a buffer of the arguments, each of 4 or 8 bytes as C's
default promotions have it, and each at a multiple of its size. The format is taken apart when the
kernel runs, and every conversion is printed by the C library's own `fprintf`. What one call prints
is written at once, to standard error.
"""

from __future__ import annotations

from custom_dispatch.cpu.builder import POINTER, Builder
from custom_dispatch.cpu.c_library import call_c
from custom_dispatch.cpu.monitor import number_of, text_global
from custom_dispatch.cpu.structure import Cell, when

_MAX_SPECIFICATION = 64
_WIDE_LENGTHS = "ljzt"
"""Of these lengths an integer has 8 bytes; `h` and `hh` are promoted to 4."""


def print_globals() -> list[str]:
    """What the function refers to."""
    return [text_global("check.null", "(null)"), text_global("check.decimal", "%d")]


def print_function() -> list[str]:
    """``@check.print(format, arguments) -> i32``: returns how many arguments were printed."""
    b = Builder()
    one = b.const(1, 32)
    place = b.value(f"llvm.alloca {one} x {POINTER} : (i32) -> {POINTER}")
    length = b.value(f"llvm.alloca {one} x i64 : (i32) -> {POINTER}")
    kind = f"!llvm.array<{_MAX_SPECIFICATION} x i8>"
    specification = b.value(f"llvm.alloca {one} x {kind} : (i32) -> {POINTER}")
    read, taken = Cell(b, 0, 64), Cell(b, 0, 64)
    """Bytes of the format that were read, and of the arguments that were taken."""
    copied, wide, count = Cell(b, 0, 64), Cell(b, 0), Cell(b, 0)
    stream = call_c(b, "open_memstream", [(place, POINTER), (length, POINTER)])

    def peek() -> str:
        return b.load(b.offset("%format", read.get()), "i8", 1)

    def step() -> None:
        read.set(b.binary("add", read.get(), b.const(1, 64), "i64"))

    def is_one_of(character: str, characters: str) -> str:
        found = b.const(0, 1)
        for wanted in characters:
            same = b.icmp("eq", character, b.const(ord(wanted), 8), "i8")
            found = b.binary("or", found, same, "i1")
        return found

    def put(character: str) -> None:
        """Append to the specification, if there is room for it and what follows."""
        room = b.icmp("ult", copied.get(), b.const(_MAX_SPECIFICATION - 2, 64), "i64")
        with when(b, room):
            b.store(character, b.offset(specification, copied.get()), "i8", 1)
            copied.set(b.binary("add", copied.get(), b.const(1, 64), "i64"))

    def take(size: int, type_name: str) -> str:
        """The next argument."""
        aligned = b.binary("add", taken.get(), b.const(size - 1, 64), "i64")
        aligned = b.binary("and", aligned, b.const(-size, 64), "i64")
        taken.set(b.binary("add", aligned, b.const(size, 64), "i64"))
        count.set(b.binary("add", count.get(), b.const(1, 32), "i32"))
        return b.load(b.offset("%arguments", aligned), type_name, size)

    def show(value: str, type_name: str) -> None:
        b.store(b.const(0, 8), b.offset(specification, copied.get()), "i8", 1)
        arguments = [(stream, POINTER), (specification, POINTER), (value, type_name)]
        call_c(b, "fprintf", arguments)
        b.branch("next")

    b.branch("next")
    b.block("next")
    character = peek()
    b.cond_branch(b.icmp("eq", character, b.const(0, 8), "i8"), "end", "some")
    b.block("some")
    step()
    b.cond_branch(is_one_of(character, "%"), "percent", "plain")
    b.block("plain")
    call_c(b, "fputc", [(b.resize(character, 8, 32), "i32"), (stream, POINTER)])
    b.branch("next")

    b.block("percent")
    copied.set(b.const(0, 64))
    wide.clear()
    put(b.const(ord("%"), 8))
    b.branch("modifier")
    b.block("modifier")
    character = peek()
    b.cond_branch(is_one_of(character, "-+ #0123456789.hljzt"), "flag", "star_or_end")
    b.block("flag")
    step()
    put(character)
    with when(b, is_one_of(character, _WIDE_LENGTHS)):
        wide.set(one)
    b.branch("modifier")
    b.block("star_or_end")
    b.cond_branch(is_one_of(character, "*"), "star", "conversion")
    b.block("star")  # a width or precision that is an argument: put into the specification
    step()
    b.store(b.const(0, 8), b.offset(specification, copied.get()), "i8", 1)
    number = take(4, "i32")
    room = b.icmp("ult", copied.get(), b.const(_MAX_SPECIFICATION - 16, 64), "i64")
    with when(b, room):
        decimal = b.value(f"llvm.mlir.addressof @check.decimal : {POINTER}")
        end = b.offset(specification, copied.get())
        arguments = [(end, POINTER), (b.const(16, 64), "i64"), (decimal, POINTER), (number, "i32")]
        written = call_c(b, "snprintf", arguments)
        grown = b.binary("add", copied.get(), b.resize(written, 32, 64), "i64")
        copied.set(grown)
    b.branch("modifier")

    b.block("conversion")
    b.cond_branch(b.icmp("eq", character, b.const(0, 8), "i8"), "end", "known")
    b.block("known")
    step()
    put(character)
    conversions = {"integer": "diuoxX", "floating": "fFeEgGaA", "char": "c", "text": "s"}
    conversions |= {"pointer": "p", "literal": "%"}
    cases = ", ".join(
        f"{ord(letter)}: ^{label}" for label, letters in conversions.items() for letter in letters
    )
    b.line(f"llvm.switch {character} : i8, ^unknown [{cases}]")
    b.block("integer")
    b.cond_branch(b.icmp("ne", wide.get(), b.const(0, 32), "i32"), "long", "int")
    b.block("long")
    show(take(8, "i64"), "i64")
    b.block("int")
    show(take(4, "i32"), "i32")
    b.block("floating")
    show(take(8, "f64"), "f64")
    b.block("char")
    show(take(4, "i32"), "i32")
    b.block("text")
    text = take(8, POINTER)
    null = b.value(f"llvm.mlir.addressof @check.null : {POINTER}")
    is_null = b.icmp("eq", number_of(b, text), b.const(0, 64), "i64")
    show(b.select(is_null, null, text, POINTER), POINTER)
    b.block("pointer")
    show(take(8, POINTER), POINTER)
    b.block("literal")
    call_c(b, "fputc", [(b.const(ord("%"), 32), "i32"), (stream, POINTER)])
    b.branch("next")
    b.block("unknown")  # printed as it is
    b.store(b.const(0, 8), b.offset(specification, copied.get()), "i8", 1)
    call_c(b, "fputs", [(specification, POINTER), (stream, POINTER)])
    b.branch("next")

    b.block("end")
    call_c(b, "fclose", [(stream, POINTER)])
    text, size = b.load(place, POINTER, 8), b.load(length, "i64", 8)
    call_c(b, "write", [(b.const(2, 32), "i32"), (text, POINTER), (size, "i64")])
    call_c(b, "free", [(text, POINTER)])
    b.line(f"llvm.return {count.get()} : i32")
    return [
        f"  llvm.func internal @check.print(%format: {POINTER}, %arguments: {POINTER}) -> i32 "
        "attributes {no_inline} {",
        *b.lines,
        "  }",
    ]
