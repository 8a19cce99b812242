"""Which kernel of a choice a call gets: by rules, by a table, and where a size is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result

m, n = cd.dim("m"), cd.dim("n")
SM_90A = Target.parse("cuda:sm_90a")


def kernel(name: str, **more: Any) -> cd.Kernel:
    return cd.Kernel(
        name,
        source="k.cu",
        operands=[cd.In("x", "f32", [m, n]), cd.Out("y", "f32", [m, n])],
        block=32,
        grid=m,
        **more,
    )


def measured(*rows: tuple[int, int, Mapping[str, float | None]]) -> Measured:
    """Seconds by kernel, for m and n."""
    sizes = tuple(
        MeasuredSizes({"m": a, "n": b}, tuple(Result(*item) for item in seconds.items()))
        for a, b, seconds in rows
    )
    return Measured(SM_90A, "NVIDIA H200", "NVRTC 13.0", "2026-11-21", {}, sizes)


def tabled(choice: cd.Choice, table: Measured) -> cd.Choice:
    return choice.by_tables([table])


def first(choice: cd.Choice, known: dict[str, int], **dims: int) -> str:
    """The kernel that a call gets, whose sizes a module knows only in part beforehand."""
    for item in choice.ordered(known, SM_90A):
        if all(holds(condition, {**known, **dims}) for condition in item.requires):
            return item.name
    raise AssertionError(dims)


@pytest.fixture(scope="module")
def choice() -> cd.Choice:
    fours = kernel("fours", requires=[n % 4 == 0])
    kernels = [fours, *map(kernel, ("large", "rest", "never", "other"))]
    return cd.Choice("k", kernels, rules={"fours": [m <= 8], "large": [m * n >= 4096]})


TABLE = measured(
    (1, 64, {"fours": 1.0, "large": 3.0, "rest": 2.0, "never": 4.0, "other": 2.5}),
    (16, 64, {"fours": 4.0, "large": 3.0, "rest": 4.0, "never": 4.0, "other": 2.0}),
    (64, 64, {"fours": 4.0, "large": 2.04, "rest": 4.0, "never": 4.0, "other": 2.0}),
    (256, 64, {"fours": 9.0, "large": 3.0, "rest": 2.0, "never": 4.0, "other": 9.0}),
    (1024, 64, {"fours": 9.0, "large": 3.0, "rest": 9.0, "never": 4.0, "other": 2.0}),
    (1024, 4096, {"fours": 9.0, "large": 3.0, "rest": 9.0, "never": 1.0, "other": 2.0}),
)


def test_without_a_table_rules_say_for_which_sizes_a_kernel_is(choice: cd.Choice) -> None:
    assert first(choice, {}, m=8, n=8) == "fours"
    assert first(choice, {}, m=8, n=7) == "rest"
    assert first(choice, {"n": 512}, m=9) == "large"
    assert first(choice, {"m": 9, "n": 8}) == "rest"
    names = [item.name for item in choice.taken_on([SM_90A]).kernels]
    assert names == ["fours", "large", "rest"]  # the others are there for tables


def test_where_all_sizes_are_known_the_table_alone_counts(choice: cd.Choice) -> None:
    found = tabled(choice, TABLE)
    assert first(found, {"m": 1, "n": 64}) == "fours"
    assert first(found, {"m": 3, "n": 64}) == "fours"
    assert first(found, {"m": 5, "n": 64}) == "other"
    assert first(found, {"m": 1, "n": 63}) == "rest"  # the next that takes it
    assert first(found, {"m": 1024, "n": 4096}) == "never"


def test_where_sizes_are_not_known_and_no_model_tells_rules_count(choice: cd.Choice) -> None:
    found = tabled(choice, TABLE)
    assert first(found, {"n": 8}, m=8) == "fours"
    assert first(found, {}, m=8, n=8) == "fours"
    assert first(found, {}, m=64, n=64) == "large"
    assert first(found, {}, m=9, n=9) == "rest"


def test_a_table_without_times_is_none(choice: cd.Choice) -> None:
    nothing = tabled(choice, TABLE.renamed({}, corrects=True))
    assert first(nothing, {"m": 9, "n": 8}) == "rest"


def test_another_choices_table_counts_for_the_same_kernels(choice: cd.Choice) -> None:
    twins = [kernel(f"twin_{item.name}", requires=item.requires) for item in choice.kernels]
    twin = cd.Choice("twin", twins, tuning=choice)
    assert twin.like is choice
    assert twin.tuning is None
    names = {item.name: f"twin_{item.name}" for item in choice.kernels}
    found = tabled(twin, TABLE.renamed(names, corrects=True))
    assert first(found, {"m": 16, "n": 64}) == "twin_other"
    few = cd.Choice("few", twins[:2], tuning=choice)
    assert few.like is choice
    more = [*twins, kernel("twin_more")]
    with pytest.raises(DeclarationError, match="whose kernels are 5, and these 6") as caught:
        cd.Choice("more", more, tuning=choice)
    assert "of these kernels in the same order; it may have more" in caught.value.expected
    with pytest.raises(DeclarationError, match="`twin` cannot be taken, which takes that of `k`"):
        cd.Choice("third", [kernel(f"{item.name}_3") for item in twins], tuning=twin)


def test_rules_are_for_kernels_of_the_choice() -> None:
    with pytest.raises(
        DeclarationError, match="a rule is for 'b', which is not one of its kernels"
    ):
        cd.Choice("k", [kernel("a")], rules={"b": [m > 1]})
    with pytest.raises(DeclarationError, match="requires"):
        cd.Choice("k", [kernel("a")], rules={"a": [True]})  # type: ignore[list-item]
    with pytest.raises(DeclarationError, match="`a`: dim `q`, used in requires, has no value"):
        cd.Choice("k", [kernel("a")], rules={"a": [cd.dim("q") > 1]})


def test_sizes_for_which_no_kernel_ran_say_nothing(choice: cd.Choice) -> None:
    """They are nearer than what was measured, as 8 is to 16."""
    rows = ((8, 64, {"fours": None}), (16, 64, {"other": 1.0, "large": 2.0}))
    tuned = choice.by_tables([measured(*rows)])
    assert first(tuned, {"m": 8, "n": 64}) == "other"
