"""Variables of a PTX module as globals of the LLVM dialect (PTX ISA 9.0, section 5.4)."""

import math
import re
from collections.abc import Iterable, Mapping

from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Float, Initializer, Integer, Module, Symbol, Variable, type_size
from custom_dispatch.reachable import reachable

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")

_Piece = bytes | Symbol


def global_symbols(module: Module) -> dict[str, str]:
    """The symbol of every variable that has memory of its own, by its PTX name."""
    places = (v for v in module.variables if v.space in ("global", "const"))
    return {
        variable.name: f"variable.{index}.{_UNSAFE.sub('_', variable.name)}"
        for index, variable in enumerate(places)
    }


def global_texts(module: Module, symbols: Mapping[str, str], used: set[str]) -> list[str]:
    """The definitions of variables, and of those whose addresses they hold.

    - `symbols`: every variable's symbol, by its PTX name.
    - `used`: the names of the variables that code refers to.
    """
    variables = {v.name: v for v in module.variables if v.name in symbols}
    wanted = reachable_variables(module, symbols, used)
    return [
        _text(variables[name], symbols, _pieces_of(variables[name]))
        for name in symbols
        if name in wanted
    ]


def reachable_variables(
    module: Module, symbols: Mapping[str, str], used: Iterable[str]
) -> set[str]:
    """The variables that code refers to, and those whose addresses these hold."""
    variables = {v.name: v for v in module.variables if v.name in symbols}

    def held(name: str) -> list[str]:
        pieces = _pieces_of(variables[name])
        addresses = {piece.name for piece in pieces if isinstance(piece, Symbol)}
        return sorted(addresses & variables.keys())

    return set(reachable(sorted(used), held))


def _pieces_of(variable: Variable) -> list[_Piece]:
    """The initial value: bytes, and addresses between them."""
    if variable.is_extern:
        raise _error(variable, "is `.extern`: its memory is in another module")
    found = _initial(variable)
    rest = bytes(max(variable.size_bytes - _size(found), 0))
    pieces: list[_Piece] = []
    for piece in (*found, rest):
        if isinstance(piece, bytes) and pieces and isinstance(pieces[-1], bytes):
            pieces[-1] += piece
        elif piece or not pieces:
            pieces.append(piece)
    return pieces


def _size(pieces: Iterable[_Piece]) -> int:
    return sum(8 if isinstance(piece, Symbol) else len(piece) for piece in pieces)


def _text(variable: Variable, symbols: Mapping[str, str], pieces: list[_Piece]) -> str:
    constant = "constant " if variable.space == "const" else ""
    symbol = symbols[variable.name]
    attributes = f"{{addr_space = 0 : i32, alignment = {max(variable.align, 16)} : i64}}"
    b = Builder()
    (first, *others) = pieces
    if isinstance(first, bytes) and not others:
        if any(first):
            text = f'@{symbol}("{_escaped(first)}") {attributes}'
            return f"  llvm.mlir.global internal {constant}{text}"
        whole = f"!llvm.array<{len(first)} x i8>"
        value = b.value(f"llvm.mlir.zero : {whole}")
    else:
        whole, value = _mixed(b, variable, symbols, pieces)
    b.line(f"llvm.return {value} : {whole}")
    head = f"  llvm.mlir.global internal {constant}@{symbol}() {attributes} : {whole} {{"
    return "\n".join([head, *b.lines, "  }"])


def _mixed(
    b: Builder, variable: Variable, symbols: Mapping[str, str], pieces: list[_Piece]
) -> tuple[str, str]:
    """The type and the value of bytes with addresses between them."""
    types = [
        POINTER if isinstance(piece, Symbol) else f"array<{len(piece)} x i8>" for piece in pieces
    ]
    whole = f"!llvm.struct<packed ({', '.join(t.removeprefix('!llvm.') for t in types)})>"
    value = b.value(f"llvm.mlir.undef : {whole}")
    for index, piece in enumerate(pieces):
        if isinstance(piece, bytes):
            kind = f"!llvm.array<{len(piece)} x i8>"
            part = b.value(f'llvm.mlir.constant("{_escaped(piece)}") : {kind}')
        elif piece.name not in symbols:
            raise _error(variable, f"holds the address of `{piece.name}`, which is no variable")
        else:
            part = b.offset(b.address_of(symbols[piece.name]), piece.offset)
        value = b.value(f"llvm.insertvalue {part}, {value}[{index}] : {whole}")
    return whole, value


def _escaped(data: bytes) -> str:
    return "".join(f"\\{byte:02X}" for byte in data)


def _initial(variable: Variable) -> list[_Piece]:
    if variable.initializer is None:
        return []
    if variable.size_bytes > 1 << 24:
        raise _error(variable, f"has an initial value and {variable.size_bytes} bytes")
    if not isinstance(variable.initializer, tuple):
        return [_value(variable, variable.initializer)]
    return _nested(variable, variable.initializer, variable.dims[1:])


def _nested(
    variable: Variable, values: tuple[Initializer, ...], inner: tuple[int, ...]
) -> list[_Piece]:
    """Values in braces, each inner pair of braces filling its part of the array."""
    part = type_size(variable.type) * math.prod(inner)
    pieces: list[_Piece] = []
    for value in values:
        if isinstance(value, tuple):
            found = _nested(variable, value, inner[1:])
            pieces += [*found, bytes(max(part - _size(found), 0))]
        else:
            pieces.append(_value(variable, value))
    return pieces


def _value(variable: Variable, value: Initializer) -> _Piece:
    size = type_size(variable.type)
    if isinstance(value, Symbol) and size == 8:
        return value
    if isinstance(value, Float) and value.width == 8 * size:
        return value.bits.to_bytes(size, "little")
    if isinstance(value, Integer) and variable.type not in ("f32", "f64", "f16", "bf16"):
        return (value.value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    raise _error(variable, "has an initial value that is no plain number or address")


def _error(variable: Variable, what: str) -> PtxError:
    return PtxError(
        f"The module's variable `{variable.name}` (PTX line {variable.line}) {what}.",
        expected="a variable that the CPU target can place: defined here, of numbers and addresses "
        "of other variables",
        next_step="leave `cpu` out of the targets, or pass the data as an operand.",
    )
