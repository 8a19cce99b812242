"""Compile-time arguments: the values that one may have, and how names say them."""

from __future__ import annotations

import inspect
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.names import as_integer, check_name, is_list, shown

Value = bool | int | float | str
"""What a compile-time argument may be."""
_WORDS = re.compile(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*")
# In names, which are identifiers: what `repr` of a number has besides digits and "e".
_IN_NAMES = str.maketrans({"-": "m", "+": "p", ".": "d"})
_LARGEST_INT = 2**63 - 1
"""Models have integers of 64 bits."""
_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True, slots=True)
class Static:
    """A compile-time argument of a family: its values."""

    name: str
    kind: str
    """bool, int, float or str."""
    values: Sequence[Value]
    """All that it may have: a tuple, or a range of integers."""
    default: Value | None
    """What it is where a call does not give it, or gives None; None where a call has to."""

    @property
    def count(self) -> int:
        """How many values it may have."""
        if isinstance(self.values, range):  # Python's `len` stops at 2**63 - 1
            return (self.values[-1] - self.values[0]) // self.values.step + 1
        return len(self.values)

    def read(self, value: object) -> Value:
        """The value that a call gives.

        A float may be given as the f32 that it rounds to: ONNX and others pass no more.

        Raises
        ------
        CallError
            It is none of the values.
        """
        if value is None and self.default is not None:
            return self.default
        found: Any = _plain(value)
        if self.kind == "float" and isinstance(found, float | int) and type(found) is not bool:
            for known in self.values:
                if found in (known, _as_f32(known)):
                    return known
        elif self.kind == "bool" and type(found) is int and found in (0, 1):
            found = bool(found)
        kind: Any = type(found)
        if kind is _KINDS[self.kind] and found in self.values:
            given: Value = found
            return given
        raise CallError(
            f"The compile-time argument `{self.name}` is {shown(value)}.",
            expected=self.listed(),
            next_step="pass one of these, or add the value to the family.",
        )

    def listed(self) -> str:
        """The values as an error or a page shows them."""
        if isinstance(self.values, range):
            step = f", in steps of {self.values.step}" if self.values.step != 1 else ""
            return f"an int from {self.values[0]} to {self.values[-1]}{step}"
        return f"one of {', '.join(map(repr, self.values))}"

    def spelled(self, value: Value) -> str:
        """A value as a part of a kernel's name."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text if isinstance(value, str) else text.translate(_IN_NAMES)


def read_statics(family: str, declare: Any, values: Mapping[str, Any]) -> tuple[Static, ...]:
    """The compile-time arguments of a family's function, with all their values.

    Raises
    ------
    DeclarationError
        The values are none, or are not for the function's parameters.
    """
    try:
        parameters = inspect.signature(declare).parameters
    except (TypeError, ValueError):
        raise DeclarationError(
            f"Family `{family}`: {shown(declare)} declares no kernel.",
            expected="a function of the compile-time arguments that returns a cd.Kernel",
            next_step=f'write cd.Family("{family}", lambda width: cd.Kernel(...), width=[4, 8]).',
        ) from None
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if (
        not parameters
        or set(parameters) != set(values)
        or any(item.kind not in plain for item in parameters.values())
    ):
        raise DeclarationError(
            f"Family `{family}`: values are given for {', '.join(values) or 'nothing'}, and its "
            f"function takes {', '.join(map(str, parameters.values())) or 'nothing'}.",
            expected="all values of each parameter of the function, as width=[4, 8]",
            next_step="name them alike.",
        )
    return tuple(
        _static(family, name, values[name], parameter.default)
        for name, parameter in parameters.items()
    )


def _static(family: str, name: str, values: Any, default: Any) -> Static:
    where = f"Family `{family}`: `{name}`"
    check_name(name, "compile-time argument")
    held: Sequence[Value]
    if isinstance(values, range):
        held = values if values.step > 0 else values[::-1]
    else:
        held = tuple(map(_plain, values)) if is_list(values) else ()
    if not held:
        raise DeclarationError(
            f"{where} has the values {shown(values)}.",
            expected="a list of bools, ints, floats or texts, or a range",
            next_step=f"list all values that it may have: {name}=[4, 8].",
        )
    kinds = {type(value) for value in held[: None if isinstance(held, tuple) else 1]}
    if kinds == {int, float}:
        held, kinds = tuple(float(value) for value in held), {float}
    kind = next((text for text, one in _KINDS.items() if kinds == {one}), None)
    if kind is None or (isinstance(held, tuple) and len(set(held)) < len(held)):
        raise DeclarationError(
            f"{where} has the values {shown(values)}.",
            expected="values of one kind, each once: bools, ints, floats or texts",
            next_step="correct the list.",
        )
    for value in held if isinstance(held, tuple) else (held[0], held[-1]):
        if isinstance(value, int) and not -_LARGEST_INT <= value <= _LARGEST_INT:
            raise DeclarationError(
                f"{where} has the value {shown(value)}.",
                expected="integers of 64 bits, which models have",
                next_step="correct the number.",
            )
        if (isinstance(value, str) and not _WORDS.fullmatch(value)) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise DeclarationError(
                f"{where} has the value {shown(value)}.",
                expected="a finite number, or ASCII letters and digits with single underscores "
                "between them: it becomes a part of the kernel's name",
                next_step="name the value, and choose by the name in the function.",
            )
    static = Static(name, kind, held, None)
    if default is inspect.Parameter.empty or default is None:
        return static
    try:
        return Static(name, kind, held, static.read(default))
    except CallError:
        raise DeclarationError(
            f"{where} has the default {shown(default)}.",
            expected=static.listed(),
            next_step="correct the function's default, or add the value.",
        ) from None


def _plain(value: object) -> Any:
    """A number of numpy or of Python as Python's own."""
    for kind in (bool, float, str):
        if isinstance(value, kind):
            return kind(value)
    number = as_integer(value)
    if number is not None:
        return number
    item = getattr(value, "item", None)
    try:
        return value if item is None else item()
    except (TypeError, ValueError, RuntimeError):  # an array or tensor of several, or a type
        return value


def _as_f32(value: Value) -> Value:
    """The f32 that a float rounds to; itself where that would be infinite."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value
