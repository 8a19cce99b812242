"""Types of MLIR's torch dialect, as the types of tensors and numbers that they stand for."""

from __future__ import annotations

import re

from iree.compiler import ir

TENSOR = re.compile(r"!torch\.vtensor<\[(?P<sizes>[\d?,]*)\],(?P<element>\w+)>")
"""A tensor of a known rank."""
_SIGNED = re.compile(r"[su](i\d+)")

NUMBERS = {
    "!torch.int": ("i64", "i64"),
    "!torch.float": ("f64", "f64"),
    "!torch.bool": ("i1", "i1"),
}
"""For each type of numbers, how torch_c's casts call it, and what it is in MLIR."""


def element_type(value: ir.Value) -> str:
    """The element type of a tensor of the torch dialect, "si64"; empty for what is no tensor."""
    found = TENSOR.fullmatch(str(value.type))
    return found["element"] if found else ""


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
