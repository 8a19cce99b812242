"""Variables of a PTX module as globals of the LLVM dialect (PTX ISA 9.0, section 5.4)."""

from __future__ import annotations

import re

from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Float, Initializer, Integer, Module, Variable, type_size

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")


def global_symbols(module: Module) -> dict[str, str]:
    """The symbol of every variable that has memory of its own, by its PTX name."""
    places = (v for v in module.variables if v.space in ("global", "const"))
    return {
        variable.name: f"variable.{index}.{_UNSAFE.sub('_', variable.name)}"
        for index, variable in enumerate(places)
    }


def global_text(module: Module, symbol: str, name: str) -> str:
    """The line that defines one variable.

    Raises
    ------
    PtxError
        It is defined elsewhere, or its initial value holds an address.
    """
    variable = next(v for v in module.variables if v.name == name)
    if variable.is_extern:
        raise _error(variable, "is `.extern`: its memory is in another module")
    data = _bytes(variable).ljust(variable.size_bytes, b"\0")
    constant = "constant " if variable.space == "const" else ""
    text = "".join(f"\\{byte:02X}" for byte in data)
    return (
        f'  llvm.mlir.global internal {constant}@{symbol}("{text}") '
        f"{{addr_space = 0 : i32, alignment = {max(variable.align, 16)} : i64}}"
    )


def _bytes(variable: Variable) -> bytes:
    if variable.initializer is None:
        return b""
    if variable.size_bytes > 1 << 24:
        raise _error(variable, f"has an initial value and {variable.size_bytes} bytes")
    if not isinstance(variable.initializer, tuple):
        return _value(variable, variable.initializer)
    return _nested(variable, variable.initializer, variable.dims[1:])


def _nested(variable: Variable, values: tuple[Initializer, ...], inner: tuple[int, ...]) -> bytes:
    """Values in braces, each inner pair of braces filling its part of the array."""
    part = type_size(variable.type)
    for dim in inner:
        part *= dim
    pieces: list[bytes] = []
    for value in values:
        if isinstance(value, tuple):
            pieces.append(_nested(variable, value, inner[1:]).ljust(part, b"\0"))
        else:
            pieces.append(_value(variable, value))
    return b"".join(pieces)


def _value(variable: Variable, value: Initializer) -> bytes:
    size = type_size(variable.type)
    if isinstance(value, Float) and value.width == 8 * size:
        return value.bits.to_bytes(size, "little")
    if isinstance(value, Integer) and variable.type not in ("f32", "f64", "f16", "bf16"):
        return (value.value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    raise _error(variable, "has an initial value that is no plain number")


def _error(variable: Variable, what: str) -> PtxError:
    return PtxError(
        f"the module's variable `{variable.name}` (PTX line {variable.line}) {what}",
        expected="a variable that the CPU target can place: defined here, of plain numbers",
        next_step="leave `cpu` out of the targets, or pass the data as an operand",
    )
