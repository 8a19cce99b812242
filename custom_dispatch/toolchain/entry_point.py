"""An entry of an object: which symbol a declared name became, and what the compiler says of it."""

from __future__ import annotations

from dataclasses import dataclass


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
