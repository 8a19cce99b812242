"""Quantised weights as files have them, made operands of the products here: numpy alone.

GGUF's blocks, `block_q4_0`, `block_q4_1`, `block_q8_0` and `block_q4_K` of
`ggml/src/ggml-common.h`, and DeepSeek's e4m3 with 128 x 128 scales are taken as they are. AWQ's and
GPTQ's integers go along the columns of W; they are turned into rows, once, for `int4_zeros_*`.
"""

from __future__ import annotations

from typing import Any

import numpy

from custom_dispatch.errors import CallError

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

GGUF_BLOCKS = {"q4_0": (32, 18), "q4_1": (32, 20), "q8_0": (32, 34), "q4_k": (256, 144)}
"""Weights and bytes of a block."""
FP8_BLOCK = 128
"""Rows and columns of weights that share a scale in DeepSeek's files."""
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""The column of 8 that the i-th 4 bits of a word are, from the lowest on."""


def gguf_blocks(tensor: Any, layout: str, n: int, k: int) -> Array:
    """A tensor's bytes of a GGUF file as blocks: u8 [n, k / weights, bytes], `GGUF_BLOCKS`.

    Parameters
    ----------
    tensor
        `bytes`, a memory map or an array of any shape; nothing is copied.
    layout
        "q4_0", "q4_1", "q8_0" or "q4_k".
    n, k
        The rows and columns of W. A GGUF file lists k first.

    Raises
    ------
    CallError
        There is no such layout, or there are not so many bytes.
    """
    if layout not in GGUF_BLOCKS:
        raise CallError(
            f"GGUF's layout {layout!r} has no product.",
            expected=f"one of {', '.join(GGUF_BLOCKS)}",
            next_step="dequantise the tensor, or convert the file to one of these.",
        )
    weights, size = GGUF_BLOCKS[layout]
    found = numpy.frombuffer(tensor, numpy.uint8) if isinstance(tensor, bytes) else tensor
    found = numpy.asarray(found)
    if not found.flags.c_contiguous:
        found = numpy.ascontiguousarray(found)
    found = found.reshape(-1).view(numpy.uint8)
    if k % weights or found.size != n * k // weights * size:
        raise CallError(
            f"{found.size} bytes are not {n} x {k} weights of {layout}.",
            expected=f"{size} bytes for each {weights} weights of a row, in whole blocks",
            next_step="give n and k as the model has them, and all bytes of the tensor.",
        )
    return found.reshape(n, k // weights, size)


def int4_of_awq(qweight: Array, qzeros: Array, scales: Array) -> tuple[Array, Array, Array]:
    """AWQ's tensors as bytes [n, k / 2], scales and zeros [n, groups]: for `int4_zeros_*`.

    The weights are the same, exactly: scale (q - zero).

    Parameters
    ----------
    qweight
        i32 [k, n / 8]; a word has 8 columns of a row, in `AWQ_ORDER`.
    qzeros
        i32 [groups, n / 8], in the same order.
    scales
        f16 or bf16 [groups, n].

    Raises
    ------
    CallError
        The shapes do not belong together, or a group is no multiple of 32.
    """
    k, n, groups = qweight.shape[0], scales.shape[1], scales.shape[0]
    _check(
        "AWQ",
        (qweight, qzeros, scales),
        ((k, n // 8), (groups, n // 8), (groups, n)),
        (k, n, groups),
    )
    place = numpy.argsort(AWQ_ORDER)
    numbers = _nibbles(qweight)[..., place].reshape(k, n)
    zeros = _nibbles(qzeros)[..., place].reshape(groups, n)
    return _packed(numbers.T), _rows(scales), _rows(zeros.astype(scales.dtype))


def int4_of_gptq(
    qweight: Array,
    qzeros: Array,
    scales: Array,
    g_idx: Array | None = None,
    *,
    zeros_are_less_one: bool = True,
) -> tuple[Array, Array, Array, Array | None]:
    """GPTQ's tensors as bytes [n, k / 2], scales and zeros [n, groups], and an order of x, or None.

    The weights are the same, exactly. Where columns were quantised in another order ("act-order"),
    those of a group are put beside each other: then x[..., order] goes into `int4_zeros_*`.

    Parameters
    ----------
    qweight
        i32 [k / 8, n]; a word has 8 rows of W's transpose, the lowest bits first.
    qzeros
        i32 [groups, n / 8].
    scales
        f16 or bf16 [groups, n].
    g_idx
        The group of each of k, if the file has it.
    zeros_are_less_one
        Whether the file has zeros less one, as those of AutoGPTQ ("gptq", not "gptq_v2").

    Raises
    ------
    CallError
        As `int4_of_awq`, or the groups of `g_idx` have not as many columns each.
    """
    k, n, groups = qweight.shape[0] * 8, scales.shape[1], scales.shape[0]
    _check(
        "GPTQ",
        (qweight, qzeros, scales),
        ((k // 8, n), (groups, n // 8), (groups, n)),
        (k, n, groups),
    )
    numbers = _nibbles(qweight).transpose(1, 0, 2).reshape(n, k)
    zeros = _nibbles(qzeros).reshape(groups, n).astype(numpy.float32) + zeros_are_less_one
    order = None
    if g_idx is not None and (numpy.asarray(g_idx) != numpy.arange(k) // (k // groups)).any():
        g_idx = numpy.asarray(g_idx)
        counts = (
            numpy.bincount(g_idx.astype(int), minlength=groups) if g_idx.shape == (k,) else None
        )
        if counts is None or counts.tolist() != [k // groups] * groups:
            raise CallError(
                "The groups of g_idx do not have as many columns each.",
                expected=f"{k} numbers, each of 0 to {groups - 1} {k // groups} times",
                next_step="dequantise this tensor, or quantise it again without act-order.",
            )
        order = numpy.argsort(g_idx, kind="stable")
        numbers = numbers[:, order]
    return _packed(numbers), _rows(scales), _rows(zeros.astype(scales.dtype)), order


def fp8_blocks(weight: Array, scale_inv: Array) -> tuple[Array, Array]:
    """DeepSeek's `weight` and `weight_scale_inv`, checked, as operands of `fp8_blocks_*`.

    The weights are weight[i, j] scale_inv[i / 128, j / 128].

    Parameters
    ----------
    weight
        e4m3 [n, k], or its bytes.
    scale_inv
        f32 [n / 128, k / 128], both rounded up.

    Raises
    ------
    CallError
        The shapes do not belong together.
    """
    import ml_dtypes

    weight, scale_inv = numpy.asarray(weight), numpy.asarray(scale_inv)
    shape = tuple(-(-size // FP8_BLOCK) for size in weight.shape)
    if weight.ndim != 2 or weight.dtype.itemsize != 1 or scale_inv.shape != shape:
        raise CallError(
            f"Scales {list(scale_inv.shape)} are not those of weights {list(weight.shape)} of "
            f"{weight.dtype}.",
            expected=f"bytes [n, k], and a scale for each {FP8_BLOCK} x {FP8_BLOCK} of them",
            next_step="give both tensors of the same layer.",
        )
    return weight.view(ml_dtypes.float8_e4m3fn), scale_inv.astype(numpy.float32)


def _check(
    of: str,
    tensors: tuple[Array, ...],
    wanted: tuple[tuple[int, ...], ...],
    sizes: tuple[int, int, int],
) -> None:
    k, n, groups = sizes
    found = [list(each.shape) for each in tensors]
    if found != [list(each) for each in wanted] or n % 8:
        raise CallError(
            f"qweight, qzeros and scales of {of} have the shapes {found}.",
            expected=f"{[list(each) for each in wanted]} for k {k}, n {n} and {groups} groups",
            next_step="give the three tensors of one layer as the file has them.",
        )
    if groups == 0 or k % groups or k // groups % 32:
        raise CallError(
            f"{k} columns in {groups} groups have no product.",
            expected="groups of a multiple of 32 that divides the columns",
            next_step="dequantise this tensor, or quantise it again with groups of 128.",
        )


def _nibbles(words: Array) -> Array:
    """The 8 numbers of each word, the lowest bits first."""
    bits = numpy.ascontiguousarray(words).astype(numpy.int32).view(numpy.uint32)
    result: Array = (bits[..., None] >> numpy.arange(0, 32, 4, dtype=numpy.uint32) & 15).astype(
        numpy.uint8
    )
    return result


def _packed(numbers: Array) -> Array:
    result: Array = numpy.ascontiguousarray(numbers[:, ::2] | numbers[:, 1::2] << 4)
    return result


def _rows(numbers: Array) -> Array:
    return numpy.ascontiguousarray(numbers.T)
