"""Tables of what was measured: ranking kernels by them, and reading them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.target import Target
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


SMALL = sizes({"m": 1, "n": 4096}, a=2e-6, b=1e-6, c="spills")
LARGE = sizes({"m": 4096, "n": 4096}, a=1e-4, b=3e-4, c=1.1e-4)
BOTH = measured(SMALL, LARGE)


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
    assert BOTH.ranked("abc", dims) == tuple(order)
    assert BOTH.ranked("cba", dims) == tuple(order)


def test_what_was_not_measured_is_last_in_its_order() -> None:
    assert BOTH.ranked(["x", "c", "y", "a"], {"m": 4096}) == ("a", "c", "x", "y")
    nothing = measured(sizes({"m": 1}, a="spills", b="failed"))
    assert nothing.ranked("ba", {}) == ("b", "a")
    assert measured().ranked("ba", {"m": 1}) == ("b", "a")
    assert BOTH.without(["a"]).ranked("abc", LARGE.dims) == ("c", "b", "a")


def kernel(name: str, **more: Any) -> cd.Kernel:
    return cd.Kernel(
        name,
        source="k.cu",
        operands=[cd.In("x", "f32", [m, n]), cd.Out("y", "f32", [m, n])],
        block=32,
        grid=m,
        **more,
    )


def test_a_choice_keeps_what_is_best_somewhere_and_what_takes_something_else() -> None:
    wide = kernel("wide", requires=[n % 4 == 0])
    choice = cd.Choice("k", [*map(kernel, "cba"), wide], tuning="k.json")
    assert choice.tuning == Path(__file__).parent / "k.json"
    assert choice.ordered({"m": 1}) == choice.kernels
    found = choice.by_tables([SM_90A], [BOTH])
    assert [item.name for item in found.kernels] == ["b", "a", "wide"]
    assert [item.name for item in found.ordered(SMALL.dims, SM_90A)] == ["b", "a", "wide"]
    assert [item.name for item in found.ordered({}, SM_90A)] == ["a", "b", "wide"]


def test_a_table_is_read_as_it_was_written() -> None:
    table = TuningTable("k", (BOTH, measured(SMALL, target=SM_80)))
    assert read_table(table.text(), "k.json", "k") == table
    assert table.for_target(SM_80) == table.measured[1]
    assert table.for_target(Target.parse("cpu")) is None
    again = table.with_measured(measured(target=SM_90A))
    assert [item.target for item in again.measured] == [SM_80, SM_90A]
    assert len(table.text().splitlines()) > 20  # to be read in a review


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content | {"version": 2},
        lambda content: content | {"measured": [{}]},
        lambda content: content | {"measured": None},
        lambda content: [],
        lambda content: json.loads(json.dumps(content).replace("1e-06", "-1.0")),
        lambda content: json.loads(json.dumps(content).replace("1e-06", '"fast"')),
        lambda content: json.loads(json.dumps(content).replace("4096", "-4096")),
        lambda content: json.loads(json.dumps(content).replace("sm_90a", "sm_9")),
        lambda content: json.loads(json.dumps(content).replace('"n"', '"k"', 1)),
    ],
)
def test_a_damaged_table_is_refused(change: Any) -> None:
    content = json.loads(TuningTable("k", (BOTH,)).text())
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
    assert close.ranked("abc", {"m": 1}) == ("a", "b", "c")
    assert close.ranked("cba", {"m": 1}) == ("b", "a", "c")


def test_each_result_is_one_line_of_the_table() -> None:
    lines = TuningTable("k", (BOTH,)).text().splitlines()
    assert '     "dims": {"m": 1, "n": 4096},' in lines
    assert '      {"kernel": "a", "seconds": 2e-06},' in lines
    assert '      {"kernel": "c", "problem": "spills"}' in lines


@pytest.mark.parametrize(
    ("measurements", "found", "expected"),
    [
        (
            (BOTH, measured(SMALL)),
            "has two entries for cuda:sm_90a",
            "one for each target",
        ),
        (
            (measured(SMALL, LARGE, SMALL),),
            "has m=1 n=4096 on cuda:sm_90a twice",
            "each of the sizes once",
        ),
        (
            (measured(MeasuredSizes({"m": 1}, (Result("a", 1.0), Result("a", 2.0)))),),
            "has two results of `a` on cuda:sm_90a for m=1",
            "one for each kernel",
        ),
        (
            (replace(BOTH, digests={"a": "0"}),),
            "times `b` on cuda:sm_90a, and does not say from which source",
            "a digest for each kernel that was timed",
        ),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(
    measurements: tuple[Measured, ...], found: str, expected: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        read_table(TuningTable("k", measurements).text(), "k.json", "k")
    assert str(caught.value) == (
        f"Choice `k`: its table `k.json` {found}.\n"
        f"  expected: {expected}\n"
        "  next step: remove what is not so from the file, or measure again."
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
