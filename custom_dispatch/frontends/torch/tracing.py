"""A pattern's functions as examples in the torch dialect.

PyTorch exports a function as it exports models, with sizes that are symbols; then it is imported as
they are.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from iree.compiler import ir

from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.importer import import_pattern
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.link.operations import kind_of
from custom_dispatch.match.example import Example
from custom_dispatch.match.function import Computes, OfFunctions
from custom_dispatch.match.held import Held
from custom_dispatch.match.pattern import wrong
from custom_dispatch.match.searched import Searched
from custom_dispatch.match.traced import leading_count, read_traced, scalar_values

_LEADING = (4, 8, 12, 16)
"""Sizes of leading dims to trace with; even, and none of them 1, which would broadcast."""
_MOST_LEADING = len(_LEADING)

ByName = Mapping[str, list[ir.Operation]]
Variant = tuple[Computes, tuple[str, ...]]
"""A function, and the parameters that it is traced with."""


class TracedExamples:
    """The examples of a pattern of PyTorch, one for each rank that places have.

    Parameters
    ----------
    model
        The model, in whose context they are.
    looked_at
        The functions that the model may have; None for all of the pattern's.

    Raises
    ------
    DeclarationError
        PyTorch cannot trace a function, or it computes something the kernel cannot stand for.
    """

    def __init__(
        self, pattern: OfFunctions, model: Searched, looked_at: Sequence[Variant] | None
    ) -> None:
        self.pattern = pattern
        self._model = model
        self._context = model.module.context
        self._known: dict[tuple[Variant, int], Example | DeclarationError] = {}
        self._first: dict[Variant, Example] = {}
        if not self.pattern.required and not model.may_hold(pattern.kernel):
            return
        start = self._usual_leading()
        for variant in variants(pattern) if looked_at is None else looked_at:
            found = self._or_none(variant, start)
            if found is None:  # of other ranks it need not be traceable
                found = self._example(variant, int(pattern.kernel.has_leading_dims))
            self._first[variant] = found

    def roots(self) -> set[str]:
        """The kinds of the operations that are looked at."""
        return {kind_of(example.root) for example in self._first.values()}

    def known(self) -> Iterable[Example]:
        """The examples that need no place: those of the rank that is tried first."""
        return self._first.values()

    def at(self, op: ir.Operation, by_name: ByName) -> Iterator[Example]:
        """The examples for one place."""
        del by_name  # what is computed there does not matter
        for variant, first in self._first.items():
            leading = leading_count(first, op)
            example = None if leading < 0 else self._or_none(variant, leading)
            if example is not None and kind_of(example.root) == kind_of(op):
                yield example

    def _usual_leading(self) -> int:
        """How many leading dims most tensors of the model have; 1 where that is not known."""
        outputs = self.pattern.kernel.outputs
        if not self.pattern.kernel.has_leading_dims:
            return 0
        wanted = outputs[0].dtype.mlir
        kinds = (kind for kind in self._model.tensors if str(kind.element_type) == wanted)
        ranks = Counter(kind.rank - outputs[0].least_rank for kind in kinds)
        # Weights have few dims, and what is computed with them more.
        likely = sorted(ranks, key=lambda count: (ranks[count], count), reverse=True)
        likely = [count for count in likely if 0 <= count <= _MOST_LEADING]
        return likely[0] if likely and all(output.batched for output in outputs) else 1

    def _or_none(self, variant: Variant, leading: int) -> Example | None:
        if leading > _MOST_LEADING:
            return None
        try:
            return self._example(variant, leading)
        except DeclarationError:
            return None

    def _example(self, variant: Variant, leading: int) -> Example:
        key = (variant, leading)
        if key not in self._known:
            try:
                self._known[key] = self._traced(*variant, leading)
            except DeclarationError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, DeclarationError):
            raise found
        return found

    def _traced(self, function: Computes, names: tuple[str, ...], leading: int) -> Example:
        arguments = self.pattern.arguments
        tensors = [name for name in names if isinstance(arguments[name], Buffer)]
        scalars = [name for name in names if name not in tensors]
        modules: list[ir.Module] = []
        constants: dict[ir.Value, Any] = {}
        for which in range(2 if scalars else 1):
            traced = _traced(self.pattern, function, names, leading, which)
            if isinstance(traced, str):
                with self._context, ir.Location.unknown():
                    modules.append(ir.Module.parse(traced))
                continue
            module, held = import_pattern(traced, self._context)
            modules.append(module)
            constants |= held
        with self._context, ir.Location.unknown():
            return read_traced(
                self.pattern, modules, tensors, scalars, words=words_of, held=Held(constants)
            )


@functools.cache
def words_of(kind: str) -> tuple[str, ...]:
    """What PyTorch calls the operands of an operation of the torch dialect."""
    parts = kind.split(".")
    if parts[:2] != ["torch", "aten"]:
        return ()
    packet = getattr(torch.ops.aten, parts[2], None)
    target = getattr(packet, parts[3] if len(parts) > 3 else "default", None)
    schema = getattr(target, "_schema", None)
    return () if schema is None else tuple(argument.name for argument in schema.arguments)


class _Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Computes, values: Mapping[str, Any], names: Sequence[str]) -> None:
        super().__init__()
        self._function, self._values, self._names = function, values, names

    def forward(self, *tensors: Any) -> Any:
        return self._function(**dict(zip(self._names, tensors, strict=True)), **self._values)


def variants(pattern: OfFunctions) -> list[Variant]:
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


@functools.lru_cache(maxsize=1024)
def _traced(
    pattern: OfFunctions, function: Computes, names: tuple[str, ...], leading: int, which: int
) -> str | torch.export.ExportedProgram:
    """A function as MLIR text; as an exported program if it holds tensors, which are not in a text.

    Raises as `_exported` does, and takes the same.
    """
    program = _exported(pattern, function, names, leading, which)
    module, held = import_pattern(program, ir.Context())
    return program if held else str(module)


def _exported(
    pattern: OfFunctions, function: Computes, names: tuple[str, ...], leading: int, which: int
) -> torch.export.ExportedProgram:
    """A function as PyTorch exports it, which takes its time.

    Parameters
    ----------
    names
        The parameters that get a value.
    leading
        How many leading dims there are, for operands that take any number of them.
    which
        Whether scalars have their first or second values.

    Raises
    ------
    DeclarationError
        It is no function of PyTorch's.
    """
    tensors, dynamic = [], []
    scalars = [name for name in names if not isinstance(pattern.arguments[name], Buffer)]
    for name in names:
        argument = pattern.arguments[name]
        if isinstance(argument, Buffer):
            sizes = _sizes(pattern, argument, leading)
            tensors.append(torch.zeros(sizes, dtype=torch_dtype(argument.dtype)))
            # PyTorch knows no symbol that may be 1.
            axes = [axis for axis, size in enumerate(sizes) if size != 1]
            dynamic.append(dict.fromkeys(axes, torch.export.Dim.AUTO))
    module = _Function(
        function,
        scalar_values(pattern, scalars)[which],
        [name for name in names if name not in scalars],
    )
    try:
        with torch.no_grad():
            return torch.export.export(module, tuple(tensors), dynamic_shapes=(tuple(dynamic),))
    except Exception as error:  # any code of the pattern's runs here
        raise wrong(
            pattern.kernel,
            f"has a function that PyTorch cannot trace ({type(error).__name__})",
            "code of PyTorch on tensors: " + ", ".join(names),
            "correct the function, or give sizes={...} that it takes; the kernel's reference is "
            "taken only where computes= is left out. PyTorch says:",
            log="\n".join(str(error).splitlines()[:10]),
        ) from error


def example_values(pattern: OfFunctions, names: Sequence[str]) -> list[Any]:
    """Arguments that a function can be called with."""
    arguments = pattern.arguments
    scalars = scalar_values(pattern, [n for n in names if not isinstance(arguments[n], Buffer)])
    return [
        torch.zeros(_sizes(pattern, argument, 1), dtype=torch_dtype(argument.dtype))
        if isinstance(argument := arguments[name], Buffer)
        else scalars[0][name]
        for name in names
    ]


def _sizes(pattern: OfFunctions, operand: Buffer, leading: int) -> tuple[int, ...]:
    dims = {
        dim.name: pattern.sizes.get(dim.name, 6 + 4 * index)
        for index, dim in enumerate(pattern.kernel.dims)
    }
    batched = operand.batched
    tail = tuple(evaluate(size, dims) for size in operand.shape[int(batched) :])
    return (*_LEADING[:leading], *tail) if batched else tail
