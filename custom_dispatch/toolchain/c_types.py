"""Comparing a kernel's C++ type with its declaration: what PTX does not say.

In PTX every pointer is 64 bits and `__half` is bytes. The compiler knows what they are
(`descriptor.py`), so a wrong element type is an error here instead of wrong numbers.

What is taken for the same: integers of one size whatever their sign, since tensors of a model are
signless; integers as the bits of floats of at most 16 bits, and bytes as bools; vector types
(`float4`) for their parts. A class that is not known, and void, may be anything that fits.
"""

from __future__ import annotations

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.abi import Parameter
from custom_dispatch.kernel.buffer import Buffer, In, Scratch
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar, Struct
from custom_dispatch.toolchain.entry_point import CField, CParameter, CSignature

_C_NAMES = {
    "f8E4M3FN": "__nv_fp8_e4m3",
    "f8E5M2": "__nv_fp8_e5m2",
    "bf16": "__nv_bfloat16",
    "f16": "__half",
    "f32": "float",
    "f64": "double",
    "bool": "bool",
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long long",
    "u64": "unsigned long long",
}
_POINTER_BYTES = 8
_MOST_RAW_BITS = 16


def check_types(kernel: Kernel, signature: CSignature, origin: str) -> None:
    """Compare a function's parameters with a declaration's operands.

    Parameters
    ----------
    signature
        The compiler's description; as many parameters as the PTX has.
    origin
        The source's name, for errors.

    Raises
    ------
    PtxError
        An operand has another element type, is a pointer where the other is a value, or would be
        written through a pointer to something constant.
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
            pointer = (
                f"{'const ' if isinstance(operand, In) else ''}{_C_NAMES[operand.dtype.name]}*"
            )
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
        return f"a {_C_NAMES[operand.dtype.name]}", f'declare it "{found.dtype}"'
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
        kind, whole = _C_NAMES[field.dtype], ELEMENT_TYPES[field.dtype].bytes
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
    kind = _C_NAMES.get(found.dtype, f"something of {found.size_bytes} bytes")
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
