"""Operations of PyTorch that IREE 3.13 computes on unsigned integers as if they were signed ones.

Found by running: of uint8, `x / 255.0` gives -0.5 for 128, `x == 200` is never true, and a sum is
that of int8. Casts from unsigned integers, indexing, and sums, products and maxima that stay
unsigned give what PyTorch says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.graph import place_of

_UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
_CASTS = ("_to_copy", "to", "type_as")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WRONG = (
    *("abs", "neg", "topk", "sort", "sum", "prod", "scatter_reduce", "pow"),
    *("div", "floor_divide", "remainder", "fmod"),
)


def check_unsigned(program: torch.export.ExportedProgram) -> None:
    """Refuse operations whose results would be wrong.

    Raises
    ------
    ModelError
        The model has such an operation.
    """
    for node in program.graph.nodes:
        target = node.target
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
            continue
        name = str(target._schema.name).removeprefix("aten::")
        given = [value.dtype for item in node.all_input_nodes for value in _tensors(item)]
        gives = [value.dtype for value in _tensors(node)]
        if _is_wrong(name, str(target._overloadname), given, gives):
            kind = next(dtype for dtype in (*given, *gives) if dtype in _UNSIGNED)
            raise ModelError(
                f"{place_of(node)} computes `{name}` with {kind}, which IREE treats as signed "
                "numbers.",
                expected="signed integers or floats in what is computed",
                next_step="convert the tensor first: x.to(torch.int32), or x.float().",
            )


def _is_wrong(name: str, overload: str, given: list[Any], gives: list[Any]) -> bool:
    unsigned = [dtype for dtype in given if dtype in _UNSIGNED]
    if name in _CASTS:
        return any(t in _UNSIGNED for t in gives) and any(t.is_floating_point for t in given[:1])
    if not unsigned:
        return False
    if name in _COMPARISONS:
        return overload == "Scalar" or len(set(given)) > 1
    return name in _WRONG or any(dtype.is_floating_point for dtype in gives)


def _tensors(node: torch.fx.Node) -> Iterator[torch.Tensor]:
    value = node.meta.get("val")
    for item in value if isinstance(value, list | tuple) else (value,):
        if isinstance(item, torch.Tensor):
            yield item
