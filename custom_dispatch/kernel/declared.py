"""Declarations side by side: which are the same, and one declaration for each name.

A module tells kernels by their names alone. Packages that know nothing of each other may both have
a kernel `gelu`. What a model calls by name is refused then; what a pattern puts into it, nobody
calls, so it gets another name.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.sources import TargetParts
from custom_dispatch.kernel.target import Target

Found = TypeVar("Found")
Declared = Kernel | Choice | Function
"""What users declare. A function stands for its kernel form wherever a kernel may stand."""
Declarations = Declared | Iterable[Declared]


def are_same(first: Kernel | Choice, second: Kernel | Choice) -> bool:
    """Whether two declarations say the same; references are not compared."""
    if not isinstance(first, Kernel) or not isinstance(second, Kernel):
        several = (kernels_of(first), kernels_of(second))
        return (
            type(first) is type(second)
            and _preferences(first) == _preferences(second)
            and len(several[0]) == len(several[1])
            and all(map(are_same, *several))
        )
    return _parts(first) == _parts(second)


def _preferences(item: Kernel | Choice) -> tuple[object, ...]:
    """What says which kernel of a choice is taken."""
    if not isinstance(item, Choice):
        return ()
    return (item.tuning, item.like and item.like.tuning, str(item.rules))


def is_same_on(target: Target, first: Kernel, second: Kernel) -> bool:
    """Whether two kernels are the same code with the same launch on a target."""
    return is_same_code(first.for_target(target), second.for_target(target))


def is_same_code(first: Kernel, second: Kernel) -> bool:
    """Whether two forms of kernels are the same code with the same launch."""
    return _launched(first) == _launched(second)


def _launched(form: Kernel) -> tuple[object, ...]:
    parts = (getattr(form, part) for part in TargetParts.__annotations__)
    return (*parts, form.objects, form.abi)


def _parts(kernel: Kernel) -> tuple[object, ...]:
    parts = {
        item.name: getattr(kernel, item.name)
        for item in fields(Kernel)
        if not item.metadata.get("not_in_keys")
    }
    variants = tuple((target, _parts(form)) for target, form in kernel.variants)
    return tuple((parts | {"variants": variants}).values())


class Names:
    """What the names of some declarations stand for."""

    def __init__(self, items: Iterable[Kernel | Choice] = ()) -> None:
        self._known: dict[str, Kernel | Choice] = {}
        self.items = list(dict.fromkeys(map(self.add, items)))
        """The declarations, each once, however often it was made."""

    def add(self, item: Kernel | Choice) -> Kernel | Choice:
        """Add a declaration, and return it, or the equal one that was there before."""
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
        for part in _named(item):
            self._known.setdefault(part.name, part)
        return self._known[item.name]

    def add_renamed(self, item: Kernel | Choice) -> Kernel | Choice:
        """Add a declaration that nothing calls by its name: with another one where that is taken.

        Returns: what was added, or the equal one that was there before.
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
                for part in _named(item)
                if (known := self._known.get(part.name, part)) is not part
                and not are_same(known, part)
            ),
            None,
        )


def _named(item: Kernel | Choice) -> tuple[Kernel | Choice, ...]:
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


def kernels_of(item: Kernel | Choice) -> tuple[Kernel, ...]:
    """The kernels that one name stands for."""
    return item.kernels if isinstance(item, Choice) else (item,)


def check_declared(item: Declared, given_to: str) -> Kernel | Choice:
    """Require a kernel, a choice, or a function, which becomes its kernel."""
    if isinstance(item, Function):
        return item.kernel()
    if isinstance(item, Kernel | Choice):
        return item
    raise DeclarationError(
        f"{given_to} is given {shown(item)}.",
        expected="a cd.Kernel, a cd.Choice or a cd.Function",
        next_step="pass the declaration.",
    )


def files_of(items: Iterable[Kernel | Choice]) -> list[Path]:
    """The files that declarations name: sources, objects, and tables of what was measured."""
    found: list[Path | None] = []
    for item in items:
        for kernel in kernels_of(item):
            forms = [kernel, *(form for _, form in kernel.variants)]
            found += [form.source for form in forms]
            found += [path for form in forms for _, path in form.objects]
        if isinstance(item, Choice):
            found.append(item.tuning)
    return [path for path in found if path is not None]


def first_fitting(
    item: Kernel | Choice,
    attempt: Callable[[Kernel], Found],
    found: str,
    kernels: Iterable[Kernel] | None = None,
) -> Found:
    """What is returned for a kernel, or for the first of a choice that is not refused.

    - `found`: what the error says: "No kernel of choice `scale` takes these arrays."
    - `kernels`: those of the choice, where they are in another order than declared.
    """
    if isinstance(item, Kernel):
        return attempt(item)
    refusals: list[CallError | LinkError] = []
    for kernel in item.kernels if kernels is None else kernels:
        try:
            return attempt(kernel)
        except (CallError, LinkError) as error:
            refusals.append(error)
    raise fits_none(found, refusals)


def fits_none(found: str, refusals: Iterable[CallError | LinkError]) -> CallError | LinkError:
    """The error where each kernel of a choice is refused, of the class of those refusals."""
    each = list(refusals)
    lines = (
        error.found.removesuffix(".") + (f" (expected: {error.expected})" if error.expected else "")
        for error in each
    )
    what = "correct the model" if isinstance(each[0], LinkError) else "pass others"
    return type(each[0])(
        found,
        expected="what one of them takes",
        next_step=f"{what}, or add a kernel that takes these; of those there are:",
        log="\n".join(dict.fromkeys(lines)),
    )
