"""The tables of matrix products: of the sources as they are, and taken without a GPU."""

from __future__ import annotations

import math
import warnings

import pytest

import custom_dispatch as cd
from cuda_kernels import gemm
from custom_dispatch.ir.choice_dispatch import orders_of
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured
from custom_dispatch.measure.time_fit import quality
from custom_dispatch.toolchain.tuned import table_of, tuned

HOPPER = Target.parse("cuda:sm_90a")
TABLED = [gemm.linear_bf16, gemm.matmul_bf16]
OTHERS = [gemm.linear_f32, gemm.matmul_f32, gemm.linear_tf32, gemm.matmul_tf32]
EACH = [gemm.linear_bf16, pytest.param(gemm.matmul_bf16, marks=pytest.mark.thorough)]
GPUS = ("cuda:sm_80", "cuda:sm_90", "cuda:sm_90a")


def measured(choice: cd.Choice, target: Target = HOPPER) -> Measured:
    table = table_of(choice)
    assert table is not None
    (found,) = table.for_target(target)
    return found


def on_hopper(choice: cd.Choice) -> cd.Choice:
    """By its table, which has to be of the sources as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tuned(choice, [HOPPER])


def first(kernels: tuple[Kernel, ...], dims: dict[str, int]) -> str:
    return next(
        item.name for item in kernels if all(holds(condition, dims) for condition in item.requires)
    )


@pytest.mark.parametrize("choice", TABLED, ids=lambda choice: choice.name)
def test_calls_of_measured_sizes_take_the_fastest(choice: cd.Choice) -> None:
    table, found = measured(choice), on_hopper(choice)
    assert table.device == "NVIDIA H200"
    for item in table.sizes[::15]:
        taken = first(found.ordered(item.dims, HOPPER), dict(item.dims))
        if taken in item.seconds:  # forms that are newer than a size were not measured for it
            assert item.seconds[taken] <= 1.0101 * min(item.seconds.values())


def lost(choice: cd.Choice, known: tuple[str, ...], step: int) -> float:
    """How much longer than the fastest kernels take that modules choose, as a geometric mean.

    `known`: the dims whose sizes a module knows.
    """
    found, logs = on_hopper(choice), []
    for item in measured(choice).sizes[::step]:
        order = found.ordered({name: item.dims[name] for name in known}, HOPPER)
        taken = first(order, dict(item.dims))
        if taken in item.seconds:
            logs.append(math.log(item.seconds[taken] / min(item.seconds.values())))
    return math.exp(sum(logs) / len(logs))


@pytest.mark.parametrize("choice", EACH, ids=lambda choice: choice.name)
def test_layers_of_open_rows_take_what_is_about_the_fastest(choice: cd.Choice) -> None:
    assert lost(choice, ("n", "k"), 90) < 1.04


@pytest.mark.parametrize("choice", EACH, ids=lambda choice: choice.name)
def test_where_no_size_is_known_calls_take_what_is_nearly_the_fastest(choice: cd.Choice) -> None:
    assert lost(choice, (), 16) < 1.12


@pytest.mark.parametrize("choice", EACH, ids=lambda choice: choice.name)
def test_sizes_that_were_not_measured_take_what_is_about_the_fastest(choice: cd.Choice) -> None:
    """What the table would choose for a fifth of its sizes, if it were without them."""
    found = quality(choice, measured(choice))
    assert found is not None
    assert found.mean > 0.97


def test_sizes_that_are_not_whole_16_bytes_take_what_takes_them() -> None:
    found = on_hopper(gemm.linear_bf16)
    dims = {"batch": 4096, "n": 4096, "k": 4090}
    for known in (dims, {"n": 4096, "k": 4090}, {}):
        taken = first(found.ordered(known, HOPPER), dims)
        assert taken.startswith("linear_bf16_t64x128_k")
        assert taken.endswith("align1")


def test_other_types_and_activations_take_the_same_forms() -> None:
    dims = {"batch": 128, "n": 4096, "k": 4096}
    own = first(on_hopper(gemm.linear_bf16).ordered(dims, HOPPER), dims)
    for choice in (gemm.linear_f16, gemm.linear_silu_bf16, gemm.linear_bf16_f32):
        wanted = own.replace("linear_bf16", choice.name)
        assert first(on_hopper(choice).ordered(dims, HOPPER), dims) == wanted


def test_batched_products_take_the_models_of_the_others() -> None:
    """As one product takes, if there is one; another where many are as many blocks."""
    for batched, like in ((gemm.batch_matmul_nt_f16, "linear"), (gemm.batch_matmul_f16, "matmul")):
        alone = getattr(gemm, f"{like}_f16")
        dims = {"n": 4096, "k": 4096}
        wanted = first(
            on_hopper(alone).ordered({"batch": 4096, **dims}, HOPPER), {"batch": 4096, **dims}
        )
        every = {"batch": 1, "m": 4096, **dims}
        taken = first(on_hopper(batched).ordered(every, HOPPER), every)
        assert taken == wanted.replace(f"{like}_f16", batched.name)
        few, many = ({"batch": b, "m": 256, "n": 256, "k": 2048} for b in (1, 64))
        names = [first(on_hopper(batched).ordered(each, HOPPER), each) for each in (few, many)]
        assert names[0] != names[1]


@pytest.mark.parametrize(
    "choice", [*TABLED, *OTHERS, gemm.scaled_linear_e4m3_bf16], ids=lambda choice: choice.name
)
def test_gpus_that_nothing_was_measured_on_take_the_table_of_the_same_code(
    choice: cd.Choice,
) -> None:
    """Of sm_80 where a multiprocessor has room for as few blocks; and each kernel once."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = [*GPUS, "cuda:sm_86", "cuda:sm_120"]
        found = {name: tuned(choice, [Target.parse(name)]) for name in names}
    devices = {name: {item.device for item in each.measured} for name, each in found.items()}
    room = {"NVIDIA H200 with the room of sm_80"}
    assert all(devices[name] == {"NVIDIA H200"} for name in GPUS[1:])
    assert all(devices[name] == room for name in ("cuda:sm_80", *names[3:]))
    kernels = [item for each in found.values() for item in each.measured[0].models]
    assert {*kernels} <= {kernel.name for kernel in choice.kernels}
    for target in map(Target.parse, GPUS[:2]):
        quality_there = quality(choice, measured(choice, target))
        assert quality_there is not None
        assert quality_there.mean > 0.95


def test_a_cpu_has_two_kernels_to_choose_from_whatever_a_gpu_has() -> None:
    """All forms are `gemm_cpu.cu` there; that is for few rows, or not."""
    targets = [Target.parse("cpu")]
    for choice in (gemm.linear_bf16, gemm.batch_matmul_f16):
        found = tuned(choice, targets)
        (order,) = orders_of(found, {"n": 4096, "k": 4096}, targets)
        assert ["skinny" in item.name for item in order.kernels] == [True, False]
        sizes = {dim.name: 64 for dim in choice.kernels[0].dims}
        (order,) = orders_of(found, sizes, targets)
        assert len(order.kernels) == len(
            found.taken_on(targets).kernels
        )  # of which one is taken when it is linked
