"""Quantised weights in numpy: packing and unpacking, byte for byte.

Q4_0 and Q4_1 are blocks of GGUF, as llama.cpp writes them: `block_q4_0` and `block_q4_1` of
`ggml/src/ggml-common.h`, numbers as in `quantize_row_q4_0_ref` and `quantize_row_q4_1_ref` of
`ggml/src/ggml-quants.c`. A tensor of such a file, as bytes of shape [n, k / 32, 18] or
[n, k / 32, 20], is what the kernels take.
"""

from __future__ import annotations

from typing import Any

import numpy

from custom_dispatch.errors import CallError

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

BLOCK = 32
"""Weights of a block of GGUF, and the least group with a scale of its own."""
LARGEST_E4M3 = 448.0
"""PTX ISA 9.0, section 5.2.3."""


def quantise_q4_0(weights: Array) -> Array:
    """Weights [n, k] as blocks of Q4_0: bytes [n, k / 32, 18].

    A block is an f16 scale d and 16 bytes; byte i has weight i in its low half and weight 16 + i in
    its high one. The weights are d (q - 8).

    Raises
    ------
    CallError
        `weights` is no matrix whose rows are made of whole blocks of finite numbers.
    """
    blocks = _grouped(weights, BLOCK)
    furthest = numpy.take_along_axis(blocks, abs(blocks).argmax(-1)[..., None], -1)
    scale = (furthest / numpy.float32(-8)).astype(numpy.float32)
    numbers = _rounded_down(blocks * _inverse(scale) + numpy.float32(8.5))
    return _blocks([scale], numbers)


def quantise_q4_1(weights: Array) -> Array:
    """Weights [n, k] as blocks of Q4_1: bytes [n, k / 32, 20].

    As Q4_0, with two numbers in f16, d and m; the weights are d q + m.

    Raises
    ------
    CallError
        As `quantise_q4_0`.
    """
    blocks = _grouped(weights, BLOCK)
    least = blocks.min(-1, keepdims=True)
    scale = ((blocks.max(-1, keepdims=True) - least) / numpy.float32(15)).astype(numpy.float32)
    numbers = _rounded_down((blocks - least) * _inverse(scale) + numpy.float32(0.5))
    return _blocks([scale, least], numbers)


def quantise_q8_0(weights: Array) -> Array:
    """Weights [n, k] as blocks of Q8_0: bytes [n, k / 32, 34].

    A block is an f16 scale d and 32 i8 q; the weights are d q. Numbers as in
    `quantize_row_q8_0_ref`.

    Raises
    ------
    CallError
        As `quantise_q4_0`.
    """
    blocks = _grouped(weights, BLOCK)
    scale = (abs(blocks).max(-1, keepdims=True) / numpy.float32(127)).astype(numpy.float32)
    steps = blocks * _inverse(scale)
    away = numpy.trunc(steps + numpy.copysign(numpy.float32(0.5), steps))
    parts = (scale.astype(numpy.float16), away.astype(numpy.int8))
    result: Array = numpy.concatenate([each.view(numpy.uint8) for each in parts], axis=-1)
    return result


def quantise_int4(
    weights: Array, group: int = 128, *, zeros: bool = False, dtype: Any = numpy.float16
) -> tuple[Array, ...]:
    """Weights [n, k] in groups: bytes [n, k / 2], scales [n, k / group], and zeros of that shape.

    A byte has an even weight in its low half and the next one in its high one. The weights are
    scale (q - zero), zero being 8 where there are no zeros.

    Parameters
    ----------
    group
        Weights that share a scale: a multiple of 32 that divides k.
    zeros
        Whether each group has a zero of its own: a number, not rounded to an integer.
    dtype
        Of scales and zeros: that of the activations, numpy.float16 or ml_dtypes.bfloat16.

    Raises
    ------
    CallError
        As `quantise_q4_0`, or `group` is not a multiple of 32 that divides the columns.
    """
    groups = _grouped(weights, group)
    if zeros:
        least = groups.min(-1, keepdims=True)
        scale = (groups.max(-1, keepdims=True) - least) / numpy.float32(15)
        scale = numpy.where(scale == 0, numpy.float32(1), scale).astype(dtype)
        zero = (-least / scale.astype(numpy.float32)).astype(dtype)
        middle = zero.astype(numpy.float32)
    else:
        furthest = numpy.take_along_axis(groups, abs(groups).argmax(-1)[..., None], -1)
        scale, zero, middle = (furthest / numpy.float32(-8)).astype(dtype), None, numpy.float32(8)
    steps = groups * _inverse(scale.astype(numpy.float32)) + middle
    numbers = numpy.clip(numpy.rint(steps), 0, 15).astype(numpy.uint8).reshape(len(weights), -1)
    packed = numbers[:, ::2] | numbers[:, 1::2] << 4
    return (packed, scale[..., 0]) if zero is None else (packed, scale[..., 0], zero[..., 0])


def quantise_fp8(weights: Array, *, by_row: bool = True) -> tuple[Array, Array]:
    """Weights [n, k] as e4m3 [n, k], and scales in f32, one for each row or for all: [n] or [1].

    The largest number of a row becomes 448, the largest of e4m3.

    Raises
    ------
    CallError
        As `quantise_q4_0`.
    """
    import ml_dtypes

    wide = _grouped(weights, BLOCK).reshape(len(weights), -1)
    largest = abs(wide).max(axis=1 if by_row else (0, 1), keepdims=True)
    scale = numpy.where(largest == 0, numpy.float32(1), largest / numpy.float32(LARGEST_E4M3))
    return (wide / scale).astype(ml_dtypes.float8_e4m3fn), scale.reshape(-1).astype(numpy.float32)


def quantise_int8(weights: Array, group: int | None = None) -> tuple[Array, Array]:
    """Weights [n, k] as i8 [n, k], and scales in f32: [n], or [n, k / group].

    The weights are scale q; the largest number of a row, or of a group of it, becomes 127.

    Parameters
    ----------
    group
        Weights along k that share a scale: a multiple of 32 that divides k. By default a whole row,
        for `int8_*`; groups are for `int8_groups_*`.

    Raises
    ------
    CallError
        As `quantise_int4`.
    """
    parts = _grouped(weights, BLOCK if group is None else group)
    parts = parts.reshape(len(parts), 1, -1) if group is None else parts
    scale = abs(parts).max(-1, keepdims=True) / numpy.float32(127)
    scale = numpy.where(scale == 0, numpy.float32(1), scale)
    numbers = numpy.clip(numpy.rint(parts / scale), -127, 127).astype(numpy.int8)
    scales = scale[..., 0] if group else scale.reshape(-1)
    return numbers.reshape(len(numbers), -1), scales.astype(numpy.float32)


def groups_of_q8_0(blocks: Array) -> tuple[Array, Array]:
    """Blocks of Q8_0 as groups of 32: i8 [n, k], and scales in f32, [n, k / 32].

    The weights are the same, exactly; `int8_groups_*` takes them, and is faster.

    Raises
    ------
    CallError
        `blocks` is no array of bytes of shape [n, k / 32, 34].
    """
    blocks = _blocks_of("q8_0", blocks, 34)
    scales = numpy.ascontiguousarray(blocks[..., :2]).view(numpy.float16)[..., 0]
    numbers = numpy.ascontiguousarray(blocks[..., 2:]).view(numpy.int8)
    return numbers.reshape(len(blocks), -1), scales.astype(numpy.float32)


def groups_of_q4_0(blocks: Array) -> tuple[Array, Array]:
    """Blocks of Q4_0 as groups of 32: bytes [n, k / 2], and scales in f16, [n, k / 32].

    The weights are the same, exactly; `int4_f16` takes them, and is faster.

    Raises
    ------
    CallError
        `blocks` is no array of bytes of shape [n, k / 32, 18].
    """
    blocks = _blocks_of("q4_0", blocks, 18)
    scales = numpy.ascontiguousarray(blocks[..., :2]).view(numpy.float16)[..., 0]
    packed = blocks[..., 2:]
    numbers = numpy.concatenate([packed & 15, packed >> 4], axis=-1).reshape(len(blocks), -1)
    return numbers[:, ::2] | numbers[:, 1::2] << 4, scales


def dequantise_q4_0(blocks: Array) -> Array:
    """The weights [n, k] of blocks of Q4_0, in f64."""
    scale, numbers = _of_block(blocks, 1)
    result: Array = ((numbers - 8.0) * scale[..., :1]).reshape(len(blocks), -1)
    return result


def dequantise_q4_1(blocks: Array) -> Array:
    """The weights [n, k] of blocks of Q4_1, in f64."""
    both, numbers = _of_block(blocks, 2)
    result: Array = (numbers * both[..., :1] + both[..., 1:]).reshape(len(blocks), -1)
    return result


def dequantise_q8_0(blocks: Array) -> Array:
    """The weights [n, k] of blocks of Q8_0, in f64: an f16 d and 32 i8 q each; d q."""
    scale = numpy.ascontiguousarray(blocks[..., :2]).view(numpy.float16).astype(numpy.float64)
    numbers = numpy.ascontiguousarray(blocks[..., 2:]).view(numpy.int8)
    result: Array = (numbers * scale).reshape(len(blocks), -1)
    return result


def dequantise_q4_k(blocks: Array) -> Array:
    """The weights [n, k] of blocks of Q4_K, in f64.

    256 weights: f16 d and dmin, 8 pairs of 6 bits in 12 bytes, one for each 32 weights, and 128
    bytes; each 32 bytes have 32 weights in their low halves and the next 32 in their high ones. The
    weights are d scale q - dmin minimum.
    """
    both = numpy.ascontiguousarray(blocks[..., :4]).view(numpy.float16).astype(numpy.float64)
    first, second, rest = (blocks[..., 4 + 4 * i : 8 + 4 * i] for i in range(3))
    scales = numpy.concatenate([first & 63, rest & 15 | first >> 6 << 4], axis=-1)
    minima = numpy.concatenate([second & 63, rest >> 4 | second >> 6 << 4], axis=-1)
    packed = blocks[..., 16:].reshape(*blocks.shape[:2], 4, 1, 32)
    numbers = numpy.concatenate([packed & 15, packed >> 4], axis=-2).astype(numpy.float64)
    numbers = numbers.reshape(*blocks.shape[:2], 8, 32)
    result: Array = (
        numbers * (both[..., :1] * scales)[..., None] - (both[..., 1:] * minima)[..., None]
    ).reshape(len(blocks), -1)
    return result


def dequantise_int4(packed: Array, scales: Array, zeros: Array | None = None) -> Array:
    """The weights [n, k] of groups, in f64."""
    numbers = numpy.stack([packed & 15, packed >> 4], axis=-1).astype(numpy.float64)
    groups = numbers.reshape(*scales.shape, -1)
    middle = 8.0 if zeros is None else zeros.astype(numpy.float64)[..., None]
    result: Array = ((groups - middle) * scales.astype(numpy.float64)[..., None]).reshape(
        len(packed), -1
    )
    return result


def dequantise_fp8(weights: Array, scales: Array) -> Array:
    """The weights [n, k] of e4m3 with a scale for each equal part of the rows, in f64."""
    each = numpy.repeat(scales.astype(numpy.float64), len(weights) // len(scales))
    result: Array = weights.astype(numpy.float64) * each[:, None]
    return result


def dequantise_int8(weights: Array, scales: Array) -> Array:
    """The weights [n, k] of i8 with a scale for each equal part of the rows, in f64."""
    return dequantise_fp8(weights, scales)


def dequantise_int8_groups(weights: Array, scales: Array) -> Array:
    """The weights [n, k] of i8 with a scale for each group along k, in f64."""
    wide = weights.astype(numpy.float64).reshape(*scales.shape, -1)
    result: Array = (wide * scales.astype(numpy.float64)[..., None]).reshape(weights.shape)
    return result


def dequantise_fp8_blocks(weights: Array, scales: Array) -> Array:
    """The weights [n, k] of e4m3 with a scale for each 128 x 128 of them, in f64."""
    (n, k), each = weights.shape, scales.astype(numpy.float64)
    wide = each.repeat(128, axis=0)[:n].repeat(128, axis=1)[:, :k]
    result: Array = weights.astype(numpy.float64) * wide
    return result


def _blocks_of(layout: str, blocks: Array, size: int) -> Array:
    """An array that is of a layout's blocks, of so many bytes."""
    blocks = numpy.asarray(blocks)
    if blocks.dtype != numpy.uint8 or blocks.ndim != 3 or blocks.shape[2] != size:
        raise CallError(
            f"An array of {blocks.dtype} {list(blocks.shape)} has no blocks of {layout.upper()}.",
            expected=f"uint8 [n, k / 32, {size}]",
            next_step=f"give a tensor's bytes as a file has them, or what quantise_{layout} made.",
        )
    return blocks


def _grouped(weights: Array, group: int) -> Array:
    """The weights in f32, [n, k / group, group]."""
    shape = numpy.shape(weights)
    if group < BLOCK or group % BLOCK:
        raise CallError(
            f"Weights cannot be quantised in groups of {group}.",
            expected=f"a multiple of {BLOCK}",
            next_step="choose another group, say 128.",
        )
    if len(shape) != 2 or 0 in shape or shape[1] % group:
        raise CallError(
            f"Weights of shape {list(shape)} cannot be quantised in groups of {group}.",
            expected=f"a matrix [n, k], where k is a multiple of {group}",
            next_step="fill rows up with zeros, and those of what they are multiplied by.",
        )
    wide = numpy.asarray(weights).astype(numpy.float32)
    if not numpy.isfinite(wide).all():
        raise CallError(
            "Weights with infinities or NaN in f32 cannot be quantised.",
            expected="finite numbers",
            next_step="look where they come from.",
        )
    result: Array = wide.reshape(shape[0], -1, group)
    return result


def _inverse(scale: Array) -> Array:
    with numpy.errstate(divide="ignore", over="ignore"):
        result: Array = numpy.where(scale == 0, numpy.float32(0), numpy.float32(1) / scale)
    return result


def _rounded_down(steps: Array) -> Array:
    """As C converts to an integer, at most 15."""
    result: Array = numpy.minimum(steps.astype(numpy.int8), 15).astype(numpy.uint8)
    return result


def _blocks(scales: list[Array], numbers: Array) -> Array:
    """Scales in f16 and numbers of 4 bits, as GGUF has them."""
    halves = numpy.concatenate(scales, axis=-1).astype(numpy.float16).view(numpy.uint8)
    low, high = numbers[..., : BLOCK // 2], numbers[..., BLOCK // 2 :]
    result: Array = numpy.concatenate([halves, low | high << 4], axis=-1)
    return result


def _of_block(blocks: Array, scales: int) -> tuple[Array, Array]:
    """The opposite, in f64."""
    halves = numpy.ascontiguousarray(blocks[..., : 2 * scales]).view(numpy.float16)
    packed = blocks[..., 2 * scales :]
    numbers = numpy.concatenate([packed & 15, packed >> 4], axis=-1)
    return halves.astype(numpy.float64), numbers.astype(numpy.float64)
