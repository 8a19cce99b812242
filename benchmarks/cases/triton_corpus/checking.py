"""How cases of the corpus are told apart, drawn and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

EXACT = 0.0
FLOAT32 = 5e-5
"""Of sums and transcendental functions in f32."""
TF32 = 5e-3
"""Of products, for which Triton takes tf32 unless told otherwise; and of f16."""
BF16 = 2e-2

Case = Callable[[], None]
worst: list[float] = []
"""The errors of the case that runs."""


class Cases(dict[str, Case]):
    """The cases of a library, by name."""

    def __call__(self, run: Case) -> Case:
        self[run.__name__] = run
        return run


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Normal numbers, other ones for each shape and seed."""
    source = torch.Generator().manual_seed(1000 * seed + sum(shape) + len(shape))
    return torch.randn(shape, generator=source).to(dtype)


def integers(below: int, *shape: int, dtype: torch.dtype = torch.int64, seed: int = 0) -> Any:
    """Integers from 0 to what they are below."""
    source = torch.Generator().manual_seed(1000 * seed + sum(shape) + below)
    return torch.randint(below, shape, generator=source, dtype=dtype)


def agree(what: str, found: Any, expected: Any, tolerance: float = FLOAT32) -> None:
    """Check a result; the error is relative to the largest of what is expected.

    Raises `AssertionError`: it is not within the tolerance.
    """
    if isinstance(expected, Sequence):
        for index, pair in enumerate(zip(found, expected, strict=True)):
            agree(f"{what}[{index}]", *pair, tolerance)
        return
    if expected is None:
        return
    assert tuple(found.shape) == tuple(expected.shape), (what, found.shape, expected.shape)
    if not found.numel():
        return
    one, other = (each.detach().to(torch.float64) for each in (found, expected))
    alike = (one == other) | (one.isnan() & other.isnan())
    difference = torch.where(alike, 0.0, (one - other).abs()).nan_to_num(torch.inf, torch.inf)
    finite = other[other.isfinite()]
    scale = max(float(finite.abs().max()) if finite.numel() else 0.0, 1e-6)
    error = float(difference.max()) / scale
    worst.append(error)
    assert error <= tolerance, f"{what}: error {error:.2e}, allowed {tolerance:.0e}"


def same(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Any,
    tolerance: float = FLOAT32,
    gradients: bool = True,
) -> None:
    """Check a function against a reference in f64, and the gradients of all its float inputs."""

    def leaf(value: Any, dtype: torch.dtype | None) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        made = value.detach().clone().to(dtype or value.dtype)
        return made.requires_grad_(gradients)

    ours = [leaf(value, None) for value in inputs]
    theirs = [leaf(value, torch.float64) for value in inputs]
    found, expected = function(*ours), reference(*theirs)
    agree("result", found, expected, tolerance)
    if not gradients:
        return
    pairs = [
        (one, other)
        for one, other in zip(_tensors(found), _tensors(expected), strict=True)
        if one is not None and other is not None and one.requires_grad and other.requires_grad
    ]
    seeds = [draw(*other.shape, seed=9) for _, other in pairs]
    for side in (0, 1):
        values = [pair[side] for pair in pairs]
        # Some operations write into what they are given: a seed is not shared.
        given = [s.clone().to(value.dtype) for s, value in zip(seeds, values, strict=True)]
        torch.autograd.backward(values, given)
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(other, torch.Tensor) and other.requires_grad and other.grad is not None:
            assert one.grad is not None, f"no gradient of input {index}"
            agree(f"gradient of input {index}", one.grad, other.grad, tolerance)


def _tensors(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Sequence) else [values]
