"""Frozen dataclasses whose `__init__` is compiled for the first object: as Python's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from custom_dispatch.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Slotted:
    """With slots."""

    a: int
    b: list[int] = field(default_factory=list, compare=False)
    c: str = field(default="c", repr=False)

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("negative")


@dataclass(frozen=True)
class Plain:
    """Without."""

    only: object


@dataclass(frozen=True, eq=False, kw_only=True)
class Named:
    """Compared by identity."""

    a: int = 1


def test_objects_are_made_from_positions_keywords_and_defaults() -> None:
    assert (Slotted(1).a, Slotted(1).b, Slotted(a=1, c="d").c) == (1, [], "d")
    assert Slotted(1).b is not Slotted(1).b
    assert Named(a=2).a == 2
    with pytest.raises(TypeError, match=r"Slotted.__init__\(\) .*unexpected keyword argument 'x'"):
        Slotted(1, x=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Named(2)  # type: ignore[misc]
    with pytest.raises(ValueError, match="negative"):
        Slotted(-1)


def test_objects_are_compared_hashed_and_shown_by_their_fields() -> None:
    assert Slotted(1, [2]) == Slotted(1, [3]) != Slotted(2)
    assert hash(Slotted(1, [2])) == hash(Slotted(1))
    assert Slotted(1) != Plain(1) != Plain(2)
    assert {Plain((1, 2)): 3}[Plain((1, 2))] == 3
    assert Named() != Named()
    assert repr(Slotted(1)) == "Slotted(a=1, b=[])"


@pytest.mark.parametrize("item", [Slotted(1), Plain(2), Named()])
def test_objects_cannot_be_changed(item: Any) -> None:
    name = dataclasses.fields(item)[0].name
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(item, name, 3)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        item.other = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field"):
        delattr(item, name)


@pytest.mark.parametrize("item", [Slotted(1, [4], "d"), Plain((2, 3))])
def test_objects_are_copied_replaced_pickled_and_matched(item: Any) -> None:
    assert copy.deepcopy(item) == pickle.loads(pickle.dumps(item)) == item  # noqa: S301
    assert dataclasses.replace(item) == item
    assert [*dataclasses.asdict(item)] == [part.name for part in dataclasses.fields(item)]
    match item:
        case Slotted(1, [4], "d") | Plain((2, 3)):
            return
    raise AssertionError(item)
