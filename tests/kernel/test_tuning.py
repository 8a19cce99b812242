"""Tables of what was measured: ranking kernels by them, and reading them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import TuningTable, read_table

m, n = cd.dim("m"), cd.dim("n")
SM_90A, SM_80 = Target.parse("cuda:sm_90a"), Target.parse("cuda:sm_80")


def sizes(dims: dict[str, int], **seconds: float | str) -> MeasuredSizes:
    """What was measured for some sizes: seconds, or a problem."""
    return MeasuredSizes(
        dims,
        tuple(
            Result(name, None, found) if isinstance(found, str) else Result(name, found)
            for name, found in seconds.items()
        ),
    )


def measured(*found: MeasuredSizes, target: Target = SM_90A) -> Measured:
    return Measured(
        target, "NVIDIA H200", "NVRTC 13.0", "2026-11-21", dict.fromkeys("abc", "0"), found
    )


def kernel(name: str, **more: Any) -> cd.Kernel:
    return cd.Kernel(
        name,
        source="k.cu",
        operands=[cd.In("x", "f32", [m, n]), cd.Out("y", "f32", [m, n])],
        block=32,
        grid=m,
        **more,
    )


def ranked(found: Measured, names: str, dims: dict[str, int]) -> str:
    """The kernels, the best for some sizes first."""
    order = Expected(tuple(map(kernel, names)), (found,)).ranked(dims)
    return "".join(item.name for item in order)


SMALL = sizes({"m": 1, "n": 4096}, a=2e-6, b=1e-6, c="spills")
LARGE = sizes({"m": 4096, "n": 4096}, a=1e-4, b=3e-4, c=1.1e-4)
BOTH = measured(SMALL, LARGE)
MODELLED = replace(BOTH, models={"a": TimeModel(264, {"launch": 2e-6, "byte": 1e-13})})


@pytest.mark.parametrize(
    ("dims", "order"),
    [
        ({"m": 1, "n": 4096}, "bac"),
        ({"m": 2, "n": 4096}, "bac"),
        ({"m": 4096, "n": 4096}, "acb"),
        ({"m": 8192, "n": 64}, "acb"),
        ({"m": 0, "n": 0}, "bac"),
        ({"n": 7}, "abc"),  # m is open: a is 2 and 1 times the best, b 1 and 3 times
        ({}, "abc"),
        ({"other": 3}, "abc"),
    ],
)
def test_the_best_for_the_nearest_sizes_is_first(dims: dict[str, int], order: str) -> None:
    assert ranked(BOTH, "abc", dims) == order
    assert ranked(BOTH, "cba", dims) == order


def test_what_was_not_measured_is_last_in_its_order() -> None:
    assert ranked(BOTH, "xcya", {"m": 4096}) == "acxy"
    assert ranked(measured(), "ba", {"m": 1}) == "ba"
    others = BOTH.renamed({"b": "b", "c": "c"}, corrects=True)
    assert ranked(others, "abc", dict(LARGE.dims)) == "cba"


def test_a_choice_keeps_what_is_best_somewhere_and_what_takes_something_else() -> None:
    fours = [kernel(name, requires=[n % 4 == 0]) for name in "cba"]
    choice = cd.Choice("k", [*fours, kernel("any")], tuning="k.json")
    assert choice.tuning == Path(__file__).parent / "k.json"
    assert choice.ordered({"m": 1}) == choice.kernels
    found = choice.by_tables([BOTH]).taken_on([SM_90A])
    assert [item.name for item in found.kernels] == ["b", "a", "any"]
    assert [item.name for item in found.ordered(SMALL.dims, SM_90A)] == ["b", "a", "any"]
    assert [item.name for item in found.ordered({}, SM_90A)] == ["a", "b", "any"]


def test_a_table_is_read_as_it_was_written() -> None:
    table = TuningTable("k", (MODELLED, measured(SMALL, target=SM_80)))
    assert read_table(table.text(), "k.json", "k") == table
    assert table.for_target(SM_80) == table.measured[1:]
    assert table.for_target(Target.parse("cpu")) == ()
    again = table.with_measured(measured(target=SM_90A))
    assert [item.target for item in again.measured] == [SM_80, SM_90A]
    other = table.with_measured(replace(BOTH, device="NVIDIA H100"))
    assert [item.device for item in other.for_target(SM_90A)] == ["NVIDIA H200", "NVIDIA H100"]
    assert len(table.text().splitlines()) > 20  # to be read in a review


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content | {"version": 1},
        lambda content: content | {"measured": [{}]},
        lambda content: content | {"measured": None},
        lambda content: [],
        lambda content: json.loads(json.dumps(content).replace("2.0,", "-1.0,")),
        lambda content: json.loads(json.dumps(content).replace("2.0,", "[],")),
        lambda content: json.loads(json.dumps(content).replace("4096", "-4096")),
        lambda content: json.loads(json.dumps(content).replace("sm_90a", "sm_9")),
        lambda content: json.loads(json.dumps(content).replace('"n"]', '"n", "k"]')),
        lambda content: json.loads(json.dumps(content).replace('"launch": 2e-06', '"launch": 0')),
        lambda content: json.loads(json.dumps(content).replace('["a", "b"', '["a", "a"')),
    ],
)
def test_a_damaged_table_is_refused(change: Any) -> None:
    content = json.loads(TuningTable("k", (MODELLED,)).text())
    with pytest.raises(DeclarationError) as caught:
        read_table(json.dumps(change(content)), "k.json", "k")
    assert "is damaged, or of a form that this package does not read" in caught.value.found
    assert "remove the file" in caught.value.next_step
    with pytest.raises(DeclarationError):
        read_table("{", "k.json", "k")


def test_a_table_of_another_choice_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"its table `k\.json` is that of `gemm`"):
        read_table(TuningTable("gemm", ()).text(), "k.json", "k")


def test_a_table_grows_by_what_was_measured_alike() -> None:
    table = TuningTable("k", (BOTH,))
    more = measured(sizes({"m": 64, "n": 64}, a=1.0), sizes({"m": 1, "n": 4096}, a=2.0))
    (grown,) = table.with_measured(more).measured
    assert [item.dims["m"] for item in grown.sizes] == [4096, 64, 1]
    assert grown.sizes[-1].seconds == {"a": 2.0}  # measured again
    other = replace(more, compiler="nvcc 13.1")
    assert table.with_measured(other).measured == (other,)
    changed = replace(more, digests=dict.fromkeys("abc", "1"))
    assert table.with_measured(changed).measured == (changed,)


def test_of_kernels_that_are_as_fast_the_first_is_taken() -> None:
    close = measured(sizes({"m": 1}, a=1.009, b=1.0, c=1.02))
    assert ranked(close, "abc", {"m": 1}) == "abc"
    assert ranked(close, "cba", {"m": 1}) == "bac"


def test_the_results_for_some_sizes_are_one_line_of_the_table() -> None:
    lines = TuningTable("k", (BOTH,)).text().splitlines()
    assert '   "dims": ["m", "n"],' in lines
    assert '    [1, 4096, 2.0, 1.0, "spills"],' in lines


@pytest.mark.parametrize(
    ("measurements", "why"),
    [
        ((BOTH, measured(SMALL)), "two entries for a target and a device"),
        ((measured(SMALL, LARGE, SMALL),), "m=1 n=4096 is there twice"),
        ((replace(BOTH, digests={"a": "0"}),), "it does not say from which source `b` is"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(
    measurements: tuple[Measured, ...], why: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        read_table(TuningTable("k", measurements).text(), "k.json", "k")
    assert str(caught.value) == (
        "Choice `k`: its table `k.json` is damaged, or of a form that this package does not read: "
        f"{why}.\n"
        "  expected: what `custom-dispatch tune` writes for `k`\n"
        "  next step: measure again, or remove the file: the kernels are then taken in order."
    )


def test_a_name_that_is_there_twice_is_damage() -> None:
    text = TuningTable("k", (BOTH,)).text().replace('"c": "0"', '"c": "0", "c": "1"')
    with pytest.raises(DeclarationError, match="is damaged"):
        read_table(text, "k.json", "k")


def test_scalars_are_kept_and_tell_measurements_apart() -> None:
    before = replace(BOTH, scalars={"causal": 0, "scale": 0.5})
    table = TuningTable("k", (before,))
    assert read_table(table.text(), "k.json", "k") == table
    assert not before.is_like(BOTH)
