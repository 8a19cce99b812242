"""Kernels that differ in compile-time arguments: one declaration, and a kernel for each value."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, launch
from custom_dispatch.kernel.names import check_name, shown
from custom_dispatch.kernel.operand import Operand
from custom_dispatch.kernel.static import Static, Value, read_statics
from custom_dispatch.kernel.structure import check_structure


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
        object.__setattr__(self, "statics", read_statics(name, declare, values))
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
        return math.prod(item.count for item in self.statics)

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

    def on(
        self, device: str = "auto", *, compiler: str = "auto", store: bool = True
    ) -> BoundKernel:
        """The same family, to be called on a device: as of a kernel."""
        return BoundKernel(self, device, compiler, store)

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


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
