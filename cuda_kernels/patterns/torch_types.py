"""Patterns of PyTorch for each element type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import custom_dispatch as cd

Patterns = tuple["cd.torch.Pattern | cd.Pattern", ...]
TYPES = ("f32", "f16", "bf16")


def each_type(module: Any, name: str, *computes: Callable[..., Any], **options: Any) -> Patterns:
    """What each type's kernel of a name computes, and the pattern's options, for all alike."""
    return tuple(
        cd.torch.Pattern(
            getattr(module, f"{name}_{dtype}"), list(computes), required=False, **options
        )
        for dtype in TYPES
    )
