"""A pattern's function traced with other numbers, from the one trace with symbols that takes long.

A trace with given sizes takes a twentieth of the time. Two of them show where a function's scalars
go: if they are passed on as they are, the long trace has just these numbers in other places.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from custom_dispatch.frontends.torch.refusals import quiet_tracing


def traced_with_sizes(
    function: Callable[..., Any], names: Sequence[str], values: Sequence[Any], mode: str = "real"
) -> torch.fx.Graph:
    """The operations of a function of these arguments; raises whatever its code does.

    `mode`: "fake" computes nothing, which takes two thirds of the time and knows no numbers of
    tensors.
    """
    with torch.no_grad(), quiet_tracing(with_places=False):
        module = make_fx(
            lambda *given: function(**dict(zip(names, given, strict=True))),
            tracing_mode=mode,
            pre_dispatch=True,
            _allow_non_fake_inputs=True,
        )(*values)
    found: torch.fx.Graph = module.graph
    return found


def with_other_numbers(
    text: str,
    function: Callable[..., Any],
    names: Sequence[str],
    first: Sequence[Any],
    second: Sequence[Any],
) -> str | None:
    """What tracing gives with the second arguments; None where only tracing tells.

    `text`: what it gives with the first, which differ in floats alone.
    """
    pairs = {a: b for a, b in zip(first, second, strict=True) if isinstance(a, float)}
    others = [b for a, b in zip(first, second, strict=True) if not isinstance(a, float)]
    if not pairs or not all(isinstance(each, torch.Tensor) for each in others):
        return None
    one, other = (traced_with_sizes(function, names, each).nodes for each in (first, second))
    if [node.target for node in one] != [node.target for node in other]:
        return None
    for left, right in zip(one, other, strict=True):
        numbers = list(zip(_numbers(left), _numbers(right), strict=True))
        if any(pairs.get(a, a) != b and not (math.isnan(a) and math.isnan(b)) for a, b in numbers):
            return None
        taken = any(a in pairs for a, _ in numbers)
        if taken and f"torch.{'.'.join(str(left.target).split('.')[:2])}" not in text:
            return None  # taken apart meanwhile, by what may compute with the number
    for a, b in pairs.items():
        text = text.replace(f"{a:e}", f"{b:e}")
    return text


def _numbers(node: torch.fx.Node) -> list[float]:
    found: list[float] = []
    torch.fx.node.map_aggregate(
        (node.args, node.kwargs),
        lambda each: found.append(each) if isinstance(each, int | float) else None,
    )
    return found
