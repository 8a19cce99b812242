"""Products of matrices with their biases, sums and activations, whatever their dims' order is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cuda_kernels.gemm.names import name_of
from cuda_kernels.patterns.epilogues import Chain
from cuda_kernels.patterns.jax_places.activations import activation_after
from cuda_kernels.patterns.jax_places.axes import (
    Axes,
    Dim,
    Seen,
    after,
    arranged,
    axes_of,
    flat,
    new,
    on,
    product_operands,
)
from cuda_kernels.patterns.jax_places.graph import (
    VIEWS,
    Graph,
    Node,
    Value,
    made_by,
    only_user,
)
from cuda_kernels.patterns.jax_places.place import Place, call, exists, kind_of, place


@dataclass(frozen=True, slots=True)
class Epilogue:
    """A product, and what is done to it."""

    left: Seen
    right: Seen
    summed: Dim
    result: Seen
    bias: Seen | None = None
    residual: Seen | None = None
    activation: str = ""
    chain: Chain | None = None
    """Any operations instead of an activation; they take `residual`, if there is one."""
    columns: tuple[Seen, ...] = ()
    """The vectors that these take."""

    @property
    def vectors(self) -> tuple[Seen, ...]:
        """What has an element for each column."""
        return (*([] if self.bias is None else [self.bias]), *self.columns)

    @property
    def batch(self) -> Dim:
        """What both operands have, and the result too."""
        shared = {*self.left.atoms} & {*self.right.atoms} - {*flat(self.summed)}
        return tuple(atom for atom in self.left.atoms if atom in shared)

    def own(self, side: Seen) -> Dim:
        """What one operand has alone, in its order."""
        shared = {*self.batch, *flat(self.summed)}
        return tuple(atom for atom in side.atoms if atom not in shared)


def products(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Products of floats of one type, each with all that a kernel does, and then with less."""
    if "matmul" not in groups:
        return
    for start in products_alone(graph):
        for epilogue in reversed(list(_followed(start))):
            made = as_place(epilogue)
            if made is not None:
                yield made


def products_alone(graph: Graph) -> Iterator[Epilogue]:
    """The products of a graph, without what is done to them."""
    for node in graph.nodes:
        result = new(node.result)
        if node.name == "dot_general":
            yield from _product(result, *product_operands(node, result.axes))
        elif node.name == "conv_general_dilated":
            patches = _patches(node, result.axes)
            if patches is not None:
                yield from _product(result, *patches)


def _patches(node: Node, axes: Axes) -> tuple[Seen, Seen, Dim] | None:
    """A convolution of patches side by side, which is a product; `axes` are those of its result.

    So is one of single points where channels are last: else each image would be transposed.
    """
    params, (x, weight) = node.params, node.operands
    of_x, of_weight, of_result = params["dimension_numbers"]
    taps = [weight.shape[dim] for dim in of_weight[2:]]
    whole = [
        x.shape[dim] == node.result.shape[out] * size
        for dim, out, size in zip(of_x[2:], of_result[2:], taps, strict=True)
    ]
    is_plain = (
        all(whole)
        and list(params["window_strides"]) == taps
        and not any(map(any, params["padding"]))
        and {*params["lhs_dilation"], *params["rhs_dilation"]} <= {1}
        and params["feature_group_count"] == params["batch_group_count"] == 1
    )
    if not is_plain or (max(taps, default=1) == 1 and of_x[1] != x.rank - 1):
        return None
    channels, *inner = axes_of([x.shape[of_x[1]], *taps])
    outer = [axes[dim] for dim in of_result[2:]]
    both: list[dict[int, Dim]] = [
        {of_x[0]: axes[of_result[0]], of_x[1]: channels},
        {
            of_weight[0]: axes[of_result[1]],
            of_weight[1]: channels,
            **dict(zip(of_weight[2:], inner, strict=True)),
        },
    ]
    for dim, place_of, part in zip(of_x[2:], outer, inner, strict=True):
        both[0][dim] = (*place_of, *part)
    left, right = (
        Seen(value, tuple(dims[index] for index in range(value.rank)))
        for value, dims in zip((x, weight), both, strict=True)
    )
    return left, right, flat(channels, *inner)


def _product(result: Seen, left: Seen, right: Seen, summed: Dim) -> Iterator[Epilogue]:
    left, right = left.unrepeated, right.unrepeated
    if kind_of(left.value) and left.value.dtype == right.value.dtype and summed:
        yield Epilogue(left, right, summed, result)


def _followed(state: Epilogue) -> Iterator[Epilogue]:
    """A product with more and more of what is done to it."""
    yield state
    while True:
        found = activation_after(state.result.value, exclusive=True)
        if found is not None and not state.batch:
            yield replace(state, result=Seen(found[0], state.result.axes), activation=found[1])
            return
        user = only_user(state.result.value)
        if user is None:
            return
        following = step(state, user)
        if following is None:
            return
        state = following
        if user.name not in VIEWS:
            yield state


def step(state: Epilogue, user: Node) -> Epilogue | None:
    """A product with one more operation, if kernels do it; the activation is none of these."""
    value, axes = state.result.value, state.result.axes
    if user.name in VIEWS:
        found = after(user, axes)
        return None if found is None else replace(state, result=Seen(user.result, found))
    if user.name == "convert_element_type":
        if user.result.dtype != state.left.value.dtype or state.bias or state.residual:
            return None
        return replace(state, result=Seen(user.result, axes))
    if user.name not in ("add", "add_any") or user.result.shape != value.shape:
        return None
    other = next((each for each in user.operands if each is not value), None)
    if other is None:
        return None
    added, result = Seen(other, on(other, axes)), Seen(user.result, axes)
    vector = added.source
    own = [flat(state.own(side)) for side in (state.left, state.right)]
    is_plain = not (state.bias or state.residual or state.batch)
    if is_plain and vector.atoms in own and vector.value.dtype == state.left.value.dtype:
        return replace(state, result=result, bias=vector)
    if state.residual is None and set(added.source.atoms) == set(result.atoms):
        return replace(state, result=result, residual=added.source)
    return None


def as_place(found: Epilogue) -> Place | None:
    """The place of a product with what is done to it; None where no kernel does that."""
    kind, out = kind_of(found.left.value), kind_of(found.result.value)
    if out not in (kind, "f32") or (found.residual and kind_of(found.residual.value) != out):
        return None
    a, b = _as_rows_and_columns(found)
    rows, columns = found.own(a), found.own(b)
    summed = _order(b, found.summed)
    if not columns or any(flat(*vector.axes) != columns for vector in found.vectors):
        return None
    batch = found.batch
    turned = _is_before(b, columns, summed)  # [columns, summed], as weights of PyTorch
    if batch:
        layout = "batch_matmul_nt" if turned else "batch_matmul"
        lead: list[Dim] = [*((atom,) for atom in batch), rows]
        of_b: list[Dim] = [*((atom,) for atom in batch)]
    else:
        layout = "linear" if turned else "matmul"
        lead = [dim for dim in (_without(dim, summed) for dim in a.axes) if dim]
        of_b = []
    of_b += [columns, summed] if turned else [summed, columns]
    name = name_of(layout, kind, found.activation, out)
    if not exists(name):
        return None
    kernel = call(name)
    if found.chain is not None:
        item = found.chain.kernel(layout)
        name, kernel = item.name, call(name, item)
    given: list[tuple[Seen, list[Dim]]] = [(a, [*lead, summed]), (b, of_b)]
    keywords = []
    if found.bias is not None:
        given.append((found.bias, [columns]))
        keywords.append("bias")
    if found.residual is not None:
        given.append((found.residual, [*lead, columns]))
        keywords.append("residual")
    given += [(vector, [columns]) for vector in found.columns]
    if found.chain is not None:
        keywords = [*["bias"] * (found.bias is not None), *found.chain.names]

    def build(*arrays: Any) -> list[Any]:
        first, second, *more = (
            arranged(array, seen.axes, dims)
            for array, (seen, dims) in zip(arrays, given, strict=True)
        )
        done = kernel(first, second, **dict(zip(keywords, more, strict=True)))
        return [arranged(done, [*lead, columns], found.result.axes)]

    return place(name, [found.result.value], [seen.value for seen, _ in given], build)


def _as_rows_and_columns(found: Epilogue) -> tuple[Seen, Seen]:
    """The operands of a product, that whose own dims are the result's columns second."""
    left, right = found.left, found.right
    if found.vectors:
        columns = flat(*found.vectors[0].axes)
        is_left = columns == found.own(left) and (
            columns != found.own(right) or _is_held(left.value)
        )
        return (right, left) if is_left else (left, right)
    if not found.own(right) or (_is_held(left.value) and not _is_held(right.value)):
        return right, left
    if not found.batch or not found.own(left):
        return left, right
    order = found.result.atoms  # the columns are last
    is_left_last = order.index(found.own(left)[-1]) > order.index(found.own(right)[-1])
    return (right, left) if is_left_last else (left, right)


def _is_held(value: Value) -> bool:
    """Whether a value is a weight: a constant or an argument, or made of one alone."""
    while (node := made_by(value, *VIEWS, "convert_element_type")) is not None:
        value = node.operands[0]
    return value.node is None


def _order(seen: Seen, dims: Dim) -> Dim:
    """Atoms in the order in which a value has them."""
    wanted = {*flat(dims)}
    return tuple(atom for atom in seen.atoms if atom in wanted)


def _is_before(seen: Seen, one: Dim, other: Dim) -> bool:
    order = seen.atoms
    return order.index(one[-1]) < order.index(other[-1])


def _without(dim: Dim, others: Dim) -> Dim:
    return tuple(atom for atom in flat(dim) if atom not in others)
