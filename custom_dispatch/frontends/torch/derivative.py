"""The derivative of a kernel's operator: a function of PyTorch, or another kernel."""

from collections.abc import Callable
from typing import Any

import torch

from custom_dispatch.errors import CallError
from custom_dispatch.frontends.gradients import GRADIENT, Gradients
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel


class Derivative(Gradients):
    """What an operator's `register_autograd` is given."""

    def __init__(
        self, kernel: Kernel | Choice, backward: Any, operator: Callable[[Kernel | Choice], Any]
    ) -> None:
        super().__init__(kernel, backward, "PyTorch")
        self._backward = backward
        if isinstance(backward, Kernel | Choice):
            made = operator(backward)
            self._backward = lambda **values: made(*(values[name] for name in self.takes))

    def save(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what the backward needs (`setup_context` of `register_autograd`)."""
        results = output if isinstance(output, tuple | list) else (output,)
        values = dict(zip(self.results, results, strict=True))
        given = (*inputs, *[None] * (len(self.arguments) - len(inputs)))
        values.update(zip(self.arguments, given, strict=True))
        kept = {name: values[name] for name in self.takes if name in values}
        self._check(ctx)
        ctx.kept_tensors = [name for name, v in kept.items() if isinstance(v, torch.Tensor)]
        ctx.kept_others = {n: v for n, v in kept.items() if not isinstance(v, torch.Tensor)}
        ctx.save_for_backward(*(kept[name] for name in ctx.kept_tensors))
        ctx.like = [(tuple(item.shape), item.dtype, item.device) for item in results]
        ctx.count = len(inputs)

    def _check(self, ctx: Any) -> None:
        gives = self.gives
        if gives is None:
            return
        for name, needed in zip(self.arguments, ctx.needs_input_grad, strict=False):
            if needed and name not in gives:
                raise CallError(
                    f"Kernel `{self.name}` has no derivative by `{name}`, which requires a "
                    "gradient.",
                    expected=f"gradients of {', '.join(gives)} alone: the backward kernel gives no "
                    "other",
                    next_step=f"pass `{name}`.detach(), or let the backward give "
                    f"`{GRADIENT}{name}`.",
                )

    def backward(self, ctx: Any, *gradients: Any) -> Any:
        """The gradients of all arguments (`backward` of `register_autograd`)."""
        values = dict(ctx.kept_others)
        values.update(zip(ctx.kept_tensors, ctx.saved_tensors, strict=True))
        for name, gradient, like in zip(self.results, gradients, ctx.like, strict=True):
            if GRADIENT + name in self.takes:
                # PyTorch passes none for a result that nothing was computed from.
                shape, dtype, device = like
                values[GRADIENT + name] = (
                    torch.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
                )
        found = self.by_tensor(self._backward(**{name: values[name] for name in self.takes}))
        given = [found.get(name) for name in self.arguments[: ctx.count]]
        return given[0] if len(given) == 1 else tuple(given)
