"""Scalars and structs as the 32-bit constants of a launch."""

from __future__ import annotations

import struct
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.kernel.abi import constants_of

n = cd.dim("n")


def _words(operand: Any, numbers: Any, size: int = 5) -> tuple[int, ...]:
    kernel = cd.Kernel(
        "k",
        source="k.cu",
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), operand],
        block=1,
        grid=n,
    )
    return constants_of(kernel.abi, {"n": size}, {operand.name: numbers})


@pytest.mark.parametrize(
    ("dtype", "value", "words"),
    [
        ("i32", -2, (0xFFFFFFFE,)),
        ("u32", 0xFFFFFFFE, (0xFFFFFFFE,)),
        ("i8", -1, (0xFFFFFFFF,)),
        ("u8", 255, (255,)),
        ("i16", -3, (0xFFFFFFFD,)),
        ("u16", 65535, (65535,)),
        ("bool", 1, (1,)),
        ("i64", -1, (0xFFFFFFFF, 0xFFFFFFFF)),
        ("u64", 1 << 33 | 7, (7, 2)),
        ("f32", 1.5, (0x3FC00000,)),
        ("f64", 1.5, (0, 0x3FF80000)),
        ("f16", 1.5, (0x3E00,)),
        ("f16", -1.5, (0xBE00,)),
        ("bf16", -1.5, (0xBFC0,)),
    ],
)
def test_a_scalar_is_its_bits(dtype: str, value: float, words: tuple[int, ...]) -> None:
    assert _words(cd.Scalar("s", dtype), value) == words


def test_a_scalar_with_a_value_is_computed_from_dims() -> None:
    assert _words(cd.Scalar("s", "u64", n * 2), None, size=1 << 32) == (0, 2)


def test_a_struct_lies_as_c_lays_it_out() -> None:
    fields = cd.Struct("s", 16, a="i8", b="f64", c=("i16", 3))
    data = struct.pack("<b7xd3h10x", -1, 0.1, 1, -2, 3)
    assert _words(fields, (-1, 0.1, 1, -2, 3)) == struct.unpack("<8I", data)


def test_an_optional_buffer_has_a_word_that_says_whether_it_is_there() -> None:
    bias = cd.In("bias", "f32", [n], optional=True)
    assert _words(bias, 1) == (1,)
    assert _words(bias, 0) == (0,)
