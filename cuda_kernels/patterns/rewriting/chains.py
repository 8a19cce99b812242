"""Chains of states that become `rate * state + added` at each step, by their factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch.fx import Node

from cuda_kernels.patterns.rewriting.contraction import contraction_of
from cuda_kernels.patterns.rewriting.factors import (
    Factor,
    Label,
    Labels,
    broadcast,
    factors_of,
    operands,
    through,
    without_casts,
)
from cuda_kernels.patterns.rewriting.graph import aten, is_call, shape_of
from cuda_kernels.patterns.rewriting.scan_writing import TIME, Scan, without
from cuda_kernels.patterns.rewriting.series import (
    Parts,
    Rolled,
    Series,
    is_invariant,
    of_sequence,
)

FEWEST = 2
"""Steps of a loop."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A state before the first step, and what it is multiplied by and what is added, by steps."""

    first: Node
    rates: Series
    added: Series
    moved: Series
    """The products of state and rate."""


def chain_of(series: Series) -> Chain | None:
    """What each step multiplies its state by and adds; None where a series is no such states."""
    if len(series) < FEWEST:
        return None
    for outer in (0, 1):
        for inner in (0, 1):
            steps = [step_of(node, outer, inner) for node in series]
            if (
                all(each is not None for each in steps)
                and all(
                    without_casts(step[0]) is before  # type: ignore[index]
                    for step, before in zip(steps[1:], series, strict=False)
                )
            ):
                first = steps[0][0]  # type: ignore[index]
                parts = [tuple(step[i] for step in steps) for i in (1, 2, 3)]  # type: ignore[index]
                return Chain(first, *parts)
    return None


def step_of(node: Node, outer: int, inner: int) -> tuple[Node, Node, Node, Node] | None:
    """The state before, its rate, what is added, and state times rate, by where they stand."""
    node = without_casts(node)
    if not is_call(node, aten.add.Tensor) or node.kwargs.get("alpha", 1) != 1:
        return None
    moved, added = without_casts(node.args[outer]), node.args[1 - outer]
    if not is_call(moved, aten.mul.Tensor) or not isinstance(added, Node):
        return None
    before, rate = moved.args[inner], moved.args[1 - inner]
    if not isinstance(before, Node) or not isinstance(rate, Node):
        return None
    return (before, rate, added, moved) if shape_of(before) == shape_of(node) else None


def scan_of(rolled: Rolled, states: Series, chain: Chain, labels: Labels) -> Scan | None:
    """What is common to both kinds."""
    state = states[-1]
    sizes = {**dict(zip(labels, shape_of(state), strict=True)), TIME: len(states)}
    rates = logarithm_of(rolled, chain.rates, labels)
    is_plain = rates is None
    if rates is None:
        rates = _of_series(rolled, chain.rates, labels)
    rule = _delta_rule(rolled, states, chain, labels)
    added = _of_series(rolled, chain.added, labels) if rule is None else [*rule.x, *rule.into]
    if rates is None or added is None:
        return None
    first = None if is_call(chain.first, aten.zeros.default) else Factor(chain.first, labels)
    if first is not None:
        inner = without_casts(first.node)
        first = None if is_call(inner, aten.zeros.default) else Factor(inner, labels)
    scan = Scan(state, labels, sizes, rates, is_plain, added, first)
    if rule is not None:
        scan.beta, scan.into, scan.summed = rule.beta, rule.into, rule.summed
    return scan


@dataclass(frozen=True, slots=True)
class _DeltaRule:
    """What is added is `beta * (x - sum of state * into) * into`."""

    x: list[Factor]
    beta: list[Factor]
    into: list[Factor]
    summed: Label


def _delta_rule(rolled: Rolled, states: Series, chain: Chain, labels: Labels) -> _DeltaRule | None:
    steps = [factors_of(Factor(node, broadcast_to(node, labels))) for node in chain.added]
    befores = (chain.first, *states[:-1])
    found = [_asked(*each, labels) for each in zip(steps, befores, chain.moved, strict=True)]
    first = found[0]
    if first is None:
        return None
    if any(each is None or each[3] != first[3] for each in found):
        return None
    x, beta, into = (_whole_of(rolled, [each[i] for each in found if each]) for i in (0, 1, 2))  # type: ignore[misc]
    if x is None or beta is None or into is None:
        return None
    return _DeltaRule(x, beta, into, first[3])


def _whole_of(rolled: Rolled, steps: Sequence[list[Factor]]) -> list[Factor] | None:
    labels = [[factor.labels for factor in step] for step in steps]
    return None if any(each != labels[0] for each in labels) else factors_of_steps(rolled, steps)


def _asked(
    step: Sequence[Factor], before: Node, moved: Node, labels: Labels
) -> tuple[list[Factor], list[Factor], list[Factor], Label] | None:
    """x, beta and what is put into the states, of what a step adds; and the axis of states."""
    for factor in step:
        parts = (
            operands(factor.node, factor.labels) if is_call(factor.node, aten.sub.Tensor) else None
        )
        if parts is None or factor.node.kwargs.get("alpha", 1) != 1:
            continue
        known = contraction_of(parts[1].node)
        if known is None:
            continue
        state = through(Factor(before, labels))
        states = [each for each in known.factors if each.node is state.node]
        if len(states) != 1:
            continue
        # The labels of both sums are those of the state's axes.
        axes = dict(zip(states[0].labels, state.labels, strict=True)) | {None: None}
        asked = [replace(e, labels=tuple(map(axes.get, e.labels))) for e in known.factors]
        of_moved = factors_of(Factor(moved, labels))
        others = without(asked, of_moved)
        if len(others) != len(asked) - len(of_moved):
            continue
        rest = [each for each in step if each is not factor]
        summed = axes.get(known.summed)
        into = [each for each in rest if summed in each.axes]
        if summed is None or set(into) != set(others) or len(into) != len(others):
            continue
        beta = [each for each in rest if summed not in each.axes]
        return factors_of(parts[0]), beta, into, summed
    return None


def is_state(node: Node) -> bool:
    """Whether a value is itself what a step made of a state."""
    orders = ((0, 0), (0, 1), (1, 0), (1, 1))
    return any(step_of(node, *order) is not None for order in orders)


def every_label(factor: Factor) -> Labels:
    """The labels of a state, whose axes of size 1 have one too."""
    return tuple(
        ("one", index) if label is None else label for index, label in enumerate(factor.labels)
    )


def factors_of_steps(rolled: Rolled, steps: Sequence[Sequence[Factor]]) -> list[Factor] | None:
    """Factors of each step as factors of all steps."""
    found: list[Factor] = []
    for index, one in enumerate(steps[0]):
        each = _whole(rolled, tuple(step[index].node for step in steps), one.labels)
        if each is None:
            return None
        found += factors_of(each)
    return found


def _of_series(rolled: Rolled, series: Series, labels: Labels) -> list[Factor] | None:
    steps = [factors_of(Factor(node, broadcast_to(node, labels))) for node in series]
    shapes = [[factor.labels for factor in step] for step in steps]
    if any(shape != shapes[0] for shape in shapes):
        return None
    return factors_of_steps(rolled, steps)


def broadcast_to(node: Node, labels: Labels) -> Labels:
    """The labels of an operand of an elementwise operation that gives what has these."""
    return broadcast(node, labels[len(labels) - len(shape_of(node)) :])


def _whole(rolled: Rolled, series: Series, labels: Labels) -> Factor | None:
    if len(series) == 1 or is_invariant(series):
        return Factor(series[0], labels)
    sequence = of_sequence(series)
    if sequence is not None:
        return Factor(sequence.written(rolled.write), _with_time(sequence, labels))
    found = rolled.tensor(series)
    return None if found is None else Factor(found, (TIME, *labels))


def logarithm_of(rolled: Rolled, series: Series, labels: Labels) -> list[Factor] | None:
    """The factors of what the rates of all steps are the exponentials of; None if they are not."""
    inner = [through(Factor(node, broadcast_to(node, labels))) for node in series]
    if all(is_call(each.node, aten.exp.default) for each in inner):
        steps = [factors_of(Factor(each.node.args[0], each.labels)) for each in inner]
        shapes = [[factor.labels for factor in step] for step in steps]
        return (
            None if any(each != shapes[0] for each in shapes) else factors_of_steps(rolled, steps)
        )
    if any(each.labels != inner[0].labels for each in inner):
        return None
    if len(series) == 1 or is_invariant([each.node for each in inner]):
        return None
    sequence = of_sequence([each.node for each in inner])
    if sequence is None:
        return None
    labels = _with_time(sequence, inner[0].labels)
    whole = through(Factor(sequence.source, labels))
    if not is_call(whole.node, aten.exp.default):
        return None
    if sequence.written(rolled.write) is not sequence.source:
        whole = _of_parts(rolled, sequence, whole)
    return factors_of(Factor(whole.node.args[0], whole.labels))


def _with_time(sequence: Parts, labels: Labels) -> Labels:
    """The labels of the tensor that parts with these are of."""
    axis = sequence.axis
    return (*labels[:axis], TIME, *labels[axis + sequence.keeps_axis :])


def _of_parts(rolled: Rolled, sequence: Parts, whole: Factor) -> Factor:
    """The exponential of those parts that steps have, in their order."""
    axis = whole.labels.index(TIME)
    parts = replace(sequence, source=whole.node.args[0], axis=axis)
    return Factor(rolled.write.call(aten.exp.default, parts.written(rolled.write)), whole.labels)
