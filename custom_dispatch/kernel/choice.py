"""Several kernels for one operation, of which each call takes the first that it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, launch
from custom_dispatch.kernel.names import check_name, is_list, shown
from custom_dispatch.kernel.operand import Buffer, In, InOut, Operand, Scalar, Struct


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
        _check_structure(name, tuple(kernels))
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


def kernels_of(item: Kernel | Choice) -> tuple[Kernel, ...]:
    """The kernels that one name stands for."""
    return item.kernels if isinstance(item, Choice) else (item,)


def are_same(first: Kernel | Choice, second: Kernel | Choice) -> bool:
    """Whether two declarations say the same; references are not compared."""
    if not isinstance(first, Kernel) or not isinstance(second, Kernel):
        several = (kernels_of(first), kernels_of(second))
        return (
            type(first) is type(second)
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


def _check_structure(name: str, kernels: Sequence[Kernel]) -> None:
    """Require inputs and results of the same names and kinds, in one order."""
    parts: tuple[tuple[str, Callable[[Kernel], list[str]]], ...] = (
        ("inputs", lambda kernel: [_described(item) for item in kernel.inputs]),
        ("results", lambda kernel: [_described(item) for item in kernel.outputs]),
    )
    first = kernels[0]
    for kernel in kernels[1:]:
        for what, described in parts:
            wanted, found = described(first), described(kernel)
            if wanted != found:
                raise DeclarationError(
                    f"Choice `{name}`: the {what} of `{kernel.name}` are {', '.join(found)}.",
                    expected=f"those of `{first.name}`: {', '.join(wanted)}",
                    next_step="declare the same operands, of the same kinds and in the same order; "
                    "types, shapes and what is computed by itself may differ.",
                )


def _described(item: Operand) -> str:
    match item:
        case Scalar(name=name):
            return f"Scalar({name})"
        case Struct(name=name):
            return str(item)
        case Buffer(name=name):
            role = "InOut" if isinstance(item, InOut) else "In" if isinstance(item, In) else "Out"
            return f"{role}({name}{', optional' if item.optional else ''})"
