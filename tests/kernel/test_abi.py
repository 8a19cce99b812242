"""The C signature as IREE calls it: what its convention cannot pass is taken apart or refused."""

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
    assert [(c.operand, c.index) for c in abi.constants] == [(small, 0), (COUNT, 0)]
    assert [parameter.size_bytes for parameter in abi.parameters] == [8, 8, 8, 1, 4]
    assert [parameter.is_binding for parameter in abi.parameters] == [True] * 3 + [False] * 2
    assert abi.is_irees


@pytest.mark.parametrize(
    ("operands", "bindings"),
    [
        ([Y, X, COUNT], (X, Y)),
        ([X, COUNT, Y], (X, Y)),
        ([COUNT, X, Y], (X, Y)),
        ([X, Y, Z], (X, Z, Y)),
    ],
)
def test_another_order_than_irees_is_put_into_it(
    declare: Declare, operands: list[cd.In], bindings: tuple[cd.In, ...]
) -> None:
    abi = declare(operands=operands).abi
    assert not abi.is_irees
    assert abi.bindings == bindings
    assert [parameter.operand for parameter in abi.parameters] == operands
    for parameter in abi.parameters:
        if parameter.is_binding:
            assert abi.bindings[parameter.ordinal] is parameter.operand


@pytest.mark.parametrize("dtype", ["i64", "u64", "f64"])
def test_a_64_bit_scalar_is_two_constants(declare: Declare, dtype: str) -> None:
    wide = cd.Scalar("wide", dtype)
    abi = declare(operands=[Z, wide, cd.Scalar("after", "i32")]).abi
    assert [constant.index for constant in abi.constants] == [0, 1, 0]
    assert abi.parameters[2].ordinal == 2
    assert not abi.is_irees


def test_a_struct_is_as_many_constants_as_it_has_words(declare: Declare) -> None:
    struct = cd.Struct("p", tag="i8", weight="f64", shift="i16", values=("f32", 2), last="u8")
    assert [field.offset for field in struct.fields] == [0, 8, 16, 20, 28]
    assert (struct.alignment, struct.size_bytes) == (8, 32)
    abi = declare(operands=[struct, Z]).abi
    assert [constant.index for constant in abi.constants] == list(range(8))
    assert [item.name for item in declare(operands=[struct, Z]).arguments] == [
        *("p.tag", "p.weight", "p.shift", "p.values.0", "p.values.1", "p.last"),
        "z",
    ]
    assert str(struct) == "Struct(p: {tag: i8, weight: f64, shift: i16, values: f32[2], last: u8})"


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_float_of_16_bits_is_an_f32_argument(declare: Declare, dtype: str) -> None:
    kernel = declare(operands=[Z, cd.Scalar("half", dtype)])
    assert kernel.abi.parameters[1].size_bytes == 2
    scalar = kernel.arguments[1]
    assert isinstance(scalar, cd.Scalar)
    assert scalar.argument_type == "f32"


@pytest.mark.parametrize("operand", [cd.Scalar("half", "f8E4M3FN"), cd.Struct("s", half="f8E5M2")])
def test_a_float_of_8_bits_is_refused(declare: Declare, operand: cd.Scalar) -> None:
    with pytest.raises(SignatureError) as caught:
        declare(operands=[Z, operand])
    assert "half` is f8E" in caught.value.found
    assert caught.value.expected.startswith("a float of at least 16 bits")
    assert "take its bits as a u8" in caught.value.next_step


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: cd.Struct("s"), "Operand `s`: the struct has no field."),
        (lambda: cd.Struct("s", 4, a="f64"), "Operand `s`: its alignment is given as 4."),
        (lambda: cd.Struct("s", 12, a="f64"), "Operand `s`: its alignment is given as 12."),
        (lambda: cd.Struct("s", "8", a="f64"), "Operand `s`: its alignment is given as '8'."),
        (lambda: cd.Struct("s", a="double"), "Operand `s`: field `a`: 'double' is not an element"),
        (lambda: cd.Struct("s", a=("f32", 0)), "Operand `s`: field `a` is given as ('f32', 0)."),
        (lambda: cd.Struct("s", a=("f32",)), "Operand `s`: field `a` is given as ('f32',)."),
        (lambda: cd.Struct("no name", a="f32"), "'no name' cannot name an operand"),
    ],
)
def test_a_struct_that_is_none_is_refused(make: Callable[[], cd.Struct], found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        make()
    assert caught.value.found.startswith(found)
    assert caught.value.expected
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("operands", "said", "limit"),
    [
        ([cd.InOut(f"b{i}", "f32", [1]) for i in range(17)], "has 17 buffers", "at most 16"),
        ([Z, *(cd.Scalar(f"s{i}", "i32") for i in range(65))], "has 65 scalars", "at most 64"),
        (
            [Z, *(cd.Scalar(f"s{i}", "i64") for i in range(32)), cd.Scalar("last", "i8")],
            "has scalars and structs of 65 words of 32 bits",
            "at most 64",
        ),
        (
            [Z, cd.Struct("all", words=("i32", 64)), cd.Scalar("last", "i8")],
            "has scalars and structs of 65 words of 32 bits",
            "at most 64",
        ),
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
