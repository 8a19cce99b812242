"""The derivative of a kernel's operator: a function, or another kernel.

Values are passed by name. A backward function takes what it needs of the operator's arguments and
results, under their names, and the gradient of each result `y` as `grad_y`. It returns the
gradients of the tensors that the operator takes; a backward kernel writes that of `x` to its
`grad_x`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.arguments import argument_names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer

GRADIENT = "grad_"


class Derivative:
    """What an operator's `register_autograd` is given.

    Parameters
    ----------
    kernel
        The kernel that has the derivative.
    backward
        A function of PyTorch, or the operator of a kernel.
    names
        What it takes.
    gives
        The inputs that it gives gradients of, in its results' order; None for a function, which
        returns one for each tensor, or a mapping.

    Raises
    ------
    DeclarationError
        It takes or gives what there is not.
    """

    def __init__(
        self,
        kernel: Kernel,
        backward: Callable[..., Any],
        names: list[str],
        gives: list[str] | None,
    ) -> None:
        self._kernel, self._backward, self._gives = kernel, backward, gives
        self._arguments = argument_names(kernel)
        self._tensors = [
            name
            for name, item in zip(self._arguments, kernel.arguments, strict=True)
            if isinstance(item, Buffer)
        ]
        self._results = [item.name for item in kernel.outputs]
        known = {*self._arguments, *self._results, *(GRADIENT + name for name in self._results)}
        for name in names:
            if name not in known:
                raise DeclarationError(
                    f"The backward of kernel `{kernel.name}` takes `{name}`.",
                    expected=f"some of {', '.join(sorted(known))}",
                    next_step="name what it takes after the kernel's operands.",
                )
        for name in gives or ():
            if name not in self._tensors:
                raise DeclarationError(
                    f"The backward of kernel `{kernel.name}` gives `{GRADIENT}{name}`.",
                    expected=f"some of {', '.join(GRADIENT + name for name in self._tensors)}",
                    next_step="name its results after the kernel's operands.",
                )
        self._names = names

    def save(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what the backward needs (`setup_context` of `register_autograd`)."""
        results = output if isinstance(output, tuple | list) else (output,)
        values = dict(zip(self._results, results, strict=True))
        given = (*inputs, *[None] * (len(self._arguments) - len(inputs)))
        values.update(zip(self._arguments, given, strict=True))
        kept = {name: values[name] for name in self._names if name in values}
        self._check(ctx)
        ctx.kept_tensors = [name for name, v in kept.items() if isinstance(v, torch.Tensor)]
        ctx.kept_others = {n: v for n, v in kept.items() if not isinstance(v, torch.Tensor)}
        ctx.save_for_backward(*(kept[name] for name in ctx.kept_tensors))
        ctx.like = [(tuple(item.shape), item.dtype, item.device) for item in results]
        ctx.count = len(inputs)

    def _check(self, ctx: Any) -> None:
        if self._gives is None:
            return
        for name, needed in zip(self._arguments, ctx.needs_input_grad, strict=False):
            if needed and name not in self._gives:
                raise CallError(
                    f"Kernel `{self._kernel.name}` has no derivative by `{name}`, which requires a "
                    "gradient.",
                    expected=f"gradients of {', '.join(self._gives)} alone: the backward kernel "
                    "gives no other",
                    next_step=f"pass `{name}`.detach(), or let the backward give "
                    f"`{GRADIENT}{name}`.",
                )

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        """The gradients of all arguments (`backward` of `register_autograd`)."""
        values = dict(ctx.kept_others)
        values.update(zip(ctx.kept_tensors, ctx.saved_tensors, strict=True))
        for name, gradient, like in zip(self._results, gradients, ctx.like, strict=True):
            if GRADIENT + name in self._names:
                # PyTorch passes none for a result that nothing was computed from.
                shape, dtype, device = like
                values[GRADIENT + name] = (
                    torch.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
                )
        found = self._backward(**{name: values[name] for name in self._names})
        by_name = self._by_name(found)
        given = [by_name.get(name) for name in self._arguments[: ctx.count]]
        return given[0] if len(given) == 1 else tuple(given)

    def _by_name(self, found: Any) -> Mapping[str, Any]:
        if isinstance(found, Mapping):
            names, values = list(found), list(found.values())
        else:
            values = list(found) if isinstance(found, tuple | list) else [found]
            names = self._tensors if self._gives is None else self._gives
        if len(values) != len(names) or not set(names) <= set(self._tensors):
            raise CallError(
                f"The backward of kernel `{self._kernel.name}` returns "
                + (f"{', '.join(map(str, names))}." if isinstance(found, Mapping)
                   else f"{len(values)} gradients."),
                expected=f"one each of {', '.join(self._tensors)}, or a mapping from these names; "
                "None where there is none",
                next_step="correct what it returns.",
            )  # fmt: skip
        return dict(zip(names, values, strict=True))


def derivative_of(kernel: Kernel, backward: Any, operator: Callable[[Kernel], Any]) -> Derivative:
    """A kernel's derivative from what `cd.torch.register(kernel, backward=...)` was given.

    Parameters
    ----------
    operator
        Makes a kernel an operator.
    """
    if isinstance(backward, Kernel):
        names = argument_names(backward)
        outputs = [item.name for item in backward.outputs]
        for name in outputs:
            if not name.startswith(GRADIENT):
                raise DeclarationError(
                    f"The backward of kernel `{kernel.name}` gives `{name}`.",
                    expected=f"results named {GRADIENT}x for the gradient of `x`",
                    next_step="name its results after the kernel's operands.",
                )
        made = operator(backward)
        return Derivative(
            kernel,
            lambda **values: made(*(values[name] for name in names)),
            names,
            [name.removeprefix(GRADIENT) for name in outputs],
        )
    if not callable(backward):
        raise DeclarationError(
            f"The backward of kernel `{kernel.name}` is {backward!r}.",
            expected="a function of PyTorch, or a cd.Kernel",
            next_step="pass one.",
        )
    return Derivative(kernel, backward, list(inspect.signature(backward).parameters), None)
