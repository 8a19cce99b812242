"""A kernel as a function of JAX: what it takes, and with which derivative."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.frontends.gradients import GRADIENT, Gradients
from custom_dispatch.frontends.jax.primitive import bound_primitive, no_derivative
from custom_dispatch.kernel.binding import match_arguments, struct_numbers
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declared, check_declared, kernels_of
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scalar, Struct
from custom_dispatch.link.arguments import call_arguments


class Call:
    """A kernel or a choice as a function of JAX: what `cd.jax.call` returns."""

    def __init__(self, kernel: Kernel | Choice, backward: Any) -> None:
        self.kernel = kernel
        self._derivative = None if backward is None else Derivative(kernel, backward)
        self.__name__ = self.__qualname__ = kernel.name
        self.__doc__ = f"{kernel!r}, as a function of JAX."

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the kernel: arrays for its `In`s and `InOut`s, numbers for its scalars.

        Raises `CallError`: the arguments do not fit the declaration.
        """
        kernel = self.kernel
        arrays, scalars = _split(kernel, arguments, keywords)
        run = bound_primitive(kernel, scalars)
        if self._derivative is not None:
            run = self._derivative.differentiable(run, scalars)
        if isinstance(kernel, Kernel) and kernel.function:
            arrays = jax.numpy.broadcast_arrays(*arrays)
        results = run(*arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"cd.jax.call({self.kernel!r})"


def call(kernel: Declared, *, backward: Any = None) -> Call:
    """Make a kernel, or a declared function, a function of JAX.

    It takes the `In`s and `InOut`s as arrays, value-less `Scalar`s as numbers of Python and
    `Struct`s as mappings, in declaration order or by keyword, and returns the `Out`s and `InOut`s
    as new arrays: one alone, several as a tuple. It works by itself and in `jax.jit`, where it runs
    on the CPU, and in functions that `cd.jax.compile` or `jax.export` export. `jax.vmap` adds a
    leading dim to shapes that begin with `...`, and otherwise calls the kernel once per element.

    - `kernel`: a kernel; a choice: each call takes the first kernel that fits its arrays; or a
      function, whose arrays are broadcast.
    - `backward`: its derivative, for `jax.grad`: a function of JAX, or another kernel. It takes by
      name what it needs of the arguments and results, and `grad_y` for the gradient of the result
      `y`. A function returns the gradients of all arrays that the kernel takes, in their order, or
      of some as a mapping; a kernel's results are named `grad_x` for the gradient of `x`.

    Raises `DeclarationError`: the argument is not a kernel, or the backward has other arguments or
    results than it should.
    """
    if isinstance(backward, Function):
        backward = backward.kernel()
    return Call(check_declared(kernel, "cd.jax.call"), backward)


# -- arguments


def _split(
    item: Kernel | Choice, passed: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    """Arrays, and numbers in the order of `Kernel.arguments`."""
    names = (operand.name for operand in item.inputs)
    values = dict(zip(names, match_arguments(item, passed, keywords), strict=True))
    kernel = _kernel_for(item, values)
    arrays: list[Any] = []
    numbers: list[Any] = []
    leading = _leading_count(kernel, values)
    for operand in kernel.inputs:
        value = values[operand.name]
        if isinstance(operand, Buffer):
            _check_is_there(kernel.name, operand.name, operand.dtype)
            if value is None and operand.optional:
                rank = operand.least_rank + leading if operand.batched else operand.rank
                value = numpy.zeros((0,) * rank, operand.dtype.to_numpy())
            arrays.append(_array(kernel, operand, value))
        elif isinstance(operand, Scalar):
            numbers.append(_number(kernel, operand.name, value))
        elif isinstance(operand, Struct):
            what = f"operand `{operand.name}` of kernel `{kernel.name}`"
            numbers += [
                _number(kernel, leaf.scalar.name, number)
                for leaf, number in zip(
                    operand.leaves, struct_numbers(operand, value, what), strict=True
                )
            ]
    return arrays, tuple(numbers)


def _array(kernel: Kernel, operand: Buffer, value: Any) -> Any:
    try:
        return jax.numpy.asarray(value)
    except Exception as error:  # whatever JAX and numpy raise of what they cannot read
        raise CallError(
            f"Operand `{operand.name}` of `{kernel.name}` is {shown(value)}, which JAX cannot make "
            "an array of.",
            expected=f"an array of {operand.dtype}",
            next_step="pass one.",
        ) from error


def _leading_count(kernel: Kernel, values: Mapping[str, Any]) -> int:
    """How many leading dims a call has: those of the first array that may have some."""
    for operand in kernel.buffers:
        value = values[operand.name]
        if operand.batched and value is not None:
            return max(numpy.ndim(value) - operand.least_rank, 0)
    return 0


def _kernel_for(item: Kernel | Choice, values: Mapping[str, Any]) -> Kernel:
    """The first kernel whose types the arrays have; the first of all where there is none."""
    kernels = kernels_of(item)
    for kernel in kernels:
        if all(
            getattr(values[each.name], "dtype", None) in (None, each.dtype.to_numpy())
            for each in kernel.buffers
        ):
            return kernel
    return kernels[0]


def _number(kernel: Kernel, name: str, value: Any) -> float | int | bool:
    if isinstance(value, jax.core.Tracer):
        raise CallError(
            f"Kernel `{kernel.name}`: the scalar `{name}` is computed by the traced function.",
            expected="a number of Python, which is the same in every call",
            next_step="name the argument in static_argnames of jax.jit, or close over the number.",
        )
    if isinstance(value, bool | int | float):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        found = value.item()
        if isinstance(found, bool | int | float):
            return found
    raise CallError(
        f"Kernel `{kernel.name}`: the scalar `{name}` is {shown(value)}.",
        expected="a number",
        next_step="pass an int, a float or a bool.",
    )


class Derivative(Gradients):
    """What differentiates a kernel: a function of JAX, or another kernel."""

    def __init__(self, kernel: Kernel | Choice, backward: Any) -> None:
        super().__init__(kernel, backward, "JAX")
        self._backward = backward
        self._scalars = [name for name in self.arguments if name not in self.tensors]

    def _computed(self, values: Mapping[str, Any]) -> Any:
        if not isinstance(self._backward, Kernel | Choice):
            return self._backward(**values)
        numbers = call_arguments(kernels_of(self._backward)[0], list(values.values()))
        arrays, scalars = _split(self._backward, numbers, {})
        return bound_primitive(self._backward, scalars)(*arrays)

    def differentiable(
        self, run: Callable[..., Sequence[Any]], scalars: Sequence[Any]
    ) -> Callable[..., Any]:
        """A function of arrays that runs the kernel, and whose derivative this is.

        `scalars`: the numbers that it is called with.
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
            found = self.by_tensor(self._computed({name: values[name] for name in self.takes}))
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


def _check_is_there(kernel: str, operand: str, kind: ElementType) -> None:
    """Require that JAX is set up for arrays of a type: else it makes them ones of 32 bits."""
    dtype = kind.to_numpy()
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise CallError(
            f"Kernel `{kernel}`: operand `{operand}` has dtype {dtype}, which JAX makes 32 bits "
            "of.",
            expected="JAX with types of 64 bits",
            next_step='call jax.config.update("jax_enable_x64", True) before everything else.',
        )
