"""What a kernel computes, in PyTorch's words: what is looked for in a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.match.function import (
    Computes,
    OfFunctions,
    check_functions,
    check_sizes,
)
from custom_dispatch.match.pattern import check_fixed, check_kernel


@dataclass(frozen=True, init=False)
class Pattern(OfFunctions):
    """A kernel, and what it computes in PyTorch's words.

    Parameters
    ----------
    kernel
        The kernel that takes the places that are found; or a choice, of which each place takes the
        first kernel that it fits, when compiled or when it runs.
    computes
        One or several functions of PyTorch that compute what the kernel does. Their parameters have
        the names of the kernel's operands, in any order; one that is optional may be left out, or
        have the default None to stand for both. Numbers are the kernel's value-less scalars, and
        have to be passed on as they are. Without it the kernel's `reference` is taken.
    fixed
        Scalars with a value that the functions hold for, instead of a parameter:
        {"causal": True}.
    sizes
        Values of dims to trace the functions with, where not all will do: {"heads": 8}.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        The functions' parameters are not those of the kernel.
    """

    item: Kernel | Choice
    """What is put in the places."""
    kernel: Kernel
    """The kernel by whose declaration places are compared."""
    computes: tuple[Computes, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    sizes: Mapping[str, int] = field(hash=False)
    required: bool
    looked_at: Any = field(hash=False, compare=False, repr=False)
    """The functions that a model may have; None for all of them."""

    def __init__(
        self,
        kernel: Kernel | Choice,
        computes: Computes | Sequence[Computes] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        required: bool = True,
    ) -> None:
        item, kernel = kernel, check_kernel(kernel)
        reference = next((k.reference for k in kernels_of(item) if k.reference), None)
        functions = check_functions(item, reference if computes is None else computes, "PyTorch")
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "computes", functions)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        object.__setattr__(self, "sizes", check_sizes(kernel, sizes))
        object.__setattr__(self, "required", bool(required))
        object.__setattr__(self, "looked_at", None)
        if computes is not None:
            for function in functions:
                self.parameters(function)

    def examples(self, model: Any) -> Any:
        """What places of a model in the torch dialect are compared with."""
        from custom_dispatch.frontends.torch.tracing import TracedExamples

        return TracedExamples(self, model, self.looked_at)


def as_pattern(item: Any) -> Pattern:
    """An entry of `replace=` as a pattern.

    Raises
    ------
    DeclarationError
        It is neither a pattern nor a kernel with a reference.
    """
    if isinstance(item, Pattern):
        return item
    if not isinstance(item, Kernel | Choice):
        raise DeclarationError(
            f"replace has {shown(item)} in it.",
            expected="a cd.torch.Pattern, or a cd.Kernel whose reference is code of PyTorch",
            next_step="write replace=[cd.torch.Pattern(kernel, computes=...)].",
        )
    if not any(kernel.reference for kernel in kernels_of(item)):
        raise DeclarationError(
            f"Kernel `{item.name}` has no reference, so nothing says what it replaces.",
            expected="what it computes, in PyTorch's words",
            next_step="write replace=[cd.torch.Pattern(kernel, computes=...)].",
        )
    return Pattern(item)
