"""Kernels and patterns that are declared when their name is first used (PEP 562).

Declaring all of them takes seconds, and a program uses a few. A module gives a table of its names
and takes `__getattr__` and `__dir__` from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

Declared = TypeVar("Declared")

TYPES = ("f32", "f16", "bf16")
"""Element types that most kernels come in."""


def lazily(
    module: dict[str, Any], table: Mapping[str, Callable[[], Declared]]
) -> tuple[Callable[[str], Declared], Callable[[], list[str]]]:
    """A module's `__getattr__` and `__dir__`.

    Parameters
    ----------
    module
        Its `globals()`, where a value is kept once it is declared.
    table
        What declares the value of each name.
    """

    def get(name: str) -> Declared:
        if name not in table:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        if name not in module:
            module.setdefault(name, table[name]())  # another thread may have done so meanwhile
        found: Declared = module[name]
        return found

    def names() -> list[str]:
        return [*dict.fromkeys((*module, *table))]

    return get, names


def from_modules(package: str, names: Mapping[str, Iterable[str]]) -> dict[str, Callable[[], Any]]:
    """The table of a package whose names are those of its modules.

    Parameters
    ----------
    names
        The names that each module declares, by the module's name.
    """

    def load(module: str, name: str) -> Any:
        return getattr(import_module(f"{package}.{module}"), name)

    return {name: partial(load, module, name) for module in names for name in names[module]}


def each_type(*names: str, types: Iterable[str] = TYPES) -> list[str]:
    """Names with an element type behind them: `rms_norm_f32`, `rms_norm_f16`, ..."""
    return [f"{name}_{dtype}" for name in names for dtype in types]
