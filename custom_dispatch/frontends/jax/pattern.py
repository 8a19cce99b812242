"""What a kernel computes, as functions of JAX: what is looked for in a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.bools import check_bools
from custom_dispatch.match.function import (
    Computes,
    OfFunctions,
    check_functions,
    check_sizes,
)
from custom_dispatch.match.pattern import check_axes, check_fixed, check_kernel

if TYPE_CHECKING:
    from custom_dispatch.match.replace import Examples
    from custom_dispatch.match.searched import Searched


@dataclass(frozen=True, init=False)
class Pattern(OfFunctions):
    """A kernel, and what it computes in JAX's words.

    Parameters
    ----------
    kernel
        The kernel that takes the places that are found; or a choice, of which each place takes the
        first kernel that it fits.
    computes
        One or several functions of JAX that compute what the kernel does. Their parameters have
        the names of the kernel's operands, in any order; one that is optional may be left out.
        Numbers are the kernel's value-less scalars, and have to be passed on as they are. Without
        it the kernel's `reference` is taken.
    fixed
        Scalars with a value that the functions hold for, instead of a parameter:
        {"causal": True}.
    sizes
        Values of dims to trace the functions with first, where not all will do:
        {"heads": 8, "kv_heads": 8}.
    axes
        Of operands and results that the functions have with their axes in another order, that order
        as of `numpy.transpose`: {"q": (0, 2, 1, 3)}. They are transposed where a kernel is put.
    bools
        Of operands of floats that the functions take as bools, the number for False; True is 0:
        {"mask": -1e30}.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        The functions' parameters are not those of the kernel.
    """

    item: Kernel | Choice
    kernel: Kernel
    computes: tuple[Computes, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    sizes: Mapping[str, int] = field(hash=False)
    axes: Mapping[str, tuple[int, ...]] = field(hash=False)
    bools: Mapping[str, float] = field(hash=False)
    required: bool

    def __init__(
        self,
        kernel: Kernel | Choice,
        computes: Computes | Sequence[Computes] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        bools: Mapping[str, float] | None = None,
        required: bool = True,
    ) -> None:
        item, kernel = kernel, check_kernel(kernel)
        given = kernel.reference if computes is None else computes
        functions = check_functions(item, given, "JAX")
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "computes", functions)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        object.__setattr__(self, "sizes", check_sizes(kernel, sizes))
        object.__setattr__(self, "axes", check_axes(kernel, axes))
        object.__setattr__(self, "bools", check_bools(kernel, bools))
        object.__setattr__(self, "required", bool(required))
        for function in functions:
            self.parameters(function)

    def examples(self, model: Searched) -> Examples:
        """What traces its functions for the places of a model."""
        from custom_dispatch.frontends.jax.tracing import TracedExamples

        return TracedExamples(self, model)
