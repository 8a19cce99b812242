"""Kernels in the places of an MLIR model that compute what they do.

Every pattern is compared with every place; `patterns/choosing.py` says which are taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from iree.compiler import ir

from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.ir.signature import input_types, output_types
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.link.constants import shortest
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.numbers import constant
from custom_dispatch.link.operations import cast, create, kind_of
from custom_dispatch.match.axes import (
    as_the_kernels,
    axes_of,
    dialect_of,
    inverse,
    transpose,
)
from custom_dispatch.match.bools import as_numbers, number_of_false
from custom_dispatch.match.choosing import Found, chosen
from custom_dispatch.match.example import Example, normalise
from custom_dispatch.match.fitting import fitting_of
from custom_dispatch.match.likeness import Likeness, Likenesses, before
from custom_dispatch.match.matching import Matcher
from custom_dispatch.match.near import NearMisses
from custom_dispatch.match.pattern import (
    Pattern,
    Replaceable,
    alike,
    as_list,
    check_found,
    fixed_numbers,
)
from custom_dispatch.match.place import place_of
from custom_dispatch.match.state import Match, Miss
from custom_dispatch.match.text import TextExamples, Texts
from custom_dispatch.match.whole import comes_before, is_inside, outwards
from custom_dispatch.replaced import NearMiss, Place, Replaced, Replacement

ByName = Mapping[str, list[ir.Operation]]


class Examples(Protocol):
    """What writes the examples that a place is compared with."""

    @property
    def pattern(self) -> Replaceable:
        """The pattern that they are of."""

    def roots(self) -> set[str]:
        """The names of the operations that are looked at."""

    def known(self) -> Iterable[Example]:
        """The examples that need no place."""

    def at(
        self, op: ir.Operation, by_name: ByName
    ) -> Iterable[Example | tuple[Miss, Example | None]]:
        """The examples for one place, or why there is none.

        Beside the reason is what the place may look like; None where all but sizes fits.
        """


@dataclass(frozen=True, slots=True)
class _Placed:
    match: Match
    operations: tuple[tuple[int, ir.Operation], ...]
    """Those that the kernel stands for, in the model's order. Python's hash of an operation follows
    from its operands, so that none is found in a set any more when the model is being changed."""
    place: Place

    @property
    def last(self) -> ir.Operation:
        """The last operation that gives a result: there all operands are known."""
        owners = [ir.OpResult(value).owner.operation for value in self.match.results]
        return next(op for _, op in reversed(self.operations) if any(op == o for o in owners))


def patterns_of(items: Any) -> list[Any]:
    """`replace=` as a list of patterns.

    Raises
    ------
    DeclarationError
        An item is not a pattern.
    """
    found = as_list(items)
    for item in found:
        if not isinstance(item, Pattern) and not callable(getattr(item, "examples", None)):
            raise DeclarationError(
                f"replace has {shown(item)} in it.",
                expected="a cd.Pattern, or a cd.jax.Pattern for models of JAX",
                next_step="write replace=[cd.Pattern(kernel, computes=...)].",
            )
    return found


def replace_places(module: ir.Module, items: Any, callees: Callees) -> Replaced:
    """Put calls of kernels into a model.

    Parameters
    ----------
    module
        The model, which is changed: private functions become part of those that call them.
    items
        Patterns.
    callees
        Where the kernels' functions are declared.

    Raises
    ------
    DeclarationError
        An item is not a pattern, or its function cannot serve as one.
    LinkError
        A pattern that is required is found nowhere; the message lists what nearly is.
    """
    patterns = patterns_of(items)
    normalise(module)
    with module.context, ir.Location.unknown():
        work = _Work(module, callees)
        found: list[Found[_Placed]] = []
        for order, pattern in enumerate(patterns):
            for group in alike(pattern):
                first = group[0]
                found += work.find(
                    order,
                    group,
                    TextExamples(first, work.texts)
                    if isinstance(first, Pattern)
                    else first.examples(module),
                )
        taken = chosen(found, lambda placed, why: work.note(placed.match, why))
        places = [item.match for item in taken]
        work.settle(places)
        for placed in places:
            work.put(placed)
        work.finish()
    report = work.report()
    check_found(patterns, report, "required=False")
    return report


class _Work:
    """One model into which kernels are put."""

    def __init__(self, module: ir.Module, callees: Callees) -> None:
        self._module = module
        self._callees = callees
        self._order: dict[ir.Operation, int] = {}
        self._by_name: dict[str, list[ir.Operation]] = {}
        self._new: dict[ir.Value, ir.Value] = {}
        self._done: list[tuple[int, ir.Operation]] = []
        self._replacements: list[Replacement] = []
        self._misses = NearMisses()
        self._likenesses = Likenesses()
        self._gone: dict[int, str] = {}
        self._notes: list[tuple[str, ir.Operation, Miss | None, Example | None]] = []
        self._after: dict[str, list[ir.Operation]] = {}

        def visit(op: ir.Operation) -> ir.WalkResult:
            self._order[op] = len(self._order)
            self._by_name.setdefault(kind_of(op), []).append(op)
            for name in {kind_of(item) for item in before(op)}:
                self._after.setdefault(name, []).append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        self.texts = Texts(module, self._by_name)

    # -- finding

    def find(
        self, order: int, group: Sequence[Replaceable], examples: Examples
    ) -> list[Found[_Placed]]:
        """Every place that computes a pattern.

        Parameters
        ----------
        group
            The pattern for each kernel of one signature, the first of which the examples are of.
        """
        found = []
        for name in sorted(examples.roots()):
            for op in self._by_name.get(name, ()):
                for example in examples.at(op, self._by_name):
                    if isinstance(example, tuple):
                        self._notes.append((examples.pattern.item.name, op, *example))
                        continue
                    result = Matcher().match(example, op, self._by_name)
                    if isinstance(result, Match):
                        for pattern in group:
                            match = replace(result, example=replace(example, pattern=pattern))
                            problem = self._problem(match)
                            if problem:
                                self.note(match, problem)
                            else:
                                found.append(self._found(order, op, match))
                    else:
                        self._notes.append((examples.pattern.item.name, op, result, example))
        if not found:
            self._look_further(examples)
        return found

    def _look_further(self, examples: Examples) -> None:
        """Note places that end in another operation than a pattern found nowhere."""
        pattern = examples.pattern
        for example in examples.known():
            if pattern.required:
                self._misses.compare(pattern.item.name, example.names, self._by_name)
            names = {kind_of(item) for item in before(example.root)} - {kind_of(example.root)}
            for op in {op: None for name in names for op in self._after.get(name, ())}:
                if kind_of(op) != kind_of(example.root) and op.results:
                    self._notes.append((pattern.item.name, op, None, example))

    def _found(self, order: int, root: ir.Operation, match: Match) -> Found[_Placed]:
        operations = sorted(
            ((self._order[op], op) for op in match.operations), key=lambda item: item[0]
        )
        return Found(
            _Placed(match, tuple(operations), place_of(root)),
            match.example.pattern.item.name,
            order,
            self._order[root],
            match.results[match.example.roots[0]],
            len(operations),
            match.operations,
        )

    def _problem(self, match: Match) -> str:
        """Why the kernel cannot stand in a place that computes the same; empty where it can."""
        owners = [ir.OpResult(value).owner.operation for value in match.results]
        last = max(owners, key=lambda op: self._order[op])
        for user in self._outside(match):
            if comes_before(user, last):
                return "a result is used before all operands are there"
        try:
            fitting_of(match)
            for item in match.example.pattern.kernel.arguments:
                if isinstance(item, Scalar):
                    constant(item, self._scalar(match, item.name))
        except LinkError as error:
            return error.found.removesuffix(".")
        return ""

    def _outside(self, match: Match) -> list[ir.Operation]:
        """Who uses a result in the place of the kernel's."""
        return [
            use.owner.operation
            for value in match.results
            for use in value.uses
            if not is_inside(use.owner.operation, match.operations)
        ]

    def _scalar(self, match: Match, name: str) -> Any:
        fixed = fixed_numbers(match.example.pattern)
        if name in fixed:
            return fixed[name]
        return match.scalars.get(name, match.operands.get(name))

    def note(self, match: Match, reason: str) -> None:
        """Note that a place is not replaced although it computes the same."""
        result = ir.OpResult(match.results[match.example.roots[0]])
        op = result.owner.operation
        name = match.example.pattern.item.name
        self._notes.append((name, op, Miss(op, (reason,), 1.0), None))

    def settle(self, places: Sequence[_Placed]) -> None:
        """Say which places kernels take; how much others look like patterns takes long to say."""
        for placed in places:
            name = placed.match.example.pattern.item.name
            self._gone |= {position: name for position, _ in placed.operations}
        for name, root, said, like in self._notes:
            if self._order[root] in self._gone:
                continue
            alike = self._likenesses.of(like, root) if like else Likeness(1.0)
            miss = Matcher().match(like, root, self._by_name) if like and not said else said
            assert isinstance(miss, Miss)  # noqa: S101 - it ends in another operation
            self._note(name, root, miss, alike)

    def _note(self, name: str, root: ir.Operation, miss: Miss, alike: Likeness) -> None:
        position, place = self._order[root], place_of(root)

        def said() -> NearMiss:
            source = place_of(miss.operation).source
            where = f" ({source})" if source not in ("", place.source) else ""
            return NearMiss(name, place, miss.reason + where)

        covers = frozenset(self._order[op] for op in alike.operations)
        rank = (alike.share, alike.exactly, miss.share)
        self._misses.note((name, position), position, rank, said, covers)

    # -- replacing

    def put(self, found: _Placed) -> None:
        """Put a call of the kernel in a place."""
        match = found.match
        kernel = match.example.pattern.kernel
        last = found.last
        item = match.example.pattern.item
        signature = fitting_of(match).signature
        symbol = self._callees.declare(self._module, item, signature, kernel)
        types = [ir.Type.parse(kind) for kind in input_types(kernel, signature)]
        with last.location, ir.InsertionPoint(last):
            values = [
                self._tensor(match, item, kind)
                if isinstance(item, Buffer)
                else self._number(match, item, kind)
                for item, kind in zip(kernel.arguments, types, strict=True)
            ]
            call = ir.Operation.create(
                "func.call",
                results=[ir.Type.parse(kind) for kind in output_types(kernel, signature)],
                operands=values,
                attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
            )
            results = []
            for output, old, new in zip(kernel.outputs, match.results, call.results, strict=True):
                axes = axes_of(match.example.pattern, output.name)
                kept = cast(new, as_the_kernels(old.type, axes))
                results.append(cast(transpose(kept, axes, dialect_of(last)), old.type))
        inside = [op for _, op in found.operations]
        for old, new in zip(match.results, results, strict=True):
            for use in list(old.uses):
                if not any(op == outer for op in inside for outer in outwards(use.owner)):
                    use.owner.operation.operands[use.operand_number] = new
            self._new[old] = new
        self._done += found.operations
        numbers = {
            item.name: shortest(value)
            for item in kernel.arguments
            if isinstance(item, Scalar)
            and isinstance(value := self._scalar(match, item.name), bool | int | float)
        }
        names = tuple(kind_of(op) for op in inside)
        self._replacements.append(
            Replacement(match.example.pattern.item.name, found.place, names, numbers)
        )

    def _tensor(self, match: Match, operand: Buffer, kind: ir.Type) -> ir.Value:
        value = match.operands.get(operand.name)
        if value is None:
            rank = ir.RankedTensorType(kind).rank
            empty = ir.RankedTensorType.get([0] * rank, ir.RankedTensorType(kind).element_type)
            return cast(create("tensor.empty", empty), kind)
        axes = axes_of(match.example.pattern, operand.name)
        given = self._new.get(value, value)
        if axes is not None:
            given = transpose(given, inverse(axes), dialect_of(match.results[0].owner))
        of_false = number_of_false(match.example.pattern, operand.name)
        if of_false is not None:
            given = as_numbers(given, operand, of_false)
        return cast(given, kind)

    def _number(self, match: Match, scalar: Scalar, kind: ir.Type) -> ir.Value:
        value = self._scalar(match, scalar.name)
        attribute = constant(scalar, value)
        if attribute is not None:
            return create("arith.constant", kind, value=attribute)
        value = self._new.get(value, value)
        if isinstance(value.type, ir.RankedTensorType):
            value = create("tensor.extract", ir.RankedTensorType(value.type).element_type, value)
        if value.type == kind:
            return value
        if str(value.type) == "index":
            return create("arith.index_cast", kind, value)
        return create("arith.extf", kind, value)

    def finish(self) -> None:
        """Take away what nobody uses any more."""
        for _, op in sorted(self._done, key=lambda item: -item[0]):
            if not any(True for result in op.results for _ in result.uses):
                op.erase()

    def report(self) -> Replaced:
        """What was done, and what was not."""
        # Part of a place that was replaced may look like another one.
        misses = self._misses.told(self._gone, {item.kernel for item in self._replacements})
        return Replaced(tuple(self._replacements), misses)
