"""An entry of an object: which symbol a declared name became, and its C++ type.

Such an object says nothing of names but its symbols. They are demangled by the C++ runtime library
of this machine (`__cxa_demangle` of the Itanium C++ ABI, which CUDA's names follow) and compared by
their tokens. A typedef or alias in a declared name is not seen through: the symbols do not have it.

In PTX every pointer is 64 bits and `__half` is bytes. The compiler knows what they are
(`descriptor.py`), so a wrong element type is an error here instead of wrong numbers.

What is taken for the same: integers of one size whatever their sign, since tensors of a model are
signless; integers as the bits of floats of at most 16 bits, and bytes as bools; vector types
(`float4`) for their parts. A class that is not known, and void, may be anything that fits.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.abi import Parameter
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, In, Scalar, Scratch, Struct
from custom_dispatch.kernel.sources import CppName, cpp_name


@dataclass(frozen=True, slots=True)
class CField:
    """A field of a struct, as the C++ compiler lays it out."""

    name: str
    offset_bytes: int
    dtype: str
    """As that of a parameter; of an array that of its elements."""
    size_bytes: int
    """Of all elements of an array."""
    is_class: bool
    """Whether it is a class, or an array of such."""


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter of a `__global__` function, as the C++ compiler sees it."""

    form: str
    """"value", "pointer" or "reference"."""
    is_const: bool
    """Whether a pointer or reference is to something constant."""
    dtype: str
    """The element type's name ("f32") of the value, or of what it points to; of a vector type such
    as `float4` that of its parts. Empty for everything else: void, classes, pointers."""
    size_bytes: int
    """Of the value, or of what it points to; 0 for void."""
    is_class: bool
    """Whether that is a class or struct; vector types, __half and the like are, too."""
    fields: tuple[CField, ...] = ()
    """Of a struct by value the fields that were asked for and that it has by that name."""


@dataclass(frozen=True, slots=True)
class CSignature:
    """The type of a `__global__` function."""

    text: str
    """As C++ writes it: "void (const float *, float *, int)"; empty before C++14."""
    parameters: tuple[CParameter, ...]


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A declared entry and what it is in an object."""

    name: str
    """As declared: "rms_norm<float, 256>"."""
    symbol: str
    """The object's name for it: "_Z8rms_normIfLi256EEvPKT_PS0_i"."""
    signature: CSignature | None = None
    """None where no compiler was asked, or it could not say."""
    parameters: tuple[str, ...] = ()
    """Those that IREE passes, by name, where the entry was rewritten to take them."""


_IS = re.compile(rb"^// custom-dispatch: (.+) is ([\w$%]+)$", re.MULTILINE | re.ASCII)
_TAKES = re.compile(
    rb"^// custom-dispatch: ([\w$%]+) takes ([\w$%]+(?: [\w$%]+)*)$", re.MULTILINE | re.ASCII
)
_BEHIND = re.compile(rb"\n(?:// custom-dispatch: [^\n]*\n)+\Z")


def write_notes(entries: Sequence[EntryPoint], *, is_ptx: bool) -> bytes:
    """Remarks to stand behind an object in its file; none where there is nothing to tell.

    They are the symbols of entries that have others than their names: demangled symbols do not have
    a declaration's aliases. And for machine code, which has no names of parameters, what entries
    take that were rewritten. What loads machine code reads as far as its headers say.
    """
    lines = [
        f"// custom-dispatch: {entry.name} is {entry.symbol}\n"
        for entry in entries
        if entry.name != entry.symbol
    ]
    if not is_ptx:
        lines += (
            f"// custom-dispatch: {entry.symbol} takes {' '.join(entry.parameters)}\n"
            for entry in entries
            if entry.parameters
        )
    return "".join(lines).encode()


def read_notes(data: bytes) -> tuple[EntryPoint, ...]:
    """The entries that remarks in PTX, or behind machine code, tell of."""
    takes = {m[1].decode(): tuple(m[2].decode().split()) for m in _TAKES.finditer(data)}
    found = [
        EntryPoint(m[1].decode("utf-8", "replace"), symbol, None, takes.get(symbol, ()))
        for m in _IS.finditer(data)
        for symbol in (m[2].decode(),)
    ]
    named = {entry.symbol for entry in found}
    found += (EntryPoint(s, s, None, takes[s]) for s in takes if s not in named)
    return tuple(found)


def split_notes(image: bytes) -> tuple[bytes, bytes]:
    """Machine code as a compiler wrote it, and the remarks behind it."""
    match = _BEHIND.search(image)
    return (image, b"") if match is None else (image[: match.start()], match[0])


_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1")
_MAX_LENGTH = 10_000
_TOKEN = re.compile(r"\w+|\S", re.ASCII)
_SUFFIX = re.compile(r"(?<=[0-9])[uUlL]+", re.ASCII)


def find_entries(
    names: Sequence[str], symbols: Sequence[str], notes: Sequence[EntryPoint] = ()
) -> tuple[EntryPoint, ...]:
    """Which symbol each declared entry is, for those that are none themselves or are told of.

    - `names`: declared entries.
    - `symbols`: the entries of an object; none where they cannot be read.
    - `notes`: what the object itself says of them.
    """
    told = {note.name: note for note in notes if not symbols or note.symbol in symbols}
    takes = {note.symbol: note.parameters for note in told.values()}
    known: list[tuple[str, str | None]] | None = None
    found = []
    for name in names:
        if name in told:
            found.append(told[name])
        if name in told or name in symbols:
            continue
        if known is None:
            known = [(symbol, demangle(symbol)) for symbol in symbols]
        function = cpp_name(name)
        fitting = [symbol for symbol, text in known if text and _is(function, text)]
        if len(fitting) == 1:
            found.append(EntryPoint(name, fitting[0], None, takes.get(fitting[0], ())))
    return tuple(found)


def demangle(symbol: str) -> str | None:
    """A C++ function's name and parameters; None for any other symbol, or without a library."""
    library = _library()
    if library is None or not symbol.startswith("_Z") or len(symbol) > _MAX_LENGTH:
        return None
    status = ctypes.c_int()
    text = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return None
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        library.free(text)


@cache
def _library() -> Any:
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
            library.free.argtypes = [ctypes.c_void_p]
        except (OSError, AttributeError):
            continue
        return library
    return None


def _is(function: CppName, demangled: str) -> bool:
    """Whether a demangled function, "void ns::scale<int>(int const*)", is the one declared."""
    end = demangled.rfind(")")
    start = end
    depth = 0
    while start >= 0:
        depth += (demangled[start] == ")") - (demangled[start] == "(")
        if depth == 0:
            break
        start -= 1
    name = demangled[:start].removeprefix("void ")
    if _tokens(name) != _tokens(function.function.removeprefix("::")):
        return False
    if function.parameters is None:
        return True
    return _types(demangled[start + 1 : end]) == _types(function.parameters)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_SUFFIX.sub("", text))


def _types(parameters: str) -> list[Counter[str]]:
    """The tokens of each type in any order: `const float*` is `float const*`."""
    types: list[Counter[str]] = [Counter()]
    depth = 0
    for part in _tokens(parameters):
        depth += (part in "<(") - (part in ">)")
        if part == "," and depth == 0:
            types.append(Counter())
        elif part not in ("__restrict__", "int"):  # `unsigned` is `unsigned int`
            types[-1][part] += 1
    return types


_POINTER_BYTES = 8
_MOST_RAW_BITS = 16


def check_types(kernel: Kernel, signature: CSignature, origin: str) -> None:
    """Compare a function's parameters with a declaration's operands.

    `signature`: the compiler's description; as many parameters as the PTX has.
    """
    texts = _split(signature.text)
    for index, (declared, found) in enumerate(
        zip(kernel.abi.parameters, signature.parameters, strict=True)
    ):
        problem = _problem(declared, found)
        if problem is None:
            if isinstance(declared.operand, Struct):
                _check_fields(kernel, declared.operand, found, origin)
            continue
        said = texts[index] if len(texts) == len(signature.parameters) else _described(found)
        expected, next_step = problem
        shown = signature.text.replace("(", f"{kernel.entry.partition('(')[0]}(", 1)
        raise PtxError(
            f"Kernel `{kernel.name}`: parameter {index} of `{origin}` is `{said}`, where operand "
            f"{declared.operand} is declared.",
            expected=expected,
            next_step=f"{next_step}, or correct the C signature" + (f": {shown}" if shown else "."),
        )


def _problem(declared: Parameter, found: CParameter) -> tuple[str, str] | None:
    """What would be right and the next step, where a parameter is not as declared."""
    operand = declared.operand
    if isinstance(operand, Buffer):
        if found.form == "value":
            return declared.kind, f"declare `{operand.name}` as a cd.Scalar or cd.Struct"
        if not isinstance(operand, Scratch) and not _may_hold(found, operand.dtype):
            kind = type(operand).__name__
            pointer = f"{'const ' if isinstance(operand, In) else ''}{operand.dtype.c_name}*"
            declare = f'cd.{kind}("{operand.name}", "{found.dtype}", ...)'
            return pointer, f"declare {declare}" if found.dtype else f"change `{operand.name}`"
        if found.is_const and not isinstance(operand, In):
            return (
                "a pointer to something that may be written",
                f"declare `{operand.name}` as cd.In",
            )
        return None
    if found.form != "value":
        return declared.kind, f"declare `{operand.name}` as cd.In, cd.Out or cd.InOut"
    if isinstance(operand, Scalar) and not _may_hold(found, operand.dtype):
        return f"a {operand.dtype.c_name}", f'declare it "{found.dtype}"'
    if isinstance(operand, Struct) and found.dtype:
        kinds = {leaf.scalar.dtype for leaf in operand.leaves}
        if not all(_same(found.dtype, dtype) for dtype in kinds):
            return f"a struct of {found.dtype}", f'declare its fields "{found.dtype}"'
    return None


def _check_fields(kernel: Kernel, struct: Struct, found: CParameter, origin: str) -> None:
    """Compare the fields that have the C struct's names; others may be named as one likes.

    One that is larger there may be declared in parts, the first of which has its name.
    """
    in_c = {field.name: field for field in found.fields}
    for field in struct.fields:
        other = in_c.get(field.name)
        if other is None or (
            other.offset_bytes == field.offset
            and other.size_bytes >= field.dtype.bytes * (field.count or 1)
            and (not other.dtype or _same(other.dtype, field.dtype))
        ):
            continue
        count = "" if field.count is None else f"[{field.count}]"
        order = ", ".join(item.name for item in sorted(found.fields, key=lambda f: f.offset_bytes))
        raise PtxError(
            f"Kernel `{kernel.name}`: field `{field.name}` of operand `{struct.name}` is declared "
            f"as {field.dtype}{count} at byte {field.offset}, and `{origin}` has "
            f"{_described_field(other)} of that name.",
            expected="the fields of the C struct with their types, in its order"
            + (f": {order}" if len(in_c) == len(struct.fields) else ""),
            next_step=f'correct cd.Struct("{struct.name}", ...), or the struct.',
        )


def _described_field(field: CField) -> str:
    size = f"of {field.size_bytes} bytes"
    if field.dtype:
        kind, whole = ELEMENT_TYPES[field.dtype].c_name, ELEMENT_TYPES[field.dtype].bytes
        size = "" if field.size_bytes == whole else f" {size}"
        return f"{kind}{size} at byte {field.offset_bytes}"
    return f"something {size} at byte {field.offset_bytes}"


def _may_hold(found: CParameter, dtype: ElementType) -> bool:
    if found.dtype:
        return _same(found.dtype, dtype)
    if found.is_class or found.size_bytes != _POINTER_BYTES:
        return found.size_bytes % dtype.bytes == 0
    return dtype.name in ("i64", "u64")  # a pointer


def _same(found: str, dtype: ElementType) -> bool:
    kind = ELEMENT_TYPES[found]
    if kind == dtype:
        return True
    if kind.bits != dtype.bits:
        return False
    if not kind.is_float and not dtype.is_float:
        return True
    return dtype.is_float and not kind.is_float and dtype.bits <= _MOST_RAW_BITS


def _described(found: CParameter) -> str:
    known = ELEMENT_TYPES.get(found.dtype)
    kind = known.c_name if known else f"something of {found.size_bytes} bytes"
    const = "const " if found.is_const else ""
    return const + kind + {"value": "", "pointer": "*", "reference": "&"}[found.form]


def _split(signature: str) -> list[str]:
    """The parameter types of "void (const float *, int)"."""
    types, depth, start = [], 0, signature.find("(") + 1
    for index in range(start, len(signature)):
        letter = signature[index]
        if depth == 0 and letter in ",)":
            types.append(signature[start:index].strip())
            start = index + 1
        depth += (letter in "(<[") - (letter in ")>]")
    return types
