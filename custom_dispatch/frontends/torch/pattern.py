"""What a kernel computes, in PyTorch's words: what is looked for in a model."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.arguments import argument_names
from custom_dispatch.frontends.patterns.pattern import check_kernel
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scalar

Computes = Callable[..., Any]


@dataclass(frozen=True, init=False)
class Pattern:
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

    def __init__(
        self,
        kernel: Kernel | Choice,
        computes: Computes | Sequence[Computes] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        required: bool = True,
    ) -> None:
        check_kernel(kernel)
        reference = next((k.reference for k in kernels_of(kernel) if k.reference), None)
        given = reference if computes is None else computes
        functions = tuple(given) if isinstance(given, list | tuple) else (given,)
        if not functions or not all(map(callable, functions)):
            raise DeclarationError(
                f"The pattern of kernel `{kernel.name}` has no function of PyTorch.",
                expected="what the kernel computes, as a function or a list of them",
                next_step="write cd.torch.Pattern(kernel, computes=lambda x: torch.relu(x)).",
            )
        object.__setattr__(self, "item", kernel)
        object.__setattr__(self, "kernel", kernels_of(kernel)[0])
        object.__setattr__(self, "computes", functions)
        object.__setattr__(self, "fixed", dict(fixed or {}))
        object.__setattr__(self, "sizes", dict(sizes or {}))
        object.__setattr__(self, "required", bool(required))
        for name in self.fixed:
            if not isinstance(self.arguments.get(name), Scalar):
                raise self.wrong(
                    f"fixes `{name}`",
                    "a value-less scalar of the kernel: "
                    + (
                        ", ".join(n for n, a in self.arguments.items() if isinstance(a, Scalar))
                        or "it has none"
                    ),
                )
        if computes is not None:
            for function in functions:
                self.parameters(function)

    @property
    def name(self) -> str:
        """That of the kernel or choice."""
        return self.item.name

    def of_each(self) -> list[Pattern]:
        """The pattern for each kernel of a choice; itself for a kernel."""
        found = []
        for kernel in kernels_of(self.item):
            one = copy.copy(self)
            object.__setattr__(one, "kernel", kernel)
            found.append(one)
        return found

    @property
    def arguments(self) -> dict[str, Buffer | Scalar]:
        """What the kernel's operator takes, by name."""
        return dict(zip(argument_names(self.kernel), self.kernel.arguments, strict=True))

    def parameters(self, function: Computes) -> dict[str, bool]:
        """A function's parameters, and whether each has a default.

        Raises
        ------
        DeclarationError
            They are not the kernel's arguments.
        """
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise self.wrong("is a function without a signature", "a function of Python") from None
        found = {}
        for name, parameter in signature.parameters.items():
            if name not in self.arguments or parameter.kind in (
                inspect.Parameter.VAR_KEYWORD,
                inspect.Parameter.VAR_POSITIONAL,
            ):
                raise self.wrong(
                    f"has a parameter `{name}`", f"the kernel's: {', '.join(self.arguments)}"
                )
            if name in self.fixed:
                raise self.wrong(f"has a parameter `{name}`, which is fixed", "one of both")
            found[name] = parameter.default is not inspect.Parameter.empty
        for name, argument in self.arguments.items():
            may_lack = isinstance(argument, Buffer) and argument.optional
            if name not in found and name not in self.fixed and not may_lack:
                raise self.wrong(
                    f"has no parameter `{name}`",
                    f"the kernel's: {', '.join(self.arguments)}",
                    "name the function's parameters like the kernel's operands"
                    + (
                        f', or fix the scalar: fixed={{"{name}": ...}}.'
                        if isinstance(argument, Scalar)
                        else "."
                    ),
                )
        return found

    def wrong(
        self, found: str, expected: str, next_step: str = "", log: str = ""
    ) -> DeclarationError:
        """An error about this pattern."""
        return DeclarationError(
            f"The pattern of kernel `{self.kernel.name}` {found}.",
            expected=expected,
            next_step=next_step or "correct the pattern.",
            log=log,
        )


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
