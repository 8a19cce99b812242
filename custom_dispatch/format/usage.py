"""Which kernels a function of a module calls: known when it is linked, and kept in its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel, as one function calls it."""

    kernel: str
    calls: int
    """Places that call it, in the function and in those that it calls."""
    varies: bool = False
    """Whether one of them is in a loop or a branch: then data says how often it is called."""

    def __str__(self) -> str:
        if self.varies:
            return f"{self.kernel} as often as data says"
        return f"{self.kernel} x {self.calls}" if self.calls > 1 else self.kernel


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A public function, and the kernels that it calls."""

    function: str
    kernels: tuple[KernelUse, ...]
    direct: str | None = None
    """The kernel that the function is: it passes its arguments on as they are, and returns what
    comes. None for a function that does anything else."""

    def as_data(self) -> dict[str, Any]:
        """The same, of JSON's types."""
        kernels = [
            {"kernel": use.kernel, "calls": use.calls, "varies": use.varies} for use in self.kernels
        ]
        return {"function": self.function, "kernels": kernels, "direct": self.direct}


def function_use(data: Mapping[str, Any]) -> FunctionUse:
    """Read what `as_data` gave.

    Raises
    ------
    KeyError, TypeError, ValueError
        It is something else.
    """
    kernels = tuple(
        KernelUse(_word(use["kernel"]), int(use["calls"]), bool(use["varies"]))
        for use in data["kernels"]
    )
    direct = data["direct"]
    return FunctionUse(_word(data["function"]), kernels, None if direct is None else _word(direct))


def _word(value: object) -> str:
    """A text that may be shown on a terminal: a module may hold anything."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError("not a word")
    return value
