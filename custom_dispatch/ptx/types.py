"""Sizes of PTX's fundamental types (PTX ISA 9.0, section 5.2, "Types").

A predicate has no size in memory; it counts as one bit in a register.
"""

from __future__ import annotations

from typing import Final

TYPE_BITS: Final[dict[str, int]] = {
    "pred": 1,
    "b8": 8,
    "s8": 8,
    "u8": 8,
    "b16": 16,
    "s16": 16,
    "u16": 16,
    "f16": 16,
    "bf16": 16,
    "b32": 32,
    "s32": 32,
    "u32": 32,
    "f32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "b64": 64,
    "s64": 64,
    "u64": 64,
    "f64": 64,
    "b128": 128,
}

OPAQUE_TYPES: Final = frozenset({"texref", "samplerref", "surfref", "tensormap"})
"""Types of handles: 64 bits (a tensormap: 128 bytes) that a program cannot look into."""


def type_size(name: str) -> int:
    """Bytes that one element of a type takes in memory.

    Parameters
    ----------
    name
        A fundamental or opaque type without its dot: ``"f32"``, ``"b8"``, ``"texref"``.

    Raises
    ------
    KeyError
        `name` is not a PTX type.
    """
    if name == "tensormap":
        return 128
    if name in OPAQUE_TYPES:
        return 8
    return (TYPE_BITS[name] + 7) // 8
