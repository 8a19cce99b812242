"""The C signature as IREE calls it: what its convention cannot pass is refused, with a way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, SignatureError

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
X, Y, Z = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.InOut("z", "f32", [n])
COUNT = cd.Scalar("count", "i32", n)


def test_pointers_take_8_bytes_and_scalars_their_own(declare: Declare) -> None:
    small = cd.Scalar("small", "i8")
    abi = declare(operands=[X, Z, Y, small, COUNT]).abi
    assert abi.bindings == (X, Z, Y)
    assert abi.constants == (small, COUNT)
    assert [parameter.size_bytes for parameter in abi.parameters] == [8, 8, 8, 1, 4]
    assert [parameter.is_binding for parameter in abi.parameters] == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("operands", "stands", "wanted"),
    [
        ([Y, X, COUNT], "`y` stands where IREE passes `x`", "(x, y, count)"),
        ([X, COUNT, Y], "`count` stands where IREE passes `y`", "(x, y, count)"),
        ([COUNT, X, Y], "`count` stands where IREE passes `x`", "(x, y, count)"),
        ([X, Y, Z], "`y` stands where IREE passes `z`", "(x, z, y)"),
    ],
)
def test_an_order_that_iree_cannot_pass_is_refused(
    declare: Declare, operands: list[cd.In], stands: str, wanted: str
) -> None:
    with pytest.raises(SignatureError) as caught:
        declare(operands=operands)
    assert caught.value.found == f"Kernel `scale`: {stands}."
    assert wanted in caught.value.expected
    assert "reorder the parameters" in caught.value.next_step


@pytest.mark.parametrize("dtype", ["i64", "u64", "f64"])
def test_a_64_bit_scalar_is_refused(declare: Declare, dtype: str) -> None:
    with pytest.raises(SignatureError) as caught:
        declare(operands=[Z, cd.Scalar("wide", dtype)])
    assert caught.value.found == (f"Kernel `scale`: scalar `wide` is {dtype}, which takes 8 bytes.")
    assert "at most 4 bytes" in caught.value.expected
    assert "pass two halves" in caught.value.next_step


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8E4M3FN"])
def test_a_small_floating_point_scalar_is_refused(declare: Declare, dtype: str) -> None:
    with pytest.raises(SignatureError) as caught:
        declare(operands=[Z, cd.Scalar("half", dtype)])
    assert caught.value.found == f"Kernel `scale`: scalar `half` is {dtype}."
    assert caught.value.expected.startswith("f32, or an integer")


@pytest.mark.parametrize(
    ("operands", "said", "limit"),
    [
        ([cd.InOut(f"b{i}", "f32", [1]) for i in range(17)], "has 17 buffers", "at most 16"),
        ([Z, *(cd.Scalar(f"s{i}", "i32") for i in range(65))], "has 65 scalars", "at most 64"),
    ],
)
def test_more_operands_than_irees_driver_takes_are_refused(
    declare: Declare, operands: list[cd.In], said: str, limit: str
) -> None:
    assert declare(operands=operands[:-1], grid=1).abi
    with pytest.raises(DeclarationError) as caught:
        declare(operands=operands, grid=1)
    assert caught.value.found == f"Kernel `scale` {said}."
    assert caught.value.expected.startswith(limit)
