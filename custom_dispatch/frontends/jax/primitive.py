"""A kernel as a primitive of JAX.

JAX meets it in four ways: with arrays, which runs the kernel; in a function that is compiled by
`jax.jit`, which calls back into this package to run it; while it traces, which gives the results'
shapes; and in a function that is exported, where it becomes a call by the kernel's name.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy
from jax.extend.core import InconclusiveDimensionOperation, Primitive
from jax.interpreters import ad, batching, mlir

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting, kernels_of
from custom_dispatch.kernel.expr import Binary, Expr, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.kernel.shapes import Shapes
from custom_dispatch.kernel.size_arithmetic import OPERATORS
from custom_dispatch.link.arguments import call_arguments

primitive = Primitive("custom_dispatch")
primitive.multiple_results = True


def bound_primitive(
    kernel: Kernel | Choice, scalars: tuple[Any, ...]
) -> Callable[..., Sequence[Any]]:
    """A function of arrays that calls the kernel with some numbers."""

    def run(*arrays: Any) -> Sequence[Any]:
        found: Sequence[Any] = primitive.bind(*arrays, kernel=kernel, scalars=scalars)
        return found

    return run


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
    """The kernel that arrays fit, the first of a choice's, and the shapes of its results."""
    return first_fitting(
        item,
        lambda kernel: (kernel, _shapes(arrays, kernel)),
        f"No kernel of choice `{item.name}` takes these arrays.",
    )


def _shapes(arrays: Sequence[Any], kernel: Kernel) -> list[tuple[Any, ...]]:
    """The results' shapes; refuses arrays that do not fit."""
    for item, array in zip(kernel.buffers, arrays, strict=True):
        wanted = item.dtype.to_numpy()
        if array.dtype != wanted:
            raise CallError(
                f"Kernel `{kernel.name}`: operand `{item.name}` has dtype {array.dtype}.",
                expected=f"{wanted} ({item.dtype})",
                next_step=f'convert it: x.astype("{wanted}").',
            )
    shapes = {
        item.name: tuple(array.shape)
        for item, array in zip(kernel.buffers, arrays, strict=True)
        if not item.optional or 0 not in array.shape  # else it is absent
    }
    try:
        found = _TracedShapes(kernel).of(shapes)
    except InconclusiveDimensionOperation as error:
        raise CallError(
            f"Kernel `{kernel.name}`: JAX cannot tell something of its symbolic sizes.",
            expected="sizes whose relations follow from their names",
            next_step="use one name for what is the same size:",
            log=str(error),
        ) from None
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
    arrays: Sequence[Any], axes: Sequence[Any], *, kernel: Kernel | Choice, scalars: tuple[Any, ...]
) -> tuple[list[Any], list[int]]:
    """`jax.vmap`: one more leading dim where all that is mapped has some, else a call for each."""
    size = next(
        array.shape[axis] for array, axis in zip(arrays, axes, strict=True) if axis is not None
    )
    fitting = _kernel_of_rows(arrays, axes, kernel)
    operands = fitting.buffers
    folded = all(item.batched for item in fitting.outputs) and all(
        axis is None or item.batched for item, axis in zip(operands, axes, strict=True)
    )
    if not folded:
        return _one_by_one(bound_primitive(kernel, scalars), arrays, axes)
    batched = []
    for item, array, axis in zip(operands, arrays, axes, strict=True):
        if item.optional and not array.size:
            more = int(item.batched)
            batched.append(jax.numpy.zeros((0,) * (array.ndim + more), array.dtype))
        else:
            batched.append(batching.bdim_at_front(array, axis, size) if item.batched else array)
    results = primitive.bind(*batched, kernel=kernel, scalars=scalars)
    return results, [0] * len(results)


def _one_by_one(
    call: Callable[..., Sequence[Any]], arrays: Sequence[Any], axes: Sequence[Any]
) -> tuple[list[Any], list[int]]:
    mapped = [
        jax.numpy.moveaxis(array, axis, 0)
        for array, axis in zip(arrays, axes, strict=True)
        if axis is not None
    ]

    def one(each: Sequence[Any]) -> Sequence[Any]:
        rest = iter(each)
        return call(
            *(
                array if axis is None else next(rest)
                for array, axis in zip(arrays, axes, strict=True)
            )
        )

    results: list[Any] = list(jax.lax.map(one, mapped))
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


def no_derivative(name: str) -> CallError:
    """The error for what asks for a derivative that was not given."""
    return CallError(
        f"Kernel `{name}` has no derivative of the kind that JAX asks for.",
        expected="a function that computes it: backward= is for jax.grad, and not for a derivative "
        "of that, nor for jax.jvp, jax.jacfwd and jax.hessian",
        next_step="give one: cd.jax.call(kernel, backward=...), or put the call into a "
        "jax.custom_vjp; for the others into a jax.custom_jvp.",
    )


def _differentiate(*_: Any, kernel: Kernel | Choice, **_others: Any) -> Any:
    raise no_derivative(kernel.name)


ad.primitive_jvps[primitive] = _differentiate


Size = Any
"""An int, or a symbolic dimension of JAX: what cannot be told of those is refused, since nobody
would check it later than the compiled module."""


class _TracedShapes(Shapes[Size]):
    def same(self, known: Size, found: Size, problem: str) -> Size:
        if known is found or known == found:
            return known
        raise CallError(
            f"Kernel `{self.kernel.name}`: {problem}: {known} and {found}.",
            expected="the same size, or one that JAX knows to be the same",
            next_step="use one name for what is the same size.",
        )

    def computed(self, expr: Binary, left: Size, right: Size, *, checked: bool) -> Size:
        del checked  # the compiled module checks it
        if expr.operator in ("minimum", "maximum"):
            raise _no_value(expr)
        return OPERATORS[expr.operator](left, right)

    def chosen(self, expr: Where) -> Size:
        raise _no_value(expr)


def _no_value(expr: Expr) -> CallError:
    return CallError(
        f"{expr} has no value while sizes are symbols of JAX.",
        expected="sizes that are sums, products and quotients of dims",
        next_step="export the function for known sizes.",
    )
