"""What a model is compiled with: the kernels that it is given, and patterns'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.patterns.pattern import with_own_names
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.phases import say
from custom_dispatch.toolchain.library import Library

if TYPE_CHECKING:
    from custom_dispatch.frontends.mlir import PlacedModel
    from custom_dispatch.frontends.model import Model


def with_replacing(
    kernels: list[Kernel | Choice] | Library,
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
    patterns = with_own_names(patterns, kernels)
    say(f"looking for the places of {len(patterns)} patterns")
    placed = place(model, [*(pattern.item for pattern in patterns), *kernels], patterns)
    return placed, [*kernels, *placed.called]
