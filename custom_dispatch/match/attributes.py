"""Attributes of an operation of an example, and of the one in a model that is compared with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from iree.compiler import ir

from custom_dispatch.link.constants import number_of, shortest

_NOT_COMPARED = {
    "linalg.memoized_indexing_maps",
    "torch.onnx.custom_dispatch.definition",
    "mhlo.frontend_attributes",
    "mhlo.sharding",
    "operandSegmentSizes",
}
_PRECISION = "precision_config"
"""Exporting leaves it out where it says nothing."""


_MOST_SHOWN = 8
"""Elements of a constant that a sentence has."""
Defaults = Mapping[str, ir.Attribute | None]


def other_attribute(
    mine: ir.Operation,
    its: ir.Operation,
    defaults: Defaults,
    *,
    besides: Collection[str] = (),
    loose: bool = False,
) -> str:
    """The name of an attribute that differs; empty where none does.

    Parameters
    ----------
    mine, its
        The example's operation and the model's, of one name.
    defaults
        What attributes are that they do not say.
    besides
        Those that are not compared.
    loose
        Whether what may be sizes is not compared.
    """
    names = {*mine.attributes, *its.attributes} - {*_NOT_COMPARED, *besides}
    if mine.name == "linalg.generic":
        names -= {"indexing_maps"}  # compared with the operands that they belong to
    for name in sorted(names):
        one, other = (attribute_of(op, name, defaults) for op in (mine, its))
        # An attribute cannot be compared with None.
        both = one is not None and other is not None
        if both and (one == other or (loose and _is_of_sizes(one, other))):
            continue
        if one is None and other is None:
            continue
        if not both and name == _PRECISION and _is_default(one or other):
            continue
        return str(name)
    return ""


def attribute_of(op: ir.Operation, name: str, defaults: Defaults) -> ir.Attribute | None:
    """An attribute of an operation, as it says it or as it is by default."""
    found = op.attributes.get(name)
    return defaults.get(name) if found is None else found


def shown_attribute(attribute: ir.Attribute | None) -> str:
    """An attribute in a sentence."""
    if attribute is None:
        return "none"
    if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return str(shortest(number_of(attribute)))
    if isinstance(attribute, ir.StringAttr):
        return str(attribute.value)
    if isinstance(attribute, ir.ArrayAttr):
        return f"[{', '.join(map(shown_attribute, attribute))}]"
    if isinstance(attribute, ir.DenseElementsAttr) and len(attribute) > _MOST_SHOWN:
        return f"a constant of {attribute.type}"
    return str(attribute)


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
