"""The functions of the C library that checked code calls.

A checked module is a system library (`link_embedded = false`): what it does not define is found in
the process that loads it, which has a C library on every Linux. Code for the plain `cpu` target is
self-contained and must not use this module.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.ssa_value import SsaValue

_FUNCTIONS: Final[dict[str, tuple[tuple[str, ...], str, bool]]] = {
    "calloc": (("i64", "i64"), POINTER, False),
    "free": ((POINTER,), "", False),
    "write": (("i32", POINTER, "i64"), "i64", False),
    "open_memstream": ((POINTER, POINTER), POINTER, False),
    "fprintf": ((POINTER, POINTER), "i32", True),
    "fputc": (("i32", POINTER), "i32", False),
    "fputs": ((POINTER, POINTER), "i32", False),
    "fclose": ((POINTER,), "i32", False),
    "snprintf": ((POINTER, "i64", POINTER), "i32", True),
    "memcpy": ((POINTER, POINTER, "i64"), POINTER, False),
}
"""Parameters, result, and whether more arguments may follow."""


def declarations() -> list[str]:
    """The functions as declarations; IREE leaves those with the attribute to the linker."""
    found = []
    for name, (parameters, result, variadic) in _FUNCTIONS.items():
        listed = ", ".join((*parameters, "...") if variadic else parameters)
        arrow = f" -> {result}" if result else ""
        found.append(f"  llvm.func @{name}({listed}){arrow} attributes {{hal.import.static}}")
    return found


def call_c(b: Builder, name: str, *given: Given) -> SsaValue:
    """Call one of them; returns its result, or an empty text where it has none.

    What is given beyond its parameters are values that know their types.
    """
    parameters, result, variadic = _FUNCTIONS[name]
    more = [value.type for value in given[len(parameters) :] if isinstance(value, SsaValue)]
    arguments = list(zip(given, (*parameters, *more), strict=True))
    kind = ""
    if variadic:
        listed = ", ".join(p.removeprefix("!llvm.") for p in (*parameters, "..."))
        kind = f" vararg(!llvm.func<{result} ({listed})>)"
    return b.call(name, arguments, result, kind)
