"""Models of time: what they are made of, and what choices take by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.expected import Expected
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel, counts, predicted
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.measure.time_fit import fitted, quality

m, n, k = cd.dim("m"), cd.dim("n"), cd.dim("k")
SM_90A = Target.parse("cuda:sm_90a")
TILES = {"small": 32, "medium": 64, "large": 128}


def product(name: str, **more: Any) -> cd.Kernel:
    """A matrix product of square tiles."""
    tile = TILES.get(name, 16)
    options = {
        "operands": [
            cd.In("a", "f32", [m, k]),
            cd.In("b", "f32", [k, n]),
            cd.Out("c", "f32", [m, n]),
        ],
        "block": 32,
        "grid": cd.ceildiv(m, tile) * cd.ceildiv(n, tile),
    }
    return cd.Kernel(name, source="k.cu", **(options | more))


def parts(kernel: cd.Kernel, **dims: int) -> dict[str, int]:
    return counts(kernel, SM_90A, 100, dims)


def test_a_time_is_made_of_waves_blocks_steps_and_bytes() -> None:
    assert parts(product("small"), m=1000, n=320, k=7) == {
        "launch": 1,
        "wave": 4,
        "wave*k": 28,
        "block": 320,
        "block*k": 2240,
        "byte": 4 * (7000 + 2240 + 320_000),
    }
    assert parts(product("small", bytes_moved=m), m=1000, n=320, k=7)["byte"] == 1000


def test_a_persistent_kernels_blocks_are_its_tiles() -> None:
    kernel = product("any", grid=(cd.minimum(100, cd.ceildiv(m, 16)), 1))
    found = parts(kernel, m=3201, n=3, k=7)
    assert (found["block"], found["wave"]) == (201, 3)
    assert [found[f"wave*{step}"] for step in ("k", "n", "k*n")] == [21, 9, 63]


def test_a_grid_that_asks_for_the_device_has_steps_alone() -> None:
    kernel = product("any", grid=m * cd.compute_capability)
    found = parts(kernel, m=6, n=3, k=7)
    assert (found["block"], found["block*m"]) == (1, 6)


def seconds(kernel: cd.Kernel, dims: dict[str, int]) -> float:
    """What a GPU would take: a larger tile has more to compute, and reads less."""
    tile = TILES[kernel.name]
    per_step = {"small": 1.2e-9, "medium": 3e-9, "large": 10e-9}[kernel.name]
    model = TimeModel(100, {"launch": 2e-6, "wave": tile * 1e-8, "wave*k": per_step, "byte": 3e-13})
    return predicted(kernel, SM_90A, model, dims)


KERNELS = tuple(map(product, TILES))
CHOICE = cd.Choice("product", KERNELS)


def measured(*sizes: dict[str, int], odd: float = 1.0, kernels: Any = KERNELS) -> Measured:
    """A table; `odd`: what "medium" takes of its time."""
    rows = tuple(
        MeasuredSizes(
            dims,
            tuple(
                Result(each.name, seconds(each, dims) * (odd if each.name == "medium" else 1))
                for each in kernels
            ),
        )
        for dims in sizes
    )
    return Measured(SM_90A, "GPU", "NVRTC", "2026-11-27", {}, rows)


def some_sizes(count: int, seed: int) -> list[dict[str, int]]:
    drawn = np.random.default_rng(seed).uniform(0, 13, (count, 3))
    return [dict(zip("mkn", (int(2**each) for each in row), strict=True)) for row in drawn]


def first(order: tuple[cd.Kernel, ...], dims: dict[str, int]) -> str:
    return next(item.name for item in order if all(holds(each, dims) for each in item.requires))


PLACES = dict.fromkeys(TILES, 100)
TABLE = fitted(CHOICE, measured(*some_sizes(80, 1)), PLACES)


def test_sizes_that_were_not_measured_take_the_fastest() -> None:
    expected = Expected(KERNELS, (TABLE,))
    taken = set()
    for dims in some_sizes(100, 2):
        kernel = expected.ranked(dims)[0]
        taken.add(kernel.name)
        assert seconds(kernel, dims) <= 1.02 * min(seconds(each, dims) for each in KERNELS)
    assert taken == {*TILES}


@pytest.mark.parametrize("known", [(), ("k",), ("n", "k"), ("m", "n", "k")])
def test_where_sizes_are_open_the_module_takes_what_a_call_of_them_takes(
    known: tuple[str, ...],
) -> None:
    choice = CHOICE.by_tables([replace(TABLE, corrects=False)])
    for dims in some_sizes(40, 3):
        order = choice.ordered({name: dims[name] for name in known}, SM_90A)
        taken = next(item for item in KERNELS if item.name == first(order, dims))
        assert seconds(taken, dims) <= 1.12 * min(seconds(each, dims) for each in KERNELS)


def test_where_sizes_are_open_what_takes_fewer_calls_leaves_the_others() -> None:
    fours = product("small", requires=[k % 4 == 0])
    few = product("medium", requires=[m <= 16])
    kernels = (fours, few, KERNELS[2])
    table = fitted(
        cd.Choice("product", kernels), measured(*some_sizes(80, 1), kernels=kernels), PLACES
    )
    order = cd.Choice("product", kernels).by_tables([table]).ordered({"n": 64}, SM_90A)
    assert first(order, {"m": 32, "n": 64, "k": 256}) == "small"
    assert first(order, {"m": 32, "n": 64, "k": 255}) == "large"
    assert first(order, {"m": 8, "n": 64, "k": 255}) == "medium"


def test_measured_sizes_correct_the_model_and_fade() -> None:
    dims = {"m": 512, "n": 512, "k": 512}
    table = replace(TABLE, sizes=measured(dims, odd=3.0).sizes)
    expected = Expected(KERNELS, (table,))

    def of_model(factor: float) -> float:
        there = {name: round(factor * size) for name, size in dims.items()}
        return expected.seconds(there)["medium"] / seconds(KERNELS[1], there)

    assert of_model(1) == pytest.approx(3, rel=0.03)
    assert of_model(1) > of_model(1.125) > of_model(1.5) > of_model(2) > 1.05
    assert of_model(2.6) == pytest.approx(1, rel=0.03)
    elsewhere = Expected(KERNELS, (replace(table, corrects=False),))
    assert elsewhere.seconds(dims)["medium"] == pytest.approx(seconds(KERNELS[1], dims), rel=0.03)


def test_measured_sizes_that_other_kernels_take_correct_nothing() -> None:
    """But for kernels without a model, which say nothing of the others."""
    whole = product("large").requiring([k % 8 == 0])
    rare = product("rare").requiring([k % 3 == 0])
    kernels = (*KERNELS[:2], whole, rare)
    table = replace(TABLE, sizes=measured({"m": 512, "n": 512, "k": 504}, odd=3.0).sizes)
    expected = Expected(kernels, (table,))

    def of_model(**dims: int) -> float:
        return expected.seconds({"n": 512, **dims})["medium"] / seconds(
            KERNELS[1], {"n": 512, **dims}
        )

    assert of_model(m=512, k=504) == pytest.approx(3, rel=0.03)
    assert of_model(m=512, k=512) > 2.5
    assert of_model(m=512, k=505) == pytest.approx(1, rel=0.03)


def test_several_devices_count_together() -> None:
    slow = {name: replace(each, seconds={"launch": 1.0}) for name, each in TABLE.models.items()}
    slow["large"] = TimeModel(1, {"launch": 0.5})
    other = replace(TABLE, device="another", models=slow, sizes=())
    dims = {"m": 16, "n": 16, "k": 16}
    assert Expected(KERNELS, (TABLE,)).ranked(dims)[0].name == "small"
    assert Expected(KERNELS, (TABLE, other)).ranked(dims)[0].name == "large"
    order = CHOICE.by_tables([TABLE, other]).ordered({}, SM_90A)
    assert first(order, dims) == "large"


def test_held_out_sizes_say_how_well_kernels_are_chosen() -> None:
    found = quality(CHOICE, TABLE)
    assert found is not None
    assert found.sizes == 16
    assert found.mean > 0.99
    assert found.worst > 0.97
    assert quality(CHOICE, replace(TABLE, sizes=TABLE.sizes[:4])) is None


def test_few_sizes_are_enough_for_a_model() -> None:
    dims = {"m": 64, "n": 64, "k": 64}
    one = Expected(KERNELS, (fitted(CHOICE, measured(dims)),))
    assert one.seconds(dims)["small"] == pytest.approx(seconds(KERNELS[0], dims), rel=1e-3)


def test_a_dim_may_be_called_as_a_part_is_and_a_grid_be_empty() -> None:
    waves = cd.dim("waves")
    kernel = cd.Kernel(
        "sum",
        source="k.cu",
        operands=[cd.In("x", "f32", [n, waves]), cd.Out("y", "f32", [n])],
        block=32,
        grid=n // 32,
    )
    rows = tuple(
        MeasuredSizes(dims, (Result("sum", 1e-6 + 1e-9 * (dims["n"] // 32) * dims["waves"]),))
        for dims in ({"n": size, "waves": count} for size in (7, 640, 9600) for count in (1, 40))
    )
    table = Measured(SM_90A, "GPU", "NVRTC", "2026-11-27", {}, rows)
    model = fitted(cd.Choice("sums", [kernel]), table, {"sum": 100}).models["sum"]
    for row in rows:
        assert predicted(kernel, SM_90A, model, row.dims) == pytest.approx(
            row.seconds["sum"], rel=1e-3
        )
