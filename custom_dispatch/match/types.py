"""Types of a model against those of a pattern."""

from __future__ import annotations

from iree.compiler import ir

from custom_dispatch.link.dialects.torch_types import builtin_type


def fits(wanted: ir.Type, found: ir.Type, *, any_sizes: bool = False) -> bool:
    """Whether a type is one that a pattern's stands for: the same, with any size for each `?`.

    Parameters
    ----------
    any_sizes
        Whether sizes are not looked at.
    """
    if wanted == found:
        return True
    mine, its = _plain(wanted), _plain(found)
    if not isinstance(mine, ir.RankedTensorType) or not isinstance(its, ir.RankedTensorType):
        return False
    if (mine.rank, mine.element_type, mine.encoding) != (its.rank, its.element_type, its.encoding):
        return False
    if any_sizes:
        return True
    return all(
        mine.is_dynamic_dim(axis)
        or (not its.is_dynamic_dim(axis) and mine.get_dim_size(axis) == its.get_dim_size(axis))
        for axis in range(mine.rank)
    )


def _plain(kind: ir.Type) -> ir.Type | None:
    return builtin_type(kind) if str(kind).startswith("!torch.") else kind
