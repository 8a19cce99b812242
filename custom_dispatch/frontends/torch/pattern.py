"""What a kernel computes, as functions of PyTorch, and these as examples in the torch dialect.

PyTorch exports a function as it exports models, with sizes that are symbols; then it is imported as
they are.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from iree.compiler import ir

from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.torch.decompositions import WholeAttention
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.importer import Rewrites, import_pattern
from custom_dispatch.frontends.torch.refusals import quiet_tracing
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declared, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.model import new_context
from custom_dispatch.link.operations import has_operation, kind_of
from custom_dispatch.match.example import Example
from custom_dispatch.match.pattern import Pattern as TextPattern
from custom_dispatch.match.pattern import wrong
from custom_dispatch.match.positions import Held
from custom_dispatch.match.text import Searched
from custom_dispatch.match.traced import (
    Computes,
    OfFunctions,
    TracedExamples,
    check_functions,
    leading_count,
    read_traced,
    resembles,
    scalar_values,
)
from custom_dispatch.match.traced_texts import Framework, kept_text


@dataclass(frozen=True, init=False)
class Pattern(OfFunctions):
    """A kernel, and what it computes, written with PyTorch.

    - `kernel`: the kernel that replaces the matches; or a choice, whose first fitting kernel
      replaces each match, when compiled or when it runs.
    - `computes`: one or several functions of PyTorch that compute what the kernel does. Their
      parameters have the names of the kernel's operands, in any order; one that is optional may be
      left out, or have the default None to stand for both. Numbers are the kernel's value-less
      scalars, and must be used unchanged. A place that matches a later function is rewritten to the
      first, for other patterns to find. By default, the kernel's `reference`.
    - `fixed`: scalars that have this value in the functions instead of being a parameter:
      {"causal": True}. A value may be a function of dims, which must be known in the model:
      {"scale": lambda dim: dim**-0.5}.
    - `sizes`: sizes to trace the functions with, if they do not accept any size: {"heads": 8}.
    - `axes`: for operands and results whose axes have another order in the functions, that order as
      in `numpy.transpose`: {"k": (0, 1, 3, 2)}. They are transposed where a kernel is inserted.
    - `rewrites`: what writes other spellings as the first function has them, before places are
      looked for: a function of an exported program in one form, whose graph and signature it
      changes. It is left out if its method `gives_way_to`, where it has one, is true of a pattern
      given before.
    - `made`: kernels that make optional operands, which the functions leave out, of others of the
      same names: {"spans": mask_spans}. A model computes each once.
    - `required`: whether it is an error that no place is found.

    Raises `DeclarationError`: the functions' parameters are not those of the kernel.
    """

    rewrites: Rewrites | None = field(hash=False, compare=False, repr=False)
    looked_at: Any = field(hash=False, compare=False, repr=False)
    """The functions that a model may have; None for all of them."""

    def __init__(
        self,
        kernel: Declared,
        computes: Computes | Sequence[Computes] | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        rewrites: Rewrites | None = None,
        made: Mapping[str, Kernel] | None = None,
        required: bool = True,
    ) -> None:
        self._set(kernel, required, fixed, sizes, axes, made=made)
        reference = next((k.reference for k in kernels_of(self.item) if k.reference), None)
        functions = check_functions(
            self.item, reference if computes is None else computes, "PyTorch"
        )
        self._keep(computes=functions, rewrites=rewrites, looked_at=None)
        if computes is not None:
            for function in functions:
                self.parameters(function)

    def examples(self, model: Searched) -> TracedExamples:
        """What traces its functions for the ranks that places of a model have."""
        return _Examples(self, model)


def as_pattern(item: Any) -> Pattern | TextPattern:
    """An entry of `replace=` as a pattern; text is in the torch dialect."""
    if isinstance(item, Pattern | TextPattern):
        return item
    if not isinstance(item, Kernel | Choice):
        raise DeclarationError(
            f"replace has {shown(item)} in it.",
            expected="a cd.torch.Pattern, or a cd.Kernel whose reference is code of PyTorch",
            next_step="write replace=[cd.torch.Pattern(kernel, computes=...)].",
        )
    if not any(kernel.reference for kernel in kernels_of(item)):
        raise DeclarationError(
            f"Kernel `{item.name}` has no reference, so nothing says what it replaces.",
            expected="what it computes, in PyTorch's words",
            next_step="write replace=[cd.torch.Pattern(kernel, computes=...)].",
        )
    return Pattern(item)


_LEADING = (4, 8, 12, 16)
"""Sizes of leading dims to trace with; even, and none of them 1, which would broadcast."""
_MOST_LEADING = len(_LEADING)


def _parts_of(value: Any) -> tuple[Any, ...] | None:
    """An operator of `torch.library.custom_op`: tracing keeps it, and asks what its result is."""
    if not isinstance(value, torch._ops.OpOverload):
        return None
    made = getattr(torch._library.custom_ops, "OPDEFS", {}).get(value._schema.name)
    gives = getattr(made, "_abstract_fn", None)
    return None if gives is None else (str(value._schema), gives)


TORCH = Framework(
    ("torch",),
    ("torch", "iree-base-compiler"),
    (torch.dtype, torch.device),
    {"ops": ("aten", "prims")},
    _parts_of,
)
ByName = Mapping[str, list[ir.Operation]]
Variant = tuple[Computes, tuple[str, ...]]
"""A function, and the parameters that it is traced with."""


class _Examples(TracedExamples):
    """The examples of a pattern of PyTorch, one for each rank that places have."""

    def __init__(self, pattern: Pattern, model: Searched) -> None:
        super().__init__(pattern, model)
        self._model = model
        self._first: dict[Variant, Example] = {}
        self.known = self._first.values()
        if not pattern.required and not model.may_hold(pattern):
            return
        start = self._usual_leading()
        for variant in variants(pattern) if pattern.looked_at is None else pattern.looked_at:
            found = self._or_none(variant, start)
            if found is None:  # of other ranks it need not be traceable
                found = self._example(variant, int(pattern.kernel.has_leading_dims))
            self._first[variant] = found

    def at(self, op: ir.Operation, by_name: ByName) -> Iterator[Example]:
        """The examples for one place."""
        del by_name  # what is computed there does not matter
        for variant, first in self._first.items():
            leading = leading_count(first, op)
            is_new = leading >= 0 and (variant, leading) not in self._traced
            if leading < 0 or (is_new and not resembles(first, first.root, op)):
                continue
            example = self._or_none(variant, leading)
            if example is not None and kind_of(example.root) == kind_of(op):
                yield example

    def _first_of(self, variant: Variant, leading: int) -> Example | None:
        """The pattern's first function, where a later one takes the same parameters."""
        function, names = variant
        first = self._pattern.computes[0]
        if function is first:
            return None
        same = (
            other
            for other in variants(self._pattern)
            if other[0] is first and set(other[1]) == set(names)
        )
        found = next(same, None)
        return None if found is None else self._or_none(found, leading)

    def _usual_leading(self) -> int:
        """How many leading dims most tensors of the model have; 1 where that is not known."""
        outputs = self._pattern.kernel.outputs
        if not self._pattern.kernel.has_leading_dims:
            return 0
        wanted = outputs[0].dtype.mlir
        kinds = (kind for kind in self._model.tensors if str(kind.element_type) == wanted)
        ranks = Counter(kind.rank - outputs[0].least_rank for kind in kinds)
        # Weights have few dims, and what is computed with them more.
        likely = sorted(ranks, key=lambda count: (ranks[count], count), reverse=True)
        likely = [count for count in likely if 0 <= count <= _MOST_LEADING]
        return likely[0] if likely and all(output.batched for output in outputs) else 1

    def trace(self, variant: Variant, leading: int) -> Example:
        """A function for a number of leading dims."""
        if leading > _MOST_LEADING:
            raise DeclarationError(f"There are {leading} leading dims.")
        function, names = variant
        arguments = self._pattern.arguments
        tensors = [name for name in names if isinstance(arguments[name], Buffer)]
        scalars = [name for name in names if name not in tensors]
        modules: list[ir.Module] = []
        constants: dict[ir.Value, Any] = {}
        for which in range(2 if scalars else 1):
            traced = _traced(self._pattern, function, names, leading, which)
            if isinstance(traced, str):
                with self._context, ir.Location.unknown():
                    modules.append(ir.Module.parse(traced))
                continue
            module, held = import_pattern(traced, self._context)
            modules.append(module)
            constants |= held
        first = self._first_of(variant, leading)
        with self._context, ir.Location.unknown():
            more: dict[str, Any] = {"words": words_of, "held": Held(constants), "first": first}
            return read_traced(self._pattern, modules, tensors, scalars, **more)


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
        with WholeAttention():
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
    """A function as MLIR text, which is kept in the store; as an exported program if it cannot be.

    That is where it holds tensors, which are not in a text. Raises as `_exported` does.
    """
    given = example_values(pattern, names, leading, which)

    def trace() -> str | torch.export.ExportedProgram:
        program = _exported(pattern, function, names, leading, which)
        module, held = import_pattern(program, new_context())
        # What operators of other packages give may change while the function stays as it is.
        return program if held or has_operation(module, "torch.operator") else str(module)

    return kept_text(TORCH, function, ("text", described(names, given)), trace)


def _exported(
    pattern: OfFunctions, function: Computes, names: tuple[str, ...], leading: int, which: int
) -> torch.export.ExportedProgram:
    """A function as PyTorch exports it, which takes its time.

    - `names`: the parameters that get a value.
    - `leading`: how many leading dims there are, for operands that take any number of them.
    - `which`: whether scalars have their first or second values.
    """
    given = dict(zip(names, example_values(pattern, names, leading, which), strict=True))
    tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
    scalars = {name: value for name, value in given.items() if name not in tensors}
    # PyTorch knows no symbol that may be 1.
    dynamic = tuple(
        {axis: torch.export.Dim.AUTO for axis, size in enumerate(tensor.shape) if size != 1}
        for tensor in tensors.values()
    )
    module = _Function(function, scalars, list(tensors))
    try:
        with torch.no_grad(), quiet_tracing(with_places=False):
            return torch.export.export(module, tuple(tensors.values()), dynamic_shapes=(dynamic,))
    except Exception as error:  # any code of the pattern's runs here
        raise wrong(
            pattern.kernel,
            f"has a function that PyTorch cannot trace ({type(error).__name__})",
            "code of PyTorch on tensors: " + ", ".join(names),
            "correct the function, or give sizes={...} that it takes; the kernel's reference is "
            "taken only where computes= is left out. PyTorch says:",
            log="\n".join(str(error).splitlines()[:10]),
        ) from error


def example_values(
    pattern: OfFunctions, names: Sequence[str], leading: int = 1, which: int = 0
) -> list[Any]:
    """Arguments that a function can be called with; `_exported` says which."""
    arguments = pattern.arguments
    scalars = scalar_values(pattern, [n for n in names if not isinstance(arguments[n], Buffer)])
    return [
        torch.zeros(sizes_of(pattern, argument, leading), dtype=torch_dtype(argument.dtype))
        if isinstance(argument := arguments[name], Buffer)
        else scalars[which][name]
        for name in names
    ]


def described(names: Sequence[str], values: Sequence[Any]) -> list[tuple[str, ...]]:
    """All that tracing a function with arguments depends on, but for the function."""
    default = str(torch.get_default_dtype())
    return [
        (default, name, str(value.dtype), str(tuple(value.shape)))
        if isinstance(value, torch.Tensor)
        else (default, name, repr(value))
        for name, value in zip(names, values, strict=True)
    ]


def sizes_of(pattern: OfFunctions, operand: Buffer, leading: int) -> tuple[int, ...]:
    """The sizes of an operand to trace functions with."""
    dims = {
        dim.name: pattern.sizes.get(dim.name, 6 + 4 * index)
        for index, dim in enumerate(pattern.kernel.dims)
    }
    return pattern.shape_of(operand, dims, _LEADING[:leading])
