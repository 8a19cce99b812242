"""The Triton backend of bitsandbytes: quantised numbers, and optimisers whose states they are."""

from __future__ import annotations

import torch
from bitsandbytes import functional
from bitsandbytes.backends.triton import ops

from benchmarks.cases.triton_corpus.checking import EXACT, Cases, agree, draw

CASES = Cases()
BLOCK = 64


def _nearest(x: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
    """The number of a code that each is nearest to, blocks being scaled to their largest."""
    rows = x.reshape(-1, BLOCK)
    largest = rows.abs().amax(1, keepdim=True)
    return (rows / largest)[..., None].sub(code).abs().argmin(-1), largest


@CASES
def eight_bits() -> None:
    x, code = draw(16, 128), functional.create_dynamic_map()
    found, largest = ops.quantize_blockwise(x, code, BLOCK)
    numbers, scales = _nearest(x, code)
    agree("largest", largest, scales[:, 0], EXACT)
    distance = (code[found.long()].view(-1, BLOCK) - code[numbers]).abs()
    assert float(distance.max()) < 1e-6, float(distance.max())
    again = ops.dequantize_blockwise(found, largest, code, BLOCK, torch.float32)
    agree("again", again, code[found.long()] * scales.repeat_interleave(BLOCK, 0).view(16, 128))


def _four_bits(kind: str) -> None:
    x, code = draw(16, 128), functional.get_4bit_type(kind, device="cpu")
    packed, largest = ops.quantize_4bit(x, BLOCK, kind, torch.uint8)
    numbers, scales = _nearest(x, code)
    agree("largest", largest[: len(scales)], scales[:, 0], EXACT)
    found = torch.stack([packed.flatten() >> 4, packed.flatten() & 15], 1).view(-1, BLOCK)
    distance = (code[found.long()] - code[numbers]).abs()
    assert float(distance.max()) < 1e-6, float(distance.max())
    again = ops.dequantize_4bit(packed, largest, BLOCK, kind, (16, 128), torch.float32)
    agree("again", again, (code[found.long()] * scales).view(16, 128))


@CASES
def nf4() -> None:
    _four_bits("nf4")


@CASES
def fp4() -> None:
    _four_bits("fp4")


@CASES
def product_with_nf4() -> None:
    x, code = draw(24, 128), functional.get_4bit_type("nf4", device="cpu")
    packed, largest = ops.quantize_4bit(x, BLOCK, "nf4", torch.uint8)
    weights = ops.dequantize_4bit(packed, largest, BLOCK, "nf4", (24, 128), torch.float32)
    row = draw(1, 128)
    agree("result", ops.gemv_4bit(row, packed, (24, 128), largest, code, BLOCK), row @ weights.T)


@CASES
def adam() -> None:
    p, gradient, one, two = draw(3000), draw(3000, seed=1), draw(3000, seed=2), draw(3000).abs()
    mean = one * 0.9 + gradient * 0.1
    square = two * 0.999 + gradient**2 * 0.001
    size = 1e-2 * (1 - 0.999**3) ** 0.5 / (1 - 0.9**3)
    expected = p - size * mean / (square.sqrt() + 1e-8 * (1 - 0.999**3) ** 0.5)
    ops.optimizer_update_32bit(
        "adam", gradient, p, one, two, None, 0.0, 0.0, 0.9, 0.999, 0.0, 0.0, 1e-8, 0.0, 3, 1e-2,
        1.0,
    )  # fmt: skip
    agree("result", (p, one, two), (expected, mean, square))


@CASES
def momentum() -> None:
    p, gradient, one = draw(3000), draw(3000, seed=1), draw(3000, seed=2)
    mean = one * 0.9 + gradient
    expected = p - 1e-2 * mean
    ops.optimizer_update_32bit(
        "momentum", gradient, p, one, None, None, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 1e-8, 0.0, 3, 1e-2,
        1.0,
    )  # fmt: skip
    agree("result", (p, one), (expected, mean))


def _eight_bit_state(x: torch.Tensor, code: torch.Tensor) -> tuple[torch.Tensor, ...]:
    rows = x.view(-1, 256)
    largest = rows.abs().amax(1)
    found = (rows / largest[:, None])[..., None].sub(code).abs().argmin(-1)
    return found.to(torch.uint8).flatten(), largest, (code[found] * largest[:, None]).flatten()


@CASES
def adam_of_eight_bits() -> None:
    signed, plain = functional.create_dynamic_map(), functional.create_dynamic_map(signed=False)
    p, gradient = draw(1024), draw(1024, seed=1)
    one, scale_one, mean = _eight_bit_state(draw(1024, seed=2), signed)
    two, scale_two, square = _eight_bit_state(draw(1024, seed=3).abs(), plain)
    mean = mean * 0.9 + gradient * 0.1
    square = square * 0.999 + gradient**2 * 0.001
    size = 1e-2 * (1 - 0.999**3) ** 0.5 / (1 - 0.9**3)
    expected = p - size * mean / (square.sqrt() + 1e-8 * (1 - 0.999**3) ** 0.5)
    ops.optimizer_update_8bit_blockwise(
        "adam", gradient, p, one, two, 0.9, 0.999, 0.0, 0.0, 1e-8, 3, 1e-2, signed, plain,
        scale_one, scale_two,
    )  # fmt: skip
    agree("parameters", p, expected)
    agree("largest", scale_one, mean.view(-1, 256).abs().amax(1))


@CASES
def momentum_of_eight_bits() -> None:
    signed = functional.create_dynamic_map()
    p, gradient = draw(1024), draw(1024, seed=1)
    one, scale, mean = _eight_bit_state(draw(1024, seed=2), signed)
    mean = mean * 0.9 + gradient
    expected = p - 1e-2 * mean
    ops.optimizer_update_8bit_blockwise(
        "momentum", gradient, p, one, None, 0.9, 0.0, 0.0, 0.0, 1e-8, 3, 1e-2, signed, None,
        scale, None,
    )  # fmt: skip
    agree("parameters", p, expected)
    agree("largest", scale, mean.view(-1, 256).abs().amax(1))
