"""The tables of attention: of the sources as they are, and what they decide."""

from __future__ import annotations

import warnings

import pytest

import custom_dispatch as cd
from cuda_kernels import attention
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.target import Target
from custom_dispatch.toolchain.tuned import table_of, tuned

HOPPER, AMPERE = Target.parse("cuda:sm_90a"), Target.parse("cuda:sm_80")


def on(target: Target, choice: cd.Choice) -> cd.Choice:
    """By its table, which has to be of the sources as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tuned(choice, [target])


def first(choice: cd.Choice, dims: dict[str, int], target: Target) -> str:
    """The kernel that a call of these sizes gets."""
    return next(
        item.name
        for item in choice.ordered(dims, target)
        if all(holds(condition, dims) for condition in item.requires)
    )


def dims(batch: int, kv_heads: int, queries: int, keys: int) -> dict[str, int]:
    return {
        "batch": batch,
        "mask_batches": batch,
        "mask_heads": 1,
        "mask_rows": queries,
        "heads": 32,
        "kv_heads": kv_heads,
        "queries": queries,
        "keys": keys,
    }


@pytest.mark.parametrize(
    "choice",
    [attention.attention_bf16_64, attention.attention_bf16_128],
    ids=lambda choice: choice.name,
)
def test_calls_of_measured_sizes_take_the_fastest(choice: cd.Choice) -> None:
    table = table_of(choice)
    assert table is not None
    (measured,) = table.measured
    assert (measured.target, measured.device) == (HOPPER, "NVIDIA H200")
    assert measured.scalars == {"causal": 0, "scale": 0.0884}
    found = on(HOPPER, choice)
    for item in measured.sizes:
        taken = first(found, dict(item.dims), HOPPER)
        assert item.seconds[taken] <= 1.0101 * min(item.seconds.values())


def test_others_take_the_same_forms() -> None:
    """Masks, results by position, partly filled caches; f16."""
    own = first(on(HOPPER, attention.attention_bf16_64), dims(4, 8, 1, 8192), HOPPER)
    form = own.removeprefix("decode_attention_bf16_64_")
    assert form != "w8_s6_c1_sm80_w4_s2"  # the first that is declared
    for choice, name in (
        (attention.masked_attention_f16_64, "masked_decode_attention_f16_64"),
        (attention.attention_by_position_bf16_64, "decode_attention_by_position_bf16_64"),
        (attention.cached_attention_bf16_64, "decode_cache_bf16_64"),
    ):
        assert first(on(HOPPER, choice), dims(4, 8, 1, 8192), HOPPER) == f"{name}_{form}"


@pytest.mark.parametrize(("heads", "cluster"), [(8, 8), (16, 8), (32, 2), (128, 1)])
def test_where_nothing_was_measured_rules_count(heads: int, cluster: int) -> None:
    found = on(AMPERE, attention.attention_bf16_128)
    name = f"decode_attention_bf16_128_w8_s3_c{cluster}_sm80_w4_s2"
    prefill = "prefill_attention_bf16_128_t128x128_s2_sm80_t128x64"
    assert first(found, dims(heads // 8, 8, 1, 4096), AMPERE) == name
    assert first(found, dims(heads // 8, 8, 64, 4096), AMPERE) == prefill
    assert [item.name for item in found.taken_on([AMPERE]).kernels] == [
        *(f"decode_attention_bf16_128_w8_s3_c{each}_sm80_w4_s2" for each in (1, 2, 8)),
        prefill,
    ]
