"""Sizes and ranges of them on the command line."""

from __future__ import annotations

import pytest

import custom_dispatch as cd
from custom_dispatch.cli.inputs import parse_sizes


def test_sizes_and_ranges() -> None:
    assert parse_sizes(()) == [{}]
    assert parse_sizes(("n=3", "m=4,k=5")) == [{"n": 3, "m": 4, "k": 5}]
    assert [item["n"] for item in parse_sizes(("n=1024:65536:x4",))] == [1024, 4096, 16384, 65536]
    assert [item["n"] for item in parse_sizes(("n=1:9",))] == [1, 2, 4, 8]
    assert parse_sizes(("m=2", "n=0:10:5")) == [
        {"m": 2, "n": 0},
        {"m": 2, "n": 5},
        {"m": 2, "n": 10},
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("n",), "'n' is no size"),
        (("n=-1",), "'n=-1' is no size"),
        (("n=1.5",), "is no size"),
        (("n=1:2:y3",), "is no size"),
        (("n=" + "9" * 300,), "is no size"),
        (("n=1", "n=2"), "`n` is given twice"),
        (("n=1:4", "m=1:4"), "`n` and `m` are both ranges"),
        (("n=0:8:x2",), "never comes to its end"),
        (("n=1:8:x1",), "never comes to its end"),
        (("n=1:8:0",), "never comes to its end"),
        (("n=9:8",), "begins above its end"),
        (("n=1:1000:1",), "has more than 64 sizes"),
    ],
)
def test_wrong_sizes_are_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(cd.CustomDispatchError, match=message):
        parse_sizes(words)


def test_the_next_step_is_right_for_every_commands_option() -> None:
    with pytest.raises(cd.CustomDispatchError) as caught:
        parse_sizes(("n",))  # of `bench --dims` and `tune --shape`
    assert caught.value.next_step == "write n=1024 or n=1024:1048576:x4."
