"""An example of what a kernel computes: a function's body, in SSA form, to compare models with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from iree.compiler import ir, passmanager

from custom_dispatch.kernel.evaluation import dims_of
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.link.constants import is_constant, owner_of, values_of
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import (
    functions_of,
    has_operation,
    is_declaration,
    is_public,
    kind_of,
    last_of,
)
from custom_dispatch.match.conditions import Condition, condition_of
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.pattern import Replaceable, fixed_numbers, wrong
from custom_dispatch.match.polynomial import Atom, Polynomial
from custom_dispatch.match.positions import NOTHING, Held, Positions
from custom_dispatch.match.sizes import ANY, ANY_SIZES, SHAPES, SYMBOL, Size, any_sizes, extents_of
from custom_dispatch.match.types import is_of_any_rank
from custom_dispatch.reachable import reachable

# Calls of private functions become their bodies: JAX puts its own functions into such. Values are
# not made common (`cse`): a model that computes one twice may use one of both elsewhere.
_PASSES = "builtin.module(inline,canonicalize,symbol-dce)"
OPERANDS = "custom_dispatch.operands"
"""Says which of the kernel's operands a function's parameters are, where some may be absent."""
_SIZES = ("tensor.dim", "shape.dim", "torch.aten.size.int", SYMBOL)
"""They read a tensor's size, and nothing of its content."""


@dataclass(frozen=True, eq=False)
class Example:
    """A function that computes what a kernel does.

    Its values belong to the context of the model that it is compared with.
    """

    pattern: Replaceable
    module: ir.Module
    """What the values are in; it keeps them alive."""
    operands: Mapping[ir.Value, str]
    """The function's parameters, and the kernel's arguments that they stand for."""
    results: tuple[ir.Value, ...]
    """What it returns, in the order of the kernel's outputs."""
    holes: Mapping[ir.Value, str] = field(default_factory=dict)
    """Constants that stand for a scalar of the kernel."""
    first: Example | None = None
    """The pattern's first function, where this is another that computes the same."""
    words: Callable[[str], Sequence[str]] = field(default=lambda _: ())
    """What a framework calls the operands of an operation, by its kind; for messages."""
    held: Held = NOTHING
    """What its own constants hold."""
    captured: Mapping[str, str] = field(default_factory=dict)
    """Attributes that do, by name, of each operation that may have one and does not say it."""
    defaults: Mapping[str, Mapping[str, ir.Attribute | None]] = field(default_factory=dict)
    """What attributes are that an operation does not say, by its name; None for nothing."""

    @cached_property
    def operations(self) -> frozenset[ir.Operation]:
        """Every operation that the results are computed with, outside of regions."""
        found = _below(*self.results)
        block = owner_of(self.results[0])
        return frozenset(item for item in found if block is not None and item.block == block.block)

    @cached_property
    def free(self) -> frozenset[ir.Operation]:
        """Operations that depend on no operand's content, or say a condition on positions.

        A model may share their values.
        """
        known: dict[ir.Operation, bool] = {}

        def is_free(op: ir.Operation) -> bool:
            if op not in known:
                known[op] = op.name in _SIZES or all(
                    value not in self.operands
                    and value not in self.holes
                    and ((up := owner_of(value)) is None or is_free(up))
                    for value in values_of(op)
                    if str(value.type) != "index"
                )
            return known[op]

        return frozenset(op for op in self.operations if op not in self._compared or is_free(op))

    @cached_property
    def _compared(self) -> frozenset[ir.Operation]:
        """Every operation but those of conditions, which are compared by value."""

        def owners(values: Iterable[ir.Value]) -> Iterator[ir.Operation]:
            for value in values:
                op = owner_of(value)
                if op is not None and self.condition(value) is None:
                    yield op

        return frozenset(reachable(owners(self.results), lambda op: owners(values_of(op))))

    @cached_property
    def symbols(self) -> Mapping[ir.Value, tuple[ir.Value, int]]:
        """The sizes of the torch dialect that have names: the operand and the axis of each."""
        found: dict[ir.Value, tuple[ir.Value, int]] = {}
        for operand in self.operands:
            for axis, size in enumerate(extents_of(operand)):
                if size.atom is not None and size.atom.of[0] == "value":
                    found.setdefault(size.atom.of[1], (operand, axis))
        return found

    def own_axes(self, value: ir.Value) -> list[int]:
        """The axes of an operand whose sizes no other has: what they may be, the kernel says."""
        pattern, name = self.pattern, self.operands.get(value, "")
        buffers = {each.name: each for each in pattern.kernel.arguments if isinstance(each, Buffer)}
        item = buffers.pop(name, None)
        if item is None or item.batched or name in pattern.axes:
            return []
        others = [size for each in buffers.values() if not each.optional for size in each.shape]
        own = {dim.name for dim in dims_of(*item.shape)} - {dim.name for dim in dims_of(*others)}
        return [axis for axis, size in enumerate(item.shape) if str(size) in own]

    @cached_property
    def any_sizes(self) -> Mapping[int, Size]:
        """Sizes that stand for any: each as that of the first operand that has it."""
        function = next(op for op in functions_of(self.module) if is_public(op))
        found: dict[int, Size] = {}
        for operand in self.operands:
            for axis, size in enumerate(getattr(operand.type, "shape", ())):
                atom = Atom(("extent", operand, axis), "another", 0)
                found.setdefault(size, Polynomial.of(atom))
        every = any_sizes(str(function.attributes.get(ANY_SIZES, "")))
        return {size: found.get(size, ANY) for size in every}

    @cached_property
    def _conditions(self) -> dict[ir.Value, Condition | None]:
        return {}

    def condition(self, value: ir.Value) -> Condition | None:
        """Where a bool is true, if it follows from positions and operands; None for any other."""
        if value not in self._conditions:
            found = condition_of(value, Positions(self.held), self.operands)
            self._conditions[value] = found
        return self._conditions[value]

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The results that no other one is computed from, by position; one an operation."""
        owners = [owner_of(value) for value in self.results]
        below = [_below(value) for value in self.results]
        return tuple(
            index
            for index, owner in enumerate(owners)
            if owner not in owners[:index]
            and not any(owner in below[other] for other, up in enumerate(owners) if up != owner)
        )

    @property
    def root(self) -> ir.Operation:
        """What is looked for first."""
        found = owner_of(self.results[self.roots[0]])
        assert found is not None  # noqa: S101 - `read_example` has seen to it
        return found

    @cached_property
    def telling(self) -> frozenset[ir.Operation]:
        """The operations that tell the example from others."""
        return self.operations - self.free

    @cached_property
    def _inner(self) -> frozenset[ir.Operation]:
        return frozenset(
            item.operation
            for op in self.telling
            for region in op.regions
            for block in region.blocks
            for item in block.operations
            if not is_constant(item.operation)
        )

    @property
    def count(self) -> int:
        """How many operations a place has to have, those of regions among them."""
        return max(len(self.telling | self._inner), 1)

    @cached_property
    def computing(self) -> frozenset[ir.Operation]:
        """Those that say what is computed; all of them where none does."""
        every = self.telling | self._inner
        return frozenset(op for op in every if op.name not in known_operations()["frames"]) or every

    @property
    def names(self) -> frozenset[str]:
        """The names of its operations."""
        names = {kind_of(op) for op in self.telling | self._inner}
        return frozenset(names - {"linalg.yield", "stablehlo.return"})  # what a region ends with

    def captured_by(self, op: ir.Operation) -> dict[str, str]:
        """The attributes of one of its operations that stand for scalars, which these are."""
        known = self.defaults.get(kind_of(op), {}) if self.captured else {}
        return {
            name: scalar
            for name, scalar in self.captured.items()
            if name in known and name not in op.attributes
        }

    @cached_property
    def is_double(self) -> bool:
        """Whether the kernel takes or gives floats of 64 bits."""
        kernel = self.pattern.kernel
        return any(item.dtype.name == "f64" for item in (*kernel.arguments, *kernel.outputs))

    @cached_property
    def scalars(self) -> frozenset[str]:
        """The kernel's scalars that calls pass."""
        arguments = self.pattern.kernel.arguments
        return frozenset(item.name for item in arguments if isinstance(item, Scalar))


def _below(*values: ir.Value) -> set[ir.Operation]:
    """Every operation that values are computed with."""
    starts = map(owner_of, values)
    found = set(reachable(starts, lambda op: map(owner_of, values_of(op)) if op else ()))
    return {op for op in found if op is not None}


def normalise(module: ir.Module) -> None:
    """Bring a model or an example into the form in which they are compared.

    Importers write the torch dialect in one form already, whose operations are those of the source.
    """
    if has_operation(module, "torch."):
        return
    with module.context:
        passmanager.PassManager.parse(_PASSES).run(module.operation)


def read_example(
    pattern: Replaceable, module: ir.Module, names: Sequence[str] | None = None
) -> Example:
    """The example that a module's public function is.

    - `module`: in the context of the model, and normalised.
    - `names`: the arguments of the kernel that the parameters stand for, or numbers that fixed
      scalars are functions of; None for those that the function says (`OPERANDS`), or for all that
      are not fixed, without as many of the optional ones, from the last on, as there are too few.
    """
    kernel = pattern.kernel
    functions = [op for op in functions_of(module) if is_public(op) and not is_declaration(op)]
    if len(functions) != 1 or len(functions[0].regions[0].blocks) != 1:
        raise wrong(
            kernel,
            f"has {len(functions)} public functions"
            if len(functions) != 1
            else "has a function with branches",
            "one, which computes its results in one block",
        )
    block = functions[0].regions[0].blocks[0]
    if names is None and OPERANDS in functions[0].attributes:
        names = [ir.StringAttr(each).value for each in functions[0].attributes[OPERANDS]]
    arguments = _parameters(pattern, block, names)
    results = _results(pattern, block)
    operands = {value: item.name for item, value in zip(arguments, block.arguments, strict=True)}
    example = Example(pattern, module, operands, results)
    _check_operations(example, block)
    return example


def _parameters(
    pattern: Replaceable, block: ir.Block, names: Sequence[str] | None
) -> list[Buffer | Scalar]:
    """The kernel's arguments that a function's parameters stand for, in order."""
    kernel = pattern.kernel
    fixed = fixed_numbers(pattern)
    arguments = [item for item in kernel.arguments if item.name not in fixed]
    if names is None:
        optional = [item for item in arguments if isinstance(item, Buffer) and item.optional]
        missing = max(len(arguments) - len(block.arguments), 0)
        left_out = optional[len(optional) - missing :] if missing <= len(optional) else []
        arguments = [item for item in arguments if item not in left_out]
    else:
        by_name = {item.name: item for item in arguments}
        arguments = [by_name.get(name) or Scalar(name, "f32") for name in names]
    if len(block.arguments) != len(arguments):
        raise wrong(
            kernel,
            f"has a function of {len(block.arguments)} parameters",
            f"{len(arguments)}: {', '.join(item.name for item in arguments)}",
        )
    for item, value in zip(arguments, block.arguments, strict=True):
        _check_type(pattern, item, value.type)
    return arguments


def _results(pattern: Replaceable, block: ir.Block) -> tuple[ir.Value, ...]:
    """What a function computes for each of the kernel's outputs."""
    kernel = pattern.kernel
    results = tuple(last_of(block).operands)
    if len(results) != len(kernel.outputs):
        raise wrong(
            kernel,
            f"has a function of {len(results)} results",
            f"{len(kernel.outputs)}: {', '.join(item.name for item in kernel.outputs)}",
        )
    for operand, value in zip(kernel.outputs, results, strict=True):
        _check_type(pattern, operand, value.type)
        if owner_of(value) is None:
            raise wrong(kernel, f"returns a parameter for `{operand.name}`", "what is computed")
    if len(set(results)) != len(results):
        raise wrong(kernel, "has a function that returns one value twice", "different ones")
    return results


def _check_type(pattern: Replaceable, item: Buffer | Scalar, kind: ir.Type) -> None:
    found = builtin_type(kind)
    element = found.element_type if isinstance(found, ir.RankedTensorType) else found
    if isinstance(item, Buffer):
        wanted = item.dtype.mlir
        if is_of_any_rank(kind):
            return
        if (
            not isinstance(found, ir.RankedTensorType)
            or not item.has_rank(found.rank)
            or str(element) != wanted
        ):
            raise wrong(
                pattern.kernel,
                f"has {found or kind} for `{item.name}`",
                f"a tensor of {wanted} and of the rank of [{item.declared_shape}]",
            )
        return
    is_number = not isinstance(found, ir.RankedTensorType) or found.rank == 0
    if not is_number:
        raise wrong(
            pattern.kernel, f"has {kind} for the scalar `{item.name}`", "a number, or tensor<f32>"
        )


def _check_operations(example: Example, block: ir.Block) -> None:
    """Refuse what has to happen but leads to no result."""
    known = example.operations
    for op in list(block.operations)[:-1]:
        if op.operation in known or is_constant(op.operation):
            continue
        if op.operation.name not in (SHAPES, SYMBOL):
            raise wrong(
                example.pattern.kernel,
                f"has an operation {kind_of(op.operation)}, which no result is computed with",
                "values alone, without effects",
            )
    read = {value for op in known for value in values_of(op)}
    for value, name in example.operands.items():
        if value not in read:
            raise wrong(
                example.pattern.kernel,
                f"has a function that does not use `{name}`",
                "one whose results depend on all of its parameters",
                "leave the operand out of the kernel, or use it.",
            )
