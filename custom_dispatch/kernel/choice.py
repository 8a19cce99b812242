"""Several kernels for one operation, of which each call takes the first that it fits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.family import Family
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, launch
from custom_dispatch.kernel.names import check_name, is_list, shown
from custom_dispatch.kernel.operand import Operand, Scratch
from custom_dispatch.kernel.sources import check_path, declaring_directory
from custom_dispatch.kernel.static import Static
from custom_dispatch.kernel.structure import check_structure
from custom_dispatch.kernel.tuning import Measured


@dataclass(frozen=True, init=False, eq=False)
class Choice:
    """Several kernels that serve one operation: a call takes the first that it fits.

    A kernel fits a call if dtypes, ranks and sizes are as it is declared, and what it requires
    holds. Where sizes are known when a model is compiled, the choice is made then; otherwise the
    module makes it each time.

    Parameters
    ----------
    name
        The name a model calls them by; none of theirs.
    kernels
        The kernels, the preferred one first. Their inputs and their results have the same names in
        the same order.
    tuning
        The table that `custom-dispatch tune` writes, beside the file that declares the choice:
        "gemm.tuning.json". Of kernels that take the same, the one that was measured to be the best
        for a call's sizes, or the nearest ones, is taken then; without the file, in their order.

    Raises
    ------
    DeclarationError
        They do not, or there are none, or the name is one of theirs.
    """

    name: str
    kernels: tuple[Kernel, ...]
    tuning: Path | None
    measured: Measured | None
    """What was measured for the target at hand, where the table was read."""

    def __init__(
        self,
        name: str,
        kernels: Sequence[Kernel],
        *,
        tuning: str | os.PathLike[str] | None = None,
    ) -> None:
        check_name(name, "choice")
        if not is_list(kernels) or not kernels:
            raise DeclarationError(
                f"Choice `{name}`: its kernels are given as {shown(kernels)}.",
                expected="a list of kernels, the preferred one first",
                next_step=f'write cd.Choice("{name}", [wide, any_size]).',
            )
        for kernel in kernels:
            if not isinstance(kernel, Kernel):
                raise DeclarationError(
                    f"Choice `{name}`: {shown(kernel)} is not a kernel.",
                    expected="cd.Kernel objects",
                    next_step="pass the declared kernels.",
                )
        names = [kernel.name for kernel in kernels]
        for taken in names:
            if names.count(taken) > 1 or taken == name:
                raise DeclarationError(
                    f"Choice `{name}`: "
                    + (
                        "a kernel has that name." if taken == name else f"`{taken}` is in it twice."
                    ),
                    expected="a name for the choice and for each kernel",
                    next_step="rename one; entry= keeps the __global__ function's name.",
                )
        check_structure(f"Choice `{name}`", kernels)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "kernels", tuple(kernels))
        directory = declaring_directory()
        if tuning is not None:
            tuning = check_path(name, "tuning", tuning, directory, of="Choice")
        object.__setattr__(self, "tuning", tuning)
        object.__setattr__(self, "measured", None)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What a call passes, as the first kernel declares it."""
        return self.kernels[0].inputs

    def ordered(self, dims: Mapping[str, int]) -> tuple[Kernel, ...]:
        """The kernels, the preferred one first, for a call of which these sizes are known."""
        if self.measured is None:
            return self.kernels
        names = self.measured.ranked([kernel.name for kernel in self.kernels], dims)
        return tuple(sorted(self.kernels, key=lambda kernel: names.index(kernel.name)))

    def with_measured(self, measured: Measured) -> Choice:
        """The same choice by what was measured, without the kernels that are never the best."""
        best = measured.best([kernel.name for kernel in self.kernels])
        taken = [what_it_takes(kernel) for kernel in self.kernels if kernel.name in best]
        kernels = [k for k in self.kernels if k.name in best or what_it_takes(k) not in taken]
        found = Choice(self.name, kernels)
        object.__setattr__(found, "tuning", self.tuning)
        object.__setattr__(found, "measured", measured)
        object.__setattr__(found, "kernels", found.ordered({}))
        return found

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the first kernel that the arguments fit, on the best device there is.

        Raises
        ------
        CallError
            They fit none; the message says why not, for each.
        """
        return launch(BoundKernel(self, "auto"), arguments, keywords)

    def on(self, device: str = "auto", *, store: bool = True) -> BoundKernel:
        """The same choice, to be called on a device: as of a kernel."""
        return BoundKernel(self, device, store)

    def __repr__(self) -> str:
        return f"Choice({self.name}: {', '.join(kernel.name for kernel in self.kernels)})"


def what_it_takes(kernel: Kernel) -> tuple[object, ...]:
    """What a kernel takes: equal for kernels of which one can stand for the other."""
    operands = (str(item) for item in kernel.operands if not isinstance(item, Scratch))
    return (*sorted(operands), *sorted(map(str, kernel.requires)))


Callee: TypeAlias = "Kernel | Choice | Family"
"""What a model may call by one name."""


def kernels_of(item: Callee) -> tuple[Kernel, ...]:
    """The kernels that one name stands for; of a family the one that shows how all are called."""
    if isinstance(item, Family):
        return (item.example,)
    return item.kernels if isinstance(item, Choice) else (item,)


def statics_of(item: Callee) -> tuple[Static, ...]:
    """The compile-time arguments of its calls."""
    return item.statics if isinstance(item, Family) else ()


def are_same(first: Callee, second: Callee) -> bool:
    """Whether two declarations say the same; references are not compared."""
    if not isinstance(first, Kernel) or not isinstance(second, Kernel):
        several = (kernels_of(first), kernels_of(second))
        return (
            type(first) is type(second)
            and statics_of(first) == statics_of(second)
            and len(several[0]) == len(several[1])
            and all(map(are_same, *several))
        )
    return _parts(first) == _parts(second)


def _parts(kernel: Kernel) -> tuple[object, ...]:
    parts = {
        item.name: getattr(kernel, item.name)
        for item in fields(Kernel)
        if not item.metadata.get("not_in_keys")
    }
    variants = tuple((target, _parts(form)) for target, form in kernel.variants)
    return tuple((parts | {"variants": variants}).values())
