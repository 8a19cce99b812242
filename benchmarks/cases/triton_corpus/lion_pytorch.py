"""The optimiser Lion."""

from __future__ import annotations

from lion_pytorch.triton import update_fn

from benchmarks.cases.triton_corpus.checking import FLOAT32, Cases, agree, draw

CASES = Cases()


@CASES
def step() -> None:
    p, gradient, mean = draw(3000), draw(3000, seed=1), draw(3000, seed=2)
    direction = (mean * 0.9 + gradient * 0.1).sign()
    expected = p * (1 - 1e-2 * 0.1) - 1e-2 * direction, mean * 0.99 + gradient * 0.01
    update_fn(p, gradient, mean, 1e-2, 0.1, 0.9, 0.99)
    agree("result", (p, mean), expected, FLOAT32)
