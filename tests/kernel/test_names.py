"""Any text is a good name or an error: nothing in between reaches IR or a file's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hostile_values import NOT_TEXT
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import MAX_NAME_LENGTH, shown

Declare = Callable[..., cd.Kernel]
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CPP_NAME = re.compile(r"[\w :<>(),*&+.-]+", re.ASCII)
"""What may be one, `ns::scale<float>`, with blanks around it."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=300) | st.from_regex(IDENTIFIER))
@example("")
@example("scale\n")
@example("skalár")
@example("a1٣")
@example('a" {b = "c')
@example("x" * (MAX_NAME_LENGTH + 1))
@example("\ud800")
@example("a b")
@example("scale; drop")
@example("$entry")
@example("a ")
def test_any_text_is_a_c_identifier_or_refused(declare: Declare, name: str) -> None:
    good = bool(IDENTIFIER.fullmatch(name)) and len(name) <= MAX_NAME_LENGTH
    makers = {
        "kernel": lambda: declare(name).name,
        "operand": lambda: cd.In(name, "f32", [1]).name,
        "dim": lambda: cd.dim(name).name,
        "kernel entry": lambda: declare(entry=name).entry,
    }
    for what, make in makers.items():
        if good:
            assert make() == name
            continue
        if what == "kernel entry" and CPP_NAME.fullmatch(name):
            continue
        with pytest.raises(DeclarationError) as caught:
            make()
        assert what in caught.value.found or "is not the name of a function" in caught.value.found
        assert len(str(caught.value)) < 600
        assert str(caught.value).isprintable() or str(caught.value).count("\n") == 2


@pytest.mark.parametrize("name", NOT_TEXT)
def test_a_name_that_is_no_text_is_refused(declare: Declare, name: Any) -> None:
    for what, make in (
        ("kernel", lambda: declare(name)),
        ("operand", lambda: cd.Scalar(name, "i32")),
        ("dim", lambda: cd.dim(name)),
    ):
        with pytest.raises(DeclarationError, match=f"The name of an? {what} is given as"):
            make()


def test_the_error_of_a_name_says_what_is_allowed() -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.In("left-hand", "f32", [1])
    assert str(caught.value) == (
        "'left-hand' cannot name an operand.\n"
        "  expected: ASCII letters, digits and underscores, not beginning with a digit\n"
        '  next step: rename it; a C++ kernel can be declared `extern "C"` to get a plain name.'
    )


def test_a_value_is_shown_in_one_short_line() -> None:
    assert shown(1.5) == "1.5"
    assert shown("x" * 1000) == "'" + "x" * 39 + "... (1000 long)"
    assert shown(10**5000) == "a value of type int"
    assert shown([1] * 1000) == "a value of type list"
