"""Functions of a framework as examples: what is the same for every framework.

To tell the kernel's scalars from a function's own numbers, it is traced twice, with other values: a
number that differs has to be the scalar itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.link.constants import element_of, number_of, owner_of
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import functions_of, is_public, kind_of, operations_of
from custom_dispatch.match.example import Example, read_example
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.pattern import Replaceable, wrong
from custom_dispatch.match.text import Examples, Searched

_VALUES = ({"f": 0.4375, "i": 3, "b": True}, {"f": 0.53125, "i": 5, "b": False})
"""A scalar's values: every float holds them exactly; of bools there are no others."""
_STEPS = {"f": 1.0, "i": 4}


def scalar_values(pattern: OfFunctions, names: Sequence[str]) -> list[dict[str, Any]]:
    """Two values for each scalar among a function's parameters, which no other scalar has.

    `names`: the parameters that are scalars.
    """
    first, second = dict[str, Any](), dict[str, Any]()
    seen: list[str] = []
    for name in names:
        dtype = pattern.arguments[name].dtype
        kind = "b" if dtype.name == "bool" else "f" if dtype.is_float else "i"
        count = seen.count(kind)
        if kind == "b" and count:
            raise wrong(
                pattern.kernel,
                "has a function with several bools",
                "at most one that is not fixed, since bools cannot be told apart",
                "give a pattern for each value of the others, with fixed={...}.",
            )
        for values, start in zip((first, second), _VALUES, strict=True):
            values[name] = start[kind] + count * _STEPS[kind] if kind != "b" else start[kind]
        seen.append(kind)
    return [first, second]


def read_traced(
    pattern: Any,
    modules: Sequence[ir.Module],
    tensors: Sequence[str],
    scalars: Sequence[str],
    **more: Any,
) -> Example:
    """The example that a traced function is.

    - `modules`: the function, traced with the first and, if it takes scalars, with the second
      values of `scalar_values`; in the model's context.
    - `tensors`, `scalars`: its parameters.
    - `**more`: `words`, `held` and `first` of `Example`.
    """
    order = [pattern.arguments[name].name for name in tensors]
    example = replace(read_example(pattern, modules[0], order), **more)
    return replace(example, holes=_holes(pattern, modules, scalars)) if scalars else example


def _holes(
    pattern: Any, modules: Sequence[ir.Module], scalars: Sequence[str]
) -> dict[ir.Value, str]:
    """The constants of the first module that are scalars of the kernel."""
    first, second = (
        operations_of(next(filter(is_public, functions_of(module)))) for module in modules
    )
    if list(map(kind_of, first)) != list(map(kind_of, second)):
        raise _depends(pattern, scalars)
    one_of, other_of = scalar_values(pattern, scalars)
    pairs = {(one_of[name], other_of[name]): pattern.arguments[name].name for name in scalars}
    holes: dict[ir.Value, str] = {}
    for one, other in zip(first, second, strict=True):
        if set(one.attributes) != set(other.attributes):
            raise _depends(pattern, scalars)
        if all(one.attributes[name] == other.attributes[name] for name in one.attributes):
            continue
        name = None
        if one.results and other.results:
            mine, its = element_of(one.results[0]), element_of(other.results[0])
            if mine is not None and its is not None:
                name = pairs.get((number_of(mine), number_of(its)))
        if name is None:
            raise _depends(pattern, scalars)
        holes[one.results[0]] = name
    missing = [name for name in scalars if pattern.arguments[name].name not in holes.values()]
    if missing:
        raise wrong(
            pattern.kernel,
            f"has a function that does not use `{missing[0]}`",
            "one whose results depend on all of its parameters",
            f'fix the scalar: fixed={{"{missing[0]}": ...}}.',
        )
    return holes


def _depends(pattern: Any, scalars: Sequence[str]) -> DeclarationError:
    return wrong(
        pattern.kernel,
        f"has a function that computes with {', '.join(f'`{name}`' for name in scalars)} "
        "before it uses the number",
        "scalars that are passed on to operations on arrays as they are",
        f'fix the scalar: fixed={{"{scalars[0]}": ...}}, one pattern for each value.',
    )


def leading_count(example: Example, op: ir.Operation) -> int:
    """How many leading dims a place has, 0 for a kernel without; -1 where it cannot be one.

    `op`: the last operation of the place.
    """
    index = example.roots[0]
    result = ir.OpResult(example.results[index]).result_number
    output = example.pattern.kernel.outputs[index]
    if result >= len(op.results):
        return -1
    kind = builtin_type(op.results[result].type)
    if not isinstance(kind, ir.RankedTensorType) or not output.has_rank(kind.rank):
        return -1
    if not example.pattern.kernel.has_leading_dims:
        return 0
    return int(kind.rank) - output.least_rank if output.batched else 1


def resembles(example: Example, wanted: ir.Operation, op: ir.Operation, depth: int = 3) -> bool:
    """Whether an operation and those before it are of the kinds of an example's: a glance.

    Views, conversions and ranks do not matter; `depth` says how far it goes.
    """
    there = [] if depth == 0 else [owner for owner in map(_computed_by, op.operands) if owner]
    return kind_of(wanted) == kind_of(op) and all(
        any(resembles(example, up, owner, depth - 1) for owner in there)
        for value in (wanted.operands if depth else ())
        if (up := _computed_by(value)) and up in example.computing
    )


def _computed_by(value: ir.Value) -> ir.Operation | None:
    """What computes the floats of a tensor, before views and conversions of it."""
    op, passed = owner_of(value), {"torch.aten.to.dtype", *known_operations()["views"]}
    while op is not None and op.operands and kind_of(op) in passed:
        op = owner_of(op.operands[0])
    return op


Computes = Callable[..., Any]


def check_functions(item: Kernel | Choice, given: Any, framework: str) -> tuple[Computes, ...]:
    """The functions of a pattern, given as one or several.

    `framework`: whose they are, for errors: "PyTorch".
    """
    functions = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not functions or not all(map(callable, functions)):
        front_end, example = _EXAMPLES[framework]
        raise DeclarationError(
            f"The pattern of kernel `{item.name}` has no function of {framework}.",
            expected="what the kernel computes, as a function or a list of them",
            next_step=f"write {front_end}.Pattern(kernel, computes={example}).",
        )
    return functions


_EXAMPLES = {
    "PyTorch": ("cd.torch", "lambda x: torch.relu(x)"),
    "JAX": ("cd.jax", "lambda x: jax.nn.relu(x)"),
}


class OfFunctions(Replaceable):
    """What patterns that are functions of a framework have."""

    computes: tuple[Computes, ...]

    @property
    def arguments(self) -> dict[str, Buffer | Scalar]:
        """What a call of the kernel takes, by name: a struct's field `p.alpha` is `p_alpha`."""
        return arguments_by_name(self.kernel)

    def shape_of(
        self, operand: Buffer, dims: Mapping[str, int], leading: Sequence[int]
    ) -> tuple[int, ...]:
        """An operand's or result's shape as the functions have it."""
        tail = tuple(evaluate(size, dims) for size in operand.shape[int(operand.batched) :])
        tail = tuple(tail[axis] for axis in self.axes.get(operand.name, range(len(tail))))
        return (*leading, *tail) if operand.batched else tail

    def parameters(self, function: Computes) -> dict[str, bool]:
        """A function's parameters, and whether each has a default."""
        kernel, fixed = self.kernel, self.fixed
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise wrong(
                kernel, "is a function without a signature", "a function of Python"
            ) from None
        arguments = self.arguments
        listed = f"the kernel's: {', '.join(arguments)}"
        several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        found = {}
        for name, parameter in signature.parameters.items():
            if name not in arguments or parameter.kind in several:
                raise wrong(kernel, f"has a parameter `{name}`", listed)
            if name in fixed:
                raise wrong(kernel, f"has a parameter `{name}`, which is fixed", "one of both")
            found[name] = parameter.default is not inspect.Parameter.empty
        for name, argument in arguments.items():
            may_lack = isinstance(argument, Buffer) and argument.optional
            if name not in found and name not in fixed and not may_lack:
                is_scalar = isinstance(argument, Scalar)
                raise wrong(
                    kernel,
                    f"has no parameter `{name}`",
                    listed,
                    "name the function's parameters like the kernel's operands"
                    + (f', or fix the scalar: fixed={{"{name}": ...}}.' if is_scalar else "."),
                )
        return found


class TracedExamples(Examples):
    """Examples that are traced for what places have, each once.

    `model`: the model, in whose context they are.
    """

    def __init__(self, pattern: OfFunctions, model: Searched) -> None:
        super().__init__(pattern, ())
        self._pattern = pattern
        self._context = model.module.context
        self._traced: dict[tuple[Any, ...], Example | DeclarationError] = {}

    def trace(self, *key: Any) -> Example:
        """Trace a function, for a number of leading dims or for sizes."""
        raise NotImplementedError

    def _example(self, *key: Any) -> Example:
        """As `trace`, once."""
        if key not in self._traced:
            try:
                self._traced[key] = self.trace(*key)
            except DeclarationError as error:
                self._traced[key] = error
        found = self._traced[key]
        if isinstance(found, DeclarationError):
            raise found
        return found

    def _or_none(self, *key: Any) -> Example | None:
        try:
            return self._example(*key)
        except DeclarationError:
            return None
