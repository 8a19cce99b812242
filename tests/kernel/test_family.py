"""Families as declarations: what their values may be, and what their functions may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")


def made(name: str = "scale", operand: str = "x") -> cd.Kernel:
    operands = [cd.In(operand, "f32", [n]), cd.Out("y", "f32", [n])]
    return cd.Kernel(name, source="scale.cu", operands=operands, block=1, grid=1)


def text(declare: Any, **values: Any) -> str:
    with pytest.raises(DeclarationError) as caught:
        cd.Family("scale", declare, **values)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "value", "name"),
    [
        (range(1, 2**20), 7, "7"),
        (range(9, 0, -2), 3, "3"),
        ([-4, 4], -4, "m4"),
        ([False, True], True, "true"),
        ([1e-5, 2, 0.25], 0.25, "0d25"),
        ([1e-5, 1e20], 1e20, "1ep20"),
        (["row_major", "col"], "row_major", "row_major"),
    ],
)
def test_a_kernel_is_named_after_its_values(values: Any, value: Any, name: str) -> None:
    family = cd.Family("scale", lambda a: made(), a=values)
    kernel = family.kernel(a=value)
    assert kernel.name == f"scale__a_{name}"
    assert kernel.entry == "scale"
    assert kernel is family.kernel(a=value)


def test_the_function_is_asked_when_a_kernel_is_wanted() -> None:
    asked: list[int] = []

    def declare(a: int, b: int = 2) -> cd.Kernel:
        asked.append(10 * a + b)
        return made()

    family = cd.Family("scale", declare, b=[1, 2], a=range(1, 5))
    assert [item.name for item in family.statics] == ["a", "b"]
    assert asked == [12]
    for _ in range(2):
        family.kernel(a=3)
        family.kernel(a=3, b=1)
    assert asked == [12, 32, 31]
    assert family.count == len(family.every()) == 8
    assert family.every()[0] is family.kernel(a=1, b=1)
    assert repr(family) == "Family(scale: a: int, b: int)"


def test_values_that_a_name_or_an_option_cannot_have_are_refused() -> None:
    for values in ([], "ab", 4, {1, 2}, range(0), numpy.array([1, 2])):
        assert "Family `scale`: `a` has the values" in text(lambda a: made(), a=values)
    for values in ([1, "b"], [True, 1], [1, 1], [None], [[1]], [numpy.ones(2)], [numpy.int32]):
        assert "expected: values of one kind, each once" in text(lambda a: made(), a=values)
    for value in ("a b", "-o", "a;b", "a__b", "_a", "", "é", float("nan"), float("inf")):
        said = text(lambda a: made(), a=[value])
        assert f"Family `scale`: `a` has the value {value!r}." in said
    for values in ([2**63], range(10**30)):
        assert "expected: integers of 64 bits" in text(lambda a: made(), a=values)
    assert text(lambda a=3: made(), a=[1, 2]) == (
        "Family `scale`: `a` has the default 3.\n"
        "  expected: one of 1, 2\n"
        "  next step: correct the function's default, or add the value."
    )


def test_numbers_of_numpy_are_values_and_arrays_of_several_are_none() -> None:
    family = cd.Family("scale", lambda width: made(), width=[2, 4])
    for four in (4, numpy.int8(4), numpy.array(4), numpy.array([4])):
        assert family.kernel(width=four).name == "scale__width_4"  # type: ignore[arg-type]
    for value in (numpy.ones(3), numpy.float32, "4", 4.0, True):
        with pytest.raises(CallError) as caught:
            family.kernel(width=value)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"Family `scale`: the compile-time argument `width` is {value!r}.\n"
            "  expected: one of 2, 4\n"
            "  next step: pass one of these, or add the value to the family."
        )


def test_a_family_of_more_kernels_than_python_counts() -> None:
    family = cd.Family("scale", lambda width: made(), width=range(-(2**62), 2**62, 1))
    assert family.count == 2**63
    assert family.kernel(width=-(2**62)).name == f"scale__width_m{2**62}"


def test_functions_that_are_none_are_refused() -> None:
    for declare in (lambda: made(), lambda b: made(), lambda *a: made(), lambda a, b: made()):
        assert "Family `scale`: values are given for a, and its function takes" in text(
            declare, a=[1]
        )
    assert "Family `scale`: 3 declares no kernel." in text(3, a=[1])
    assert "Family `scale`: its function returns None for a=1." in text(lambda a: None, a=[1])
    assert "Family `scale`, a=1: kernel `k`: options is 'x'." in text(
        lambda a: cd.Kernel(
            "k", source="k.cu", operands=made().operands, block=1, grid=1, options="x"
        ),
        a=[1],
    )
    assert "Family `scale`: its kernels have an operand `x`, too." in text(lambda x: made(), x=[1])
    family = cd.Family("scale", lambda a: made(operand="x" if a == 1 else "z"), a=[1, 2])
    with pytest.raises(DeclarationError) as caught:
        family.kernel(a=2)
    assert caught.value.found == "Family `scale`: the inputs of `scale__a_2` are In(z)."
    with pytest.raises(DeclarationError, match="is not a kernel"):
        cd.Choice("both", [family])  # type: ignore[list-item]
