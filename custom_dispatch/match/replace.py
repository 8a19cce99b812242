"""Kernels in the places of an MLIR model that compute what they do.

Every pattern is compared with every place; `choosing.py` says which are taken.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.dialects.torch_dialect import DEFINITION
from custom_dispatch.link.mlir_arguments import constant
from custom_dispatch.link.operations import kind_of, last_of, outwards
from custom_dispatch.match.calls import Values, call_function, call_operator, numbers_of, scalar_of
from custom_dispatch.match.choosing import Placed, chosen
from custom_dispatch.match.computing import Computer
from custom_dispatch.match.example import Example, normalise
from custom_dispatch.match.known_sizes import is_profitable, signature_of
from custom_dispatch.match.matching import Matcher
from custom_dispatch.match.near_misses import NearMisses
from custom_dispatch.match.pattern import Pattern, Replaceable, alike, as_list, check_found
from custom_dispatch.match.positions import NOTHING, Held
from custom_dispatch.match.remaining import remaining_in
from custom_dispatch.match.rewriting import MOST_ROUNDS, write_first
from custom_dispatch.match.sizes import SHAPES, drop_sizes
from custom_dispatch.match.state import Match, Miss, place_of
from custom_dispatch.match.text import Examples, Searched, text_examples
from custom_dispatch.match.whole import is_inside
from custom_dispatch.replaced import Replaced, Replacement

_LARGEST = 2**63 - 1
"""Of the torch dialect's integers."""
ByName = Mapping[str, list[ir.Operation]]


def patterns_of(items: Any) -> list[Any]:
    """`replace=` as a list of patterns."""
    found = as_list(items)
    for item in found:
        if not isinstance(item, Replaceable):
            raise DeclarationError(
                f"replace has {shown(item)} in it.",
                expected="a pattern: a cd.Pattern, or that of a framework, such as cd.onnx.Pattern",
                next_step="write replace=[cd.Pattern(kernel, computes=...)].",
            )
    return found


def replace_places(
    module: ir.Module,
    items: Any,
    callees: Callees | None = None,
    held: Held | None = None,
    optional: str = "required=False",
    moved: dict[ir.Value, ir.Value] | None = None,
) -> Replaced:
    """Put calls of kernels into a model.

    - `module`: the model, which is changed: private functions become part of those that call them.
    - `items`: patterns.
    - `callees`: where the kernels' functions are declared; a model in the torch dialect, which
      calls kernels as operators, needs none.
    - `held`: what the model's weights hold that are outside of it.
    - `optional`: how a pattern is written that need not be found, for errors.
    - `moved`: gets what stands for each value that a kernel gives by now.
    """
    patterns = patterns_of(items)
    normalise(module)
    with module.context, ir.Location.unknown():
        for left in reversed(range(MOST_ROUNDS + 1)):
            work = _Work(module, callees, held or NOTHING)
            places = work.places(patterns)
            if not left or not work.write_anew(places):
                break
        misses = work.misses.told(places, {item.item.name for item in patterns if item.required})
        staying = [op for placed in places if placed.stays for _, op in placed.operations]
        for placed in places:
            if not placed.stays:
                work.put(placed)
        work.finish()
        if moved is not None:
            moved |= work.moved
    remaining = remaining_in(module, work.replacements, staying)
    report = Replaced(tuple(work.replacements), misses, remaining)
    check_found(patterns, report, optional)
    return report


class _Work:
    """One model into which kernels are put."""

    def __init__(self, module: ir.Module, callees: Callees | None, held: Held) -> None:
        self._module = module
        self._callees = callees
        self._matcher = Matcher(held)
        self._order: dict[ir.Operation, float] = {}
        self._endings: dict[ir.Operation, tuple[Any, ...]] = {}
        self._computer = Computer(self._order)
        self._by_name: dict[str, list[ir.Operation]] = {}
        self._new: dict[ir.Value, ir.Value] = {}
        self._done: dict[float, ir.Operation] = {}
        self.replacements: list[Replacement] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if DEFINITION in op.attributes:
                return ir.WalkResult.SKIP
            self._order[op] = len(self._order)
            self._by_name.setdefault(kind_of(op), []).append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        self.model = Searched(module, self._by_name)
        self.misses = NearMisses(self._order, self._matched)

    # -- finding

    def places(self, patterns: Sequence[Any]) -> list[Placed]:
        """The places that kernels can take, in the model's order."""
        self.model.convert(patterns)
        found: list[Placed] = []
        for order, pattern in enumerate(patterns):
            for group in alike(pattern):
                first = group[0]
                found += self.find(
                    order,
                    group,
                    text_examples(first, self.model)
                    if isinstance(first, Pattern)
                    else first.examples(self.model),
                )
        return sorted(chosen(found, self.misses.refuse), key=lambda item: item.position)

    def write_anew(self, places: Sequence[Placed]) -> bool:
        """Write places as the first function of their patterns; return whether any was another."""
        others = [item for item in places if item.match.example.first and not item.stays]
        for placed in others:
            self._put(placed, write_first)
        if others:
            self._erase_done()
        return bool(others)

    def find(self, order: int, group: Sequence[Replaceable], examples: Examples) -> list[Placed]:
        """Every place that computes a pattern.

        `group`: the pattern for each kernel of one signature, the first of which the examples are
        of.
        """
        found, name = [], examples.pattern.item.name
        for kind in sorted(examples.roots()):
            for op in self._by_name.get(kind, ()):
                for example in examples.at(op, self._by_name):
                    if isinstance(example, tuple):
                        self.misses.note(name, op, *example)
                        continue
                    if not group[0].required and self._ending(op) != self._ending(example.root):
                        continue  # most are told apart so, and nobody asks why
                    result = self._matched(example, op)
                    if isinstance(result, Match):
                        whole = self._computer.computed(result)
                        if isinstance(whole, str):
                            self.misses.refuse(result, whole)
                            continue
                        result = whole
                        for pattern in group:
                            own = copy(example.pattern)
                            own._keep(kernel=pattern.kernel)
                            match = replace(result, example=replace(example, pattern=own))
                            problem = self._problem(match)
                            if problem:
                                self.misses.refuse(match, problem, example)
                            else:
                                found.append(self._found(order, op, match))
                                break  # others of the same operands would take the same place
                    else:
                        self.misses.note(name, op, result, example)
        if not found:
            self.misses.look_further(examples)
        return found

    def _matched(self, example: Example, op: ir.Operation) -> Match | Miss:
        return self._matcher.match(example, op, self._by_name)

    def _ending(self, op: ir.Operation) -> tuple[Any, ...]:
        """What tells one `linalg.generic` from others at a glance."""
        if op.name != "linalg.generic" or not op.results:
            return ()
        if op not in self._endings:
            kind, block = op.results[0].type, op.regions[0].blocks[0]
            last = owner_of(last_of(block).operands[0])
            name = "" if last is None else last.name
            self._endings[op] = (len(op.operands), kind.rank, kind.element_type, name)
        return self._endings[op]

    def _found(self, order: int, root: ir.Operation, match: Match) -> Placed:
        operations = sorted(
            ((self._order[op], op) for op in match.operations), key=lambda item: item[0]
        )
        name = match.example.pattern.item.name
        where = (self._order[root], tuple(operations), place_of(root), self._point(match))
        return Placed(match, name, order, *where, stays=not is_profitable(match))

    def _problem(self, match: Match) -> str:
        """Why the kernel cannot stand in a place that computes the same; empty where it can."""
        point = self._point(match)
        for value in (*match.operands.values(), *match.scalars.values()):
            owner = owner_of(value) if isinstance(value, ir.Value) else None
            if owner is not None and self._order[owner] >= self._order[point]:
                return "a result is used before all operands are there"
        try:
            signature_of(match)
            for item in match.example.pattern.kernel.arguments:
                if isinstance(item, Scalar):
                    value = scalar_of(match, item.name)
                    constant(item, value)
                    if self._callees is None and isinstance(value, int) and value > _LARGEST:
                        return f"the number for `{item.name}` is {value}, more than 2^63 - 1"
        except LinkError as error:
            return error.found.removesuffix(".")
        return ""

    def _point(self, match: Match) -> ir.Operation:
        """The first operation that needs a result; the last one that gives a result at the latest.

        Then it comes after all operands wherever that is possible.
        """
        owners = [ir.OpResult(value).owner.operation for value in match.results]
        last = max(owners, key=lambda op: self._order[op])
        users = [
            next((op for op in outwards(use.owner) if op.block == last.block), last)
            for value in match.results
            for use in value.uses
            if use.owner.name != SHAPES and not is_inside(use.owner.operation, match.operations)
        ]
        return min([last, *users], key=lambda op: self._order[op])

    # -- replacing

    def put(self, found: Placed) -> None:
        """Put a call of the kernel in a place."""
        callees = self._callees
        if callees is None:
            self._put(found, call_operator)
        else:
            self._put(found, partial(call_function, module=self._module, callees=callees))
        names = tuple(kind_of(op) for _, op in found.operations)
        done = Replacement(found.kernel, found.place, names, numbers_of(found.match))
        self.replacements.append(done)

    def _put(self, found: Placed, write: Callable[[Match, Values], list[ir.Value]]) -> None:
        match = found.match

        def current(value: ir.Value) -> ir.Value:
            return self._new.get(value, value)

        root = owner_of(match.root) or found.point
        with root.location, ir.InsertionPoint(found.point):
            results = write(match, current)
        inside = [op for _, op in found.operations]
        for old, new in zip(match.results, results, strict=True):
            for use in list(old.uses):
                if not any(op == outer for op in inside for outer in outwards(use.owner)):
                    use.owner.operation.operands[use.operand_number] = new
            self._new[old] = new
        self._done |= dict(found.operations)  # places may share views

    def finish(self) -> None:
        """Take away what nobody uses any more, and what was said for the matcher alone."""
        drop_sizes(self._module)
        self._erase_done()

    def _erase_done(self) -> None:
        for _, op in sorted(self._done.items(), key=lambda item: -item[0]):
            users = [use.owner.operation for result in op.results for use in result.uses]
            if all(user.name == SHAPES for user in users):
                for user in users:
                    user.erase()
                op.erase()

    @property
    def moved(self) -> Mapping[ir.Value, ir.Value]:
        """What stands for the values that kernels give."""
        return self._new
