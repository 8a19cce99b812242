"""What the derivative of a kernel takes and gives, by name, in whatever framework.

A backward function takes what it needs of the kernel's arguments and results, under their names,
and the gradient of each result `y` as `grad_y`. It returns the gradients of the tensors that the
kernel takes, all in their order, or some as a mapping; a backward kernel writes that of `x` to its
`grad_x`.
"""

import inspect
from collections.abc import Mapping
from typing import Any

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.arguments import argument_names, arguments_by_name

GRADIENT = "grad_"


class Gradients:
    """The names of one derivative.

    - `item`: the kernel that has the derivative.
    - `backward`: a function, or a kernel.
    - `framework`: whose functions they are, for errors: "PyTorch".
    """

    def __init__(self, item: Kernel | Choice, backward: Any, framework: str) -> None:
        kernel = kernels_of(item)[0]
        self.name = item.name
        arguments = arguments_by_name(kernel)
        self.arguments = list(arguments)
        self.tensors = [name for name, item in arguments.items() if isinstance(item, Buffer)]
        self.results = [operand.name for operand in kernel.outputs]
        self.gives: list[str] | None = None
        """The tensors that it gives gradients of, in its results' order; None for a function."""
        if isinstance(backward, Kernel | Choice):
            first = kernels_of(backward)[0]
            self.takes = argument_names(first)
            self.gives = [self._tensor(operand.name) for operand in first.outputs]
        elif (takes := _parameters(backward)) is not None:
            self.takes = takes
        else:
            raise self._wrong(
                f"is {shown(backward)}", f"a function of {framework}, or a cd.Kernel", "pass one."
            )
        known = [*self.arguments, *self.results, *(GRADIENT + name for name in self.results)]
        known = list(dict.fromkeys(known))
        for name in self.takes:
            if name not in known:
                raise self._wrong(
                    f"takes `{name}`",
                    f"some of {', '.join(known)}",
                    "name what it takes after the kernel's operands.",
                )

    def _tensor(self, result: str) -> str:
        """The tensor whose gradient a backward kernel's result is."""
        name = result.removeprefix(GRADIENT)
        if name != result and name in self.tensors:
            return name
        raise self._wrong(
            f"gives `{result}`",
            f"some of {', '.join(GRADIENT + name for name in self.tensors)}"
            if name != result
            else f"results named {GRADIENT}x for the gradient of `x`",
            "name its results after the kernel's operands.",
        )

    def _wrong(self, found: str, expected: str, next_step: str) -> DeclarationError:
        return DeclarationError(
            f"The backward of kernel `{self.name}` {found}.", expected=expected,
            next_step=next_step,
        )  # fmt: skip

    def by_tensor(self, found: Any) -> Mapping[str, Any]:
        """What it returns, by the names of tensors."""
        if isinstance(found, Mapping):
            names, values = list(found), list(found.values())
        else:
            values = list(found) if isinstance(found, tuple | list) else [found]
            names = self.tensors if self.gives is None else self.gives
        if len(values) != len(names) or not set(names) <= set(self.tensors):
            raise CallError(
                f"The backward of kernel `{self.name}` returns "
                + (f"{', '.join(map(str, names))}." if isinstance(found, Mapping)
                   else f"{len(values)} gradients."),
                expected=f"one each of {', '.join(self.tensors)}, or a mapping from these names; "
                "None where there is none",
                next_step="correct what it returns.",
            )  # fmt: skip
        return dict(zip(names, values, strict=True))


def _parameters(function: Any) -> list[str] | None:
    """The names of a function's parameters; None for what is no function, or does not say them."""
    try:
        return list(inspect.signature(function).parameters)
    except Exception:  # noqa: BLE001 - what has no signature is asked for its `repr`
        return None
