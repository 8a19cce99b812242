"""Kernels in the places of a PyTorch model that compute what they do.

Every pattern is compared with every place; `patterns/choosing.py` says which are taken.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from custom_dispatch.errors import CustomDispatchError, DeclarationError
from custom_dispatch.frontends.torch.computing import Computer
from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.fitting import likeness, misfit
from custom_dispatch.frontends.torch.glance import Form, forms_of, operations_of
from custom_dispatch.frontends.torch.graph import ASSERTION, is_identity, place_of, tensor_of
from custom_dispatch.frontends.torch.matching import Match, Matcher, Miss
from custom_dispatch.frontends.torch.operator import operator_of
from custom_dispatch.frontends.torch.pattern import Pattern, as_pattern
from custom_dispatch.frontends.torch.traced import Traced
from custom_dispatch.frontends.torch.tracing import trace, variants
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.choosing import Found, chosen
from custom_dispatch.match.near import NEAR, NearMisses
from custom_dispatch.match.pattern import (
    alike,
    as_list,
    check_found,
    with_own_names,
)
from custom_dispatch.replaced import NearMiss, Replaced, Replacement

_MOST_LEADING = 4
_OF_RESULTS = {"tensor_meta", "val", "unbacked_bindings"}
"""What a node's notes say of its value."""


def replace_places(
    program: torch.export.ExportedProgram, items: Any, called: Iterable[Kernel | Choice] = ()
) -> tuple[torch.export.ExportedProgram, Replaced]:
    """Put kernels into a model.

    Parameters
    ----------
    program
        The model, which stays as it is.
    items
        Patterns, kernels whose references are code of PyTorch, and lists of them.
    called
        What the model calls by name: patterns' kernels get other names.

    Raises
    ------
    DeclarationError
        An item is not a pattern, or PyTorch cannot trace its function.
    LinkError
        A pattern that is required is found nowhere; the message lists what nearly is.
    """
    patterns = with_own_names([as_pattern(item) for item in as_list(items)], called)
    work = _Work(_copied(program))
    found: list[Found[Match]] = []
    for order, pattern in enumerate(patterns):
        for group in alike(pattern):
            found += work.find(order, group)
    for item in chosen(found, work.note):
        work.put(item.match)
    report = work.report()
    check_found(patterns, report, "cd.torch.Pattern(kernel, ..., required=False)")
    return work.finish(), report


def _copied(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """A model with a graph of its own, and the same weights."""
    graph = copy.deepcopy(program.graph)
    for old, new in zip(program.graph.nodes, graph.nodes, strict=True):
        new.name = old.name  # a copy renames what is called like a function of Python: `input`
    for node in list(graph.nodes):
        if node.target == ASSERTION:
            graph.erase_node(node)
    return program._update(
        torch.fx.GraphModule(program.graph_module, graph), copy.deepcopy(program.graph_signature)
    )


class _Work:
    """One model on which kernels are put."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self._program = program
        self._graph = program.graph
        self._order: dict[torch.fx.Node, float] = {
            node: index for index, node in enumerate(self._graph.nodes)
        }
        self._forms = forms_of(self._graph.nodes)
        self._matcher = Matcher(self._graph, self._constants())
        self._replacements: list[Replacement] = []
        self._misses = NearMisses()
        self._taken: dict[torch.fx.Node, str] = {}
        self._replaced: set[torch.fx.Node] = set()
        self._new: dict[torch.fx.Node, torch.fx.Node] = {}
        self._mode = next(
            (
                value.fake_mode
                for node in self._graph.nodes
                if isinstance(value := node.meta.get("val"), torch._subclasses.FakeTensor)
            ),
            None,
        )
        self._computer = Computer(self._graph, self._matcher.indices, self._order, self._mode)

    def _constants(self) -> dict[torch.fx.Node, torch.Tensor]:
        program = self._program
        held = {**program.constants, **program.state_dict}
        kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
        changed = {spec.target for spec in program.graph_signature.output_specs}
        names = {
            spec.arg.name: held.get(spec.target)
            for spec in program.graph_signature.input_specs
            if spec.kind in kinds and spec.target not in changed
        }
        return {
            node: value
            for node in self._graph.nodes
            if node.op == "placeholder" and isinstance(value := names.get(node.name), torch.Tensor)
        }

    # -- finding

    def find(self, order: int, group: Sequence[Pattern]) -> list[Found[Match]]:
        """Every place that computes a pattern.

        Parameters
        ----------
        group
            The pattern for each kernel of one signature: places are compared with the first.
        """
        pattern = group[0]
        batched = pattern.kernel.has_leading_dims
        found: list[Found[Match]] = []
        if not pattern.required and not self._may_have(pattern.kernel):
            return found
        for function, names in variants(pattern):
            # What is wrong with required patterns is to be said.
            wanted = None if pattern.required else operations_of(pattern, function, names)
            if wanted and (wanted & self._forms).total() < NEAR * wanted.total():
                continue
            start = self._usual_leading(pattern.kernel, wanted or {}) if batched else 0
            first = _trace_or_none(pattern, function, names, start)
            if first is None:  # of other ranks it need not be traceable
                start = int(batched)
                first = trace(pattern, function, names, start)
            traced: dict[int, Traced | None] = {start: first}
            if pattern.required:
                there = {str(node.target) for node in self._graph.nodes}
                self._misses.compare(pattern.item.name, {*map(str, first.targets)}, there)
            output = pattern.kernel.outputs[first.roots[0]]
            for node in self._matcher.candidates(first.root.target):
                leading = start
                tensor = tensor_of(node)
                if output.batched and tensor is not None:
                    leading = tensor.dim() - output.least_rank
                if leading not in traced:
                    traced[leading] = _trace_or_none(pattern, function, names, leading)
                form = traced[leading]
                if form is None or form.root.target != node.target:
                    continue
                result = self._matcher.match(form, node)
                if isinstance(result, Match):
                    for match in self._fitting(result, group):
                        own, size = match.own, len(match.nodes)
                        name, position = pattern.item.name, self._order[node]
                        found.append(Found(match, name, order, position, node, size, own))
                else:
                    self._note(pattern, node, result, likeness(form, node))
        return found

    def _usual_leading(self, kernel: Kernel, forms: Iterable[Form]) -> int:
        """How many leading dims most results of some operations have; 1 where that is not known."""
        tensors = (tensor_of(n) for target, _ in forms for n in self._matcher.candidates(target))
        ranks = Counter(tensor.dim() for tensor in tensors if tensor is not None)
        if not ranks or not all(output.batched for output in kernel.outputs):
            return 1
        return int(ranks.most_common(1)[0][0]) - kernel.outputs[0].least_rank

    def _may_have(self, kernel: Kernel) -> bool:
        """Whether any value of the model can be a result of the kernel: tracing takes time."""
        wanted = kernel.outputs[0]
        dtype = torch_dtype(wanted.dtype)
        tail = wanted.shape[int(wanted.batched) :]
        return any(
            tensor.dtype == dtype
            and wanted.has_rank(tensor.dim())
            and all(
                isinstance(size, torch.SymInt) or dims_of(expr) or evaluate(expr, {}) == size
                for expr, size in zip(reversed(tail), reversed(tensor.shape), strict=False)
            )
            for tensor in map(tensor_of, self._graph.nodes)
            if tensor is not None
        )

    def _fitting(self, match: Match, group: Sequence[Pattern]) -> list[Match]:
        """A place that computes the same, for each kernel that can stand there."""
        whole = self._computer.computed(match)
        if isinstance(whole, str):
            self.note(match, whole)
            return []
        first = min((self._order[user] for user in self._outside(whole)), default=len(self._order))
        last = max((self._order[node] for node in whole.operands.values()), default=-1)
        if first <= last:
            self.note(match, "a result is used before all operands are there")
            return []
        of_each = [replace(whole, traced=replace(whole.traced, pattern=one)) for one in group]
        problems = list(map(misfit, of_each))
        found = [one for one, problem in zip(of_each, problems, strict=True) if not problem]
        try:
            if found:
                self._results(found[0])
        except (CustomDispatchError, RuntimeError) as error:
            problems, found = [str(error).splitlines()[0].removesuffix(".")], []
        for problem in filter(None, problems):
            self.note(match, problem)
        return found

    def _outside(self, match: Match) -> list[torch.fx.Node]:
        """Who uses a result in the place of the kernel's."""
        return [
            user
            for node in match.outputs
            for user in node.users
            if not _is_inside(user, match.nodes)
        ]

    def _values(self, match: Match) -> list[Any]:
        """What the kernel's operator is given in a place."""
        pattern = match.traced.pattern
        given = {**pattern.fixed, **match.scalars, **match.operands}
        return [
            self._new.get(value, value) if isinstance(value, torch.fx.Node) else value
            for value in (given.get(name) for name in pattern.arguments)
        ]

    def _results(self, match: Match) -> tuple[Any, ...]:
        """The fake tensors that the kernel gives in a place."""
        kernel_operator = operator_of(match.traced.pattern.item)
        values = [
            value.meta["val"] if isinstance(value, torch.fx.Node) else value
            for value in self._values(match)
        ]
        with self._mode if self._mode is not None else torch.no_grad():
            results = kernel_operator(*values)
        several = results if isinstance(results, tuple) else (results,)
        for operand, node, result in zip(
            match.traced.pattern.kernel.outputs, match.outputs, several, strict=True
        ):
            tensor = tensor_of(node)
            assert tensor is not None  # noqa: S101 - the pattern's result is one
            if tuple(map(str, tensor.shape)) != tuple(map(str, result.shape)):
                raise DeclarationError(
                    f"the kernel gives `{operand.name}` of shape {list(result.shape)}, and the "
                    f"model has {list(tensor.shape)}"
                )
        return several

    def note(self, match: Match, reason: str) -> None:
        """Note that a place is not replaced although it computes the same."""
        self._note(match.traced.pattern, match.root, Miss(match.root, reason, 1.0), 1.0)

    def _note(self, pattern: Pattern, root: torch.fx.Node, miss: Miss, alike: float) -> None:
        # An operation in the middle of a place looks like the place, too: the best of a line.
        name, place = pattern.item.name, place_of(root)
        rank = (alike, miss.share, self._order[root])
        self._misses.note((name, place), root, rank, lambda: NearMiss(name, place, miss.reason))

    # -- replacing

    def put(self, match: Match) -> None:
        """Put the kernel in a place."""
        pattern = match.traced.pattern
        several = self._results(match)
        values = self._values(match)
        self._taken |= dict.fromkeys(match.own, pattern.item.name)
        self._replaced |= match.nodes
        root = match.root
        point = min([root, *self._outside(match)], key=lambda node: self._order[node])
        with self._graph.inserting_before(point):
            call = self._graph.call_function(operator_of(pattern.item)._opoverload, tuple(values))
            self._describe(call, root, several[0] if len(several) == 1 else several)
            self._order[call] = self._order[point] - 0.5
            results = [call]
            if len(several) > 1:
                results = []
                for index, value in enumerate(several):
                    item = self._graph.call_function(operator.getitem, (call, index))
                    self._describe(item, match.outputs[index], value)
                    results.append(item)
        for old, new in zip(match.outputs, results, strict=True):
            inside = {user for user in old.users if _is_inside(user, match.nodes)}
            old.replace_all_uses_with(
                new, delete_user_cb=lambda user, kept=inside: user not in kept
            )
            self._program.graph_signature.replace_all_uses(old.name, new.name)
            self._new[old] = new
        self._replacements.append(
            Replacement(
                pattern.item.name,
                place_of(root),
                tuple(
                    str(node.target)
                    for node in sorted(match.nodes, key=lambda node: self._order[node])
                ),
                {**pattern.fixed, **match.scalars},
            )
        )

    def _describe(self, node: torch.fx.Node, old: torch.fx.Node, value: Any) -> None:
        node.meta = {key: item for key, item in old.meta.items() if key not in _OF_RESULTS}
        node.meta["val"] = value

    def report(self) -> Replaced:
        """What was done, and what was not."""
        # Where a kernel was put, nobody asks why another, such as one of another size, was not.
        misses = self._misses.told(self._taken, {item.kernel for item in self._replacements})
        return Replaced(tuple(self._replacements), misses)

    def finish(self) -> torch.export.ExportedProgram:
        """The model without what nobody uses any more."""
        for node in reversed(list(self._graph.nodes)):
            # PyTorch keeps what may be random, such as attention, whose dropout may be.
            if node in self._replaced and not node.users:
                self._graph.erase_node(node)
        self._graph.eliminate_dead_code()
        self._graph.lint()
        self._program.graph_module.recompile()
        return self._program


def _is_inside(user: torch.fx.Node, nodes: frozenset[torch.fx.Node]) -> bool:
    """Whether a node goes away with a place: one of it, or one that passes values on within."""
    return user in nodes or (
        is_identity(user) and bool(user.users) and all(_is_inside(u, nodes) for u in user.users)
    )


def _trace_or_none(
    pattern: Pattern, function: Any, names: tuple[str, ...], leading: int
) -> Traced | None:
    if not 0 <= leading <= _MOST_LEADING:
        return None
    try:
        return trace(pattern, function, names, leading)
    except DeclarationError:
        return None
