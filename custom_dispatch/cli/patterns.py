"""Finding the patterns that a module or file has."""

from __future__ import annotations

from typing import Any

from custom_dispatch.cli.kernels import flattened, import_named
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import type_name

_EVERYTHING = "everything"
_KINDS = ("cd.Pattern", "cd.jax.Pattern", "cd.onnx.Pattern", "cd.torch.Pattern")


def load_patterns(names: tuple[str, ...], kinds: tuple[str, ...]) -> list[Any]:
    """Every pattern that modules or files have, in their order, each once.

    A module's patterns are `everything` where it has that name; else all at its top level, those in
    lists, tuples and dicts among them.

    Parameters
    ----------
    kinds
        The kinds that the model's format takes, "cd.onnx.Pattern". Others are left out.

    Raises
    ------
    DeclarationError
        One does not exist, cannot be imported, or has no pattern of these kinds.
    """
    found: dict[int, Any] = {}
    for name in names:
        module = import_named(name, "patterns")
        held = {item: getattr(module, item) for item in module.__dir__()}
        values = [held[_EVERYTHING]] if _EVERYTHING in held else held.values()
        every = [item for item in flattened(values) if _kind(item)]
        fitting = [item for item in every if _kind(item) in kinds]
        if not fitting:
            others = sorted({_kind(item) for item in every})
            raise DeclarationError(
                f"`{name}` has no pattern for this model"
                + (f", but {' and '.join(others)}." if others else "."),
                expected=f"module-level {' or '.join(kinds)} objects, or lists of them",
                next_step="write pattern = cd.Pattern(kernel, computes=...), or the like, there.",
            )
        found.update((id(item), item) for item in fitting)
    return list(found.values())


def _kind(value: Any) -> str:
    """What a pattern is called; empty for anything else. No front end is loaded for that."""
    name = type_name(value)
    return name if name in _KINDS else ""
