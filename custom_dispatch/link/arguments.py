"""A kernel's arguments as frameworks pass them: a struct's numbers one by one, each with a name."""

from collections.abc import Sequence
from typing import Any

from custom_dispatch.errors import ModelError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scalar, Struct


def check_arguments(arguments: object) -> None:
    """Require the arguments that a model is exported with."""
    if not isinstance(arguments, tuple | list):
        raise ModelError(
            f"The model's arguments are given as {shown(arguments)}.",
            expected="a tuple of them, one for each of a call",
            next_step="write (x,) for one.",
        )


def argument_names(kernel: Kernel) -> list[str]:
    """The arguments' names: a struct's field `params.alpha` is `params_alpha`."""
    taken = {item.name for item in kernel.arguments}
    names = []
    for item in kernel.arguments:
        name = item.name.replace(".", "_")
        while name != item.name and name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def arguments_by_name(kernel: Kernel) -> dict[str, Buffer | Scalar]:
    """What a call of the kernel takes, in order, by those names."""
    return dict(zip(argument_names(kernel), kernel.arguments, strict=True))


def call_arguments(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    """Arguments one by one as a call of the kernel takes them: a struct's numbers together."""
    rest = iter(values)
    found: list[Any] = []
    for operand in kernel.inputs:
        if not isinstance(operand, Struct):
            found.append(next(rest))
            continue
        found.append(
            {
                field.name: next(rest)
                if field.count is None
                else [next(rest) for _ in range(field.count)]
                for field in operand.fields
            }
        )
    return found
