"""Attributes of an operation of an example, and of the one in a model that is compared with it."""

from __future__ import annotations

from iree.compiler import ir

_NOT_COMPARED = {
    "linalg.memoized_indexing_maps",
    "mhlo.frontend_attributes",
    "mhlo.sharding",
    "operandSegmentSizes",
}
_PRECISION = "precision_config"
"""Exporting leaves it out where it says nothing."""


def other_attribute(mine: ir.Operation, its: ir.Operation, *, loose: bool) -> str:
    """The name of an attribute that differs; empty where none does.

    Parameters
    ----------
    mine, its
        The example's operation and the model's, of one name.
    loose
        Whether what may be sizes is not compared.
    """
    names = {*mine.attributes, *its.attributes} - _NOT_COMPARED
    if mine.name == "linalg.generic":
        names -= {"indexing_maps"}  # compared with the operands that they belong to
    for name in sorted(names):
        one, other = (op.attributes.get(name) for op in (mine, its))
        # An attribute cannot be compared with None.
        both = one is not None and other is not None
        if both and (one == other or (loose and _is_of_sizes(one, other))):
            continue
        if not both and name == _PRECISION and _is_default(one or other):
            continue
        return str(name)
    return ""


def other_slice(mine: ir.Operation, its: ir.Operation) -> tuple[str, ...]:
    """What tells two slices apart, but for their sizes: where they begin, and their strides."""
    for name in ("static_offsets", "static_strides"):
        one, other = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for op in (mine, its))
        is_known = ir.ShapedType.get_dynamic_stride_or_offset() not in (*one, *other)
        if one != other or not is_known:
            shown = str(other) if is_known else "computed"
            return (f"`{name}` of {its.name} is {shown}, and in the pattern {one}",)
    return ()


def _is_default(precision: ir.Attribute) -> bool:
    return all("DEFAULT" in str(item) for item in ir.ArrayAttr(precision))


def _is_of_sizes(one: ir.Attribute, other: ir.Attribute) -> bool:
    kinds = (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseElementsAttr)
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in kinds)
