"""What of a model stays with IREE: its large operations that no kernel took, by kind."""

import re
from collections.abc import Iterable, Sequence

from iree.compiler import ir

from custom_dispatch.link.dialects.torch_dialect import DEFINITION
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.replaced import Remaining, Replacement


def remaining_in(
    module: ir.Module, replaced: Iterable[Replacement], staying: Iterable[ir.Operation] = ()
) -> tuple[Remaining, ...]:
    """The operations of each kind that are left, beside those that kernels took.

    `staying`: operations that a kernel could have taken, and IREE's code does faster.
    """
    left: dict[str, list[ir.Operation]] = {}
    parts = [op for op in module.body.operations if DEFINITION not in op.attributes]
    for op in (inner for part in parts for inner in operations_of(part.operation)):
        kind = _kind(kind_of(op))
        if kind and op.results:
            left.setdefault(kind, []).append(op)
    taken = [{*map(_kind, item.operations)} for item in replaced]
    faster = [_kind(kind_of(op)) for op in staying]
    with module.context:
        return tuple(
            Remaining(kind, len(ops), len(ops) + count, _types(ops), faster.count(kind))
            for kind, ops in left.items()
            for count in [sum(kind in kinds for kinds in taken)]
        )


def _kind(name: str) -> str:
    kinds = known_operations()["large"].items()
    return next(
        (kind for kind, names in kinds if re.fullmatch(rf"(?:{names})(?:\.\w+)?", name)), ""
    )


def _types(ops: Sequence[ir.Operation]) -> tuple[str, ...]:
    """What they give, each type once."""
    found = (builtin_type(op.results[0].type) or op.results[0].type for op in ops)
    return tuple(dict.fromkeys(map(str, found)))
