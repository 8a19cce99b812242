"""Kernels in the places of a traced function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import jax
from jax._src import source_info_util  # as in `graph.py`
from jax.extend.core import ClosedJaxpr

from cuda_kernels.patterns.jax_places.activations import gated, gelus
from cuda_kernels.patterns.jax_places.attending import attentions
from cuda_kernels.patterns.jax_places.convolving import convolutions
from cuda_kernels.patterns.jax_places.following import epilogues
from cuda_kernels.patterns.jax_places.graph import (
    VIEWS,
    Graph,
    Node,
    Value,
    is_float,
    made_by,
    read,
)
from cuda_kernels.patterns.jax_places.norms import norms
from cuda_kernels.patterns.jax_places.place import IreeIsFaster, Place, only_where
from cuda_kernels.patterns.jax_places.products import products
from cuda_kernels.patterns.jax_places.softmax import softmaxes
from cuda_kernels.patterns.jax_places.turning import rotaries
from cuda_kernels.patterns.profitable import by_kernel
from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.match.state import place_at
from custom_dispatch.replaced import NearMiss, Remaining, Replaced, Replacement
from custom_dispatch.replaced import Place as Somewhere

PROFITABLE = "profitable "
_KINDS_LEFT = {"matmul": "product", "softmax": "softmax", "convolution": "convolution"}
"""What reports call the places of groups that are no norms."""
_FINDERS = (
    *(norms, attentions, softmaxes, rotaries, epilogues, gated, products, convolutions, gelus),
)
"""In this order: the sum that a norm is of goes with the norm; activations go with products."""


def put_kernels(closed: ClosedJaxpr, groups: frozenset[str]) -> tuple[ClosedJaxpr, Replaced]:
    """Call kernels wherever a function computes what they do, in loops and branches too.

    Parameters
    ----------
    groups
        The kernels that are wanted: "attention", "matmul", ...; after `PROFITABLE` those that are
        wanted only where they are faster on a kind of target, "cuda" or "cpu", which is given too.
    """
    always = {name for name in groups if not name.startswith(PROFITABLE)}
    wanted = {name.removeprefix(PROFITABLE) for name in groups}
    conditions = {
        name: rules[kind]
        for name, rules in by_kernel().items()
        for kind in groups & {*rules}
        if _group_of(name) not in always
    }
    rewriting = _Rewriting(frozenset(wanted))
    with only_where(conditions):
        found = rewriting.rewrite(closed)
    kinds = Counter(rewriting.left)
    left = tuple(Remaining(kind, n, n, (), faster=n) for kind, n in kinds.items())
    return found, Replaced(tuple(rewriting.replaced), tuple(rewriting.refused), left)


def _group_of(kernel: str) -> str:
    """The group of a kernel that has conditions."""
    if kernel.startswith("convolution"):
        return "convolution"
    form = kernel.rpartition("_f32")[0]
    return form if form in ("softmax", "layer_norm", "rms_norm", "add_rms_norm") else "matmul"


class _Rewriting:
    def __init__(self, groups: frozenset[str]) -> None:
        self._groups = groups
        self.replaced: list[Replacement] = []
        self.refused: list[NearMiss] = []
        self.left: list[str] = []
        """The kinds of places that IREE is faster for."""

    def rewrite(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        graph = read(closed)
        chosen = _chosen(graph, self._groups)
        run = _Run(graph, chosen, self)
        return jax.make_jaxpr(run)(*(_spec(aval) for aval in closed.in_avals))

    def params_of(self, node: Node) -> dict[str, Any]:
        """A node's parameters, with kernels in the functions of a loop or branch."""
        found = dict(node.params)
        if node.name == "scan":
            found["jaxpr"] = self.rewrite(found["jaxpr"])
        elif node.name == "while":
            found |= {name: self.rewrite(found[name]) for name in ("cond_jaxpr", "body_jaxpr")}
        elif node.name == "cond":
            found["branches"] = tuple(map(self.rewrite, found["branches"]))
        return found

    def put(self, found: Place) -> None:
        operations = tuple(f"lax.{node.name}" for node in found.covers if _is_told(node))
        where = _where(found)
        self.replaced.append(Replacement(found.kernel, where, operations, dict(found.scalars)))

    def refuse(self, found: Place, problem: str) -> None:
        self.refused.append(NearMiss(found.kernel, _where(found), problem))


def _last(found: Place) -> Node:
    node = found.results[-1].node
    assert node is not None  # noqa: S101 - it is computed
    return node


def _where(found: Place) -> Somewhere:
    source = _last(found).source
    frames = [
        (frame.function_name, frame.file_name, frame.start_line)
        for frame in source_info_util.user_frames(source.traceback)
    ]
    return place_at(str(source.name_stack).split("/"), frames)


def _spec(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def _is_told(node: Node) -> bool:
    """Whether an operation computes something that is not shared as a matter of course.

    What depends on no argument is: layers share masks and tables.
    """
    if node.is_constant or node.name in (*VIEWS, "convert_element_type"):
        return False
    return any(map(is_float, node.results))


def _chosen(graph: Graph, groups: frozenset[str]) -> dict[Value, Place]:
    """The places that kernels take, by what they give."""
    taken, found = set[Node](), dict[Value, Place]()
    for finder in _FINDERS:
        for place in finder(graph, groups):
            own = {node for node in place.covers if _is_told(node)}
            if not own or own & taken or _computes_twice(place, taken, found):
                continue
            taken |= own
            found |= dict.fromkeys(place.results, place)
    return found


def _computes_twice(place: Place, taken: set[Node], found: Mapping[Value, Place]) -> bool:
    """Whether a product would be computed in a place, and again for something else."""
    for node in place.covers:
        if node.name != "dot_general" or node.result in place.results:
            continue
        if node.result.is_result or not {*node.result.users} <= place.covers:
            return True
    return any(
        made_by(value, "dot_general") in taken and value not in found for value in place.operands
    )


class _Run:
    """The function with kernels, for tracing."""

    def __init__(self, graph: Graph, places: Mapping[Value, Place], rewriting: _Rewriting) -> None:
        self._graph, self._places, self._rewriting = graph, dict(places), rewriting
        self._values: dict[Value, Any] = {}

    def __call__(self, *arguments: Any) -> list[Any]:
        self._values = dict(zip(self._graph.arguments, arguments, strict=True))
        for node in self._graph.nodes:
            if node.effects:
                self._compute(node)
        return [self._of(value) for value in self._graph.results]

    def _of(self, value: Value) -> Any:
        """A value; what it needs is computed first."""
        pending = [value]
        while pending:
            last = pending[-1]
            if last in self._values or self._is_constant(last):
                pending.pop()
                continue
            place = self._places.get(last)
            node = last.node
            assert node is not None  # noqa: S101 - anything else is known
            needed = node.operands if place is None else place.operands
            missing = [
                each for each in needed if each not in self._values and not self._is_constant(each)
            ]
            if missing:
                pending += missing
            elif place is None:
                self._bind(node)
            elif not self._put(place):
                for each in place.results:
                    self._places.pop(each, None)
        return self._known(value)

    def _is_constant(self, value: Value) -> bool:
        return value.node is None and value not in self._values

    def _known(self, value: Value) -> Any:
        if value in self._values:
            return self._values[value]
        if value.array is not None:
            return value.array
        return jax.numpy.asarray(value.number, value.dtype)

    def _compute(self, node: Node) -> None:
        for operand in node.operands:
            self._of(operand)
        if not node.results or node.results[0] not in self._values:
            self._bind(node)

    def _bind(self, node: Node) -> None:
        given = [self._known(each) for each in node.operands]
        params = node.primitive.get_bind_params(self._rewriting.params_of(node))
        with _at(node):
            results = node.primitive.bind(*given, **params)
        results = results if node.primitive.multiple_results else [results]
        self._values |= zip(node.results, results, strict=True)

    def _put(self, place: Place) -> bool:
        """Call a kernel; False where it does not take the arrays."""
        given = [self._known(each) for each in place.operands]
        try:
            with _at(_last(place)):
                results = place.build(*given)
        except IreeIsFaster:
            self._rewriting.left.append(_KINDS_LEFT.get(_group_of(place.kernel), "norm"))
            return False
        except CustomDispatchError as error:
            self._rewriting.refuse(place, error.found.removesuffix("."))
            return False
        self._values |= zip(place.results, results, strict=True)
        self._rewriting.put(place)
        return True


def _at(node: Node) -> Any:
    """Where the source of a node is that of what is traced."""
    source = node.source
    return source_info_util.user_context(source.traceback, name_stack=source.name_stack)


__all__ = ["put_kernels"]
