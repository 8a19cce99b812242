"""Which register, variable or label a name means (PTX ISA 9.0, sections 4.4, 5.4.6 and 9.1).

Braces open a scope whose declarations hide outer ones; inline assembly uses them freely, with the
same names again and again. Names of nested scopes are made unique with ``@`` and a number, which no
PTX name can contain.
"""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,9})", re.DOTALL)

MAX_DEPTH = 128
"""Scopes nested deeper than this are refused."""


class Scope:
    """The names declared between one pair of braces.

    Parameters
    ----------
    parent
        The enclosing scope, or None for a function's own.
    number
        0 for a function's own scope; unique within the function.
    """

    def __init__(self, parent: Scope | None, number: int) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._suffix = f"@{number}" if number else ""
        self._registers: dict[str, str] = {}
        self._banks: dict[str, tuple[int, str]] = {}
        self._symbols: set[str] = set()

    def declare_register(self, name: str, type_name: str) -> None:
        """Declare one register."""
        self._registers[name] = type_name

    def declare_bank(self, prefix: str, count: int, type_name: str) -> None:
        """Declare registers `prefix`0 to `prefix`(count - 1), as ``.reg .b32 %r<8>`` does."""
        self._banks[prefix] = (count, type_name)

    def declare_symbol(self, name: str) -> str:
        """Declare a variable or label; returns its unique name."""
        self._symbols.add(name)
        return name + self._suffix

    def register(self, name: str) -> tuple[str, str] | None:
        """The unique name and type of a register, or None when no scope declares it."""
        match = _NUMBERED.fullmatch(name)
        scope: Scope | None = self
        while scope is not None:
            type_name = scope._registers.get(name)
            if type_name is None and match is not None:
                count, bank_type = scope._banks.get(match.group(1), (0, ""))
                if int(match.group(2)) < count:
                    type_name = bank_type
            if type_name is not None:
                return name + scope._suffix, type_name
            if name in scope._symbols:
                return None
            scope = scope.parent
        return None

    def symbol(self, name: str) -> str:
        """The unique name of a variable or label; `name` itself when it is the module's."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._symbols:
                return name + scope._suffix
            scope = scope.parent
        return name
