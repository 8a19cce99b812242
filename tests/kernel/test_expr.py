"""Dim expressions: Python's integers where they are sizes, and a sentence where they are none."""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import pickle
from typing import Any

import numpy
import pytest
from hostile_values import HUGE, NOT_INTEGERS
from hypothesis import assume, given
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import dims_of, evaluate, holds
from custom_dispatch.kernel.expr import MAX_NODES
from custom_dispatch.kernel.size_arithmetic import MAX_VALUE

n, m = cd.dim("n"), cd.dim("m")

# A tree: an integer, a dim's name, or (operator, left, right), or ("where", condition, a, b).
BUILDERS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "ceildiv": cd.ceildiv,
    "minimum": cd.minimum,
    "maximum": cd.maximum,
}
PYTHON = BUILDERS | {"ceildiv": lambda a, b: -(-a // b), "minimum": min, "maximum": max}
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

SIZES = st.one_of(st.integers(0, 9), st.integers(0, MAX_VALUE))
TREES = st.recursive(
    st.one_of(SIZES, st.sampled_from(["n", "m"])),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(BUILDERS)), inner, inner),
        st.tuples(st.just("where"), st.sampled_from(sorted(COMPARISONS)), inner, inner, inner),
    ),
    max_leaves=12,
)


class NoSizeError(Exception):
    """What `evaluate` must refuse, found by Python's own integers."""


def build(tree: Any) -> Any:
    if isinstance(tree, str):
        return cd.dim(tree)
    if isinstance(tree, int):
        return tree
    if tree[0] == "where":
        _, comparison, left, a, b = tree
        return cd.where(COMPARISONS[comparison](build(left) + n * 0, m), build(a), build(b))
    return BUILDERS[tree[0]](build(tree[1]), build(tree[2]))


def compute(tree: Any, dims: dict[str, int], *, both_sides: bool) -> int:
    if isinstance(tree, str):
        return dims[tree]
    if isinstance(tree, int):
        return tree
    if tree[0] == "where":
        _, comparison, left, a, b = tree
        chosen = COMPARISONS[comparison](compute(left, dims, both_sides=both_sides), dims["m"])
        sides = (a, b) if chosen else (b, a)
        if both_sides:
            compute(sides[1], dims, both_sides=True)
        return compute(sides[0], dims, both_sides=both_sides)
    left, right = (compute(side, dims, both_sides=both_sides) for side in tree[1:])
    if tree[0] in ("//", "%", "ceildiv") and right == 0:
        raise NoSizeError
    result = PYTHON[tree[0]](left, right)
    if not 0 <= result <= MAX_VALUE:
        raise NoSizeError
    return int(result)


@given(TREES, SIZES, SIZES)
def test_an_expression_is_what_python_computes_or_an_error(tree: Any, a: int, b: int) -> None:
    dims = {"n": a, "m": b}
    try:
        expr = build(tree) + n * 0
    except (DeclarationError, ArithmeticError):
        # Python's own integers divide by zero by themselves; what is constant is refused at once.
        with pytest.raises(NoSizeError):
            compute(tree, dims, both_sides=True)
        return
    except TypeError:  # a negative Python integer compares to a dim as a bool would
        assume(False)
    try:
        wanted = compute(tree, dims, both_sides=False)
    except NoSizeError:
        wanted = None
    if wanted is None:
        # Where Python itself computed a constant part, it may have passed a value that is none.
        with contextlib.suppress(DeclarationError):
            assert 0 <= evaluate(expr, dims) <= MAX_VALUE
    else:
        assert evaluate(expr, dims) == wanted


def test_a_division_by_zero_names_expression_and_values() -> None:
    with pytest.raises(DeclarationError) as caught:
        evaluate(cd.ceildiv(n, m - 1), {"n": 8, "m": 1})
    assert caught.value.found == "ceildiv(n, m - 1) divides by zero for n = 8, m = 1."
    assert "cd.maximum(divisor, 1)" in caught.value.next_step


def test_a_negative_value_names_expression_and_values() -> None:
    with pytest.raises(DeclarationError) as caught:
        evaluate(n - m + 5, {"n": 3, "m": 4})
    assert caught.value.found == "n - m is -1 for n = 3, m = 4."
    assert "never negative" in caught.value.expected or "without a sign" in caught.value.expected


def test_a_value_that_ir_would_wrap_is_refused() -> None:
    with pytest.raises(DeclarationError) as caught:
        evaluate(n * n, {"n": 2**32})
    assert caught.value.found == f"n * n is {2**64} for n = {2**32}."
    assert "2**63 - 1" in caught.value.expected


def test_constants_are_checked_at_once() -> None:
    five = cd.maximum(2, 5)
    for wrong, said in [
        (lambda: n // 0, "n // 0 divides by zero."),
        (lambda: n % 0, "n % 0 divides by zero."),
        (lambda: cd.ceildiv(n, 0), "ceildiv(n, 0) divides by zero."),
        (lambda: five - 7, "5 - 7 is -2."),
        (lambda: five * 2**62, f"5 * {2**62} is {5 * 2**62}."),
    ]:
        with pytest.raises(DeclarationError) as caught:
            wrong()
        assert caught.value.found == said


@pytest.mark.parametrize("value", [v for v in NOT_INTEGERS if not isinstance(v, type(None))])
@pytest.mark.parametrize("combine", [operator.add, cd.ceildiv, cd.minimum, operator.le])
def test_what_is_no_integer_is_refused(combine: Any, value: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        combine(n, value)
    assert caught.value.found.startswith("A dim expression is given as ")
    assert caught.value.expected == "an integer, a dim, or an expression of dims"


@pytest.mark.parametrize("value", HUGE.values(), ids=HUGE.keys())
def test_an_integer_outside_64_bits_is_refused(value: int) -> None:
    with pytest.raises(DeclarationError, match="expected: an integer from 0 to 2"):
        n + value


def test_numpy_integers_are_integers_on_either_side() -> None:
    expressions = [n * numpy.int64(3), numpy.int32(3) * n, numpy.array(3) * n]
    assert [evaluate(expr, {"n": 4}) for expr in expressions] == [12, 12, 12]
    with pytest.raises(DeclarationError, match="is given as array"):
        numpy.array([1, 2]) * n


@pytest.mark.parametrize(
    ("misuse", "said"),
    [
        (lambda: n / 2, "`/` is used on the dim expression n."),
        (lambda: 2 / n, "`/` is used on the dim expression n."),
        (lambda: -n, "The dim expression n is negated."),
        (lambda: bool(n), "The dim expression n is used as a truth value"),
        (lambda: 1 < n < 3, "The condition n > 1 is used as a truth value"),
        (lambda: n == m == 3, "The condition n == m is used as a truth value"),
        (lambda: n % 4 == 0 or m == 8, "The condition n % 4 == 0 is used as a truth value"),
        (lambda: n != 4 and m == 8, "The condition n != 4 is used as a truth value"),
        (lambda: n == m or n == m, "The condition n == m is used as a truth value"),  # noqa: SIM109
        (lambda: n > 4 or m > 4, "The condition n > 4 is used as a truth value"),
        (lambda: 1 if n > 4 else 2, "The condition n > 4 is used as a truth value"),
        (lambda: any([n == 4, m == 8]), "The condition n == 4 is used as a truth value"),
        (lambda: int(n), "The dim expression n is used as a number"),
        (lambda: cd.where(True, 1, 2), "cd.where was given True as its condition."),  # type: ignore[arg-type]
        (lambda: cd.where(n, 1, 2), "cd.where was given Dim(name='n') as its condition."),  # type: ignore[arg-type]
        (lambda: (n > 1) + 1, ""),  # type: ignore[operator]
    ],
)
def test_python_that_cannot_be_deferred_is_refused(misuse: Any, said: str) -> None:
    with pytest.raises(DeclarationError if said else TypeError) as caught:
        misuse()
    assert said in str(caught.value)


def test_an_expression_too_large_to_be_walked_is_refused() -> None:
    deep: Any = n
    for _ in range(127):
        deep = deep + 1
    assert evaluate(deep, {"n": 1}) == 128
    assert str(deep).count("+") == 127
    with pytest.raises(DeclarationError) as caught:
        deep + 1
    assert caught.value.found == "A dim expression has 257 parts."
    assert caught.value.expected == f"at most {MAX_NODES}: numbers, dims and operators together"


@pytest.mark.parametrize("double", [lambda e: e + e, lambda e: cd.where(e < m, e, 1)])
def test_an_expression_that_doubles_itself_ends(double: Any) -> None:
    with pytest.raises(DeclarationError, match="A dim expression has"):
        functools.reduce(lambda expr, _: double(expr), range(100), n)


def test_expressions_are_values() -> None:
    expr = cd.where(n >= 4, cd.ceildiv(n, 4), m % 3)
    for twin in (copy.deepcopy(expr), pickle.loads(pickle.dumps(expr))):  # noqa: S301
        assert twin.is_same(expr)
        assert hash(twin) == hash(expr)
    assert str(expr) == "where(n >= 4, ceildiv(n, 4), m % 3)"
    assert str((n + 1) * (m - 2) // 3) == "((n + 1) * (m - 2)) // 3"
    assert dims_of(expr) == (n, m)
    assert evaluate(cd.compute_capability // 10, {}, capability=90) == 9


def test_expressions_are_compared_when_called_and_are_the_same_or_not_before() -> None:
    same, other = cd.dim("n") % 4 == 0, n != m
    assert (str(same), str(other)) == ("n % 4 == 0", "n != m")
    assert [holds(same, {"n": value}) for value in (4, 6)] == [True, False]
    assert [holds(other, {"n": 1, "m": value}) for value in (1, 2)] == [False, True]
    assert n.is_same(cd.dim("n"))
    assert (n + 1).is_same(cd.dim("n") + 1)
    assert not (n * 2).is_same(n + 2)
    assert (n == 4) == (n == 4)
    assert (n == 4) != (n == m)
    assert hash(n * 2) == hash(cd.dim("n") * 2)
    assert {n + 1: "found"}[cd.dim("n") + 1] == "found"
    assert cd.dim("m") in [n, m]
    assert cd.dim("m") not in [n, m + 1]
    assert (n, 1) == (cd.dim("n"), 1)
    assert (n, m) != (n, n)
    assert {n: 1, m: 2} == {m: 2, cd.dim("n"): 1}
    assert cd.In("x", "f32", [n, 4]) == cd.In("x", "f32", [cd.dim("n"), 4])
    assert cd.In("x", "f32", [n, 4]) != cd.In("x", "f32", [n, m])
    assert n not in (None, "n", 1.5, [])
    assert str(4 == n) == "n == 4"  # noqa: SIM300
    assert str(numpy.int64(4) == n) == "n == 4"


def test_where_takes_equality() -> None:
    expr = cd.where(n == 4, 1, cd.where(n % 2 != 0, 2, 3))
    assert [evaluate(expr, {"n": value}) for value in (4, 5, 6)] == [1, 2, 3]
    assert str(expr) == "where(n == 4, 1, where(n % 2 != 0, 2, 3))"
