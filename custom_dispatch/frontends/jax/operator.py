"""A kernel as a primitive of JAX.

JAX meets it in four ways: with arrays, which runs the kernel; in a function that is compiled by
`jax.jit`, which calls back into this package to run it; while it traces, which gives the results'
shapes; and in a function that is exported, where it becomes a call by the kernel's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.arguments import call_arguments
from custom_dispatch.frontends.jax.derivative import Derivative
from custom_dispatch.frontends.jax.dtypes import check_is_there
from custom_dispatch.frontends.jax.shapes import traced_shapes
from custom_dispatch.kernel.choice import Callee, Choice, kernels_of
from custom_dispatch.kernel.family import Family
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scalar, Struct

primitive = Primitive("custom_dispatch")
primitive.multiple_results = True


class Call:
    """A kernel, a choice or a family as a function of JAX: what `cd.jax.call` returns."""

    def __init__(self, kernel: Callee, backward: Any) -> None:
        self.kernel = kernel
        self._derivative = None if backward is None else Derivative(kernel, backward, _call_all)
        self.__name__ = self.__qualname__ = kernel.name
        self.__doc__ = f"{kernel!r}, as a function of JAX."

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the kernel: arrays for its `In`s and `InOut`s, numbers for its scalars.

        Raises
        ------
        CallError
            The arguments do not fit the declaration.
        """
        kernel = self.kernel
        statics: Mapping[str, Any] = {}
        if isinstance(kernel, Family):
            statics, arguments, keywords = kernel.split(arguments, keywords)
            kernel = kernel.kernel(**statics)
        arrays, scalars = _split(kernel, _bound(kernel, arguments, keywords))
        run = _primitive(kernel, scalars)
        if self._derivative is not None:
            run = self._derivative.differentiable(run, scalars, statics)
        results = run(*arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"cd.jax.call({self.kernel!r})"


def call(kernel: Callee, *, backward: Any = None) -> Call:
    """Make a kernel a function of JAX.

    It takes the `In`s and `InOut`s as arrays, value-less `Scalar`s as numbers of Python and
    `Struct`s as mappings, in declaration order or by keyword, and returns the `Out`s and `InOut`s
    as new arrays: one alone, several as a tuple. It works by itself and in `jax.jit`, where it runs
    on the CPU, and in functions that `cd.jax.compile` or `jax.export` export. `jax.vmap` takes
    kernels whose shapes begin with `...`.

    Parameters
    ----------
    kernel
        A kernel; or a choice, of which each call takes the first that its arrays fit; or a family,
        whose compile-time arguments are values of Python as its scalars are.
    backward
        Its derivative, for `jax.grad`: a function of JAX, or another kernel. It takes by name what
        it needs of the arguments and results, and `grad_y` for the gradient of the result `y`. A
        function returns the gradients of all arrays that the kernel takes, in their order, or of
        some as a mapping; a kernel's results are named `grad_x` for the gradient of `x`.

    Raises
    ------
    DeclarationError
        The kernel is none; or the backward takes or gives what there is not.
    """
    if not isinstance(kernel, Kernel | Choice | Family):
        raise DeclarationError(
            f"cd.jax.call is given {shown(kernel)}.",
            expected="a cd.Kernel, a cd.Choice or a cd.Family",
            next_step="pass the kernel's declaration.",
        )
    return Call(kernel, backward)


def _primitive(kernel: Kernel | Choice, scalars: tuple[Any, ...]) -> Callable[..., Sequence[Any]]:
    def run(*arrays: Any) -> Sequence[Any]:
        found: Sequence[Any] = primitive.bind(*arrays, kernel=kernel, scalars=scalars)
        return found

    return run


def _call_all(kernel: Kernel | Choice, **values: Any) -> Sequence[Any]:
    """Call a kernel, and return all of its results."""
    arrays, scalars = _split(kernel, _bound(kernel, (), values))
    return _primitive(kernel, scalars)(*arrays)


# -- arguments


def _bound(
    kernel: Kernel | Choice, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name."""
    names = [item.name for item in kernel.inputs]
    values = dict(zip(names, arguments, strict=False))
    wrong = len(arguments) > len(names) or any(
        name not in names or name in values for name in keywords
    )
    values.update(keywords)
    missing = [
        item.name
        for item in kernel.inputs
        if item.name not in values and not (isinstance(item, Buffer) and item.optional)
    ]
    if wrong or missing:
        given = [*(["positional"] * len(arguments)), *keywords]
        raise CallError(
            f"Kernel `{kernel.name}` is called with {len(given)} arguments"
            + (f" and without `{missing[0]}`." if missing else "."),
            expected=f"{len(names)}: {', '.join(names)}",
            next_step="pass each of them once.",
        )
    return {name: values.get(name) for name in names}


def _split(item: Kernel | Choice, values: Mapping[str, Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Arrays, and numbers in the order of `Kernel.arguments`."""
    kernel = _kernel_for(item, values)
    arrays: list[Any] = []
    numbers: list[Any] = []
    leading = _leading_count(kernel, values)
    for operand in kernel.inputs:
        value = values[operand.name]
        if isinstance(operand, Buffer):
            check_is_there(kernel.name, operand.name, operand.dtype)
            if value is None and operand.optional:
                rank = operand.least_rank + leading if operand.batched else operand.rank
                value = numpy.zeros((0,) * rank, operand.dtype.to_numpy())
            arrays.append(jax.numpy.asarray(value))
        elif isinstance(operand, Scalar):
            numbers.append(_number(kernel, operand.name, value))
        elif isinstance(operand, Struct):
            numbers += _fields(kernel, operand, value)
    return arrays, tuple(numbers)


def _leading_count(kernel: Kernel, values: Mapping[str, Any]) -> int:
    """How many leading dims a call has: those of the first array that may have some."""
    for operand in _buffers(kernel):
        value = values[operand.name]
        if operand.batched and value is not None:
            return max(numpy.ndim(value) - operand.least_rank, 0)
    return 0


def _kernel_for(item: Kernel | Choice, values: Mapping[str, Any]) -> Kernel:
    """The first kernel whose types the arrays have; the first of all where there is none."""
    kernels = kernels_of(item)
    for kernel in kernels[: len(kernels) if len(kernels) > 1 else 0]:
        dtypes = {
            operand.name: getattr(values[operand.name], "dtype", None)
            for operand in _buffers(kernel)
        }
        if all(
            dtypes[operand.name] in (None, operand.dtype.to_numpy()) for operand in _buffers(kernel)
        ):
            return kernel
    return kernels[0]


def _fields(kernel: Kernel, struct: Struct, value: Any) -> list[Any]:
    if not isinstance(value, Mapping) or set(value) != {field.name for field in struct.fields}:
        raise CallError(
            f"Kernel `{kernel.name}`: `{struct.name}` is {shown(value)}.",
            expected=f"a mapping of {', '.join(field.name for field in struct.fields)}",
            next_step="pass a dict.",
        )
    found: list[Any] = []
    for field in struct.fields:
        items = [value[field.name]] if field.count is None else list(value[field.name])
        found += [_number(kernel, f"{struct.name}.{field.name}", item) for item in items]
    return found


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


def _buffers(kernel: Kernel) -> list[Buffer]:
    return [item for item in kernel.inputs if isinstance(item, Buffer)]


# -- running


def _run(item: Kernel | Choice, scalars: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Run the kernel on the CPU, on arrays that numpy can look at."""
    rest, numbers = iter(arrays), iter(scalars)
    kernel = kernels_of(item)[0]
    values: list[Any] = []
    for operand in kernel.arguments:
        if isinstance(operand, Scalar):
            values.append(next(numbers))
            continue
        array = numpy.asarray(next(rest))
        values.append(None if operand.optional and not array.size else array)
    results = item.on("cpu")(*call_arguments(kernel, values))
    return results if isinstance(results, tuple) else (results,)


def _eager(*arrays: Any, kernel: Kernel | Choice, scalars: tuple[Any, ...]) -> list[Any]:
    _fitting(arrays, kernel)
    return [jax.numpy.asarray(result) for result in _run(kernel, scalars, arrays)]


primitive.def_impl(_eager)


# -- tracing


def _abstract(*arrays: Any, kernel: Kernel | Choice, scalars: tuple[Any, ...]) -> list[Any]:
    del scalars
    fitting, shapes = _fitting(arrays, kernel)
    return [
        jax.core.ShapedArray(shape, item.dtype.to_numpy())
        for item, shape in zip(fitting.outputs, shapes, strict=True)
    ]


primitive.def_abstract_eval(_abstract)


def _fitting(arrays: Sequence[Any], item: Kernel | Choice) -> tuple[Kernel, list[tuple[Any, ...]]]:
    """The kernel that arrays fit, the first of a choice's, and the shapes of its results.

    Raises
    ------
    CallError
        They fit none.
    """
    reasons = []
    for kernel in kernels_of(item):
        try:
            return kernel, _shapes(arrays, kernel)
        except CallError as error:
            if isinstance(item, Kernel):
                raise
            reasons.append(error.found)
    raise CallError(
        f"No kernel of choice `{item.name}` takes these arrays.",
        expected="arrays that one of them takes",
        next_step="pass others, or add a kernel that takes these; of those there are:",
        log="\n".join(reasons),
    )


def _shapes(arrays: Sequence[Any], kernel: Kernel) -> list[tuple[Any, ...]]:
    """The results' shapes; refuses arrays that do not fit."""
    for item, array in zip(_buffers(kernel), arrays, strict=True):
        wanted = item.dtype.to_numpy()
        if array.dtype != wanted:
            raise CallError(
                f"Kernel `{kernel.name}`: operand `{item.name}` has dtype {array.dtype}.",
                expected=f"{wanted} ({item.dtype})",
                next_step=f'convert it: x.astype("{wanted}").',
            )
    shapes = {
        item.name: tuple(array.shape) for item, array in zip(_buffers(kernel), arrays, strict=True)
    }
    found = traced_shapes(kernel, shapes)
    return [found[item.name] for item in kernel.outputs]


def _lower(ctx: Any, *operands: Any, kernel: Kernel | Choice, scalars: tuple[Any, ...]) -> Any:
    """IR for the call: by name where the function is exported, else back into this process."""
    if ctx.module_context.lowering_parameters.for_export:
        fitting, _ = _fitting(ctx.avals_in, kernel)
        items = [item for item in fitting.arguments if isinstance(item, Scalar)]
        attributes = {
            item.name: _attribute(item, value) for item, value in zip(items, scalars, strict=True)
        }
        return jax.ffi.ffi_lowering(kernel.name)(ctx, *operands, **attributes)

    def run(*arrays: Any) -> tuple[Any, ...]:
        return _run(kernel, scalars, arrays)

    def called(*arrays: Any) -> Any:
        return jax.pure_callback(
            run, [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in ctx.avals_out], *arrays
        )

    return mlir.lower_fun(called, multiple_results=True)(ctx, *operands)


mlir.register_lowering(primitive, _lower)


def _attribute(scalar: Scalar, value: Any) -> Any:
    """A number as an attribute of the exported call, which says its type."""
    dtype = scalar.dtype.to_numpy()
    if scalar.dtype.name == "bool":
        return bool(value)
    if scalar.dtype.is_float:
        # IREE's host code has no floats of 16 bits: the f32 is rounded to them.
        return numpy.float64(value) if scalar.dtype.bits == 64 else numpy.float32(value)
    return dtype.type(value)


# -- transformations


def _batch(
    arrays: Sequence[Any],
    axes: Sequence[Any],
    *,
    kernel: Kernel | Choice,
    scalars: tuple[Any, ...],
) -> tuple[list[Any], list[int]]:
    """`jax.vmap`: one more leading dim."""
    size = next(
        array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None
    )
    fitting = _kernel_of_rows(arrays, axes, kernel)
    for item in fitting.outputs:
        if not item.batched:
            raise CallError(
                f"Kernel `{kernel.name}` is called under jax.vmap, and its result `{item.name}` "
                "has no leading dims.",
                expected="shapes that begin with `...`, such as [..., n]",
                next_step="declare them so, or call it once for each: jax.lax.map.",
            )
    batched = []
    for item, array, axis in zip(_buffers(fitting), arrays, axes, strict=True):
        if item.optional and not array.size:
            more = int(item.batched)
            batched.append(jax.numpy.zeros((0,) * (array.ndim + more), array.dtype))
        elif item.batched:
            batched.append(batching.bdim_at_front(array, axis, size))
        elif axis is None:
            batched.append(array)
        else:
            raise CallError(
                f"Kernel `{kernel.name}` is called under jax.vmap with another `{item.name}` for "
                "each, and that has no leading dims.",
                expected=f"one `{item.name}` for all: in_axes=None",
                next_step="call it once for each: jax.lax.map.",
            )
    results = primitive.bind(*batched, kernel=kernel, scalars=scalars)
    return results, [0] * len(results)


batching.primitive_batchers[primitive] = _batch


def _kernel_of_rows(arrays: Sequence[Any], axes: Sequence[Any], item: Kernel | Choice) -> Kernel:
    """The kernel that each call under `jax.vmap` takes by itself."""
    each = [
        array
        if axis is None
        else jax.ShapeDtypeStruct(array.shape[:axis] + array.shape[axis + 1 :], array.dtype)
        for array, axis in zip(arrays, axes, strict=True)
    ]
    return _fitting(each, item)[0]


def _no_derivative(*_: Any, kernel: Kernel | Choice, **_others: Any) -> Any:
    raise CallError(
        f"Kernel `{kernel.name}` has no derivative, which jax.grad asks for.",
        expected="a function that computes it",
        next_step="give one: cd.jax.call(kernel, backward=...), or put the call into a "
        "jax.custom_vjp.",
    )


ad.primitive_jvps[primitive] = _no_derivative
