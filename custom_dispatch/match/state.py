"""What is known while a place is compared with an example, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import element_of, number_of, owner_of, shortest
from custom_dispatch.link.operations import kind_of
from custom_dispatch.match.example import Example


@dataclass(frozen=True, slots=True)
class Match:
    """A place that computes an example."""

    example: Example
    results: tuple[ir.Value, ...]
    operations: frozenset[ir.Operation]
    """What it stands for, without what a model may share."""
    operands: Mapping[str, ir.Value]
    scalars: Mapping[str, Any]
    """Numbers, or values of the model."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A place that does not."""

    operation: ir.Operation
    """Where it differs."""
    said: tuple[Any, ...]
    """What differs: parts of a sentence, some of them values."""
    share: float
    """How much of the example was there before, from 0 to 1."""

    @property
    def reason(self) -> str:
        """The difference as a sentence. Naming a value takes a look at its whole function."""
        return "".join(part if isinstance(part, str) else shown(part) for part in self.said)


@dataclass(frozen=True, slots=True)
class Pair:
    """A value of the example, and one of the model that is to be it."""

    wanted: ir.Value
    found: ir.Value
    at: ir.Operation
    """The operation of the model that uses it."""
    name: str = ""
    """What that calls it: "`dim` of torch.aten.mean.dim"; empty where it has no word for it."""


@dataclass(frozen=True, slots=True)
class State:
    """What of an example and a place belongs together."""

    operations: Mapping[ir.Operation, frozenset[ir.Operation]] = field(default_factory=dict)
    operands: Mapping[str, ir.Value] = field(default_factory=dict)
    scalars: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[tuple[ir.Value, ir.Value], ...] = ()
    """Arguments of regions' blocks, which belong together."""
    sizes: tuple[Pair, ...] = ()


def shown(value: Any) -> str:
    """A value in a sentence: its name in the model's text, and what it is a result of."""
    if not isinstance(value, ir.Value):
        return str(value)
    op = owner_of(value)
    element = element_of(value)
    if element is not None:
        return str(shortest(number_of(element)))
    name = value.get_name()
    return f"the argument `{name}`" if op is None else f"`{name}` ({kind_of(op)})"
