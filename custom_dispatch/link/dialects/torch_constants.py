"""Constants of MLIR's torch dialect, made where the insertion point is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.operations import create


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
