"""Several kernels for one operation, of which each call takes the first that it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.family import Family, Static
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, launch
from custom_dispatch.kernel.names import check_name, is_list, shown
from custom_dispatch.kernel.operand import Operand
from custom_dispatch.kernel.structure import check_structure


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

    Raises
    ------
    DeclarationError
        They do not, or there are none, or the name is one of theirs.
    """

    name: str
    kernels: tuple[Kernel, ...]

    def __init__(self, name: str, kernels: Sequence[Kernel]) -> None:
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

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What a call passes, as the first kernel declares it."""
        return self.kernels[0].inputs

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
    return tuple(
        getattr(kernel, item.name)
        for item in fields(Kernel)
        if not item.metadata.get("not_in_keys")
    )
