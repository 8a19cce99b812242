"""What a compiler is asked about kernels while it compiles them: their types, fields and symbols.

A trailer behind the source adds a constant for each kernel, whose bytes describe the kernel's type:
they are evaluated by the compiler from the C++ type alone, so macros, templates and typedefs are
what they are. The constants are read from the PTX and removed from it again. What remains is byte
for byte what the compiler makes without them (tests/toolchain/test_descriptor.py).

nvcc has no look-up of lowered names as NVRTC has (`nvrtcAddNameExpression`). There the trailer also
initialises a device variable with the kernel's address, which instantiates a template and gives its
symbol; it leaves a forward declaration, which is removed too.

C++ has no list of a struct's fields, but it knows whether there is one of a name, where, and of
what type. So the names that a declaration gives are asked for; one that the struct has not says
nothing, because a declaration may name the fields as it likes. Constants hold the
answers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Struct
from custom_dispatch.kernel.sources import cpp_name
from custom_dispatch.toolchain.entry_point import CField, CParameter, CSignature


@dataclass(frozen=True, slots=True)
class StructFields:
    """The fields of one parameter that a compiler is asked about."""

    entry: str
    """The entry as declared."""
    parameter: int
    """The parameter's position in the C signature."""
    names: tuple[str, ...]


def fields_of(kernels: Sequence[Kernel]) -> tuple[StructFields, ...]:
    """Every field of every struct that kernels declare."""
    # No field is named so, and a question with such a name would not compile (C++20, [lex.key]).
    keywords = _text("cpp_keywords.txt").split()
    return tuple(
        StructFields(kernel.entry, parameter.index, names)
        for kernel in kernels
        for parameter in kernel.abi.parameters
        if isinstance(parameter.operand, Struct)
        if (names := tuple(f.name for f in parameter.operand.fields if f.name not in keywords))
    )


def _write_questions(asked: Sequence[StructFields]) -> str:
    """C++ to stand behind `descriptor_types.h`."""
    if not asked:
        return ""
    names = list(dict.fromkeys(name for item in asked for name in item.names))
    text = _text("descriptor_fields.h")
    for index, name in enumerate(names):
        text += f"{_NAMESPACE}_field_({index}, {name})\n"
    for index, item in enumerate(asked):
        function = f"decltype({cpp_name(item.entry).address})"
        struct = f"{_NAMESPACE}::at_<{item.parameter}, {function}>::type_"
        fields = (f"{_NAMESPACE}::field_{names.index(name)}_" for name in item.names)
        parts = ", ".join(f"{field}<{struct}>::get_()" for field in fields)
        constant = f"{_NAMESPACE}::parameter_ {_FIELDS}{index}[]"
        text += f'extern "C" __device__ const {constant} = {{{parts}}};\n'
    return text


def _read_fields(asked: StructFields, words: Sequence[int]) -> tuple[CField, ...]:
    """The fields that the struct has, by a constant's words; zeros at its end may be missing."""
    whole = [*words, *[0] * (_WORDS * len(asked.names) - len(words))]
    found = []
    for index, name in enumerate(asked.names):
        is_there, offset, code, size, is_class = whole[index * _WORDS :][:_WORDS]
        if is_there:
            found.append(CField(name, offset, _CODES[code], size, bool(is_class)))
    return tuple(found)


_FORMS = ("value", "pointer", "reference")
_CODES = (
    *("", "f32", "f64", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16"),
    *("bf16", "f8E4M3FN", "f8E5M2"),
)
"""Element types by the codes that `descriptor_types.h` gives to C++ types."""
_WORDS = 5
"""32-bit words that describe a parameter: form, const, code, bytes, class; or a field: found,
offset, code, bytes, class."""

TRAILER_NAME = "custom_dispatch_entries"
"""What compilers call the trailer in their messages."""
_NAMESPACE = "custom_dispatch_descriptor"
_SIGNATURE, _TEXT, _ADDRESS, _FIELDS = (
    f"{_NAMESPACE}_{what}_" for what in ("signature", "text", "address", "fields")
)


@cache
def _text(name: str) -> str:
    """C++ of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def write_trailer(
    described: Sequence[str], addressed: Sequence[str] = (), fields: Sequence[StructFields] = ()
) -> str:
    """C++ to be compiled behind a source.

    - `described`: the entries whose types are asked for.
    - `addressed`: the entries whose symbols are asked for. Not for NVRTC, which takes no such
      initialiser.
    - `fields`: the fields of structs that are asked for; only of entries that are described.
    """
    text = _text("descriptor_types.h") if described else ""
    for index, entry in enumerate(described):
        address = cpp_name(entry).address
        text += f"{_NAMESPACE}_type_({index}, {address})\n"
        text += f"{_NAMESPACE}_spelling_({index}, {address})\n"
    text += _write_questions(fields)
    for index, entry in enumerate(addressed):
        address = cpp_name(entry).address
        constant = f"const void* const {_ADDRESS}{index}"
        text += f'extern "C" __device__ {constant} = (const void*)({address});\n'
    return text


_CONSTANT = re.compile(
    rb"^(?:\.visible )?\.global \.align \d+ \.\w+ (" + _NAMESPACE.encode() + rb"_[a-z]+_)(\d+)"
    rb"(?:\[\d+\])?(?: = (\{[\d, ]*\}|[\w$]+))?;\n",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the trailer's constants say, and the PTX without them."""

    ptx: bytes
    signatures: tuple[CSignature | None, ...]
    """Of each entry that was described."""
    symbols: tuple[str, ...]
    """Of each entry whose address was taken."""


# A debugger asks it where the variables of addresses are.
_IN_DEBUG_INFORMATION = re.compile(rb"^\.b64 " + _ADDRESS.encode() + rb"\d+$", re.MULTILINE)


def read_answer(
    ptx: bytes, described: Sequence[str], addressed: int = 0, fields: Sequence[StructFields] = ()
) -> Answer:
    """Read the trailer's constants from PTX, and remove them.

    - `described`, `fields`: what `write_trailer` was given.
    - `addressed`: how many entries it was given.
    """
    found: dict[tuple[str, int], bytes] = {}
    for match in _CONSTANT.finditer(ptx):
        found[match[1].decode(), int(match[2])] = match[3] or b""  # all zeros are left out
    ptx = _CONSTANT.sub(b"", ptx)
    symbols = tuple(found[_ADDRESS, index].decode() for index in range(addressed))
    ptx = _IN_DEBUG_INFORMATION.sub(b".b64 0", ptx)
    for symbol in symbols:
        name = re.escape(symbol.encode())
        declaration = rb"^(?:\.\w+ )?\.entry " + name + rb"\n?\([^)]*\)[^{;]*;\n"
        ptx = re.sub(declaration, b"", ptx, flags=re.MULTILINE)
    places: dict[str, dict[int, tuple[CField, ...]]] = {}
    for index, asked in enumerate(fields):
        words = _words(found.get((_FIELDS, index), b"{}"))
        places.setdefault(asked.entry, {})[asked.parameter] = _read_fields(asked, words)
    signatures = tuple(
        _signature(
            found.get((_SIGNATURE, index)), found.get((_TEXT, index), b"{}"), places.get(entry, {})
        )
        for index, entry in enumerate(described)
    )
    return Answer(ptx, signatures, symbols)


def _signature(
    data: bytes | None, text: bytes, places: Mapping[int, tuple[CField, ...]]
) -> CSignature | None:
    if data is None:
        return None
    # PTX leaves zeros at the end out.
    words = _words(data) or [0]
    words += [0] * (1 + words[0] * _WORDS - len(words))
    parameters = []
    for index in range(words[0]):
        form, const, code, size, is_class = words[1 + index * _WORDS :][:_WORDS]
        dtype, fields = _CODES[code], places.get(index, ())
        parameters.append(
            CParameter(_FORMS[form], bool(const), dtype, size, bool(is_class), fields)
        )
    # auto NAMESPACE::spelled_() [with Type_ = void (*)(const float *, int)]
    spelled = _bytes(text).rstrip(b"\0").decode("utf-8", "replace")
    spelled = spelled.partition("Type_ = ")[2].removesuffix("]").replace("(*)", "", 1)
    return CSignature(spelled.replace("__nv_bool", "bool"), tuple(parameters))


def _words(initializer: bytes) -> list[int]:
    content = _bytes(initializer)
    return [
        int.from_bytes(content[index : index + 4], "little") for index in range(0, len(content), 4)
    ]


def _bytes(initializer: bytes) -> bytes:
    return bytes(int(value) for value in initializer.strip(b"{} ").split(b",") if value)
