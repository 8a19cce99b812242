"""Kernels that differ in compile-time arguments: one declaration, and a kernel for each value."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, launch
from custom_dispatch.kernel.names import as_integer, check_name, is_list, shown
from custom_dispatch.kernel.operand import Operand
from custom_dispatch.kernel.structure import check_structure

Value = bool | int | float | str
"""What a compile-time argument may be."""
_WORDS = re.compile(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*")
# In names, which are identifiers: what `repr` of a number has besides digits and "e".
_IN_NAMES = str.maketrans({"-": "m", "+": "p", ".": "d"})
_MOST_VALUES = 2**31


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


@dataclass(frozen=True, init=False, eq=False)
class Family:
    """Kernels that are compiled for their arguments' values: template arguments, macros, blocks.

    A call, eager or in a model, passes the values beside the kernel's operands, by name or behind
    them; each combination that is called becomes a kernel of its own, built for it. A model that
    is compiled holds those that it calls.

    Parameters
    ----------
    name
        The name a model calls it by. Its kernels are named after it and their values:
        `scale__width_4__mode_fast`.
    declare
        A function of the values that returns the kernel for them, `cd.Kernel(...)`. It is called
        for the defaults or first values at once, and for others when they are first asked for.
        Where it has a default for a parameter, calls may leave that out.
    **values
        All values of each of its parameters, as a list, or as a `range` of integers: bools, ints,
        floats, or texts of letters, digits and single underscores. Nothing else reaches `declare`.

    Raises
    ------
    DeclarationError
        The values are none, or are not for the function's parameters; or the kernel for the first
        ones is not right.
    """

    name: str
    declare: Callable[..., Kernel]
    statics: tuple[Static, ...]
    """Its compile-time arguments, in the order of the function's parameters."""
    example: Kernel
    """The kernel for the defaults or first values: all have its operands' names and roles."""

    def __init__(self, name: str, declare: Callable[..., Kernel], /, **values: Any) -> None:
        check_name(name, "family")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "declare", declare)
        object.__setattr__(self, "statics", _statics(name, declare, values))
        object.__setattr__(self, "_lock", threading.RLock())
        object.__setattr__(self, "_kernels", {})
        first = {
            item.name: item.values[0] if item.default is None else item.default
            for item in self.statics
        }
        object.__setattr__(self, "example", self._made(first))
        taken = {item.name for item in self.example.arguments}
        taken |= {item.name for item in (*self.example.operands, *self.example.outputs)}
        for item in self.statics:
            if item.name in taken:
                raise DeclarationError(
                    f"Family `{name}`: its kernels have an operand `{item.name}`, too.",
                    expected="a name for each of what a call passes",
                    next_step="rename the function's parameter, or the operand.",
                )

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """What a call passes besides the values, as the example declares it."""
        return self.example.inputs

    @property
    def count(self) -> int:
        """How many kernels it has."""
        return math.prod(len(item.values) for item in self.statics)

    def every(self) -> list[Kernel]:
        """The kernels for all combinations of values."""
        names = [item.name for item in self.statics]
        combinations = itertools.product(*(item.values for item in self.statics))
        return [self._made(dict(zip(names, values, strict=True))) for values in combinations]

    def kernel(self, **values: Value | None) -> Kernel:
        """The kernel for some values: the same object for the same ones.

        Raises
        ------
        CallError
            A value is missing, is none of those that it may be, or is for nothing.
        DeclarationError
            The kernel for them is not right.
        """
        return self._made(self.values(**values))

    def values(self, **values: Value | None) -> dict[str, Value]:
        """All values, checked, with defaults.

        Raises
        ------
        CallError
            One is missing, is none of those that it may be, or is for nothing.
        """
        names = [item.name for item in self.statics]
        for name in values:
            if name not in names:
                raise CallError(
                    f"Family `{self.name}` has no compile-time argument `{name}`.",
                    expected=", ".join(names),
                    next_step="correct the name.",
                )
        found = {}
        for item in self.statics:
            if item.name not in values and item.default is None:
                raise CallError(
                    f"Family `{self.name}` has no value for `{item.name}`.",
                    expected=item.listed(),
                    next_step=f"pass {item.name}=....",
                )
            try:
                found[item.name] = item.read(values.get(item.name))
            except CallError as error:
                raise CallError(
                    f"Family `{self.name}`: {_lower(error.found)}",
                    expected=error.expected,
                    next_step=error.next_step,
                ) from None
        return found

    def split(
        self, arguments: Sequence[Any], keywords: Mapping[str, Any]
    ) -> tuple[dict[str, Value], tuple[Any, ...], dict[str, Any]]:
        """The values that a call gives, and what is left for the kernel.

        Values are passed by name, or in order behind all operands.

        Raises
        ------
        CallError
            As `kernel`; or a value is given twice.
        """
        count = len(self.inputs)
        named = dict(keywords)
        values = {item.name: named.pop(item.name) for item in self.statics if item.name in named}
        behind = arguments[count:]
        if len(behind) > len(self.statics):
            names = [*(item.name for item in self.inputs), *(item.name for item in self.statics)]
            raise CallError(
                f"Family `{self.name}` is called with {len(arguments)} arguments.",
                expected=f"{len(names)}: {self.name}({', '.join(names)})",
                next_step="pass only what the kernel reads or updates, and the values.",
            )
        for item, value in zip(self.statics, behind, strict=False):
            if item.name in values:
                raise CallError(
                    f"Family `{self.name}` is given `{item.name}` twice.",
                    expected="one value",
                    next_step="pass it once, by position or by keyword.",
                )
            values[item.name] = value
        return self.values(**values), tuple(arguments[:count]), named

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel for the values that are passed, on the best device there is.

        Raises
        ------
        CallError
            The arguments do not fit its declaration, or the values are none.
        """
        return launch(BoundKernel(self, "auto"), arguments, keywords)

    def on(self, device: str = "auto", *, store: bool = True) -> BoundKernel:
        """The same family, to be called on a device: as of a kernel."""
        return BoundKernel(self, device, store)

    def __repr__(self) -> str:
        values = ", ".join(f"{item.name}: {item.kind}" for item in self.statics)
        return f"Family({self.name}: {values})"

    def _made(self, values: Mapping[str, Value]) -> Kernel:
        kernels: dict[tuple[Value, ...], Kernel] = self.__dict__["_kernels"]
        key = tuple(values.values())
        with self.__dict__["_lock"]:
            if key not in kernels:
                kernels[key] = self._declared(values)
            return kernels[key]

    def _declared(self, values: Mapping[str, Value]) -> Kernel:
        said = ", ".join(f"{name}={value!r}" for name, value in values.items())
        try:
            kernel = self.declare(**values)
        except CustomDispatchError as error:
            raise type(error)(
                f"Family `{self.name}`, {said}: {_lower(error.found)}",
                expected=error.expected,
                next_step=error.next_step,
                log=error.log,
            ) from error
        if not isinstance(kernel, Kernel):
            raise DeclarationError(
                f"Family `{self.name}`: its function returns {shown(kernel)} for {said}.",
                expected="a cd.Kernel",
                next_step="return cd.Kernel(...).",
            )
        parts = [f"{item.name}_{item.spelled(values[item.name])}" for item in self.statics]
        made = kernel.with_launch(name="__".join([self.name, *parts]))
        if "example" in self.__dict__:
            check_structure(f"Family `{self.name}`", [self.example, made])
        return made


def no_values(family: Family) -> DeclarationError:
    """What is said where a kernel is needed and a family is given."""
    values = ", ".join(f"{item.name}=..." for item in family.statics)
    return DeclarationError(
        f"`{family.name}` is a family of kernels, and nothing says for which values.",
        expected="a cd.Kernel or a cd.Choice",
        next_step=f"pass its kernels: family.kernel({values}).",
    )


_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}


def _statics(family: str, declare: Any, values: Mapping[str, Any]) -> tuple[Static, ...]:
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
    if not held or len(held) > _MOST_VALUES:
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
    for value in held if isinstance(held, tuple) else ():
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
    return number if number is not None else getattr(value, "item", lambda: value)()


def _as_f32(value: Value) -> Value:
    """The f32 that a float rounds to; itself where that would be infinite."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
