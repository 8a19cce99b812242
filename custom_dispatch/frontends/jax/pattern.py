"""What a kernel computes, as functions of JAX, which are traced for the sizes of each place.

StableHLO without symbols has its sizes in types, attributes and constants, so that an example holds
for one size only. A place is first compared without regard to sizes, which gives its operands; then
with an example for their sizes.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy
from iree.compiler import ir

from custom_dispatch.errors import CallError, CustomDispatchError
from custom_dispatch.kernel.binding import bind_shapes
from custom_dispatch.kernel.declared import Declared
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.match.example import Example, normalise
from custom_dispatch.match.matching import Matcher
from custom_dispatch.match.pattern import wrong
from custom_dispatch.match.state import Match, Miss
from custom_dispatch.match.text import Searched
from custom_dispatch.match.traced import (
    Computes,
    OfFunctions,
    TracedExamples,
    check_functions,
    leading_count,
    read_traced,
    scalar_values,
)
from custom_dispatch.match.traced_texts import Framework, kept_text
from custom_dispatch.match.types import as_the_kernels


@dataclass(frozen=True, init=False)
class Pattern(OfFunctions):
    """A kernel, and what it computes, written with JAX.

    - `computes`: one or several functions of JAX that compute what the kernel does. Their
      parameters have the names of the kernel's operands, in any order; one that is optional may be
      left out. Numbers are the kernel's value-less scalars, and must be used unchanged. By default,
      the kernel's `reference`.
    - `sizes`: sizes to trace the functions with first, if they do not accept any size: {"heads": 8,
      "kv_heads": 8}.
    - `kernel, fixed, axes, required`: as for `cd.Pattern`.

    Raises `DeclarationError`: the functions' parameters are not those of the kernel.
    """

    def __init__(
        self,
        kernel: Declared,
        computes: Computes | Sequence[Computes] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        required: bool = True,
    ) -> None:
        self._set(kernel, required, fixed, sizes, axes)
        given = self.kernel.reference if computes is None else computes
        functions = check_functions(self.item, given, "JAX")
        self._keep(computes=functions)
        for function in functions:
            self.parameters(function)

    def examples(self, model: Searched) -> TracedExamples:
        """What traces its functions for the places of a model."""
        return _Examples(self, model)


_JAX = Framework(("jax", "jaxlib", "numpy"), ("jax", "jaxlib", "numpy"), (numpy.dtype,))
_SIZES = (8, 12, 16, 20, 24, 28, 32)
"""What dims are traced with first; even, and none of them 1, which would not be broadcast."""
_LEADING = (4, 6, 10, 14)
_MOST_LEADING = 4
_MOST_WAYS = 8

ByName = Mapping[str, list[ir.Operation]]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes of a place."""

    dims: tuple[tuple[str, int], ...]
    leading: tuple[int, ...] | None
    """The leading dims; None for a kernel without."""


class _Examples(TracedExamples):
    """The examples of a pattern of JAX, as functions and sizes."""

    def __init__(self, pattern: Pattern, model: Searched) -> None:
        super().__init__(pattern, model)
        self._batched = pattern.kernel.has_leading_dims
        start = 1 if self._batched else None
        # Tracing takes long, and of all the kernels that ship most are for other types and sizes.
        looked_at = pattern.required or model.may_hold(pattern)
        # The first is to be traceable; of other ranks it need not be.
        self._first = {
            function: self._example(function, self._probe(start))
            for function in (pattern.computes if looked_at else ())
        }
        self.known = self._first.values()

    def at(
        self, op: ir.Operation, by_name: ByName
    ) -> Iterator[Example | tuple[Miss, Example | None]]:
        """The examples for one place, or why it has none."""
        for function in self._first:
            yield from self._of(function, op, by_name)

    def _of(
        self, function: Computes, op: ir.Operation, by_name: ByName
    ) -> Iterator[Example | tuple[Miss, Example | None]]:
        leading = leading_count(self._first[function], op)
        probe = None if leading < 0 else self._or_none(function, self._probe(leading or None))
        if probe is None or probe.root.name != op.name:
            return
        matcher = Matcher(loose=True)
        found: dict[_Sizes, None] = {}
        problem = ""
        for match in itertools.islice(matcher.matches(probe, op, by_name), _MOST_WAYS):
            try:
                found[self._sizes_of(match)] = None
            except CallError as error:
                problem = error.found.removesuffix(".")
        if not found:
            yield (Miss(op, (problem,), 1.0), None) if problem else (matcher.miss, probe)
        for sizes in found:
            example = self._or_none(function, sizes)
            if example is not None and example.root.name == op.name:
                yield example

    # -- sizes

    def _probe(self, leading: int | None) -> _Sizes:
        """Sizes to trace with before those of a place are known."""
        names = [dim.name for dim in self._pattern.kernel.dims]
        dims = {**dict(zip(names, itertools.cycle(_SIZES), strict=False)), **self._pattern.sizes}
        given = None
        if self._batched:
            given = _LEADING[: min(leading or 0, _MOST_LEADING)]
        return _Sizes(tuple(dims.items()), given)

    def _sizes_of(self, match: Match) -> _Sizes:
        """The sizes of a place whose operands are found; raises CallError where they do not fit."""
        kernel = self._pattern.kernel
        shapes: dict[str, tuple[int, ...]] = {}
        for item in kernel.buffers:
            value = match.operands.get(item.name)
            if value is None:
                shapes[item.name] = (0,) * item.rank
                continue
            found = as_the_kernels(value.type, self._pattern.axes.get(item.name))
            kind = ir.RankedTensorType(found)
            if not kind.has_static_shape:
                raise CallError(f"the sizes of `{item.name}` are not known")
            shapes[item.name] = tuple(kind.shape)
        bound = bind_shapes(kernel, shapes)
        return _Sizes(tuple(bound.numbers.items()), bound.leading)

    # -- tracing

    def trace(self, function: Computes, sizes: _Sizes) -> Example:
        """A function for the sizes of a place."""
        names = self._pattern.parameters(function)
        scalars = [name for name in names if isinstance(self._pattern.arguments[name], Scalar)]
        tensors = [name for name in names if name not in scalars]
        modules = [
            self._module(function, tensors, values, sizes)
            for values in scalar_values(self._pattern, scalars)[: 2 if scalars else 1]
        ]
        with self._context, ir.Location.unknown():
            example = read_traced(self._pattern, modules, tensors, scalars)
            self._check_results(example, sizes)
        return example

    def _module(
        self, function: Computes, tensors: Sequence[str], values: Mapping[str, Any], sizes: _Sizes
    ) -> ir.Module:
        def traced(*arrays: Any) -> Any:
            return function(**dict(zip(tensors, arrays, strict=True)), **values)

        specs = [self._spec(name, sizes) for name in tensors]

        def export() -> str:
            # Exported like the model: that takes some operations apart.
            return str(jax.export.export(jax.jit(traced, keep_unused=True))(*specs).mlir_module())

        given = list(zip(tensors, map(str, specs), strict=True))
        parts = given, sorted(map(repr, values.items())), repr(jax.config.values)
        try:
            text = kept_text(_JAX, function, parts, export)
        except CustomDispatchError:
            raise
        except Exception as error:  # any code of the pattern's runs here
            raise wrong(
                self._pattern.kernel,
                "has a function that JAX cannot trace",
                "a function of JAX on arrays of the kernel's shapes",
                "correct what JAX finds:",
                log=f"{type(error).__name__}: {error}"[:2000],
            ) from error
        with self._context, ir.Location.unknown():
            module = ir.Module.parse(text)
            normalise(module)
        return module

    def _spec(self, name: str, sizes: _Sizes) -> jax.ShapeDtypeStruct:
        item = self._pattern.arguments[name]
        assert isinstance(item, Buffer)  # noqa: S101 - the others are numbers
        return jax.ShapeDtypeStruct(self._shape(item, sizes), item.dtype.to_numpy())

    def _shape(self, item: Buffer, sizes: _Sizes) -> tuple[int, ...]:
        return self._pattern.shape_of(item, dict(sizes.dims), sizes.leading or ())

    def _check_results(self, example: Example, sizes: _Sizes) -> None:
        for item, value in zip(self._pattern.kernel.outputs, example.results, strict=True):
            wanted = self._shape(item, sizes)
            if tuple(ir.RankedTensorType(value.type).shape) != wanted:
                raise wrong(
                    self._pattern.kernel,
                    f"has a function that gives {value.type} for `{item.name}`",
                    f"[{item.declared_shape}], which is {list(wanted)} here",
                )
