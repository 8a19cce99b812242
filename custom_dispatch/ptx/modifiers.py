"""The order of an opcode's modifiers: ptxas takes almost any, PTX ISA 9.0 writes one.

Within a kind the order means something: ``cvt.f32.s32`` is not ``cvt.s32.f32``, and ``.row.col``
not ``.col.row``.
"""

from __future__ import annotations

import functools
import re
from typing import Final

_SHAPE: Final = r"m\d+n\d+(?:k\d+)?"
_SPACES: Final = r"(?:shared|global)(?:::\w+)?"
_COMPARISONS: Final = "eq|ne|[lg][te]|l[os]|h[is]|(?:equ|neu|[lg][te]u)|num|nan"
_TYPE: Final = r"(?:b|s|u|f|bf|tf|u?e)\d+(?:m\d+)?(?:x\d+)?|pred"
_USUAL: Final = (rf"(?!{_TYPE}$).+", _TYPE)
_MATRICES: Final = ("sync", "aligned", _SHAPE, r"x\d", "trans", *_USUAL)
_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("shfl", "vote", "redux", "elect"), ("sync", *_USUAL)),
    "match": ("any|all", "sync"),
    **dict.fromkeys(
        ("bar", "barrier"), ("warp|cta|cluster", "red|arrive|sync", "popc|and|or", *_USUAL)
    ),
    **dict.fromkeys(("ld", "st"), ("param", *_USUAL)),
    **dict.fromkeys(("setp", "set"), (_COMPARISONS, "and|or|xor", *_USUAL)),
    "cp": (r"async|bulk|tensor|reduce|prefetch|\dd|mbarrier|arrive|noinc", "c[ag]", _SPACES),
    "cvta": ("to", *_USUAL),
    "prmt": (_TYPE,),
    **dict.fromkeys(("ldmatrix", "stmatrix", "movmatrix"), _MATRICES),
    "mma": ("sync", "aligned", _SHAPE, "row|col", "satfinite"),
    "wmma": ("load|store|mma", "[abcd]", "sync", "aligned", "row|col", _SHAPE, _SPACES),
    **{
        f"v{operation}{count}": (_TYPE,)
        for operation in ("add", "sub", "abs", "absdiff", "min", "max", "avrg", "set", "shr", "shl")
        for count in ("", 2, 4)
    },
}
"""Patterns of modifiers by what they follow, in order; what fits none comes after them."""


@functools.lru_cache(maxsize=4096)
def in_order(opcode: str) -> str:
    """An opcode with its modifiers in the order that the ISA writes: ``vote.sync.ballot.b32``."""
    base, *modifiers = opcode.split(".")
    order = _ORDERS.get(base, _USUAL)

    def place(modifier: str) -> int:
        fits = (index for index, kind in enumerate(order) if re.fullmatch(kind, modifier))
        return next(fits, len(order))

    return ".".join([base, *sorted(modifiers, key=place)])
