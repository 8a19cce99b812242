"""What a kernel computes as functions of a framework: their parameters, and sizes to trace with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import as_integer, shown
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.match.pattern import is_by_name, wrong

Computes = Callable[..., Any]


def check_functions(item: Kernel | Choice, given: Any, framework: str) -> tuple[Computes, ...]:
    """The functions of a pattern, given as one or several.

    Parameters
    ----------
    framework
        Whose they are, for errors: "PyTorch".

    Raises
    ------
    DeclarationError
        No function is given.
    """
    functions = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not functions or not all(map(callable, functions)):
        front_end, example = _EXAMPLES[framework]
        raise DeclarationError(
            f"The pattern of kernel `{item.name}` has no function of {framework}.",
            expected="what the kernel computes, as a function or a list of them",
            next_step=f"write {front_end}.Pattern(kernel, computes={example}).",
        )
    return functions


_EXAMPLES = {
    "PyTorch": ("cd.torch", "lambda x: torch.relu(x)"),
    "JAX": ("cd.jax", "lambda x: jax.nn.relu(x)"),
}


def check_sizes(kernel: Kernel, sizes: Mapping[str, int] | None) -> dict[str, int]:
    """The values of dims that functions are traced with.

    Raises
    ------
    DeclarationError
        One is for no dim, or no size.
    """
    dims = [dim.name for dim in kernel.dims]
    if not is_by_name(sizes):
        raise wrong(kernel, f"has the sizes {shown(sizes)}", 'numbers by dim: {"heads": 8}')
    for name, size in (sizes or {}).items():
        if name not in dims or (as_integer(size) or 0) < 1:
            raise wrong(
                kernel, f"has the size {name}={shown(size)}", f"numbers for dims: {', '.join(dims)}"
            )
    return {name: int(size) for name, size in (sizes or {}).items()}


class OfFunctions:
    """What patterns that are functions of a framework have."""

    item: Kernel | Choice
    kernel: Kernel
    required: bool
    computes: tuple[Computes, ...]
    fixed: Mapping[str, Any]
    sizes: Mapping[str, int]

    @property
    def arguments(self) -> dict[str, Buffer | Scalar]:
        """What a call of the kernel takes, by name: a struct's field `p.alpha` is `p_alpha`."""
        return arguments_by_name(self.kernel)

    def parameters(self, function: Computes) -> dict[str, bool]:
        """A function's parameters, and whether each has a default.

        Raises
        ------
        DeclarationError
            A parameter is not an argument of the kernel, or one is missing.
        """
        return _parameters_of(self.kernel, function, self.fixed)


def _parameters_of(kernel: Kernel, function: Computes, fixed: Mapping[str, Any]) -> dict[str, bool]:
    """A function's parameters, and whether each has a default.

    Parameters
    ----------
    fixed
        The kernel's scalars that have fixed values.

    Raises
    ------
    DeclarationError
        A parameter is not an argument of the kernel, or one is missing.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise wrong(kernel, "is a function without a signature", "a function of Python") from None
    arguments = arguments_by_name(kernel)
    listed = f"the kernel's: {', '.join(arguments)}"
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = {}
    for name, parameter in signature.parameters.items():
        if name not in arguments or parameter.kind in several:
            raise wrong(kernel, f"has a parameter `{name}`", listed)
        if name in fixed:
            raise wrong(kernel, f"has a parameter `{name}`, which is fixed", "one of both")
        found[name] = parameter.default is not inspect.Parameter.empty
    for name, argument in arguments.items():
        may_lack = isinstance(argument, Buffer) and argument.optional
        if name not in found and name not in fixed and not may_lack:
            is_scalar = isinstance(argument, Scalar)
            raise wrong(
                kernel,
                f"has no parameter `{name}`",
                listed,
                "name the function's parameters like the kernel's operands"
                + (f', or fix the scalar: fixed={{"{name}": ...}}.' if is_scalar else "."),
            )
    return found
