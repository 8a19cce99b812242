"""What is known while a place is compared with an example, and what comes out."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import element_of, number_of, owner_of, shortest
from custom_dispatch.link.operations import (
    NODE,
    called_functions,
    kind_of,
    name_in_text,
    name_of,
    outwards,
)
from custom_dispatch.match.conditions import Condition
from custom_dispatch.match.example import Example
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.types import as_text
from custom_dispatch.replaced import Place


@dataclass(frozen=True, slots=True)
class Match:
    """A place that computes an example."""

    example: Example
    results: tuple[ir.Value, ...]
    operations: frozenset[ir.Operation]
    """What it stands for, without what a model may share."""
    operands: Mapping[str, Any]
    """Values; until it is computed, a `Solved` for what follows from a condition, and the sizes of
    what a pattern reads nothing but sizes of."""
    scalars: Mapping[str, Any]
    """Numbers, or values of the model."""

    @property
    def root(self) -> ir.Value:
        """The result that is looked for first."""
        return self.results[self.example.roots[0]]

    @property
    def own(self) -> frozenset[ir.Operation]:
        """The operations that no other place may have: all but views."""
        owners = [owner_of(value) for value in self.results]
        return frozenset(
            op
            for op in self.operations
            if kind_of(op) not in known_operations()["views"] or op in owners
        )


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

    @property
    def said(self) -> tuple[Any, ...]:
        """What the model has, and where: parts of a sentence."""
        return (f"{self.name} is ", self.found) if self.name else (self.found,)


@dataclass(frozen=True, slots=True)
class State:
    """What of an example and a place belongs together."""

    operations: Mapping[ir.Operation, frozenset[ir.Operation]] = field(default_factory=dict)
    operands: Mapping[str, Any] = field(default_factory=dict)
    scalars: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[tuple[ir.Value, ir.Value], ...] = ()
    """Arguments of regions' blocks, which belong together."""
    sizes: tuple[Pair, ...] = ()
    conditions: tuple[tuple[Condition, Pair], ...] = ()
    """Bools that are compared by value, when all operands are known."""


_MOST_SHOWN = 8
"""Elements of a constant that a sentence has."""


def shown(value: Any) -> str:
    """A value in a sentence: its name in the model's text, and what it is a result of.

    What the model's source has a name for, as ONNX has for nodes, is called that.
    """
    if isinstance(value, ir.Type):
        return as_text(value)
    if isinstance(value, ir.Operation):
        named = NODE.fullmatch(str(value.location))
        return f"`{named[1]}` ({kind_of(value)})" if named else kind_of(value)
    if isinstance(value, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr):
        return str(shortest(number_of(value)))
    if isinstance(value, ir.StringAttr):
        return str(value.value)
    if isinstance(value, ir.ArrayAttr):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, ir.DenseElementsAttr) and len(value) > _MOST_SHOWN:
        return f"a constant of {value.type}"
    if not isinstance(value, ir.Value):
        return "none" if value is None else str(value)
    op = owner_of(value)
    element = element_of(value)
    if element is not None:
        return shown(element)
    if op is not None and op.name == "torch.prim.ListConstruct":
        return f"[{', '.join(map(shown, op.operands))}]"
    if op is not None and op.name.startswith("torch.constant."):
        return shown(op.attributes.get("value"))
    named = None if op is None else NODE.fullmatch(str(value.location))
    name = named[1] if named else name_in_text(value)
    return f"the argument `{name}`" if op is None else f"`{name}` ({kind_of(op)})"


_FRAME = re.compile(r'(?:"([^"]*)"\()?"([^"]+)":(\d+)')
_NAMES = re.compile(r'^loc\("([^"]*)"\(')
_WRAPPER = re.compile(r"^\w+\(.*\)$|^$")
"""What JAX puts around functions that it transforms: "jit(model)"."""
_OWN = str(Path(__file__).parents[1])


def place_of(op: ir.Operation) -> Place:
    """The innermost line of the user's own source, and the names that lead there.

    JAX records the functions that were called, without its own, and the scopes that the user named
    (`jax.named_scope`, modules of Flax): "jit(model)/block/norm/mul". Those are taken if there are
    any, else the functions.
    """
    text = str(op.location)
    plain, names = NODE.fullmatch(text), _NAMES.search(text)
    scopes = names[1].split("/")[:-1] if names else []
    place = Place(plain[1], "") if plain else place_at(scopes, _FRAME.findall(text))
    return replace(place, function=_function_of(op))


def _function_of(op: ir.Operation) -> str:
    """The function that an operation is in, where its module has several that take arguments."""
    *_, top = outwards(op)
    called = called_functions(top.parent)
    return name_of(top) if len(called) > 1 and top in called else ""


def place_at(scopes: Iterable[str], frames: Sequence[tuple[str, str, Any]]) -> Place:
    """A place by the scopes around it, and by the functions, files and lines that lead there.

    The innermost frame comes first.
    """
    path = [scope for scope in scopes if not _WRAPPER.match(scope)]
    # What is further out has called this package.
    own = next((i for i, frame in enumerate(frames) if frame[1].startswith(_OWN)), len(frames))
    frames = frames[:own]
    if not path:
        names_of = (name.rpartition(".")[2] for name, _, _ in reversed(frames))
        path = [name for name in names_of if name and not name.startswith("<")]
    module = "/".join(path)
    if not frames:
        return Place(module, "")
    _, file, line = frames[0]
    # What is parsed without a file's name is "-".
    return Place(module, f"line {line}" if file == "-" else f"{file}:{line}")
