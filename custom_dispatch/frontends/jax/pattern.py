"""What a kernel computes, as functions of JAX: what is looked for in a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from custom_dispatch.frontends.patterns.pattern import check_fixed, check_kernel, wrong
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar

if TYPE_CHECKING:
    from iree.compiler import ir

    from custom_dispatch.frontends.patterns.replace import Examples

Computes = Callable[..., Any]


@dataclass(frozen=True, init=False)
class Pattern:
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
    required: bool

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
        given = kernel.reference if computes is None else computes
        functions = tuple(given) if isinstance(given, list | tuple) else (given,)
        if not functions or not all(map(callable, functions)):
            raise wrong(
                kernel,
                "has no function of JAX",
                "what the kernel computes, as a function or a list of them",
                "write cd.jax.Pattern(kernel, computes=lambda x: jax.nn.relu(x)).",
            )
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "computes", functions)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        dims = [dim.name for dim in kernel.dims]
        for name, size in (sizes or {}).items():
            if name not in dims or not isinstance(size, int) or size < 1:
                raise wrong(
                    kernel, f"has the size {name}={size}", f"numbers for dims: {', '.join(dims)}"
                )
        object.__setattr__(self, "sizes", dict(sizes or {}))
        object.__setattr__(self, "required", bool(required))
        for function in functions:
            self.parameters(function)

    @property
    def arguments(self) -> dict[str, Buffer | Scalar]:
        """What a call of the kernel takes, by name: a struct's field `p.alpha` is `p_alpha`."""
        return {item.name.replace(".", "_"): item for item in self.kernel.arguments}

    def parameters(self, function: Computes) -> list[str]:
        """The names of a function's parameters.

        Raises
        ------
        DeclarationError
            They are not the kernel's arguments.
        """
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise wrong(
                self.kernel, "is a function without a signature", "a function of Python"
            ) from None
        known = [name for name, item in self.arguments.items() if item.name not in self.fixed]
        listed = ", ".join(known)
        for name, parameter in signature.parameters.items():
            several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
            if name not in known or parameter.kind in several:
                raise wrong(self.kernel, f"has a parameter `{name}`", f"the kernel's: {listed}")
        for name in known:
            item = self.arguments[name]
            if name not in signature.parameters and not (
                isinstance(item, Buffer) and item.optional
            ):
                raise wrong(
                    self.kernel,
                    f"has no parameter `{name}`",
                    f"the kernel's: {listed}",
                    "name the function's parameters like the kernel's operands"
                    + (f', or fix the scalar: fixed={{"{name}": ...}}.'
                       if isinstance(item, Scalar) else "."),
                )  # fmt: skip
        return list(signature.parameters)

    def examples(self, module: ir.Module) -> Examples:
        """What traces its functions for the places of a model."""
        from custom_dispatch.frontends.jax.tracing import TracedExamples

        return TracedExamples(self, module)
