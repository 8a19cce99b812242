"""Keys: different inputs, different keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.kernel.expr import dim
from custom_dispatch.store.key import key_of

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
PARTS = st.recursive(PLAIN, lambda inner: st.lists(inner).map(tuple), max_leaves=8)


@dataclass(frozen=True)
class Some:
    a: object
    b: object = ""
    aside: object = field(default=None, metadata={"not_in_keys": True})


@dataclass(frozen=True)
class Other:
    a: object
    b: object = ""


DISTINCT = [
    ("k", "ab", "c"),
    ("k", "a", "bc"),
    ("k", "abc"),
    ("ka", "bc"),
    ("k", ("ab", "c")),
    ("k", ("ab",), "c"),
    ("k", (("ab", "c"),)),
    ("k", b"abc"),
    ("k", Path("abc")),
    ("k", 1),
    ("k", "1"),
    ("k", 1.0),
    ("k", True),
    ("k", None),
    ("k", ""),
    ("k",),
    ("k", ()),
    ("k", {}),
    ("k", {"a": "b"}),
    ("k", (("a", "b"),)),
    ("k", Some("ab", "c")),
    ("k", Some("a", "bc")),
    ("k", Other("ab", "c")),
]


def test_no_two_of_these_share_a_key() -> None:
    for one, other in combinations(DISTINCT, 2):
        assert key_of(*one) != key_of(*other), (one, other)


@given(PARTS, PARTS)
def test_parts_that_differ_give_keys_that_differ(one: object, other: object) -> None:
    same = repr(one) == repr(other)
    assert (key_of("k", one) == key_of("k", other)) is same


def test_a_field_may_be_left_out_and_a_mapping_has_no_order() -> None:
    assert key_of("k", Some(1, aside=2)) == key_of("k", Some(1, aside=3))
    assert key_of("k", {"a": 1, "b": 2}) == key_of("k", {"b": 2, "a": 1})


def test_a_condition_is_the_same_wherever_it_was_written() -> None:
    """What compares is noted in it, and is another in each process."""

    def written() -> object:
        return n % 4 == 0

    n = dim("n")
    assert key_of("k", written()) == key_of("k", n % 4 == 0)
    assert key_of("k", n % 4 == 0) != key_of("k", n % 4 == 1)


def test_a_path_that_is_no_text_has_a_key() -> None:
    assert key_of("k", "\udc80") != key_of("k", "\udc81")


@pytest.mark.parametrize("part", [print, object(), {1, 2}, Some(print)])
def test_what_has_no_fixed_form_has_no_key(part: object) -> None:
    with pytest.raises(TypeError, match="cannot be part of a key"):
        key_of("k", part)
