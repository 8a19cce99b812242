"""What the scores of attention are: a product, and what is done to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cuda_kernels.patterns.jax_places.axes import Seen
from cuda_kernels.patterns.jax_places.graph import made_by, number_of
from cuda_kernels.patterns.jax_places.masks import HIDDEN, Mask

_MOST_STEPS = 40


@dataclass(frozen=True, slots=True)
class Scores:
    """What scores are made of."""

    product: Seen
    scale: float = 1.0
    masks: tuple[Mask, ...] = ()
    softcap: float = 0.0
    """softcap * tanh(product * scale / softcap), before masks; 0 for none."""


def scores_of(seen: Seen, steps: int = 0) -> Scores | None:
    """The product that scores are of, and what is done to it."""
    found = seen.base
    node = found.value.node
    if node is None or steps > _MOST_STEPS:
        return None
    steps += 1
    match node.name:
        case "dot_general":
            return Scores(found)
        case "tanh":
            inner = scores_of(found.operand(0), steps)
            if inner is not None and not (inner.masks or inner.softcap):
                return replace(inner, softcap=1.0)
        case "mul" | "div":
            for index in (0, 1) if node.name == "mul" else (0,):
                number = number_of(node.operands[1 - index])
                inner = None if not number else scores_of(found.operand(index), steps)
                if inner is not None and number:
                    factor = number if node.name == "mul" else 1.0 / number
                    return _scaled(inner, factor)
        case "add" | "sub":
            for index in (0, 1) if node.name == "add" else (0,):
                inner = scores_of(found.operand(index), steps)
                if inner is not None:
                    factor = 1.0 if node.name == "add" else -1.0
                    mask = Mask(found.operand(1 - index), True, factor=factor)
                    return replace(inner, masks=(*inner.masks, mask))
        case "select_n" if len(node.operands) == 3:
            for shown, hidden in ((2, 1), (1, 2)):
                fill = number_of(node.operands[hidden])
                if fill is None or fill > HIDDEN:
                    continue
                inner = scores_of(found.operand(shown), steps)
                if inner is not None:
                    mask = Mask(found.operand(0), False, shown == 1, fill)
                    return replace(inner, masks=(*inner.masks, mask))
    return None


def _scaled(scores: Scores, factor: float) -> Scores | None:
    if (scores.softcap or any(not mask.added for mask in scores.masks)) and factor <= 0:
        return None
    masks = tuple(
        replace(mask, factor=mask.factor * factor)
        if mask.added
        else replace(mask, fill=mask.fill * factor)
        for mask in scores.masks
    )
    softcap = scores.softcap * factor
    return replace(scores, scale=scores.scale * factor, masks=masks, softcap=softcap)


def factored(seen: Seen) -> tuple[Seen, float]:
    """An operand without the number that it is multiplied by, and that number."""
    found, factor = seen.widened, 1.0
    while (node := made_by(found.value, "mul", "div")) is not None:
        numbers = [number_of(each) for each in node.operands]
        if numbers[1] is not None and numbers[1] != 0.0:
            index = 0
        elif numbers[0] is not None and node.name == "mul":
            index = 1
        else:
            break
        number = numbers[1 - index]
        if not number or not math.isfinite(number):
            break
        factor *= number if node.name == "mul" else 1.0 / number
        found = found.operand(index).widened
    return found, factor
