"""The kernel of a choice that a call's arguments fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from custom_dispatch.eager.placing import kind_of_device, target_for_gpu
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.device_name import CHECKED, gpu_index
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.fitting import first_fitting
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import folded
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.kernel.passed import match_arguments
from custom_dispatch.kernel.target import Target
from custom_dispatch.runtime.incoming import Array, check_dtype, read_array, shape_of
from custom_dispatch.runtime.numbers import number_for
from custom_dispatch.toolchain.tuned import tuned

_by_table: dict[tuple[Choice, str], tuple[Choice, Target]] = {}
"""Choices by their tables, which are read once a process, for each kind of device; and the target
whose table counts there."""
_MOST_TABLES = 256


def choose(
    choice: Choice, arguments: tuple[Any, ...], keywords: Mapping[str, Any], device: str = "cpu"
) -> Kernel:
    """The first kernel that the arguments fit, or of those the one that was measured to be best.

    Parameters
    ----------
    device
        The device of the call, for what was measured on such devices.

    Raises
    ------
    CallError
        No kernel takes the arguments, or they are not arguments of the choice.
    """
    first = choice.kernels[0]
    named = dict(keywords)
    if not any(operand.name == "out" for operand in first.inputs):
        named.pop("out", None)
    values = match_arguments(first, arguments, named)
    arrays: dict[str, Array] = {}
    for operand, value in zip(first.inputs, values, strict=True):
        if isinstance(operand, Buffer) and not (value is None and operand.optional):
            arrays[operand.name] = read_array(value, f"operand `{operand.name}` of `{choice.name}`")

    def own(kernel: Kernel) -> Kernel:
        _check(kernel, values, arrays)
        return choice.own(kernel)

    found = f"No kernel of choice `{choice.name}` takes these arguments."
    return first_fitting(choice, own, found, _preferred(choice, arrays, device))


def _preferred(choice: Choice, arrays: Mapping[str, Array], device: str) -> Sequence[Kernel]:
    """The kernels in the order that the table of the choice has for such a call."""
    if (choice.like or choice).tuning is None or device == CHECKED:
        return choice.ordered({})
    key = choice, kind_of_device(choice.kernels[0], device)
    if key not in _by_table:
        if len(_by_table) == _MOST_TABLES:
            del _by_table[next(iter(_by_table))]
        _by_table[key] = by_table(choice, targets_here(choice, key[1]))
    ordered, target = _by_table[key]
    shapes = {name: shape_of(array) for name, array in arrays.items()}
    return ordered.ordered(known_dims(choice, shapes), target)


def targets_here(choice: Choice, kind: str) -> list[Target]:
    """Where calls on a kind of device run, the preferred one first."""
    if gpu_index(kind) is None:
        return [Target("cpu", cpu="host", checked=kind == CHECKED)]
    of_kernels = {target_for_gpu(kernel, kind) for kernel in choice.kernels}
    return sorted(of_kernels, key=lambda target: target.cuda_arch, reverse=True)


def by_table(choice: Choice, targets: Sequence[Target]) -> tuple[Choice, Target]:
    """The choice by its table, and the first of some targets for which something was measured."""
    found = tuned(choice, targets)
    return found, next(filter(found.measured_for, targets), targets[0])


def known_dims(choice: Choice, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The sizes that decide the order of the kernels, from the shapes of a call's inputs."""
    dims: dict[str, int] = {}
    for operand in choice.kernels[0].inputs:
        if isinstance(operand, Buffer) and operand.name in shapes:
            shape = shapes[operand.name]
            if operand.has_rank(len(shape)):
                sizes = zip(operand.shape, folded(operand, shape), strict=True)
                dims |= {size.name: actual for size, actual in sizes if isinstance(size, Dim)}
    return dims


def _check(kernel: Kernel, values: list[Any], arrays: Mapping[str, Array]) -> None:
    for operand, value in zip(kernel.inputs, values, strict=True):
        what = f"operand `{operand.name}` of kernel `{kernel.name}`"
        if isinstance(operand, Buffer) and operand.name in arrays:
            check_dtype(arrays[operand.name], operand.dtype, what)
        elif isinstance(operand, Scalar):
            number_for(value, operand, what)
    shapes = {
        operand.name: shape_of(arrays[operand.name])
        if operand.name in arrays
        else (0,) * operand.rank
        for operand in kernel.inputs
        if isinstance(operand, Buffer)
    }
    bind_dims(kernel, shapes)
