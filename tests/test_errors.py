"""Every error: complete in its text, whole after pickling, and caught by the one base class."""

from __future__ import annotations

import inspect
import pickle

import pytest

from custom_dispatch import errors
from custom_dispatch.errors import CustomDispatchError, excerpt

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, CustomDispatchError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_says_what_was_found_what_is_right_and_what_to_do(
    kind: type[CustomDispatchError],
) -> None:
    error = kind("It broke.", expected="a whole one", next_step="mend it.", log="line 1: bang\n")
    assert str(error) == ("It broke.\n  expected: a whole one\n  next step: mend it.\nline 1: bang")
    assert str(kind("It broke.")) == "It broke."
    assert isinstance(error, CustomDispatchError)
    assert kind.__doc__


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_whole_after_pickling(kind: type[CustomDispatchError]) -> None:
    error = kind("It broke.", expected="a whole one", next_step="mend it.", log="bang")
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(twin) is kind
    assert (twin.found, twin.expected, twin.next_step, twin.log) == (
        "It broke.",
        "a whole one",
        "mend it.",
        "bang",
    )
    assert str(twin) == str(error)


def test_errors_are_also_what_python_programs_expect() -> None:
    assert issubclass(errors.DeclarationError, ValueError)
    assert issubclass(errors.CallError, TypeError)
    assert issubclass(errors.OutputError, OSError)


def test_an_excerpt_has_the_first_lines_and_says_how_many_more_there_are() -> None:
    assert excerpt("one\ntwo") == "one\ntwo"
    shown = excerpt("\n".join(["x" * 1000] * 43)).splitlines()
    assert shown == ["x" * 400] * 40 + ["... and 3 more lines"]
