"""Recurrences that are linear in their state, as the operators of `scan_operator.py`.

A state that becomes `a * state + b` at each step, elementwise, is found in loops over time, which
exports unroll, and in single steps of models that keep their state. Where b is a product of what
has the state's last axis and what has not, and the result is a sum over that axis, as in Mamba,
states never leave the kernel. All other recurrences are scans of one state each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.chains import (
    FEWEST,
    Chain,
    chain_of,
    every_label,
    factors_of_steps,
    is_state,
    logarithm_of,
    scan_of,
    step_of,
)
from cuda_kernels.patterns.rewriting.chunks import write_chunks
from cuda_kernels.patterns.rewriting.contraction import Contraction, contraction_of
from cuda_kernels.patterns.rewriting.factors import (
    Labels,
    factors_of,
)
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    keeps_results,
    put,
    shape_of,
)
from cuda_kernels.patterns.rewriting.scan_writing import TIME, Scan, finish, write_scan
from cuda_kernels.patterns.rewriting.series import (
    Rolled,
    Series,
    collected,
    in_order,
)

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_COLLECTING = (aten.stack.default, aten.cat.default, aten.select_scatter.default)
_SUMMING = (aten.matmul.default, aten.sum.dim_IntList, aten.einsum.default, aten.bmm.default)


@dataclass
class _Found:
    """What a graph's recurrences became."""

    scans: list[Scan] = field(default_factory=list)
    last: list[tuple[Node, Node]] = field(default_factory=list)
    """The last step's state, and the node that has it now."""


@keeps_results
def write_scans(program: torch.export.ExportedProgram) -> None:
    """Write the recurrences of a graph as scans."""
    graph = program.graph
    found = _Found(write_chunks(graph))
    if found.scans:
        graph.eliminate_dead_code()  # loops over chunks are recurrences, too
    rolled: dict[int, Rolled] = {}
    for node in calls(graph, *_COLLECTING):
        _write_loop(node, found, rolled)
    for node in calls(graph, *_SUMMING, aten.reshape.default):
        if node.users:
            _write_step(node, found)
    for old, new in found.last:
        old.replace_all_uses_with(new)
    if found.scans:
        in_order(graph)
        graph.eliminate_dead_code()
        for scan in found.scans:
            finish(scan)
        in_order(graph)


def _write_loop(node: Node, found: _Found, rolled: dict[int, Rolled]) -> None:
    """What a loop over time gives, where all of it can be computed for all steps at once."""
    steps = collected(node)
    if steps is None or len(steps[0]) < FEWEST or dtype_of(node) not in _FLOATS:
        return
    series, axis, keeps_axis = steps

    def tensor(series: Series) -> Node | None:
        length, before = len(series), len(found.scans)
        if length not in rolled:
            rolled[length] = Rolled(Writer(node), partial(_recurrence, found)).of_length(length)
        whole = rolled[length].at(node).tensor(series)
        if whole is None or (len(found.scans) == before and not _reads(whole, found)):
            return None
        return whole

    whole, write = _in_any_order(series, tensor, Writer(node)), Writer(node)
    if whole is None:
        return
    if keeps_axis:
        whole = write.call(aten.squeeze.dim, whole, axis + 1)
    rank = len(shape_of(node))
    order = [index + 1 if index < axis else index for index in range(rank)]
    order[axis] = 0
    # Not as one with permutations before it: `finish` goes on from them.
    moved = write.call(aten.permute.default, whole, order)
    put(node, write.cast(moved, dtype_of(node)))


def _in_any_order(
    series: Series, tensor: Callable[[Series], Node | None], write: Writer
) -> Node | None:
    """[time, ...] of steps that go forwards or backwards, or whose first one is another."""
    whole = tensor(series)
    if whole is not None:
        return whole
    whole = tensor(series[::-1])
    if whole is not None:
        return write.call(aten.flip.default, whole, [0])
    if len(series) > FEWEST and series[0].target != series[1].target:
        rest = tensor(series[1:])
        if rest is not None:
            first = write.call(aten.unsqueeze.default, series[0], 0)
            return write.call(aten.cat.default, [write.cast(first, dtype_of(rest)), rest], 0)
    return None


def _reads(node: Node, found: _Found) -> bool:
    """Whether a value is computed from a scan that was written before."""
    written, waiting, seen = {scan.y for scan in found.scans}, [node], set()
    while waiting:
        each = waiting.pop()
        if each in written:
            return True
        if each not in seen:
            seen.add(each)
            waiting += each.all_input_nodes
    return False


def _recurrence(found: _Found, rolled: Rolled, series: Series) -> Node | None:
    """The tensor [time, ...] of a sum over states, or of states."""
    sums = [contraction_of(node) for node in series]
    if all(each is not None for each in sums):
        scan = _of_sums(rolled, sums)  # type: ignore[arg-type]
        if scan is not None:
            y = _written(found, rolled.write, scan, series[0])
            if y is not None:
                return y
    chain = chain_of(series)
    if chain is None:
        return None
    scan = _of_states(rolled, series, chain)
    return None if scan is None else _written(found, rolled.write, scan, series[0])


def _written(found: _Found, write: Writer, scan: Scan, result: Node) -> Node | None:
    """The scan's result, in the type of what it stands for."""
    scan.result = dtype_of(result)
    if not write_scan(write, scan) or scan.y is None:
        return None
    found.scans.append(scan)
    if scan.last is not None and scan.state is not None:
        found.last.append((scan.state, scan.last))
    return write.cast(scan.y, scan.result)


def _of_sums(rolled: Rolled, sums: Sequence[Contraction]) -> Scan | None:
    first = sums[0]
    if any(
        each.summed != first.summed
        or each.labels != first.labels
        or [factor.labels for factor in each.factors] != [one.labels for one in first.factors]
        for each in sums
    ):
        return None
    for index in range(len(first.factors)):
        states = tuple(each.factors[index].node for each in sums)
        chain = chain_of(states)
        if chain is None:
            continue
        labels = every_label(first.factors[index])
        others = [each.factors[:index] + each.factors[index + 1 :] for each in sums]
        reads = factors_of_steps(rolled, others)
        scan = scan_of(rolled, states, chain, labels)
        if scan is None or reads is None or first.summed not in labels:
            return None
        if scan.beta is not None and first.summed != scan.summed:
            return None
        scan.reads = reads
        scan.summed = first.summed
        scan.labels = (TIME, *first.labels)
        return scan
    return None


def _of_states(rolled: Rolled, series: Series, chain: Chain) -> Scan | None:
    labels: Labels = tuple(range(len(shape_of(series[0]))))
    scan = scan_of(rolled, series, chain, labels)
    if scan is not None:
        scan.labels = (TIME, *labels)
    return scan


def _write_step(node: Node, found: _Found) -> None:
    """A single step of a model that keeps its state, as a scan of one step."""
    one = contraction_of(node)
    if one is None or dtype_of(node) not in _FLOATS:
        return
    rolled = Rolled(Writer(node), lambda *_: None)
    for index, factor in enumerate(one.factors):
        for outer, inner in ((0, 0), (0, 1), (1, 0), (1, 1)):
            step = step_of(factor.node, outer, inner)
            if step is None:
                continue
            before, rate, added, moved = step
            if is_state(before):
                continue
            chain, labels = Chain(before, (rate,), (added,), (moved,)), every_label(factor)
            if logarithm_of(rolled, chain.rates, labels) is None:
                continue
            scan = scan_of(rolled, (factor.node,), chain, labels)
            if scan is None or scan.first is None or one.summed not in labels:
                continue
            if scan.beta is not None and one.summed != scan.summed:
                continue
            scan.summed, scan.labels = one.summed, one.labels
            others = one.factors[:index] + one.factors[index + 1 :]
            scan.reads = [each for other in others for each in factors_of(other)]
            y = _written(found, rolled.write, scan, node)
            if y is not None:
                put(node, y)
            return
