"""What StableHLO computes with sizes that are not known, in forms that IREE's conversion takes.

IREE 3.13 legalises no `stablehlo.dynamic_reshape`, neither those of a model nor those that its own
pass makes of a `stablehlo.dot_general` which is no plain product of matrices. Its linalg does take
`tensor.reshape`, which its conversion of StableHLO leaves as it is.
"""

import re
from collections.abc import Sequence
from math import prod
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.operations import create, integer, operations_of, size_of

_NUMBERS = "dot_dimension_numbers"
_DIMENSIONS = re.compile(r"(\w+) = \[([^\]]*)\]")


def write_out_sizes(module: ir.Module) -> None:
    """Rewrite reshapes and products of matrices whose sizes are not known.

    `module`: a model in StableHLO; it is changed.
    """
    with module.context, ir.Location.unknown():
        for op in operations_of(module, "stablehlo.dynamic_reshape"):
            if _is_plain(op.operands[0].type) and _is_plain(op.results[0].type):
                _reshape(op)
        for op in operations_of(module, "stablehlo.dot_general"):
            types = [value.type for value in (*op.operands, *op.results)]
            if all(map(_is_plain, types)) and not all(kind.has_static_shape for kind in types):
                _product(op)


def _is_plain(kind: ir.Type) -> bool:
    """Whether a type means the same outside of StableHLO: not one of unsigned integers."""
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return False
    element = kind.element_type
    return isinstance(element, ir.FloatType) or (
        isinstance(element, ir.IntegerType) and element.is_signless
    )


def _reshape(op: ir.Operation) -> None:
    with ir.InsertionPoint(op), op.location:
        made = create("tensor.reshape", op.results[0].type, *op.operands)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _product(op: ir.Operation) -> None:
    """A product as one of matrices, or of as many as the batching dims have, without others."""
    numbers = _numbers(op.attributes[_NUMBERS])
    lhs, rhs = op.operands
    batch = numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"]
    inner = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
    free = [
        [dim for dim in range(value.type.rank) if dim not in batched and dim not in summed]
        for value, batched, summed in zip((lhs, rhs), batch, inner, strict=True)
    ]
    kind = op.results[0].type
    with ir.InsertionPoint(op), op.location:
        left = _grouped(lhs, [batch[0], free[0], inner[0]])
        right = _grouped(rhs, [batch[1], inner[1], free[1]])
        several = len(batch[0]) > 0
        plain = [left.type.shape[-2], right.type.shape[-1]]
        result = create(
            "stablehlo.dot_general",
            ir.RankedTensorType.get([*left.type.shape[: int(several)], *plain], kind.element_type),
            left,
            right,
            **{name: op.attributes[name] for name in op.attributes if name != _NUMBERS},
            dot_dimension_numbers=_plain_numbers(several),
        )
        sizes = [_size(lhs, dim) for dim in (*batch[0], *free[0])]
        sizes += [_size(rhs, dim) for dim in free[1]]
        made = _reshaped(result, kind, sizes)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _numbers(attribute: ir.Attribute) -> dict[str, list[int]]:
    """Dimension numbers by name; those that are not printed are none."""
    names = [f"{side}_{what}_dimensions" for side in ("lhs", "rhs")
             for what in ("batching", "contracting")]  # fmt: skip
    said = dict(_DIMENSIONS.findall(str(attribute)))
    return {name: [int(item) for item in said.get(name, "").split(",") if item] for name in names}


def _plain_numbers(several: bool) -> ir.Attribute:
    batch = "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], " if several else ""
    left, right = (2, 1) if several else (1, 0)
    return ir.Attribute.parse(
        f"#stablehlo.dot<{batch}lhs_contracting_dimensions = [{left}], "
        f"rhs_contracting_dimensions = [{right}]>"
    )


def _grouped(value: Any, groups: Sequence[Sequence[int]]) -> Any:
    """A tensor with each group of dims as one; an empty first group adds none."""
    order = [dim for group in groups for dim in group]
    shape = value.type.shape
    sizes = {dim: _size(value, dim) for dim in order}
    if order != sorted(order):
        value = create(
            "stablehlo.transpose",
            ir.RankedTensorType.get([shape[dim] for dim in order], value.type.element_type),
            value,
            permutation=ir.DenseI64ArrayAttr.get(order),
        )
    kept = [group for index, group in enumerate(groups) if group or index]
    static = [
        prod(shape[dim] for dim in group)
        if not any(map(ir.ShapedType.is_dynamic_size, (shape[dim] for dim in group)))
        else ir.ShapedType.get_dynamic_size()
        for group in kept
    ]
    kind = ir.RankedTensorType.get(static, value.type.element_type)
    return _reshaped(value, kind, [_times([sizes[dim] for dim in group]) for group in kept])


def _reshaped(value: Any, kind: ir.RankedTensorType, sizes: Sequence[Any]) -> Any:
    if value.type == kind:
        return value
    index = ir.IndexType.get()
    shape = create("tensor.from_elements", ir.RankedTensorType.get([len(sizes)], index), *sizes)
    return create("tensor.reshape", kind, value, shape)


def _size(value: Any, dim: int) -> Any:
    known = value.type.shape[dim]
    return size_of(value, dim) if ir.ShapedType.is_dynamic_size(known) else integer(known)


def _times(sizes: Sequence[Any]) -> Any:
    if not sizes:
        return integer(1)
    found = sizes[0]
    for size in sizes[1:]:
        found = create("arith.muli", ir.IndexType.get(), found, size)
    return found
