"""The kernels of a function, the preferred one first: one order for all targets, or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
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
        Order(frozenset({ordinal}), choice.ordered(dims, target))
        for ordinal, target in enumerate(targets)
    )


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
