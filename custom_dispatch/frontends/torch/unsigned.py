"""Operations of PyTorch that IREE 3.13 computes on unsigned integers as if they were signed ones.

Found by running: of uint8, `x / 255.0` gives -0.5 for 128, `x == 200` is never true, and a sum is
that of int8. Casts from unsigned integers, indexing, and sums, products and maxima that stay
unsigned give what PyTorch says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree.compiler import ir

from custom_dispatch.errors import ModelError
from custom_dispatch.link.dialects.torch_types import element_type
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.place import place_of

_FLOATS = re.compile(r"b?f\d")
_CASTS = ("_to_copy", "to", "type_as")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WRONG = (
    *("abs", "neg", "topk", "sort", "sum", "prod", "scatter_reduce", "pow"),
    *("div", "floor_divide", "remainder", "fmod"),
)


def check_unsigned(module: ir.Module) -> None:
    """Refuse operations whose results would be wrong.

    Parameters
    ----------
    module
        The model, in the torch dialect.

    Raises
    ------
    ModelError
        The model has such an operation.
    """
    for op in operations_of(module):
        namespace, _, rest = kind_of(op).removeprefix("torch.").partition(".")
        if namespace != "aten":
            continue
        name, _, overload = rest.partition(".")
        given = _elements(op.operands)
        gives = _elements(op.results)
        if _is_wrong(name, overload, given, gives):
            kind = next(item for item in (*given, *gives) if _is_unsigned(item))
            raise ModelError(
                f"{place_of(op)} computes `{name}` with torch.uint{kind[2:]}, which IREE treats as "
                "signed numbers.",
                expected="signed integers or floats in what is computed",
                next_step="convert the tensor first: x.to(torch.int32), or x.float().",
            )


def _is_wrong(name: str, overload: str, given: list[str], gives: list[str]) -> bool:
    if name in _CASTS:
        return any(map(_is_unsigned, gives)) and any(map(_FLOATS.match, given[:1]))
    if not any(map(_is_unsigned, given)):
        return False
    if name in _COMPARISONS:
        return overload == "Scalar" or len(set(given)) > 1
    return name in _WRONG or any(map(_FLOATS.match, gives))


def _is_unsigned(element: str) -> bool:
    return element.startswith("ui")


def _elements(values: Sequence[ir.Value]) -> list[str]:
    """The element types of those values that are tensors."""
    return [element for value in values if (element := element_type(value))]
