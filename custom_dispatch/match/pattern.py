"""What a kernel computes, as MLIR: what is looked for in a model. Data, which loads no IREE."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice, check_declared, kernels_of
from custom_dispatch.kernel.distinct import Names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import as_integer, several, shown
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.replaced import Replaced, near_miss_lines


class Replaceable(Protocol):
    """What every front end's patterns have."""

    @property
    def item(self) -> Kernel | Choice:
        """What takes the places that are found."""

    @property
    def kernel(self) -> Kernel:
        """The kernel; of a choice, the one that this is the pattern for."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Its scalars that have one value wherever the pattern is found."""

    @property
    def required(self) -> bool:
        """Whether it is an error that no place is found."""


Anything = TypeVar("Anything", bound=Replaceable)


@dataclass(frozen=True, init=False)
class Pattern:
    """A kernel, and what it computes, as a function in the dialects of the model.

    Parameters
    ----------
    kernel
        The kernel that takes the places that are found; or a choice, of which each place takes the
        first kernel that it fits.
    computes
        One or several modules as MLIR text, each with one public function. Its parameters are the
        kernel's operands in a call's order: tensors, and numbers for value-less scalars. Optional
        operands may be left out, the last ones first. A size `?` stands for every size.
    fixed
        Scalars with a value that the functions hold for, instead of a parameter:
        {"causal": True}.
    axes
        Of operands and results that the functions have with their axes in another order, that order
        as of `numpy.transpose`: {"k": (0, 2, 1)}. They are transposed where a kernel is put.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        An argument has the wrong type. Errors in the MLIR text are reported at compile time.
    """

    item: Kernel | Choice
    kernel: Kernel
    computes: tuple[str, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    axes: Mapping[str, tuple[int, ...]] = field(hash=False)
    required: bool

    def __init__(
        self,
        kernel: Kernel | Choice,
        computes: str | Sequence[str],
        *,
        fixed: Mapping[str, Any] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        required: bool = True,
    ) -> None:
        item, kernel = kernel, check_kernel(kernel)
        texts = (computes,)
        if isinstance(computes, list | tuple):
            texts = tuple(computes)
        if not texts or not all(isinstance(text, str) and "func" in text for text in texts):
            raise DeclarationError(
                f"The pattern of kernel `{kernel.name}` is {shown(computes)}.",
                expected="MLIR text with a function, or a list of such texts",
                next_step="for functions of a framework use its own front end: cd.jax.Pattern, "
                "cd.torch.Pattern.",
            )
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "computes", texts)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        object.__setattr__(self, "axes", check_axes(kernel, axes))
        object.__setattr__(self, "required", bool(required))


def check_kernel(item: Kernel | Choice) -> Kernel:
    """A kernel, or the first of a choice.

    Raises
    ------
    DeclarationError
        The item is neither a kernel nor a choice.
    """
    check_declared(item, "A pattern")
    return kernels_of(item)[0]


def of_each(pattern: Anything) -> list[Anything]:
    """The pattern for each kernel of a choice; itself for a kernel."""
    found = []
    for kernel in kernels_of(pattern.item):
        one = copy.copy(pattern)
        object.__setattr__(one, "kernel", kernel)
        found.append(one)
    return found


def with_own_names(
    patterns: Sequence[Anything], called: Iterable[Kernel | Choice]
) -> list[Anything]:
    """The patterns, each with a kernel whose name nothing else in the model has.

    Parameters
    ----------
    called
        What the model calls by name.

    Raises
    ------
    DeclarationError
        Two of those that are called have one name.
    """
    names = Names(called)
    found = []
    for pattern in patterns:
        one = copy.copy(pattern)
        item = names.add_renamed(pattern.item)
        object.__setattr__(one, "item", item)
        object.__setattr__(one, "kernel", kernels_of(item)[0])
        found.append(one)
    return found


def alike(pattern: Anything) -> list[list[Anything]]:
    """The same, together where the kernels' operands are the same: they compute the same."""
    groups: dict[tuple[str, ...], list[Anything]] = {}
    for one in of_each(pattern):
        groups.setdefault(tuple(map(str, one.kernel.operands)), []).append(one)
    return list(groups.values())


def is_by_name(value: object) -> bool:
    """Whether a value is a mapping from texts, or None for an empty one."""
    return value is None or (
        isinstance(value, Mapping) and all(isinstance(name, str) for name in value)
    )


def check_fixed(kernel: Kernel, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of fixed scalars.

    Raises
    ------
    DeclarationError
        One is for something else than a scalar that calls pass.
    """
    if not is_by_name(fixed):
        raise wrong(kernel, f"fixes {shown(fixed)}", 'values of scalars by name: {"causal": True}')
    found = dict(fixed or {})
    arguments = arguments_by_name(kernel)
    scalars = [name for name, item in arguments.items() if isinstance(item, Scalar)]
    for name, value in found.items():
        if name not in scalars:
            raise wrong(
                kernel,
                f"fixes `{name}`",
                f"a value-less scalar of the kernel: {', '.join(scalars) or 'it has none'}",
            )
        if not isinstance(value, int | float):
            raise wrong(kernel, f"fixes `{name}` to {shown(value)}", "a number")
    return found


def check_axes(
    kernel: Kernel, axes: Mapping[str, Sequence[int]] | None
) -> dict[str, tuple[int, ...]]:
    """The orders of axes, by operands and results.

    Raises
    ------
    DeclarationError
        One is for something else than a buffer of a known rank, or no order of its axes.
    """
    if not is_by_name(axes):
        raise wrong(kernel, f"has the axes {shown(axes)}", 'orders by name: {"k": (0, 2, 1)}')
    ranks = {
        item.name: item.rank
        for item in (*kernel.arguments, *kernel.outputs)
        if isinstance(item, Buffer) and not item.batched
    }
    for name, order in (axes or {}).items():
        if name not in ranks:
            raise wrong(
                kernel,
                f"has axes of `{name}`",
                f"an operand or result of a known rank: {', '.join(ranks) or 'it has none'}",
            )
        is_order = isinstance(order, list | tuple) and all(
            as_integer(axis) is not None for axis in order
        )
        if not is_order or sorted(order) != list(range(ranks[name])):
            raise wrong(
                kernel,
                f"has `{name}` with the axes {shown(order)}",
                f"each of 0 to {ranks[name] - 1} once",
            )
    return {name: tuple(order) for name, order in (axes or {}).items()}


def fixed_numbers(pattern: Replaceable) -> dict[str, Any]:
    """The fixed scalars by the declaration's names: `params.alpha` for `params_alpha`."""
    arguments = arguments_by_name(pattern.kernel)
    return {arguments[name].name: value for name, value in pattern.fixed.items()}


def as_list(items: Any) -> list[Any]:
    """`replace=` as a list, of items that may be in lists or come one by one."""
    found = several(items)
    return [items] if found is None else [inner for item in found for inner in as_list(item)]


def check_found(patterns: Sequence[Replaceable], report: Replaced, optional: str) -> None:
    """Require that each pattern was found that has to be.

    Parameters
    ----------
    optional
        How one is written that need not be found.

    Raises
    ------
    LinkError
        One is found nowhere; the message lists the places that nearly are.
    """
    for pattern in patterns:
        name = pattern.item.name
        if not pattern.required or report.of(name):
            continue
        near = tuple(item for item in report.near_misses if item.kernel == name)
        raise LinkError(
            f"No place in the model computes what kernel `{name}` replaces.",
            expected="at least one, since its pattern is required",
            next_step="correct the pattern where the model differs, or let it be missing: "
            f"{optional}.",
            log="\n".join(near_miss_lines(near)),
        )


def nothing_replaced(report: Replaced) -> LinkError:
    """What is said of a model in which no pattern is found, and that calls no kernel by itself."""
    near = report.near_misses
    return LinkError(
        "No pattern is found in the model, and it calls no kernel.",
        expected="a place or a call of a kernel: there is nothing to link",
        next_step="correct the patterns where these places differ:"
        if near
        else "compile it with iree-compile, or give patterns of what it computes.",
        log="\n".join(near_miss_lines(near)) if near else "",
    )


def wrong(
    kernel: Kernel, found: str, expected: str, next_step: str = "", log: str = ""
) -> DeclarationError:
    """An error about a kernel's pattern."""
    return DeclarationError(
        f"The pattern of kernel `{kernel.name}` {found}.",
        expected=expected,
        next_step=next_step or "correct the pattern.",
        log=log,
    )
