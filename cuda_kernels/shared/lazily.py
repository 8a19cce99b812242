"""Modules that declare a kernel when its name is first asked for: hundreds take half a second.

A module gives a table of its names, and two functions that Python calls for names it does not find
in the module and for `dir` (PEP 562).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Declared = TypeVar("Declared")


def declared(
    module: dict[str, Any], table: Mapping[str, Callable[[], Declared]], name: str
) -> Declared:
    """What a name of a module's table stands for, declared now and kept in the module.

    Raises
    ------
    AttributeError
        The table does not have the name.
    """
    if name not in table:
        raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
    found: Declared = module.setdefault(name, table[name]())
    return found
