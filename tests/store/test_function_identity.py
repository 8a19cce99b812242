"""Functions of Python that compute something else have another identity, or none."""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

from custom_dispatch.store.function_identity import function_identity


def identity(function: Any) -> bytes | None:
    return function_identity(function, ["numpy"], (numpy.dtype,))


def functions(text: str, **known: Any) -> Callable[..., Any]:
    """The function `f` of a module's text."""
    space: dict[str, Any] = dict(known)
    exec(text, space)  # noqa: S102 - of this file alone
    found: Callable[..., Any] = space["f"]
    return found


def closing_over(value: Any) -> Callable[[Any], Any]:
    def computes(x: Any) -> Any:
        return x * value

    return computes


PLAIN = "def f(x, y=2): return x + y"
CALLS = "def g(x): return x * 2\ndef f(x): return g(x) + (lambda z: g(z))(x)"
DIFFERENT = {
    "operation": (PLAIN, PLAIN.replace("+", "-")),
    "constant": (PLAIN, PLAIN.replace("x + y", "x + y + 1")),
    "type of a constant": (PLAIN.replace("2", "1"), PLAIN.replace("2", "1.0")),
    "default": (PLAIN, PLAIN.replace("2", "3")),
    "parameter": (PLAIN, "def f(y, x=2): return x + y"),
    "function that it calls": (CALLS, CALLS.replace("* 2", "* 3")),
    "name of what it calls": ("def f(x): return abs(x)", "def f(x): return len(x)"),
    "global number": ("n = 2\ndef f(x): return x * n", "n = 3\ndef f(x): return x * n"),
    "number that a lambda reads": (
        "n = 2\ndef f(x): return (lambda: n)()",
        "n = 3\ndef f(x): return (lambda: n)()",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_another_function_has_another(what: str) -> None:
    one, other = (identity(functions(text)) for text in DIFFERENT[what])
    assert one is not None
    assert one == identity(functions(DIFFERENT[what][0]))
    assert other is not None
    assert one != other


def test_what_it_closes_over_counts() -> None:
    assert identity(closing_over(2)) == identity(closing_over(2)) != identity(closing_over(3))
    assert identity(closing_over(numpy.dtype("f4"))) != identity(closing_over(numpy.dtype("f2")))
    assert identity(closing_over(numpy.sin)) != identity(closing_over(numpy.cos))
    one, other = (functools.partial(closing_over(2), y=value) for value in (1, 2))
    assert None is not identity(one) != identity(other)


@pytest.mark.parametrize(
    "value", [SimpleNamespace(n=2), numpy.ones(2), SimpleNamespace, [SimpleNamespace()]]
)
def test_objects_whose_content_is_not_known_give_none(value: Any) -> None:
    assert identity(closing_over(value)) is None
    assert identity(functions("def f(x): return x * n", n=value)) is None


def test_other_packages_and_modules_with_effects_give_none() -> None:
    text = "def f(x): return m.path(x)"
    assert identity(functions(text, m=math)) is not None
    assert identity(functions(text, m=numpy.linalg)) is not None
    assert identity(functions(text, m=pytest)) is None
    assert identity(functions(text, m=__import__("os"))) is None


def test_names_that_are_open_to_all_are_known_as_far_as_they_are_the_packages() -> None:
    def identity(text: str, **known: Any) -> bytes | None:
        return function_identity(functions(text, **known), ["numpy"], (), {"linalg": ["norm"]})

    assert identity("def f(x): return n.linalg.norm(x)", n=numpy) is not None
    assert identity("def f(x): return n.linalg.det(x)", n=numpy) is None
    assert identity("def f(x): return linalg.det(x)", linalg=numpy.linalg) is None
    assert identity("def f(x): return (n.linalg,)", n=numpy) is None
    assert identity("def f(x): return m.norm(x)", m=ModuleType("numpy.other")) is None


WITHIN = {
    "import": "def f(x):\n from pytest import approx\n return approx(x)",
    "import of a part": "def f(x):\n import xml.dom\n return x",
    "file": "def f(x): return open(x)",
    "text": "def f(x): return eval('x')",
}


@pytest.mark.parametrize("what", WITHIN)
def test_what_is_read_while_it_runs_gives_none(what: str) -> None:
    assert identity(functions(WITHIN[what])) is None


def test_imports_of_known_packages_give_one() -> None:
    assert identity(functions("def f(x):\n from numpy import sin\n return sin(x)")) is not None


def test_a_class_within_a_function_reads_globals() -> None:
    text = "def f(x):\n class Local:\n  number = n\n return x * Local.number"
    assert None is not identity(functions(text, n=2)) != identity(functions(text, n=3))


def test_what_only_has_a_packages_name_is_not_known_by_it() -> None:
    """Wrappers take over the names of what they wrap, and methods have those of their classes."""

    @functools.wraps(numpy.linalg.norm)
    def twice(x: Any) -> Any:
        return numpy.linalg.norm(x) * 2

    assert twice.__module__.startswith("numpy")
    assert None is not identity(numpy.linalg.norm) != identity(closing_over(twice))
    one, other = (numpy.poly1d([number]).deriv for number in (1, 2))
    assert identity(one) is identity(other) is None
    assert identity(numpy.poly1d([1])) is None


def test_containers_of_other_kinds_and_those_that_hold_themselves_give_none() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert identity(closing_over(endless)) is None
    assert identity(closing_over(OrderedDict(a=1))) is None
    assert identity(closing_over({"a": 1})) != identity(closing_over({"a": 2}))


def test_an_attribute_is_no_global_of_its_name() -> None:
    text = "def f(x): return x.size"
    assert identity(functions(text, size=SimpleNamespace())) == identity(functions(text))


def test_functions_that_call_themselves_have_one() -> None:
    text = "def g(x): return f(x)\ndef f(x): return g(x) if x else 1"
    assert None is not identity(functions(text)) != identity(functions(text.replace("1", "2")))
