"""Element types of operands: their IR spelling, their size, and numpy's name for them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import shown

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True, slots=True)
class ElementType:
    """A type of buffer elements or scalars."""

    name: str
    """How declarations spell it: "f32"."""
    bits: int
    """Storage bits an element: a bool takes 8, as in C and in IREE's buffers."""
    mlir: str
    """How a model's tensor types spell it. Integers are signless there, as every front end emits
    them: the signedness stays in this declaration."""
    numpy_name: str
    """The dtype's name in numpy, or in ml_dtypes for the types numpy lacks."""
    c_name: str
    """How CUDA C++ spells it."""

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)  # calls look much up by it

    @property
    def bytes(self) -> int:
        """Storage bytes an element."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.name[0] in "fb" and self.name != "bool"

    @property
    def largest(self) -> int:
        """The largest integer that it holds, for an integer type or a bool."""
        if self.name == "bool":
            return 1
        return int(2 ** (self.bits - (self.name[0] == "i")) - 1)

    def to_numpy(self) -> numpy.dtype[Any]:
        """The numpy dtype."""
        return numpy_dtype(self.numpy_name)


@cache
def numpy_dtype(name: str) -> numpy.dtype[Any]:
    """The dtype of a name in numpy, or in ml_dtypes."""
    import numpy

    if name in _ML_DTYPES:
        import ml_dtypes

        extended: numpy.dtype[Any] = numpy.dtype(getattr(ml_dtypes, name))
        return extended
    return numpy.dtype(name)


_ML_DTYPES = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})

ELEMENT_TYPES: dict[str, ElementType] = {
    kind.name: kind
    for kind in (
        ElementType("f8E4M3FN", 8, "f8E4M3FN", "float8_e4m3fn", "__nv_fp8_e4m3"),
        ElementType("f8E5M2", 8, "f8E5M2", "float8_e5m2", "__nv_fp8_e5m2"),
        ElementType("bf16", 16, "bf16", "bfloat16", "__nv_bfloat16"),
        ElementType("f16", 16, "f16", "float16", "__half"),
        ElementType("f32", 32, "f32", "float32", "float"),
        ElementType("f64", 64, "f64", "float64", "double"),
        ElementType("bool", 8, "i1", "bool", "bool"),
        ElementType("i8", 8, "i8", "int8", "signed char"),
        ElementType("i16", 16, "i16", "int16", "short"),
        ElementType("i32", 32, "i32", "int32", "int"),
        ElementType("i64", 64, "i64", "int64", "long long"),
        ElementType("u8", 8, "i8", "uint8", "unsigned char"),
        ElementType("u16", 16, "i16", "uint16", "unsigned short"),
        ElementType("u32", 32, "i32", "uint32", "unsigned int"),
        ElementType("u64", 64, "i64", "uint64", "unsigned long long"),
    )
}


@lru_cache(maxsize=256)
def of_numpy(dtype: numpy.dtype[Any]) -> ElementType | None:
    """The element type that numpy, or ml_dtypes, has as this dtype; None if there is none."""
    name = str(dtype)  # of another byte order, it is another one
    return next((kind for kind in ELEMENT_TYPES.values() if kind.numpy_name == name), None)


def named_bits(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """An array as numpy can save it: one of a type that numpy lacks as its bits, in a field that is
    named after the type. ml_dtypes' own form loses which type it is, or cannot be read.
    """
    kind = of_numpy(array.dtype)
    if kind is None or kind.numpy_name not in _ML_DTYPES:
        return array
    return array.view([(kind.name, f"u{kind.bytes}")])


def from_named_bits(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """What `named_bits` was given; two bytes without a name are ml_dtypes' bf16."""
    names = array.dtype.names or (["bf16"] if array.dtype.str == "|V2" else [])
    kind = ELEMENT_TYPES.get("".join(names))
    fits = kind is not None and kind.bytes == array.dtype.itemsize
    return array.view(kind.to_numpy()) if kind is not None and fits else array


# What people coming from other systems write, for the error's next step.
_ALIASES = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "f8e4m3fn": "f8E4M3FN",
    "f8e5m2": "f8E5M2",
    "int": "i32",
    "i1": "bool",
    "bool_": "bool",
    **{name: name for name in ("f16", "f32", "f64", "bf16", "bool", "i8", "i16", "i32", "i64")},
    **{kind.numpy_name: kind.name for kind in ELEMENT_TYPES.values()},
    **{f"si{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}


def element_type(name: str | ElementType, *, where: str) -> ElementType:
    """Look an element type up by its name.

    - `name`: "f32", "i32", ...
    - `where`: what is being declared, for the error: "operand `lhs`".
    """
    found = ELEMENT_TYPES.get(name) if isinstance(name, str) else None
    if isinstance(name, ElementType):
        found = name if name in ELEMENT_TYPES.values() else None
    if found is not None:
        return found
    # A class, such as numpy.float32, or a dtype object says its name otherwise than its `repr`.
    said = name if isinstance(name, str) else getattr(name, "__name__", getattr(name, "name", ""))
    alias = _ALIASES.get(str(said).lower())
    raise DeclarationError(
        f"{where}: {shown(name)} is not an element type.",
        expected="one of " + ", ".join(ELEMENT_TYPES),
        next_step=f'write "{alias}".'
        if alias
        else "choose the type that the kernel's C code uses.",
    )
