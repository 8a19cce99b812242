"""Sums of products in one form, whatever they were computed as."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.match.polynomial import Atom, Polynomial

a, b = (Polynomial.of(Atom((name,), name, least)) for name, least in (("a", 0), ("b", None)))


def test_what_is_equal_has_one_form() -> None:
    assert (a + b) * 2 - b == 2 * a + b
    assert (a + 1) * (a - 1) == a * a - 1
    assert a - a == 0
    assert hash(a * 0 + 5) == hash(5)
    assert a != b
    assert a != a * a
    assert 3 - a == -(a - 3)


def test_quotients_are_exact_or_none() -> None:
    assert (a * 6 + b * 3).divided(3) == a * 2 + b
    assert (a * 6 + 1).divided(3) is None
    assert (a * b * 4).divided(b * 2) == a * 2
    assert (a + b).divided(a) is None
    assert (a + b).divided(a + b) == 1


def test_bounds_are_those_of_atoms() -> None:
    assert (a * 2 + 3).least == 3
    assert (a - 1).least == -1
    assert (3 - a).least is None
    assert (a + b).least is None


def test_words() -> None:
    assert str(a - b * 2 + 1) == "a - 2*b + 1"
    assert str(-a) == "-a"
    assert str(a - a) == "0"
    assert str(a * a * b) == "a**2*b"


@given(st.lists(st.integers(-5, 5), min_size=4, max_size=4), st.integers(-9, 9), st.integers(-9, 9))
def test_values_are_those_of_what_was_computed(numbers: list[int], x: int, y: int) -> None:
    def computed(first: object, second: object) -> object:
        p, q, r, s = numbers
        return (first * p + second) * (second * q - r) + s - first * second  # type: ignore[operator]

    values = {Atom(("a",), "a"): x, Atom(("b",), "b"): y}
    assert computed(a, b).replaced(values) == computed(x, y)  # type: ignore[attr-defined]
