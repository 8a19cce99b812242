"""The derivative of a kernel's call: a function, or another kernel.

As `cd.torch.register` has it, values are passed by name. A backward function takes what it needs of
the kernel's arguments and results, under their names, and the gradient of each result `y` as
`grad_y`. It returns the gradients of the arrays that the kernel takes; a backward kernel writes
that of `x` to its `grad_x`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scalar

GRADIENT = "grad_"


class Derivative:
    """What differentiates a kernel.

    Parameters
    ----------
    backward
        A function of JAX, or a kernel.
    call
        Calls a kernel with arguments by name, and returns all of its results.

    Raises
    ------
    DeclarationError
        It takes or gives what there is not.
    """

    def __init__(self, kernel: Kernel, backward: Any, call: Callable[..., Sequence[Any]]) -> None:
        self._kernel = kernel
        self._arrays = [item.name for item in kernel.inputs if isinstance(item, Buffer)]
        self._scalars = [item.name for item in kernel.arguments if isinstance(item, Scalar)]
        self._results = [item.name for item in kernel.outputs]
        gives = None
        if isinstance(backward, Kernel):
            names = [item.name for item in backward.inputs]
            gives = [item.name for item in backward.outputs]
            gradients = [GRADIENT + name for name in self._arrays]
            for name in gives:
                if name not in gradients:
                    raise self._wrong(f"gives `{name}`", f"some of {', '.join(gradients)}")
            self._backward: Callable[..., Any] = lambda **values: dict(
                zip((name.removeprefix(GRADIENT) for name in gives or ()),
                    call(backward, **values), strict=True)
            )  # fmt: skip
        elif callable(backward):
            names = list(inspect.signature(backward).parameters)
            self._backward = backward
        else:
            raise self._wrong(f"is {shown(backward)}", "a function of JAX, or a cd.Kernel")
        known = [*self._arrays, *self._scalars, *self._results]
        known += [GRADIENT + name for name in self._results]
        for name in names:
            if name not in known:
                raise self._wrong(f"takes `{name}`", f"some of {', '.join(known)}")
        self._names = names

    def _wrong(self, found: str, expected: str) -> DeclarationError:
        return DeclarationError(
            f"The backward of kernel `{self._kernel.name}` {found}.",
            expected=expected,
            next_step="name what it takes and gives after the kernel's operands.",
        )

    def differentiable(
        self, run: Callable[..., Sequence[Any]], scalars: Sequence[Any]
    ) -> Callable[..., Any]:
        """A function of arrays that runs the kernel, and whose derivative this is."""

        def forward(*arrays: Any) -> Any:
            results = run(*arrays)
            return results, (arrays, results)

        def backward(kept: Any, gradients: Sequence[Any]) -> tuple[Any, ...]:
            arrays, results = kept
            values = {
                **dict(zip(self._arrays, arrays, strict=True)),
                **dict(zip(self._scalars, scalars, strict=True)),
                # Under its own name an InOut is the argument, as the call takes it.
                **{
                    name: value
                    for name, value in zip(self._results, results, strict=True)
                    if name not in self._arrays
                },
                **{
                    GRADIENT + name: value
                    for name, value in zip(self._results, gradients, strict=True)
                },
            }
            found = self._by_name(self._backward(**{name: values[name] for name in self._names}))
            return tuple(
                jax.numpy.zeros_like(array) if found.get(name) is None else found[name]
                for name, array in zip(self._arrays, arrays, strict=True)
            )

        differentiable: Any = jax.custom_vjp(run)
        differentiable.defvjp(forward, backward)
        made: Callable[..., Any] = differentiable
        return made

    def _by_name(self, found: Any) -> Mapping[str, Any]:
        if isinstance(found, Mapping):
            names, values = list(found), list(found.values())
        else:
            values = list(found) if isinstance(found, tuple | list) else [found]
            names = self._arrays
        if len(values) != len(names) or not set(names) <= set(self._arrays):
            raise CallError(
                f"The backward of kernel `{self._kernel.name}` returns "
                + (f"{', '.join(map(str, names))}." if isinstance(found, Mapping)
                   else f"{len(values)} gradients."),
                expected=f"one each of {', '.join(self._arrays)}, or a mapping from these names; "
                "None where there is none",
                next_step="correct what it returns.",
            )  # fmt: skip
        return dict(zip(names, values, strict=True))
