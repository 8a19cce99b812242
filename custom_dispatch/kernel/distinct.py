"""One name, one declaration: a module tells kernels by their names alone.

Packages that know nothing of each other may both have a kernel `gelu`. What a model calls by name
is refused then; what a pattern puts into it, nobody calls, so it gets another name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.sameness import are_same


class Names:
    """What the names of some declarations stand for.

    Raises
    ------
    DeclarationError
        Two of them differ, and have one name.
    """

    def __init__(self, items: Iterable[Kernel | Choice] = ()) -> None:
        self._known: dict[str, Kernel | Choice] = {}
        self.items = list(dict.fromkeys(map(self.add, items)))
        """The declarations, each once, however often it was made."""

    def add(self, item: Kernel | Choice) -> Kernel | Choice:
        """Add a declaration, and return it, or the equal one that was there before.

        Raises
        ------
        DeclarationError
            One that differs has its name, or that of one of its kernels.
        """
        other = self._other(item)
        if other is not None:
            known = self._known[other.name]
            raise DeclarationError(
                f"Two different kernels are named `{other.name}`: {_said(known)} and "
                f"{_said(other)}.",
                expected="a name for each: a module tells kernels by their names",
                next_step='rename one: kernel.with_launch(name="another"), or '
                'cd.Choice("another", ...), and call it by that name.',
            )
        for part in _parts(item):
            self._known.setdefault(part.name, part)
        return self._known[item.name]

    def add_renamed(self, item: Kernel | Choice) -> Kernel | Choice:
        """Add a declaration that nothing calls by its name: with another one where that is taken.

        Returns
        -------
        Kernel | Choice
            What was added, or the equal one that was there before.
        """
        found = item
        for count in itertools.count(2):
            if self._other(found) is None:
                break
            found = _renamed(item, f"_{count}")
        return self.add(found)

    def _other(self, item: Kernel | Choice) -> Kernel | Choice | None:
        """The first of a declaration's parts whose name another one has."""
        return next(
            (
                part
                for part in _parts(item)
                if (known := self._known.get(part.name, part)) is not part
                and not are_same(known, part)
            ),
            None,
        )


def _parts(item: Kernel | Choice) -> tuple[Kernel | Choice, ...]:
    return (item, *item.kernels) if isinstance(item, Choice) else (item,)


def _said(item: Kernel | Choice) -> str:
    kind = type(item).__name__.lower()
    source = getattr(item, "source", None)
    return f"a {kind}" if source is None else f"a {kind} of {source}"


def _renamed(item: Kernel | Choice, suffix: str) -> Kernel | Choice:
    """The same with other names; the table of a choice tells its kernels by their order, too."""
    if isinstance(item, Kernel):
        return item.with_launch(name=f"{item.name}{suffix}")
    kernels = [kernel.with_launch(name=f"{kernel.name}{suffix}") for kernel in item.kernels]
    rules = {f"{name}{suffix}": rule for name, rule in item.rules.items()}
    table = item.like or (item if item.tuning is not None else None)
    return Choice(f"{item.name}{suffix}", kernels, tuning=table, rules=rules)
