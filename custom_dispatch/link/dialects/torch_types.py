"""Types and constants of MLIR's torch dialect, and the builtin types that they stand for."""

import re
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.operations import create

TENSOR = re.compile(r"!torch\.vtensor<\[(?P<sizes>[\d?,]*)\],(?P<element>\w+)>")
"""A tensor of a known rank."""
_SIGNED = re.compile(r"[su](i\d+)")

NUMBERS = {
    "!torch.int": ("i64", "i64"),
    "!torch.float": ("f64", "f64"),
    "!torch.bool": ("i1", "i1"),
}
"""For each type of numbers, how torch_c's casts call it, and what it is in MLIR."""


CODES = {"ui8": 0, "si8": 1, "si16": 2, "si32": 3, "si64": 4, "f16": 5, "f32": 6, "f64": 7}
CODES |= {"i1": 11, "bf16": 15}
"""PyTorch's numbers for types (c10/core/ScalarType.h)."""


def element_of_type(kind: ir.Type) -> str:
    """The element type of a tensor's type, "si64"; empty for what is no tensor's."""
    found = TENSOR.fullmatch(str(kind))
    return found["element"] if found else ""


def element_type(value: ir.Value) -> str:
    """The element type of a tensor of the torch dialect, "si64"; empty for what is no tensor."""
    return element_of_type(value.type)


def with_element(kind: ir.Type, element: str) -> ir.Type:
    """The type of tensors of the same sizes and of another element type."""
    return ir.Type.parse(f"{str(kind).rpartition(',')[0]},{element}>")


def builtin_type(kind: ir.Type) -> ir.Type | None:
    """A tensor or number of torch as MLIR's own; None for what is neither.

    Types that are MLIR's own already stay as they are. Integers of tensors become signless.
    """
    text = str(kind)
    if not text.startswith("!torch."):
        return kind
    if text in NUMBERS:
        return ir.Type.parse(NUMBERS[text][1])
    match = TENSOR.fullmatch(text)
    if match is None:
        return None
    sizes = "".join(f"{size}x" for size in match["sizes"].split(",") if size)
    element = _SIGNED.sub(r"\1", match["element"])
    try:
        return ir.Type.parse(f"tensor<{sizes}{element}>")
    except ir.MLIRError:
        return None


def constant(value: bool | int | float | Sequence[int] | None) -> Any:
    """A number, a list of integers, or nothing, as a value."""
    if value is None:
        return create("torch.constant.none", ir.Type.parse("!torch.none"))
    if isinstance(value, Sequence):
        return create(
            "torch.prim.ListConstruct", ir.Type.parse("!torch.list<int>"), *map(constant, value)
        )
    kind, held = "float", ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, bool):
        kind, held = "bool", ir.BoolAttr.get(value)
    elif isinstance(value, int):
        kind, held = "int", ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return create(f"torch.constant.{kind}", ir.Type.parse(f"!torch.{kind}"), value=held)
