"""Convolutions along one or two axes with what follows them, whichever dims come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.patterns.jax_places.activations import activation_after
from cuda_kernels.patterns.jax_places.axes import Dim, Seen, after, arranged, axes_of, new, on
from cuda_kernels.patterns.jax_places.graph import VIEWS, Graph, Node, only_user
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, kind_of, place


@dataclass(frozen=True, slots=True)
class _Step:
    """What is done to a result with a number of each filter."""

    name: str
    by: Seen
    is_reversed: bool
    """Whether the result is the second operand."""


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A convolution, and what is done to it."""

    operands: tuple[Seen, Seen]
    dims: tuple[list[Dim], list[Dim], list[Dim]]
    """Of x, of the weight and of the result, in the kernel's order."""
    window: tuple[int, ...]
    """Strides and dilations."""
    padding: tuple[tuple[int, int], ...]
    result: Seen
    steps: tuple[_Step, ...] = ()
    residual: Seen | None = None
    activation: str = ""


def convolutions(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Convolutions of floats of one type, first with all that a kernel does."""
    for node in graph.nodes if "convolution" in groups else ():
        start = _start(node) if node.name == "conv_general_dilated" else None
        for found in reversed(list(_followed(start)) if start is not None else []):
            yield _as_place(found)


def _start(node: Node) -> _Convolution | None:
    params, (x, weight) = node.params, node.operands
    of_x, of_weight, of_result = params["dimension_numbers"]
    padding = [(int(low), int(high)) for low, high in params["padding"]]
    types = {x.dtype, weight.dtype, node.result.dtype}
    is_plain = (
        len(types) == 1
        and bool(kind_of(x))
        and len(padding) in (1, 2)
        and {*params["lhs_dilation"]} == {1}
        and params["batch_group_count"] == 1
        and all(low >= 0 and high >= 0 for low, high in padding)
        and all(isinstance(x.shape[dim], int) for dim in of_x[1:])
    )
    if not is_plain:
        return None
    result = new(node.result)
    axes = axes_of(x.shape), axes_of(weight.shape), result.axes
    in_order = (
        [own[dim] for dim in spec]
        for own, spec in zip(axes, (of_x, of_weight, of_result), strict=True)
    )
    first, second, third = in_order
    return _Convolution(
        (Seen(x, axes[0]).unrepeated, Seen(weight, axes[1]).unrepeated),
        (first, second, third),
        (*map(int, params["window_strides"]), *map(int, params["rhs_dilation"])),
        tuple(padding),
        result,
    )


def _followed(state: _Convolution) -> Iterator[_Convolution]:
    """A convolution with more and more of what is done to it."""
    yield state
    while True:
        found = activation_after(state.result.value, exclusive=True)
        if found is not None and found[1] in ACTIVATIONS:
            yield replace(state, result=Seen(found[0], state.result.axes), activation=found[1])
            return
        user = only_user(state.result.value)
        following = None if user is None else _step(state, user)
        if user is None or following is None:
            return
        state = following
        if user.name not in VIEWS:
            yield state


def _step(state: _Convolution, user: Node) -> _Convolution | None:
    value, axes = state.result.value, state.result.axes
    if user.name in VIEWS:
        found = after(user, axes)
        return None if found is None else replace(state, result=Seen(user.result, found))
    is_sum = user.name in ("add", "add_any")
    if not (is_sum or user.name in ("sub", "mul", "div")) or state.residual is not None:
        return None
    if user.result.shape != value.shape or user.operands[0] is user.operands[1]:
        return None
    is_reversed = user.operands[1] is value
    other = user.operands[0 if is_reversed else 1]
    by, result = Seen(other, on(other, axes)).source, Seen(user.result, axes)
    if {*by.atoms} <= {*state.dims[2][1]}:
        # In 16 bits a scale would be rounded, and what it is computed of is not.
        if user.name == "div" and is_reversed:
            return None
        if kind_of(value) != "f32" and not (is_sum and not state.steps):
            return None
        step = _Step("add" if is_sum else user.name, by, is_reversed)
        return replace(state, result=result, steps=(*state.steps, step))
    if is_sum and {*by.atoms} == {*result.atoms}:
        return replace(state, result=result, residual=by)
    return None


def _as_place(found: _Convolution) -> Place:
    (x, weight), (of_x, of_weight, of_result) = found.operands, found.dims
    count, kind = len(found.padding), kind_of(x.value)
    name, wide = f"convolution_{count}d_{kind}", WIDE[kind]
    is_even = all(low == high for low, high in found.padding)
    padding = [low if is_even else 0 for low, _ in found.padding]
    strides, dilations = found.window[:count], found.window[count:]

    def build(image: Any, filters: Any, *others: Any) -> list[Any]:
        image = arranged(image, x.axes, of_x)
        if not is_even:
            image = jnp.pad(image, ((0, 0), (0, 0), *found.padding))
        more = _vectors(found.steps, others, of_result[1], wide)
        if found.residual is not None:
            more["residual"] = arranged(others[-1], found.residual.axes, of_result)
        window = jnp.zeros((0, *strides, *padding, *dilations), jnp.uint8)
        filters = arranged(filters, weight.axes, of_weight)
        numbers = {"epsilon": 0.0, "slope": 0.0, "activation": ACTIVATIONS.index(found.activation)}
        done = call(name)(image, filters, window, **more, **numbers)
        return [arranged(done, of_result, found.result.axes)]

    operands = [each.value for each in (x, weight, *(step.by for step in found.steps))]
    operands += [] if found.residual is None else [found.residual.value]
    return place(name, [found.result.value], operands, build)


def _vectors(
    steps: Sequence[_Step], arrays: Sequence[Any], filters: Dim, dtype: str
) -> dict[str, Any]:
    """The kernel's bias; or its norm, of which the mean is 0 and the variance 1."""
    scale, shift = None, jnp.zeros((), dtype)
    for step, array in zip(steps, arrays, strict=False):
        by = arranged(array, step.by.axes, [filters])
        if step.name in ("mul", "div"):
            by = by if step.name == "mul" else 1 / by
            scale, shift = by if scale is None else scale * by, shift * by
            continue
        if step.name == "sub" and step.is_reversed:
            scale, shift = -jnp.ones_like(by) if scale is None else -scale, -shift
        shift = shift - by if step.name == "sub" and not step.is_reversed else shift + by
    if scale is None:
        return {"bias": shift} if steps else {}
    nothing, one = jnp.zeros_like(scale), jnp.ones_like(scale)
    return {"mean": nothing, "variance": one, "scale": scale, "shift": shift + nothing}


__all__ = ["convolutions"]
