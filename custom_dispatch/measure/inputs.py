"""What measured functions are called with: random values, or what the user gives."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Any

import numpy

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.binding import bind_dims, grids_for, output_shapes, struct_numbers
from custom_dispatch.kernel.dtypes import ElementType, of_numpy
from custom_dispatch.kernel.evaluation import evaluate, for_values, holds
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Operand, Out, Scalar, Struct
from custom_dispatch.kernel.time_model import bytes_of
from custom_dispatch.runtime.module_file import FunctionType

_DRAWN = 1_048_573
"""A prime, so that rows and columns of matrices are not the same again."""
NO_SCALARS: Mapping[str, float | int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BenchInputs:
    """The values of one call."""

    values: tuple[Any, ...] = field(repr=False)
    """What the function is called with: arrays and numbers."""
    dims: Mapping[str, int]
    """The value of every dim that has one."""
    of_kernel: bool = False
    """Whether the function is a kernel, whose operands they are."""
    named: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Then what it is called with, by operand name: a struct is a mapping here."""

    @property
    def shapes(self) -> tuple[str, ...]:
        """What each argument is: "1024xf32", or a number."""
        return tuple(
            "x".join([*map(str, value.shape), str(of_numpy(value.dtype) or value.dtype)])
            if isinstance(value, numpy.ndarray)
            else str(value)
            for value in self.values
        )


def check_dims(kernel: Kernel, dims: Mapping[str, int], option: str, apart: str) -> None:
    """Require a value for every dim of a kernel, as an option gives them; and no other values."""
    names = [dim.name for dim in kernel.dims]
    missing = [name for name in names if name not in dims]
    unknown = [name for name in dims if name not in names]
    if missing or unknown:
        raise CallError(
            f"Kernel `{kernel.name}` "
            + (f"needs a value for `{missing[0]}`." if missing else f"has no dim `{unknown[0]}`."),
            expected=f"values for {', '.join(names)}" if names else "no dims: it has none",
            next_step=f"give {option} {apart.join(f'{name}=1024' for name in names)}."
            if names
            else f"leave {option} out.",
        )


def why_not_taken(kernel: Kernel, dims: Mapping[str, int]) -> str:
    """Why a kernel does not take a call of some sizes; empty if it does."""
    try:
        for condition in kernel.requires:
            if not holds(condition, dims):
                return f"requires {condition}, which does not hold{for_values(condition, dims)}"
        grids_for(kernel, dims)
    except (CallError, DeclarationError) as error:
        return error.found
    return ""


def inputs_for_kernel(
    kernel: Kernel,
    dims: Mapping[str, int],
    generator: numpy.random.Generator,
    *,
    with_optional: bool = True,
    scalars: Mapping[str, float | int] = NO_SCALARS,
) -> BenchInputs:
    """Random inputs of a kernel, for the sizes that the dims give.

    - `with_optional`: whether optional operands are there, too.
    - `scalars`: the values of scalars that are given, by name; others are `some_number`.
    """
    check_dims(kernel, dims, "--dims", " ")
    grids_for(kernel, dims)
    _check_memory(kernel, dims)
    named = {
        operand.name: scalars[operand.name]
        if operand.name in scalars
        else random_value(operand, dims, generator)
        if with_optional or not (isinstance(operand, Buffer) and operand.optional)
        else numpy.empty((0,) * operand.rank, operand.dtype.to_numpy())
        for operand in kernel.inputs
    }
    return BenchInputs(_flat(kernel, named), dict(dims), True, named)


def given_inputs(kernel: Kernel | None, kind: FunctionType, values: Sequence[Any]) -> BenchInputs:
    """Inputs that the user gave."""
    if len(values) != len(kind.inputs):
        raise CallError(
            f"{len(values)} inputs are given.",
            expected=f"{len(kind.inputs)}: {kind}",
            next_step="give --input once for each argument.",
        )
    plain = tuple(values)
    if kernel is None or any(isinstance(item, Struct) for item in kernel.inputs):
        return BenchInputs(plain, {})
    shapes = {
        operand.name: numpy.shape(value)
        for operand, value in zip(kernel.inputs, plain, strict=True)
        if isinstance(operand, Buffer)
    }
    named = {operand.name: value for operand, value in zip(kernel.inputs, plain, strict=True)}
    return BenchInputs(plain, bind_dims(kernel, shapes), True, named)


def inputs_for_type(
    label: str, kind: FunctionType, generator: numpy.random.Generator
) -> BenchInputs:
    """Random inputs of a function whose type says all sizes."""
    values: list[Any] = []
    for index, item in enumerate(kind.inputs):
        if item.sizes is None:
            values.append(some_number(item.dtype))
            continue
        sizes = tuple(size for size in item.sizes if size is not None)
        if len(sizes) != len(item.sizes):
            example = f"{'1024x' * len(item.sizes)}{item.dtype}"
            raise CallError(
                f"Argument {index} of `{label}` is {item}: its type does not say its sizes.",
                expected=f"--input for each argument of {kind}",
                next_step=f"give --input {example} (random values), or with values: {example}=1.",
            )
        values.append(random_array(item.dtype, sizes, generator))
    return BenchInputs(tuple(values), {})


def bytes_moved(kernel: Kernel, dims: Mapping[str, int], absent: Collection[str] = ()) -> int:
    """What a kernel must move at least, as `bytes_of` has it."""
    return evaluate(bytes_of(kernel, absent), dims)


def output_arrays(kernel: Kernel, inputs: BenchInputs) -> dict[str, numpy.ndarray[Any, Any]]:
    """An array for each result, by operand name: uninitialised, or for an `InOut` what it was."""
    shapes = output_shapes(kernel, inputs.dims)
    return {
        item.name: numpy.empty(shapes[item.name], item.dtype.to_numpy())
        if isinstance(item, Out)
        else numpy.array(inputs.named[item.name])
        for item in kernel.outputs
    }


def size_bytes(operand: Buffer, dims: Mapping[str, int]) -> int:
    """The bytes of an operand that is there."""
    return prod(evaluate(size, dims) for size in operand.shape) * operand.dtype.bytes


def elements(kernel: Kernel, dims: Mapping[str, int]) -> int:
    """How many elements all operands of a kernel have together."""
    buffers = (item for item in kernel.operands if isinstance(item, Buffer))
    return sum(prod(evaluate(size, dims) for size in item.shape) for item in buffers)


def _check_memory(kernel: Kernel, dims: Mapping[str, int]) -> None:
    buffers = [item for item in kernel.operands if isinstance(item, Buffer)]
    needed = 2 * sum(size_bytes(operand, dims) for operand in buffers)  # on the host, and copied
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        sizes = ", ".join(f"{name} = {value}" for name, value in dims.items())
        raise CallError(
            f"Kernel `{kernel.name}` needs {needed} bytes of memory for {sizes}, copies included.",
            expected=f"at most the {memory} bytes of this machine",
            next_step="give smaller --dims.",
        )


def _flat(kernel: Kernel, named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of the module's function: a struct's numbers one by one."""
    values: list[Any] = []
    for operand in kernel.inputs:
        value = named[operand.name]
        if isinstance(operand, Struct):
            values += struct_numbers(operand, value, operand.name)
        else:
            values.append(value)
    return tuple(values)


def launch_numbers(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
    """What `abi.constants_of` makes the 32-bit words of a launch from, by operand name.

    `given`: the arguments of the call by operand name.
    """
    numbers: dict[str, Any] = {}
    for operand in kernel.operands:
        if isinstance(operand, Struct):
            numbers[operand.name] = tuple(
                struct_numbers(operand, given[operand.name], operand.name)
            )
        elif isinstance(operand, Buffer):
            numbers[operand.name] = int(numpy.size(given.get(operand.name, ())) > 0)
        elif operand.is_argument:
            numbers[operand.name] = given[operand.name]
    return numbers


def random_value(
    operand: Operand, dims: Mapping[str, int], generator: numpy.random.Generator
) -> Any:
    """A value for an input: an array, a number, or a mapping for a struct."""
    if isinstance(operand, Scalar):
        return some_number(operand.dtype)
    if isinstance(operand, Struct):
        return {
            field.name: some_number(field.dtype)
            if field.count is None
            else [some_number(field.dtype)] * field.count
            for field in operand.fields
        }
    shape = tuple(evaluate(size, dims) for size in operand.shape)
    return random_array(operand.dtype, shape, generator)


def random_array(
    kind: ElementType, shape: tuple[int, ...], generator: numpy.random.Generator
) -> numpy.ndarray[Any, Any]:
    """Normally distributed floats, integers from 0 to 99, or truth values.

    After `_DRAWN` elements they come again in the same order.
    """
    size = prod(shape)
    if size > _DRAWN:
        return numpy.resize(random_array(kind, (_DRAWN,), generator), shape)
    dtype = kind.to_numpy()
    if kind.is_float:
        if kind.name == "f32":
            return generator.standard_normal(shape, numpy.float32)
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2 if kind.name == "bool" else 100, shape).astype(dtype)


def some_number(kind: ElementType) -> float | int:
    """A number that every type of its kind holds."""
    if kind.is_float:
        return 1.5
    return 1 if kind.name == "bool" else 3
