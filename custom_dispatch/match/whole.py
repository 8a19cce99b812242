"""What has to hold of a place as a whole, when all of its values agree with an example's."""

from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import is_constant, owner_of
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import kind_of, operations_of, outwards
from custom_dispatch.match.example import Example
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.polynomial import Atom, Polynomial
from custom_dispatch.match.sizes import ANY, SHAPES, Size, extent_of, in_terms_of, is_same, size_of
from custom_dispatch.match.state import Pair, State

Difference = tuple[ir.Operation, tuple[Any, ...]]
"""Where it is, and the parts of a sentence on it."""


def with_shapes(example: Example, state: State) -> State:
    """The state with the operands of which the example reads sizes alone: they follow from these.

    A convolution's strides are numbers in a model, and sizes of an operand in a pattern.
    """
    known: dict[ir.Value, dict[int, int]] = {}
    for pair in state.sizes:
        for mine, its in _sizes_of(example, pair):
            atom = mine.atom if isinstance(mine, Polynomial) else None
            number = its.number if isinstance(its, Polynomial) else None
            if atom is not None and atom.of[0] == "extent" and number is not None:
                known.setdefault(atom.of[1], {})[atom.of[2]] = number
    found = dict(state.operands)
    for value, sizes in known.items():
        kind = ir.RankedTensorType(builtin_type(value.type))
        each = [sizes.get(axis, size) for axis, size in enumerate(kind.shape)]
        sizes_alone = all(use.owner.name == "torch.aten.size.int" for use in value.uses)
        if sizes_alone and value in example.operands and min(each) >= 0:
            found.setdefault(example.operands[value], tuple(each))
    return replace(state, operands=found)


def other_size(example: Example, state: State) -> Difference | None:
    """A size that is another one in terms of the operands' sizes."""
    for pair in state.sizes:
        for mine, its in _sizes_of(example, pair):
            wanted = in_model(example, mine, state)
            if wanted != ANY and not is_same(wanted, its):
                name = pair.name or "a size"
                return pair.at, (f"{name} is {_said(its)}, and in the pattern {_said(wanted)}",)
    return None


def _sizes_of(example: Example, pair: Pair) -> list[tuple[Size, Size]]:
    kind = builtin_type(pair.wanted.type)
    if not isinstance(kind, ir.RankedTensorType):
        return [(size_of(pair.wanted), size_of(pair.found))]
    any_, own = example.any_sizes, example.own_axes(pair.wanted)
    return [
        (any_.get(size) or extent_of(pair.wanted, axis), extent_of(pair.found, axis))
        for axis, size in enumerate(kind.shape)
        if axis not in own and (kind.is_dynamic_dim(axis) or size in any_)
    ]


def in_model(example: Example, size: Size, state: State) -> Size:
    """A size of the example as it is in the model."""
    return in_terms_of(size, lambda atom: _in_model(example, atom, state))


def _in_model(example: Example, atom: Atom, state: State) -> Size:
    kind, value, *of_axis = atom.of
    if kind == "value" and value in example.symbols:
        value, axis = example.symbols[value]
        of_axis = [axis]
    bound = _bound(example, value, state)
    if bound is None:
        return Polynomial.of(atom)
    if isinstance(bound, tuple):
        return Polynomial.of(bound[of_axis[0]])
    return extent_of(bound, of_axis[0]) if of_axis else size_of(bound)


def _bound(example: Example, value: ir.Value, state: State) -> Any:
    """The model's value that one of the example is."""
    name = example.operands.get(value)
    if name is not None:
        return state.operands.get(name)
    op = owner_of(value)
    ops = state.operations.get(op) if op is not None else None
    if not ops:
        return None
    found: ir.Value = next(iter(ops)).results[ir.OpResult(value).result_number]
    return found


def more_than_wanted(state: State) -> Difference | None:
    """A region of the model that computes something besides."""
    known = frozenset[ir.Operation]().union(*state.operations.values())
    for op in known:
        for item in operations_of(op) if op.regions else ():
            if item not in known and not is_constant(item):
                return op, (f"{kind_of(op)} computes {kind_of(item)}, too",)
    return None


def used_elsewhere(example: Example, state: State) -> Difference | None:
    """An intermediate value that something outside of the place uses."""
    known = frozenset[ir.Operation]().union(*state.operations.values())
    results = {
        (op, ir.OpResult(value).result_number)
        for value in example.results
        for op in state.operations[ir.OpResult(value).owner.operation]
    }
    views = known_operations()["views"]
    for mine in example.telling:
        for op in state.operations.get(mine, ()) if kind_of(mine) not in views else ():
            for index, value in enumerate(op.results):
                if (op, index) in results:
                    continue
                for use in value.uses:
                    user = use.owner.operation
                    if user.name != SHAPES and not is_inside(user, known):
                        returned = user.name.endswith((".return", ".to_builtin_tensor"))
                        what = ["a result of the model"] if returned else ["used by ", user]
                        return op, ("the intermediate ", value, " is ", *what, ", too")
    return None


def is_inside(op: ir.Operation, operations: frozenset[ir.Operation]) -> bool:
    """Whether an operation is one of some, or in a region of one."""
    return any(each in operations for each in outwards(op))


def _said(size: Size) -> str:
    return str(size) if isinstance(size, float | Polynomial) else "another"
