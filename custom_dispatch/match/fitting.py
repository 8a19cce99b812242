"""Whether a kernel takes the sizes of a place that computes what it does."""

from __future__ import annotations

from custom_dispatch.errors import LinkError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.link.call_site import CallSite, Fitting
from custom_dispatch.match.axes import as_the_kernels, axes_of
from custom_dispatch.match.bools import type_of_operand
from custom_dispatch.match.sizes import Size, extent_of, is_certain
from custom_dispatch.match.state import Match


def fitting_of(match: Match) -> Fitting:
    """The function that a place calls.

    What a kernel requires of sizes has to be known to hold: the model computes something for the
    others, too.

    Raises
    ------
    LinkError
        Sizes do not fit.
    """
    pattern = match.example.pattern
    kernel = pattern.kernel
    operands = [
        None
        if (value := match.operands.get(item.name)) is None
        else type_of_operand(pattern, item, value)
        for item in kernel.arguments
    ]
    results = [
        as_the_kernels(value.type, axes_of(pattern, item.name))
        for item, value in zip(kernel.outputs, match.results, strict=True)
    ]
    site = CallSite("the place", kernel)
    sizes = _dims_of(match)
    undecided = [item for item in site.undecided(operands) if not is_certain(item, sizes)]
    if undecided:
        listed = " and ".join(map(str, undecided))
        raise LinkError(f"the kernel requires {listed}, which is not known to hold")
    return site.fit(operands, results, as_called=isinstance(pattern.item, Choice))


def _dims_of(match: Match) -> dict[str, Size]:
    """The kernel's dims in the model, as far as operands of the place have them by themselves."""
    pattern, found = match.example.pattern, dict[str, Size]()
    for item in pattern.kernel.arguments:
        value = match.operands.get(item.name)
        if not isinstance(item, Buffer) or item.batched or value is None:
            continue
        axes = axes_of(pattern, item.name)
        for axis, size in enumerate(item.shape):
            if isinstance(size, Dim):
                there = axis if axes is None else tuple(axes).index(axis)
                found.setdefault(size.name, extent_of(value, there))
    return found
