"""Whether a place in a model computes what an example does, and if not, why not.

What has to agree, backwards from the results: every operation with its attributes, types and
regions, and all values that these take from outside. Constants are equal by value, and one of the
example that is a scalar of the kernel stands for any number. Sizes are what they are in terms of
the operands' sizes. The operands of commutative operations may be swapped. An operand is the same
value wherever the example has it, and intermediate values are used nowhere else.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from custom_dispatch.link import constants
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import kind_of, outwards
from custom_dispatch.match import operation_differences, whole
from custom_dispatch.match.conditions import Solved, said, solve
from custom_dispatch.match.example import Example
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.positions import NOTHING, Held, Positions
from custom_dispatch.match.sizes import is_size
from custom_dispatch.match.state import Match, Miss, Pair, State, shown
from custom_dispatch.match.types import EVERY, fits, fits_number, is_of_any_rank

_INDICES = ("index", "!torch.int", "!torch.float")
"""Types of sizes, and of what is computed of them."""
_MOST_STEPS = 20_000
_Ways = list[tuple[tuple[Pair, ...], State]]


class Matcher:
    """Compares places with examples.

    - `held`: what the model's weights hold.
    - `loose`: whether sizes, and what may follow from them, are not looked at: to find out which
      sizes to write an example for.
    """

    def __init__(self, held: Held = NOTHING, *, loose: bool = False) -> None:
        self._held = held
        self._positions = Positions(held)
        self._loose = loose
        self._example: Example
        self._any_sizes: Container[int]
        self._root: ir.Operation
        self.miss: Miss
        """Why the place that was compared last does not match."""
        self._steps = 0

    def match(
        self, example: Example, root: ir.Operation, others: Mapping[str, list[ir.Operation]]
    ) -> Match | Miss:
        """Compare the place whose last operation is given.

        `others`: the model's operations by name, for examples of several results.
        """
        return next(self.matches(example, root, others), None) or self.miss

    def matches(
        self, example: Example, root: ir.Operation, others: Mapping[str, list[ir.Operation]]
    ) -> Iterator[Match]:
        """Every way in which it computes the example."""
        self._example, self._root, self._steps = example, root, 0
        self._any_sizes = EVERY if self._loose else example.any_sizes
        self.miss = Miss(root, (), -1.0)
        for state in self._from_roots(example.roots, root, others, State()):
            state = whole.with_shapes(example, state)
            difference = None
            if not self._loose:
                difference = (
                    whole.other_size(example, state)
                    or whole.more_than_wanted(state)
                    or whole.used_elsewhere(example, state)
                )
            solved = self._solved(state) if difference is None else difference
            if isinstance(solved, tuple):
                self._differs(solved[0], state, *solved[1])
            else:
                yield self._as_match(replace(state, operands=solved))

    def _solved(self, state: State) -> dict[str, Any] | whole.Difference:
        """The operands, with those that follow from conditions; or why one does not hold."""
        found: dict[str, Any] = dict(state.operands)
        broadcasting = known_operations()["broadcasting"]
        for wanted, pair in state.conditions:
            solution = solve(
                wanted,
                pair.found,
                self._positions,
                lambda size: whole.in_model(self._example, size, state),
                self._example.operands,
            )
            if isinstance(solution, dict) and kind_of(pair.at) not in broadcasting:
                solution = "is not known to be broadcast"
            if isinstance(solution, str):
                return pair.at, (pair.name or pair.found, f" {solution}")
            for name, value in solution.items():
                known = found.setdefault(name, value)
                if isinstance(known, ir.Value):
                    known = Solved(self._positions.number(known, value.axes), value.axes)
                if known != value:
                    words = [said([each.value]) for each in (known, value)]
                    return pair.at, (f"of `{name}` it would be known {' and '.join(words)}",)
        return found

    def _as_match(self, state: State) -> Match:
        example = self._example
        results = []
        for value in example.results:
            mine = ir.OpResult(value)
            op = min(state.operations[mine.owner.operation], key=lambda item: item != self._root)
            results.append(op.results[mine.result_number])
        return Match(
            example,
            tuple(results),
            frozenset(op for mine in example.telling for op in state.operations.get(mine, ())),
            state.operands,
            state.scalars,
        )

    def _from_roots(
        self,
        roots: tuple[int, ...],
        op: ir.Operation,
        others: Mapping[str, list[ir.Operation]],
        state: State,
    ) -> Iterator[State]:
        wanted = ir.OpResult(self._example.results[roots[0]])
        if wanted.result_number >= len(op.results):
            return
        for found in self._solve((Pair(wanted, op.results[wanted.result_number], op),), state):
            if len(roots) == 1:
                yield found
                continue
            following = constants.owner_of(self._example.results[roots[1]])
            assert following is not None  # noqa: S101 - `read_example` has seen to it
            known = found.operations.get(following, frozenset())
            for other in known or others.get(kind_of(following), []):
                if other.block == op.block:
                    yield from self._from_roots(roots[1:], other, others, found)

    def _solve(self, pairs: tuple[Pair, ...], state: State) -> Iterator[State]:
        while pairs:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                self._differs(self._root, state, "there are too many ways to compare it")
                return
            pair, pairs = pairs[0], pairs[1:]
            ways = self._ways(pair, state)
            if not ways:
                return
            if len(ways) > 1:
                for more, following in ways:
                    yield from self._solve(more + pairs, following)
                return
            more, state = ways[0]
            pairs = more + pairs
        yield state

    def _differs(self, at: ir.Operation, state: State, *said: Any) -> _Ways:
        share = (len(state.operations.keys() - self._example.free)) / self._example.count
        if share > self.miss.share:
            self.miss = Miss(at, said, share)
        return []

    def _is_another(self, pair: Pair, state: State, *said: Any) -> _Ways:
        """What the model has in the place of a value; `said`: what the pattern has there."""
        return self._differs(pair.at, state, *pair.said, *said)

    # -- values

    def _ways(self, pair: Pair, state: State) -> _Ways:
        """What else has to agree for two values to do so, in each way; none where they do not."""
        wanted, found = pair.wanted, pair.found
        source = constants.spread_from(wanted)
        name = self._example.holes.get(source) or self._example.operands.get(source, "")
        if source in self._example.holes or (
            name in self._example.scalars and constants.element_of(found) is not None
        ):
            return self._hole(name, pair, state)
        if wanted in self._example.operands:
            return self._operand(pair, state)
        mine = constants.owner_of(wanted)
        if mine is None:
            if any(wanted == one and found == other for one, other in state.arguments):
                return [((), state)]
            return self._differs(pair.at, state, found, " is another of its arguments")
        if is_size(wanted) and (str(wanted.type) in _INDICES or constants.is_splat(found)):
            return [((), replace(state, sizes=(*state.sizes, pair)))]
        element = constants.element_of(wanted)
        if element is not None:
            return self._number(pair, element, state)
        condition = self._example.condition(wanted)
        if condition is not None:
            return [((), replace(state, conditions=(*state.conditions, (condition, pair))))]
        if constants.is_constant(mine) and (array := self._example.held.array(wanted)) is not None:
            if wanted.type == found.type and self._held.is_equal(found, array):
                return [((), state)]
            return self._is_another(pair, state, " is not the pattern's constant")
        its = constants.owner_of(found)
        if its is None:
            wanted = "none" if mine.name == "torch.constant.none" else kind_of(mine)
            return self._is_another(pair, state, f", where the pattern has {wanted}")
        if ir.OpResult(wanted).result_number != ir.OpResult(found).result_number:
            return self._differs(its, state, "it is another result")
        if its in state.operations.get(mine, ()):
            return [((), state)]
        return self._operation(pair, mine, its, state)

    def _operand(self, pair: Pair, state: State) -> _Ways:
        name = self._example.operands[pair.wanted]
        found = pair.found
        known = state.operands.get(name, state.scalars.get(name))
        if known is not None:
            if known == found:
                return [((), state)]
            return self._differs(
                pair.at, state, f"`{name}` would be ", known, " here and ", found, " there"
            )
        if not fits(pair.wanted.type, found.type, any_sizes=self._any_sizes):
            wanted = "another rank or element type" if self._loose else shown(pair.wanted.type)
            if builtin_type(found.type) is None:
                return self._is_another(
                    pair, state, f", where the pattern has its operand `{name}`"
                )
            return self._differs(
                pair.at, state, f"`{name}` is ", found.type, f", and in the pattern {wanted}"
            )
        if not self._is_visible(found):
            return self._differs(pair.at, state, f"`{name}` is computed element by element")
        # Sizes of the torch dialect may have to be the same in several operands.
        sizes = state.sizes if self._example.symbols == {} else (*state.sizes, pair)
        return [((), replace(state, operands={**state.operands, name: found}, sizes=sizes))]

    def _is_visible(self, value: ir.Value) -> bool:
        """Whether a value is there where the call is to be: not only within a part of the place."""
        own = constants.owner_of(value)
        block = value.owner if own is None else own.block
        return any(op.block == block for op in outwards(self._root))

    def _hole(self, name: str, pair: Pair, state: State) -> _Ways:
        element = constants.element_of(pair.found)
        is_index = str(pair.found.type) == str(pair.wanted.type) == "!torch.int"
        if element is None and not is_index:
            return self._is_another(pair, state, f", where the pattern has a number for `{name}`")
        if not self._fits(pair):
            return self._differs(
                pair.at,
                state,
                f"`{name}` is ",
                pair.found.type,
                ", and in the pattern ",
                "one number" if is_of_any_rank(pair.wanted.type) else pair.wanted.type,
            )
        value = pair.found if element is None else constants.as_written(pair.found)
        bound = self._bound(name, value, pair.at, state)
        return [] if bound is None else [((), bound)]

    def _bound(self, name: str, value: Any, at: ir.Operation, state: State) -> State | None:
        """What is known once a scalar is a number; None where it is another one."""
        known = state.operands.get(name, state.scalars.get(name, value))
        if known != value:
            self._differs(at, state, f"`{name}` would be ", known, " here and ", value, " there")
            return None
        return replace(state, scalars={**state.scalars, name: value})

    def _number(self, pair: Pair, element: ir.Attribute, state: State) -> _Ways:
        found = constants.element_of(pair.found)
        if found is not None and not self._fits(pair):
            return self._differs(
                pair.at, state, pair.found, " has another type than ", pair.wanted.type
            )
        as_f32 = not self._example.is_double  # as PyTorch rounds numbers to what tensors hold
        # An attribute cannot be compared with None.
        is_same = found is not None and (
            found == element
            or (
                str(pair.wanted.type).startswith("!torch.")
                and constants.number_of(found, as_f32) == constants.number_of(element, as_f32)
            )
        )
        if found is None or not (is_same or self._loose):
            joined = ", and in the pattern" if pair.name else ", where the pattern has"
            return self._is_another(pair, state, f"{joined} ", element)
        return [((), state)]

    def _fits(self, pair: Pair) -> bool:
        """Whether types agree; of PyTorch's numbers, 2 and 2.0 are the same."""
        kinds = {str(pair.wanted.type), str(pair.found.type)}
        return kinds == {"!torch.int", "!torch.float"} or fits_number(
            pair.wanted.type, pair.found.type, any_sizes=self._any_sizes
        )

    # -- operations

    def _operation(self, pair: Pair, mine: ir.Operation, its: ir.Operation, state: State) -> _Ways:
        kind, other = kind_of(mine), kind_of(its)
        in_list = kind == other == "torch.prim.ListConstruct"  # one argument of another operation
        if (kind != other and "torch.constant." in mine.name + its.name) or (
            in_list and len(mine.operands) != len(its.operands)
        ):
            return self._is_another(pair, state, ", and in the pattern ", mine.result)
        if kind != other:
            return self._differs(its, state, f"it has {other} where the pattern has {kind}")
        different = operation_differences.other_form(self._example, mine, its, loose=self._loose)
        if different:
            return self._differs(its, state, *different)
        bound = self._captured(mine, its, state)
        if bound is None:
            return []
        state = bound
        known = state.operations.get(mine, frozenset())
        following = replace(state, operations={**state.operations, mine: known | {its}})
        if mine.name in known_operations()["sized"]:
            return [operation_differences.sized(mine, its, following)]
        ways: _Ways = []
        orders = operation_differences.orders_of(mine, its)
        if not orders:
            one, other = (op.attributes["indexing_maps"] for op in (mine, its))
            return self._differs(
                its, following, f"{kind_of(its)} has the maps ", other, ", and in the pattern ", one
            )
        for order in orders:
            inner = operation_differences.regions_of(mine, its, order, following, loose=self._loose)
            if isinstance(inner, str):
                self._differs(its, state, inner)
                continue
            more, bound = inner
            words = self._example.words(kind)
            kept, sizes = [], []
            for index, (one, position) in enumerate(zip(mine.operands, order, strict=True)):
                name = f"`{words[position]}` of {kind}" if position < len(words) else ""
                inner_pair = Pair(one, its.operands[position], its, name)
                if in_list:
                    inner_pair = replace(inner_pair, at=pair.at, name=pair.name)
                # Of what is overwritten, only the sizes matter.
                if operation_differences.is_overwritten(mine, index):
                    sizes.append(inner_pair)
                elif not operation_differences.are_axes(mine, its, index):
                    kept.append(inner_pair)
            ways.append(((*more, *kept), replace(bound, sizes=(*bound.sizes, *sizes))))
        return ways

    def _captured(self, mine: ir.Operation, its: ir.Operation, state: State) -> State | None:
        """What is known with the scalars that are attributes; None where one is another number."""
        defaults = self._example.defaults.get(kind_of(mine), {})
        following: State | None = state
        for name, scalar in self._example.captured_by(mine).items():
            value = operation_differences.attribute_of(its, name, defaults)
            if following is None or not isinstance(value, ir.FloatAttr | ir.IntegerAttr):
                self._differs(its, state, f"{kind_of(its)} does not say `{scalar}`")
                return None
            following = self._bound(scalar, constants.number_of(value), its, following)
        return following
