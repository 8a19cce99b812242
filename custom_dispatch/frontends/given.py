"""What a model is compiled with: the kernels that it is given, families' members and patterns'."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.patterns.pattern import with_own_names
from custom_dispatch.kernel.choice import Callee, Choice, kernels_of
from custom_dispatch.kernel.family import Family, no_values
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.phases import say
from custom_dispatch.toolchain.library import Library
from custom_dispatch.toolchain.plan import check_callees

if TYPE_CHECKING:
    from custom_dispatch.frontends.mlir import PlacedModel
    from custom_dispatch.frontends.model import Model


def members_for(
    model: Model | None,
    kernels: Callee | Iterable[Callee] | Library,
    others: bool = False,
) -> tuple[Model | None, Kernel | Choice | Iterable[Kernel | Choice] | Library]:
    """The model and the kernels with members of families, for the values that the model gives.

    Parameters
    ----------
    others
        Whether further kernels may come.
    """
    if isinstance(kernels, Library | Kernel | Choice):
        return model, kernels
    items = check_callees(kernels)
    families = [item for item in items if isinstance(item, Family)]
    if not families:
        return model, [item for item in items if not isinstance(item, Family)]
    if model is None:
        raise no_values(families[0])
    from custom_dispatch.frontends.families import call_members

    module, found = call_members(model, items)
    if not found and not others:
        raise LinkError(
            f"The model calls none of the kernels: {', '.join(item.name for item in families)}.",
            expected="a call of one of them by its name",
            next_step="call it in the model.",
        )
    return module, found


def with_replacing(
    kernels: Kernel | Choice | Iterable[Kernel | Choice] | Library,
    patterns: Sequence[Any],
    model: Model | None,
) -> tuple[PlacedModel, list[Kernel | Choice] | Library]:
    """The model with calls where patterns are found, and the kernels to build.

    Those that are given, and those of patterns that are found.
    """
    if model is None:
        raise DeclarationError(
            "replace is given without a model.",
            expected="a model, in which places are looked for",
            next_step="leave replace out, or pass the model first.",
        )
    from custom_dispatch.frontends.mlir import place
    from custom_dispatch.frontends.patterns.replace import patterns_of

    patterns = patterns_of(patterns)
    if isinstance(kernels, Library):
        wanted = {id(pattern.item): pattern.item for pattern in patterns}.values()
        for kernel in wanted:
            # A choice by measurements may lack some of its kernels.
            held_choice = kernel.name in [choice.name for choice in kernels.choices]
            if not held_choice and not {*kernels_of(kernel)} <= {*kernels.kernels}:
                raise LinkError(
                    f"The library lacks kernel `{kernel.name}`, which a pattern puts into the "
                    "model.",
                    expected="one that was built with the kernel",
                    next_step="build it with the kernel, or pass kernels and targets.",
                )
        return place(model, [*kernels.kernels, *kernels.choices], patterns), kernels
    given = [kernels] if isinstance(kernels, Kernel | Choice) else list(kernels)
    patterns = with_own_names(patterns, given)
    say(f"looking for the places of {len(patterns)} patterns")
    placed = place(model, [*(pattern.item for pattern in patterns), *given], patterns)
    return placed, [*given, *placed.called]
