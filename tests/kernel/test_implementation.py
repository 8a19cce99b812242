"""Implementations for single targets: what a declaration may say of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.binding import grids_for
from custom_dispatch.kernel.declared import are_same
from custom_dispatch.kernel.description import describe, read_description
from custom_dispatch.kernel.target import Target

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")
SM_80, SM_90A = Target.parse("cuda:sm_80"), Target.parse("cuda:sm_90a")
HOPPER = cd.Implementation(
    source="hopper.cu", entry="scale_tma", block=384, grid=cd.minimum(cd.ceildiv(n, 256), 132),
    dynamic_shared_memory=200 * 1024, launch_bounds=384,
)  # fmt: skip


def test_what_is_given_takes_the_place_of_the_kernels_own(declare: Declare) -> None:
    kernel = declare(
        options=["-DTILE=64"], launch_bounds=64, implementations={"cuda:sm_90a": HOPPER}
    )
    there, elsewhere = kernel.for_target(SM_90A), kernel.for_target(SM_80)
    assert (there.entry, there.block, there.launch_bounds) == ("scale_tma", (384, 1, 1), 384)
    assert str(there.grid[0]) == "minimum(ceildiv(n, 256), 132)"
    assert there.dynamic_shared_memory == 200 * 1024
    assert there.source == Path(__file__).parents[1] / "hopper.cu"
    assert there.options == ("-DTILE=64",)
    assert (there.name, there.operands, there.requires) == ("scale", kernel.operands, ())
    assert (elsewhere.entry, elsewhere.block) == ("scale", (64, 1, 1))
    assert (
        elsewhere
        is kernel.own
        is kernel.for_target(None)
        is kernel.for_target(Target("cpu", cpu="host"))
    )
    assert kernel.for_target(Target.parse("cuda:sm_90")) is kernel.own
    assert kernel.forms == (kernel.own, there)
    assert grids_for(kernel, {"n": 1000}) == ((16, 1, 1), (4, 1, 1))


def test_every_cpu_takes_that_for_cpu_but_the_one_that_looks_for_mistakes(
    declare: Declare,
) -> None:
    plain = cd.Implementation(source="plain.cu", block=32)
    kernel = declare(implementations={"cpu": plain, "cuda:sm_90a": HOPPER})
    assert [str(target) for target, _ in kernel.variants] == ["cuda:sm_90a", "cpu"]
    for name in ("cpu", "cpu:host", "cpu:x86-64-v3", "cpu:aarch64"):
        assert kernel.for_target(Target.parse(name)).block == (32, 1, 1)
    for name in ("cpu:checked", "cuda:sm_80"):
        assert kernel.for_target(Target.parse(name)) is kernel.own
    assert describe(read_description(describe(kernel))) == describe(kernel)


def test_a_kernel_without_any_is_its_own_form(declare: Declare) -> None:
    kernel = declare()
    assert kernel.for_target(SM_90A) is kernel
    assert kernel.forms == (kernel,)


def test_another_launch_keeps_them(declare: Declare) -> None:
    kernel = declare(implementations={"cuda:sm_90a": HOPPER}).with_launch(block=32, name="other")
    assert kernel.own.block == (32, 1, 1)
    assert (kernel.for_target(SM_90A).name, kernel.for_target(SM_90A).block[0]) == ("other", 384)


def test_a_source_takes_the_place_of_objects(declare: Declare) -> None:
    kernel = declare(
        source=None, objects={"cuda:sm_80": "a.ptx"}, implementations={"cuda:sm_90a": HOPPER}
    )
    assert kernel.for_target(SM_90A).objects == ()
    assert kernel.own.objects[0][0] == SM_80


def test_a_description_says_how_each_is_launched(declare: Declare) -> None:
    kernel = declare(implementations={"cuda:sm_90a": HOPPER})
    described = json.loads(json.dumps(describe(kernel)))
    again = read_description(described).for_target(SM_90A)
    there = kernel.for_target(SM_90A)
    assert (again.entry, again.block, again.dynamic_shared_memory) == (
        there.entry, there.block, there.dynamic_shared_memory,
    )  # fmt: skip
    assert list(map(str, again.grid)) == list(map(str, there.grid))
    assert describe(read_description(described)) == described
    assert "implementations" not in describe(declare())


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([HOPPER], "Kernel `scale`: implementations is given as"),
        ({"cpu:host": HOPPER}, "Kernel `scale`: an implementation is given for target cpu:host."),
        (
            {"cuda:sm_90a": HOPPER, SM_90A: HOPPER},
            "Kernel `scale`: two implementations are given for target cuda:sm_90a.",
        ),
        ({"sm_90a": HOPPER}, "'sm_90a' is not a target."),
        ({"cuda:sm_90a": "hopper.cu"}, "the implementation for cuda:sm_90a is 'hopper.cu'."),
        (
            {"cuda:sm_90a": cd.Implementation()},
            "Kernel `scale`: the implementation for cuda:sm_90a replaces nothing.",
        ),
    ],
)
def test_what_is_no_implementation_is_refused(declare: Declare, given: Any, found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(implementations=given)
    assert found in caught.value.found
    assert caught.value.expected
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ({"block": 2048}, "block.x is 2048."),
        ({"block": (32, 64)}, "block (32, 64, 1) has 2048 threads."),
        ({"grid": cd.dim("k")}, "dim `k`, used in grid, has no value."),
        ({"grid": (1, 70_000)}, "grid.y is 70000."),
        ({"dynamic_shared_memory": -1}, "dynamic_shared_memory is -1."),
        ({"source": 3}, "source is given as 3."),
        ({"include_dirs": "include"}, "include_dirs is 'include'."),
        ({"options": "-O3"}, "options is '-O3'."),
        ({"max_registers": 1000}, "max_registers is 1000."),
        ({"launch_bounds": 32}, "block (64, 1, 1) has 64 threads, launch_bounds allows 32."),
        ({"block": 512}, "block (512, 1, 1) has 512 threads, launch_bounds allows 256."),
    ],
)
def test_errors_name_the_implementation(declare: Declare, part: dict[str, Any], found: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(launch_bounds=256, implementations={"cuda:sm_90a": cd.Implementation(**part)})
    assert caught.value.found == f"Kernel `scale`, implementation for cuda:sm_90a: {found}"
    assert caught.value.expected


@pytest.mark.parametrize("keyword", ["blocks", "object", "operands"])
def test_a_keyword_that_it_does_not_have_is_refused(keyword: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
        cd.Implementation(**{keyword: 64})  # type: ignore[misc]


@pytest.mark.parametrize("keyword", ["blocks", "source", "entry", "operands"])
def test_another_launch_takes_no_other_keyword(declare: Declare, keyword: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'"):
        declare().with_launch(**{keyword: "a"})  # type: ignore[misc]


def test_an_entry_is_checked_too(declare: Declare) -> None:
    with pytest.raises(DeclarationError, match="implementation for cuda:sm_90a"):
        declare(implementations={"cuda:sm_90a": cd.Implementation(entry="no name")})


def test_declarations_with_equal_implementations_are_the_same(declare: Declare) -> None:
    first, again, other = (
        declare(implementations={"cuda:sm_90a": cd.Implementation(block=block)})
        for block in (128, 128, 256)
    )
    assert are_same(first, again)
    assert not are_same(first, other)
    assert not are_same(first, declare())
