"""The kernels of a function, the preferred one first: one order for all targets, or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.sameness import is_same_on
from custom_dispatch.kernel.target import Target


@dataclass(frozen=True, slots=True)
class Order:
    """Kernels, the preferred one first, and the targets that prefer them so."""

    targets: frozenset[int]
    """Their ordinals in the library."""
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, kernel: Kernel, targets: Sequence[Target]) -> Order:
        """One kernel, on every target."""
        return cls(frozenset(range(len(targets))), (kernel,))


def orders_of(
    choice: Choice, dims: Mapping[str, int], targets: Sequence[Target]
) -> tuple[Order, ...]:
    """The orders of a choice for calls of which these sizes are known: one, where targets agree."""
    return joined(
        Order(frozenset({ordinal}), _without_repeats(choice.ordered(dims, target), dims, target))
        for ordinal, target in enumerate(targets)
    )


def _without_repeats(
    kernels: Sequence[Kernel], dims: Mapping[str, int], target: Target
) -> tuple[Kernel, ...]:
    """Without a kernel before one that is the same code on a target, and takes all that it does.

    So one implementation for every CPU is one dispatch, whatever GPUs have to choose from. Where
    all sizes that decide are known there is one in any case.
    """
    asked = [side for item in kernels for c in item.requires for side in (c.left, c.right)]
    if all(dim.name in dims for dim in dims_of(*asked)):
        return tuple(kernels)
    kept = [kernels[-1]]
    for kernel in reversed(kernels[:-1]):
        after = {*map(str, kept[-1].requires)}
        if not (after <= {*map(str, kernel.requires)} and is_same_on(target, kernel, kept[-1])):
            kept.append(kernel)
    return tuple(reversed(kept))


def joined(orders: Iterable[Order]) -> tuple[Order, ...]:
    """The same with one order for all targets that agree."""
    found: dict[tuple[object, ...], Order] = {}
    for order in orders:
        key = tuple((item.name, *map(str, item.requires)) for item in order.kernels)
        same = found.get(key)
        targets = order.targets if same is None else order.targets | same.targets
        found[key] = Order(targets, order.kernels if same is None else same.kernels)
    return tuple(found.values())


def kernels_in(orders: Sequence[Order]) -> tuple[Kernel, ...]:
    """Every kernel once, by its name."""
    return tuple({item.name: item for order in orders for item in order.kernels}.values())
