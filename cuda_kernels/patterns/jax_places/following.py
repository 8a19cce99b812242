"""Products with whatever follows them and works on single elements, as one kernel each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from cuda_kernels.patterns.epilogues import KINDS, Chain, Value, chains_after
from cuda_kernels.patterns.jax_places import graph as graphs
from cuda_kernels.patterns.jax_places.activations import activation_after
from cuda_kernels.patterns.jax_places.axes import Seen, flat, on
from cuda_kernels.patterns.jax_places.graph import Graph, only_user
from cuda_kernels.patterns.jax_places.operations import values_of
from cuda_kernels.patterns.jax_places.place import Place, kind_of
from cuda_kernels.patterns.jax_places.products import Epilogue, as_place, products_alone, step


def epilogues(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Products with the functions that follow them, those of the most operations first."""
    if "epilogues" not in groups:
        return
    values = values_of(graph)
    found: list[Epilogue] = []
    for start in products_alone(graph):
        states = _with_biases(start)
        activations = [activation_after(each.result.value, exclusive=True) for each in states]
        # There are kernels for these without a function.
        shipping = [each[0] for each in activations if each is not None and not start.batch]
        for state, activation in zip(states, activations, strict=True):
            product, dtype = values[state.result.value], kind_of(state.left.value)
            for chain in chains_after(product, partial(_role, state), dtype):
                if chain.result.source not in shipping and not _is_sum(state, chain):
                    found.append(_with_chain(state, _named(chain, activation)))
    found.sort(key=lambda each: -_length(each))
    for each in found:
        made = as_place(each)
        if made is not None:
            yield made


def _with_biases(state: Epilogue) -> list[Epilogue]:
    """A product with all that its kernels do before a function, and then with less."""
    found: list[Epilogue] = []
    following: Epilogue | None = state
    while following is not None and following.residual is None:
        found.append(following)
        user = only_user(following.result.value)
        following = None if user is None else step(following, user)
    return found[::-1]


def _seen(state: Epilogue, value: Value) -> Seen:
    """What operations behind a product take, by the product's dims."""
    return Seen(value.source, on(value.source, state.result.axes)).source


def _role(state: Epilogue, value: Value, _: Value) -> str:
    seen = _seen(state, value)
    own = [flat(state.own(side)) for side in (state.left, state.right)]
    if seen.atoms and seen.atoms in own and value.kind == kind_of(state.left.value):
        return "vector"
    is_whole = {*seen.atoms} == {*state.result.atoms}
    return "tensor" if is_whole and value.kind in KINDS else ""


def _is_sum(state: Epilogue, chain: Chain) -> bool:
    """Whether kernels do all of it with a bias and a residual."""
    is_added = all(word in ("add", "add_any") for word in chain.words)
    vectors = len(chain.columns) + (state.bias is not None)
    return is_added and len(chain.words) == len(chain.taken) and vectors < 2


def _named(chain: Chain, activation: tuple[graphs.Value, str] | None) -> Chain:
    """A chain whose first operations are an activation as that."""
    sources = [each.source for each in chain.operations]
    if activation is None or activation[0] not in sources:
        return chain
    return replace(chain, activation=activation[1], activating=sources.index(activation[0]) + 1)


def _with_chain(state: Epilogue, chain: Chain) -> Epilogue:
    return replace(
        state,
        result=Seen(chain.result.source, state.result.axes),
        residual=None if chain.tensor is None else _seen(state, chain.tensor),
        chain=chain,
        columns=tuple(_seen(state, each) for each in chain.columns),
    )


def _length(found: Epilogue) -> int:
    """How many operations there are, a bias among them."""
    assert found.chain is not None  # noqa: S101 - `_with_chain` has given it one
    operations = [each for each in found.chain.operations if each.word]
    return len(operations) + (found.bias is not None)
