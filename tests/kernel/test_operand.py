"""Operands: what a C parameter is declared as, and every way to declare it wrongly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from hostile_values import HUGE, NOT_INTEGERS, Unprintable
from hypothesis import example, given
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType

n = cd.dim("n")
BUFFERS = [cd.In, cd.Out, cd.InOut]


@pytest.mark.parametrize("kind", BUFFERS)
def test_an_operand_is_a_name_a_type_and_sizes(kind: type[cd.In]) -> None:
    operand = kind("x", "bf16", (n, 4, n * 2))
    assert (operand.name, operand.dtype.name, operand.rank) == ("x", "bf16", 3)
    assert str(operand) == f"{kind.__name__}(x: bf16[n, 4, n * 2])"
    assert operand == kind("x", "bf16", [n, numpy.int64(4), n * 2])
    assert kind("x", "f32", []).rank == 0


def test_kinds_of_operands_differ() -> None:
    assert cd.In("x", "f32", [n]) != cd.InOut("x", "f32", [n])
    assert not cd.Scalar("count", "i32", n).is_argument
    assert cd.Scalar("count", "i32").is_argument
    assert str(cd.Scalar("count", "i32", n)) == "Scalar(count: i32 = n)"


@given(st.text())
@example("float32")
@example("F32")
@example("f32\n")
def test_any_text_is_an_element_type_or_refused(name: str) -> None:
    if name in ELEMENT_TYPES:
        assert cd.In("x", name, [1]).dtype.name == name
        return
    with pytest.raises(DeclarationError) as caught:
        cd.In("x", name, [1])
    assert caught.value.found.startswith("Operand `x`: ")
    assert caught.value.found.endswith(" is not an element type.")
    assert "f32" in caught.value.expected


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("float32", "f32"),
        ("double", "f64"),
        ("uint8", "u8"),
        ("I32", "i32"),
        (numpy.float32, "f32"),
        (numpy.dtype("int64"), "i64"),
        (ml_dtypes.bfloat16, "bf16"),
        (float, "f32"),
        (bool, "bool"),
        ("float8_e4m3fn", "f8E4M3FN"),
    ],
)
def test_another_systems_type_name_gets_a_suggestion(given: Any, meant: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.In("x", given, [1])
    assert caught.value.next_step == f'write "{meant}".'


@pytest.mark.parametrize("dtype", [None, 32, b"f32", ["f32"], Unprintable(), object()])
def test_a_type_that_is_no_text_is_refused(dtype: Any) -> None:
    for make in (lambda: cd.In("x", dtype, [1]), lambda: cd.Scalar("x", dtype)):
        with pytest.raises(DeclarationError, match="is not an element type"):
            make()


def test_an_element_type_of_ones_own_is_refused() -> None:
    with pytest.raises(DeclarationError, match="is not an element type"):
        cd.In("x", ElementType("f3", 3, "f3", "float3", "f3"), [1])


@pytest.mark.parametrize("kind", ELEMENT_TYPES.values(), ids=str)
def test_every_element_type_has_the_size_of_numpys(kind: ElementType) -> None:
    assert kind.to_numpy().itemsize == kind.bytes
    if not kind.is_float and kind.name != "bool":
        assert kind.largest == numpy.iinfo(kind.to_numpy()).max


@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("shape", [*NOT_INTEGERS, 4, n, (x for x in [4])])
def test_a_shape_that_is_no_list_is_refused(kind: type[cd.In], shape: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        kind("x", "f32", shape)
    assert caught.value.found.startswith("Operand `x`: its shape is given as ")
    assert caught.value.expected == "a list with one size a dimension, such as [rows, columns]"
    if shape is n:
        assert caught.value.found == "Operand `x`: its shape is given as n."


@pytest.mark.parametrize("size", [value for value in NOT_INTEGERS if value is not n])
def test_a_size_that_is_no_integer_is_refused(size: Any) -> None:
    with pytest.raises(DeclarationError, match="Operand `x`: a size of its shape is given as"):
        cd.In("x", "f32", [n, size])


@pytest.mark.parametrize("size", HUGE.values(), ids=HUGE.keys())
def test_a_size_outside_64_bits_is_refused(size: int) -> None:
    with pytest.raises(DeclarationError, match="expected: an integer from 0 to"):
        cd.In("x", "f32", [size])


def test_what_depends_on_the_device_may_only_stand_in_the_grid() -> None:
    for make in (
        lambda: cd.In("x", "f32", [n + cd.compute_capability]),
        lambda: cd.Scalar("x", "i32", cd.where(cd.compute_capability >= 90, n, 1)),
    ):
        with pytest.raises(DeclarationError, match=r"Operand `x`: its .* depends on the device"):
            make()


def test_a_floating_point_scalar_has_no_value_of_dims() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Scalar("factor", "f32", n)
    assert "a f32 scalar is given the integer expression n" in caught.value.found
    assert '"i32"' in caught.value.next_step


@pytest.mark.parametrize(
    ("dtype", "most"),
    [("i32", 2**31 - 1), ("u8", 255), ("i8", 127), ("bool", 1), ("u32", 2**32 - 1)],
)
def test_a_value_that_does_not_fit_its_type_is_refused(dtype: str, most: int) -> None:
    assert str(cd.Scalar("x", dtype, most).value) == str(most)
    with pytest.raises(DeclarationError) as caught:
        cd.Scalar("x", dtype, most + 1)
    assert caught.value.found == f"Operand `x`: its value is {most + 1}."
    assert caught.value.expected == f"at most {most}, what {dtype} holds"


@pytest.mark.parametrize("kind", BUFFERS)
def test_leading_dims_are_one_to_the_kernel(kind: type[cd.In]) -> None:
    operand = kind("x", "f32", [..., n, 4])
    assert operand.batched
    assert operand.shape == (cd.batch, n, cd.In("x", "f32", [4]).shape[0])
    assert str(operand) == f"{kind.__name__}(x: f32[..., n, 4])"
    assert operand != kind("x", "f32", [cd.batch, n, 4])
    assert [operand.has_rank(rank) for rank in range(5)] == [False, False, True, True, True]
    assert kind("x", "f32", [...]).has_rank(0)
    plain = kind("x", "f32", [n, 4])
    assert [plain.has_rank(rank) for rank in range(5)] == [False, False, True, False, False]


@pytest.mark.parametrize("shape", [[n, ...], [..., ...], [..., n, ...]])
def test_leading_dims_stand_first_and_once(shape: list[Any]) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.In("x", "f32", shape)
    assert caught.value.found == "Operand `x`: its shape has `...` in another place than the first."
