"""The derivative of a kernel's call: a function of JAX, or another kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from custom_dispatch.frontends.gradients import GRADIENT, Gradients
from custom_dispatch.frontends.jax.primitive import no_derivative
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.arguments import argument_names, call_arguments


class Derivative(Gradients):
    """What differentiates a kernel.

    Parameters
    ----------
    kernel
        The kernel that has the derivative.
    backward
        A function of JAX, or a kernel.
    call
        Calls a kernel with arguments by name, and returns all of its results.

    Raises
    ------
    DeclarationError
        It takes or gives what there is not.
    """

    def __init__(
        self, kernel: Kernel | Choice, backward: Any, call: Callable[..., Sequence[Any]]
    ) -> None:
        super().__init__(kernel, backward, "JAX")
        first = kernels_of(kernel)[0]
        self._scalars = [
            name
            for name, item in zip(argument_names(first), first.arguments, strict=True)
            if isinstance(item, Scalar)
        ]
        self._backward: Callable[..., Any] = backward
        if isinstance(backward, Kernel | Choice):
            self._backward = lambda **values: call(backward, **self._inputs(backward, values))

    def _inputs(self, backward: Kernel | Choice, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a backward kernel's call takes, with the numbers of a struct together."""
        kernel = kernels_of(backward)[0]
        given = call_arguments(kernel, [values[name] for name in argument_names(kernel)])
        return {item.name: value for item, value in zip(kernel.inputs, given, strict=True)}

    def differentiable(
        self,
        run: Callable[..., Sequence[Any]],
        scalars: Sequence[Any],
    ) -> Callable[..., Any]:
        """A function of arrays that runs the kernel, and whose derivative this is.

        Parameters
        ----------
        scalars
            The numbers that it is called with.
        """

        def forward(*arrays: Any) -> Any:
            results = run(*arrays)
            return results, (arrays, results)

        def backward(kept: Any, gradients: Sequence[Any]) -> tuple[Any, ...]:
            arrays, results = kept
            values = {
                **dict(zip(self.results, results, strict=True)),
                # Under its own name an InOut is the argument, as the call takes it.
                **dict(zip(self.tensors, arrays, strict=True)),
                **dict(zip(self._scalars, scalars, strict=True)),
                **{
                    GRADIENT + name: value
                    for name, value in zip(self.results, gradients, strict=True)
                },
            }
            found = self.by_tensor(self._backward(**{name: values[name] for name in self.takes}))
            return tuple(
                jax.numpy.zeros_like(array) if found.get(name) is None else found[name]
                for name, array in zip(self.tensors, arrays, strict=True)
            )

        differentiable: Any = jax.custom_vjp(run)
        differentiable.defvjp(forward, backward)

        def made(*arrays: Any) -> Any:
            try:
                return differentiable(*arrays)
            except TypeError as error:
                if "forward-mode" not in str(error):
                    raise
                raise no_derivative(self.name) from error

        return made
