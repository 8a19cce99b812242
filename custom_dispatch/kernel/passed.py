"""What a call passes to a kernel: each input once, and a struct's numbers one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from custom_dispatch.errors import CallError, sentence
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Struct


def match_arguments(
    kernel: Kernel | Choice, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> list[Any]:
    """The value of each of `Kernel.inputs`; None for one that is absent.

    Raises
    ------
    CallError
        There are too many or too few arguments, or a keyword is unknown.
    """
    names = [operand.name for operand in kernel.inputs]
    signature = f"{kernel.name}({', '.join(names)})"
    if len(arguments) > len(names):
        raise CallError(
            f"Kernel `{kernel.name}` is called with {len(arguments)} arguments.",
            expected=f"{len(names)}: {signature}",
            next_step="results are returned: pass only what the kernel reads or updates.",
        )
    values = dict(zip(names, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names:
            raise CallError(
                f"Kernel `{kernel.name}` has no input `{name}`.",
                expected=signature,
                next_step="correct the keyword.",
            )
        if name in values:
            raise CallError(
                f"Kernel `{kernel.name}` is given `{name}` twice.",
                expected=signature,
                next_step="pass it once, by position or by keyword.",
            )
        values[name] = value
    for operand in kernel.inputs:
        if isinstance(operand, Buffer) and operand.optional:
            values.setdefault(operand.name, None)
    missing = [name for name in names if name not in values]
    if missing:
        raise CallError(
            f"Kernel `{kernel.name}` is called without `{'`, `'.join(missing)}`.",
            expected=signature,
            next_step="pass every input.",
        )
    return [values[name] for name in names]


def struct_numbers(struct: Struct, value: Any, what: str) -> list[Any]:
    """The numbers of a struct one by one, as given, from a mapping with a value for each field.

    Parameters
    ----------
    what
        What it is passed for, for errors.

    Raises
    ------
    CallError
        It is no mapping, or a field is missing, unknown or of another number of elements.
    """
    wanted = ", ".join(field.name for field in struct.fields)
    if not isinstance(value, Mapping):
        raise CallError(
            f"{sentence(what)} is {shown(value)}.",
            expected=f"a mapping with the fields {wanted}",
            next_step=f"pass a dict: {struct.name}={{...}}.",
        )
    names = [field.name for field in struct.fields]
    for name in [*(key for key in value if key not in names), *names]:
        if name not in names or name not in value:
            raise CallError(
                f"{sentence(what)} is given "
                + (f"without `{name}`." if name in names else f"a field {shown(name)}."),
                expected=f"the fields {wanted}",
                next_step="pass each of them, and no other.",
            )
    numbers: list[Any] = []
    for field in struct.fields:
        given = value[field.name]
        if field.count is None:
            numbers.append(given)
            continue
        try:
            elements = list(given)
        except TypeError:
            elements = []
        if isinstance(given, str | bytes) or len(elements) != field.count:
            raise CallError(
                f"{sentence(what)}: field `{field.name}` is {shown(given)}.",
                expected=f"{field.count} numbers for {field.dtype}[{field.count}]",
                next_step="pass a list of them.",
            )
        numbers += elements
    return numbers
