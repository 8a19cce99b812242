"""A pattern's function as data: its operations, read from a graph that PyTorch exported."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.graph import ASSERTION, arguments_of, resolved, tensor_of
from custom_dispatch.frontends.torch.indices import Indices
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.solving import condition_of
from custom_dispatch.match.pattern import wrong


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A tensor that the kernel takes."""

    name: str
    dtype: torch.dtype
    sizes: tuple[Any, ...]
    """Numbers and expressions of symbols."""


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A tensor that the function holds itself."""

    value: torch.Tensor


@dataclass(frozen=True, slots=True)
class Hole:
    """A scalar of the kernel."""

    name: str
    kind: str
    """"f" for a float, "i" for an integer, "b" for a bool."""


@dataclass(frozen=True, slots=True)
class Size:
    """A size, as an expression of symbols."""

    expr: Any


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation."""

    target: Any
    arguments: Mapping[str, Any]
    dtype: torch.dtype | None
    """Its result's, if that is a tensor."""
    rank: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """A function of a pattern, for tensors of certain ranks."""

    pattern: Pattern
    outputs: tuple[Call, ...]
    roots: tuple[int, ...] = field(default=())
    """The outputs that no other one is computed from, by position."""
    count: int = 0
    """How many operations it has."""
    depth: int = 0
    """The longest way from a result to an operand."""
    targets: Counter[Any] = field(default_factory=Counter)
    """Its operations, each as often as it has it."""

    @property
    def root(self) -> Call:
        """What is looked for first."""
        return self.outputs[self.roots[0]]


def kind_of(dtype: str) -> str:
    """What kind of number a kernel's type is, as of a `Hole`."""
    return "b" if dtype == "bool" else "f" if dtype[0] in "fb" else "i"


class Reader:
    """Makes a traced function of an export.

    Parameters
    ----------
    names
        Its parameters.
    scalars
        The two values that each of the kernel's scalars is exported with.
    """

    def __init__(
        self,
        pattern: Pattern,
        program: torch.export.ExportedProgram,
        names: Sequence[str],
        scalars: Mapping[str, tuple[Any, Any]],
    ) -> None:
        self._pattern = pattern
        self._program = program
        self._names = names
        self.nodes = [
            node
            for node in program.graph.nodes
            if node.op == "call_function" and node.target != ASSERTION
        ]
        self._scalars = scalars
        self._made: dict[torch.fx.Node, Any] = {}
        self._seen: set[str] = set()
        self._tensors: dict[torch.fx.Node, str] = {}
        self._indices = Indices(names=self._tensors)

    def read(self, other: Reader | None) -> Traced:
        """The function as data.

        Parameters
        ----------
        other
            The same with the second values of scalars; None where it has none.

        Raises
        ------
        DeclarationError
            It computes something else than the kernel may.
        """
        pattern = self._pattern
        if other is not None and [n.target for n in other.nodes] != [n.target for n in self.nodes]:
            raise wrong(
                pattern.kernel,
                "has a function that takes other ways for other values of its scalars",
                "one that passes them on as they are",
                "give a pattern for each way, with fixed={...}.",
            )
        twins = dict(zip(self.nodes, other.nodes, strict=True)) if other else {}
        self._inputs()
        for node in self.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool | int | float):
                self._made[node] = Size(_expr(value))
                continue
            arguments = {
                name: self._value(item, twin)
                for (name, item), twin in zip(
                    arguments_of(node).items(),
                    arguments_of(twins[node]).values() if twins else itertools.repeat(_SAME),
                    strict=False,
                )
            }
            source = resolved(node)
            if source is not node:
                self._made[node] = self._made[source]
                continue
            condition = condition_of(node, self._indices, self._tensors)
            if condition is not None:
                self._made[node] = condition
                continue
            tensor = tensor_of(node)
            self._made[node] = Call(
                node.target,
                arguments,
                None if tensor is None else tensor.dtype,
                None if tensor is None else tensor.dim(),
            )
        for name in self._scalars.keys() - self._seen:
            raise wrong(
                pattern.kernel,
                f"has a function that does not use `{name}` as it is",
                "one that passes the kernel's scalars on as they are",
                f'leave the parameter out and fix the scalar: fixed={{"{name}": ...}}.',
            )
        return self._traced()

    def _inputs(self) -> None:
        specs = self._program.graph_signature.input_specs
        placeholders = [n for n in self._program.graph.nodes if n.op == "placeholder"]
        names = iter(self._names)
        kinds = torch.export.graph_signature.InputKind
        for node, spec in zip(placeholders, specs, strict=True):
            if spec.kind == kinds.USER_INPUT:
                name = next(names)
                tensor = tensor_of(node)
                if tensor is not None:
                    sizes = tuple(map(_expr, tensor.shape))
                    self._made[node] = Operand(name, tensor.dtype, sizes)
                    self._tensors[node] = name
                continue
            held = {**self._program.constants, **self._program.state_dict}
            self._made[node] = Fixed(held[spec.target])

    def _value(self, value: Any, twin: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return self._made[value]
        if isinstance(value, list | tuple):
            others = twin if isinstance(twin, list | tuple) else itertools.repeat(twin)
            return [self._value(item, other) for item, other in zip(value, others, strict=False)]
        if isinstance(value, torch.SymInt):
            return Size(_expr(value))
        if twin is not _SAME and (twin != value or type(twin) is not type(value)):
            for name, values in self._scalars.items():
                if (value, twin) == values:
                    self._seen.add(name)
                    return Hole(name, kind_of(self._pattern.arguments[name].dtype.name))
            raise wrong(
                self._pattern.kernel,
                f"has a function that computes {value} from a scalar",
                "one that passes the kernel's scalars on as they are",
                "fix the scalar: fixed={...}.",
            )
        return value

    def _traced(self) -> Traced:
        pattern = self._pattern
        made = next(node for node in self._program.graph.nodes if node.op == "output").args[0]
        outputs = tuple(self._made.get(resolved(item)) for item in made)
        wanted = pattern.kernel.outputs
        if len(outputs) != len(wanted) or not all(isinstance(item, Call) for item in outputs):
            raise wrong(
                pattern.kernel,
                f"has a function with {len(outputs)} results"
                + ("" if len(outputs) != len(wanted) else ", one of which it does not compute"),
                f"{len(wanted)}: {', '.join(operand.name for operand in wanted)}",
            )
        found = tuple(item for item in outputs if isinstance(item, Call))
        for operand, item in zip(wanted, found, strict=True):
            if item.dtype != torch_dtype(operand.dtype):
                raise wrong(
                    pattern.kernel,
                    f"has a function that gives {item.dtype} for `{operand.name}`",
                    str(torch_dtype(operand.dtype)),
                )
        below = [_calls_below(item) for item in found]
        roots = tuple(
            index
            for index, item in enumerate(found)
            if not any(item in calls for other, calls in enumerate(below) if other != index)
        )
        if not roots:
            raise wrong(
                pattern.kernel, "has a function that gives one result twice", "different ones"
            )
        calls: set[Call] = set().union(*below)
        targets = Counter(call.target for call in calls)
        depths: dict[Call, int] = {}
        depth = max(_depth(item, depths) for item in found)
        return Traced(pattern, found, roots, len(calls), depth, targets)


_SAME = object()


def _calls_below(call: Call) -> set[Call]:
    found: set[Call] = set()

    def visit(value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                visit(item)
        elif isinstance(value, Call) and value not in found:
            found.add(value)
            for item in value.arguments.values():
                visit(item)

    visit(call)
    return found


def _depth(value: Any, known: dict[Call, int]) -> int:
    """The longest way from a value to an operand; one that is used often is looked at once."""
    if isinstance(value, list):
        return max((_depth(item, known) for item in value), default=0)
    if not isinstance(value, Call):
        return 0
    if value not in known:
        known[value] = 1 + _depth(list(value.arguments.values()), known)
    return known[value]


def _expr(value: Any) -> Any:
    """A size as a number or as an expression of symbols."""
    return value.node.expr if isinstance(value, torch.SymInt | torch.SymFloat) else value
