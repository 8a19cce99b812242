"""A pattern's function as data that a model's graph is compared with.

PyTorch exports the function as it exports models, with sizes that are symbols. To tell the kernel's
scalars from the function's own numbers, it is exported twice, with other values: a number that
differs has to be the scalar itself.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from custom_dispatch.frontends.patterns.function import Computes
from custom_dispatch.frontends.patterns.pattern import first_alike, wrong
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.graph import ASSERTION, arguments_of, resolved, tensor_of
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.kernel.expr import evaluate
from custom_dispatch.kernel.operand import Buffer

_LEADING = (4, 8, 12, 16)
"""Sizes of leading dims to trace with; even, and none of them 1, which would broadcast."""
# A scalar's two values tell which one it is; but of bools there are no others.
_VALUES = ({"f": 0.4375, "i": 3, "b": True}, {"f": 0.53125, "i": 5, "b": False})
_STEPS = {"f": 1.0, "i": 4}


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


class _Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Computes, names: Sequence[str]) -> None:
        super().__init__()
        self._function, self._names = function, names

    def forward(self, *values: Any) -> Any:
        return self._function(**dict(zip(self._names, values, strict=True)))


def variants(pattern: Pattern) -> list[tuple[Computes, tuple[str, ...]]]:
    """A pattern's functions, each with the parameters that it is traced with.

    An optional operand with the default None gives two variants, with it and without.
    """
    found = []
    for function in pattern.computes:
        parameters = pattern.parameters(function)
        free = [
            name
            for name, has_default in parameters.items()
            if has_default and getattr(pattern.arguments[name], "optional", False)
        ]
        for count in range(len(free) + 1):
            for absent in itertools.combinations(free, count):
                found.append((function, tuple(name for name in parameters if name not in absent)))
    return found


def trace(pattern: Pattern, function: Computes, names: tuple[str, ...], leading: int) -> Traced:
    """Trace one function.

    Parameters
    ----------
    names
        The parameters that get a value.
    leading
        How many leading dims there are, for operands that take any number of them.

    Raises
    ------
    DeclarationError
        It is no function of PyTorch's, or computes something else than the kernel may.
    """
    # PyTorch takes its time: once for all kernels of a choice that have the same operands.
    alike = first_alike(pattern)
    found = _traced(alike, function, names, leading)
    return found if alike.kernel is pattern.kernel else replace(found, pattern=pattern)


@functools.lru_cache(maxsize=1024)
def _traced(pattern: Pattern, function: Computes, names: tuple[str, ...], leading: int) -> Traced:
    first = _Reader(pattern, _export(pattern, function, names, leading, 0), names)
    second = None
    if first.has_scalars:
        second = _Reader(pattern, _export(pattern, function, names, leading, 1), names)
    return first.read(second)


def _export(
    pattern: Pattern, function: Computes, names: Sequence[str], leading: int, which: int
) -> torch.export.ExportedProgram:
    values: list[Any] = []
    dynamic: list[Any] = []
    for name in names:
        argument = pattern.arguments[name]
        if isinstance(argument, Buffer):
            sizes = _sizes(pattern, argument, leading)
            values.append(torch.zeros(sizes, dtype=torch_dtype(argument.dtype)))
            # PyTorch knows no symbol that may be 1.
            axes = [axis for axis, size in enumerate(sizes) if size != 1]
            dynamic.append(dict.fromkeys(axes, torch.export.Dim.AUTO))
        else:
            values.append(_scalar_values(pattern, names)[name][which])
            dynamic.append(None)
    module = _Function(function, names)
    try:
        with torch.no_grad():
            program = torch.export.export(module, tuple(values), dynamic_shapes=(tuple(dynamic),))
    except Exception as error:  # any code of the pattern's runs here
        raise wrong(
            pattern.kernel,
            f"has a function that PyTorch cannot trace ({type(error).__name__})",
            "code of PyTorch on tensors: " + ", ".join(names),
            "correct the function, or give sizes={...} that it takes; the kernel's reference is "
            "taken only where computes= is left out. PyTorch says:",
            log="\n".join(str(error).splitlines()[:10]),
        ) from error
    return program


def example_values(pattern: Pattern, names: Sequence[str]) -> list[Any]:
    """Arguments that a function can be called with."""
    scalars = _scalar_values(pattern, names)
    return [
        torch.zeros(_sizes(pattern, argument, 1), dtype=torch_dtype(argument.dtype))
        if isinstance(argument := pattern.arguments[name], Buffer)
        else scalars[name][0]
        for name in names
    ]


def _scalar_values(pattern: Pattern, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Two values of each scalar, which no other scalar has."""
    found: dict[str, tuple[Any, Any]] = {}
    seen: list[str] = []
    for name in names:
        argument = pattern.arguments[name]
        if isinstance(argument, Buffer):
            continue
        kind = _kind(argument.dtype.name)
        count = seen.count(kind)
        if kind == "b" and count:
            raise wrong(
                pattern.kernel,
                "has a function with several bools",
                "at most one that is not fixed, since bools cannot be told apart",
                "give a pattern for each value of the others, with fixed={...}.",
            )
        first, second = (values[kind] for values in _VALUES)
        if kind != "b":
            first, second = (value + count * _STEPS[kind] for value in (first, second))
        found[name] = (first, second)
        seen.append(kind)
    return found


def _kind(dtype: str) -> str:
    return "b" if dtype == "bool" else "f" if dtype[0] in "fb" else "i"


def _sizes(pattern: Pattern, operand: Buffer, leading: int) -> tuple[int, ...]:
    dims = {
        dim.name: pattern.sizes.get(dim.name, 6 + 4 * index)
        for index, dim in enumerate(pattern.kernel.dims)
    }
    batched = operand.batched
    tail = tuple(evaluate(size, dims) for size in operand.shape[int(batched) :])
    return (*_LEADING[:leading], *tail) if batched else tail


class _Reader:
    """Makes a traced function of an export."""

    def __init__(
        self,
        pattern: Pattern,
        program: torch.export.ExportedProgram,
        names: Sequence[str],
    ) -> None:
        self._pattern = pattern
        self._program = program
        self._names = names
        self.nodes = [
            node
            for node in program.graph.nodes
            if node.op == "call_function" and node.target != ASSERTION
        ]
        self._scalars = _scalar_values(pattern, names)
        self._made: dict[torch.fx.Node, Any] = {}
        self._seen: set[str] = set()

    @property
    def has_scalars(self) -> bool:
        return bool(self._scalars)

    def read(self, other: _Reader | None) -> Traced:
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
                    return Hole(name, _kind(self._pattern.arguments[name].dtype.name))
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
                + ("" if len(outputs) != len(wanted) else ", of which one is none of its own"),
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
        return Traced(pattern, found, roots, len(calls), max(map(_depth, found)), targets)


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


def _depth(value: Any) -> int:
    if isinstance(value, list):
        return max(map(_depth, value), default=0)
    return 1 + _depth(list(value.arguments.values())) if isinstance(value, Call) else 0


def _expr(value: Any) -> Any:
    """A size as a number or as an expression of symbols."""
    return value.node.expr if isinstance(value, torch.SymInt | torch.SymFloat) else value
