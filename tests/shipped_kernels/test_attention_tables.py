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
    assert own == "decode_attention_4x4x3_bf16_64"
    for choice, name in (
        (attention.masked_attention_f16_64, "masked_decode_attention_4x4x3_f16_64"),
        (attention.attention_by_position_bf16_64, "decode_attention_by_position_4x4x3_bf16_64"),
        (attention.cached_attention_bf16_64, "decode_cache_4x4x3_bf16_64"),
    ):
        assert first(on(HOPPER, choice), dims(4, 8, 1, 8192), HOPPER) == name


@pytest.mark.parametrize(("heads", "infix"), [(8, "8_"), (16, "8_"), (32, "2_"), (128, "")])
def test_where_nothing_was_measured_rules_count(heads: int, infix: str) -> None:
    found = on(AMPERE, attention.attention_bf16_128)
    name = f"decode_attention_{infix}bf16_128"
    assert first(found, dims(heads // 8, 8, 1, 4096), AMPERE) == name
    assert first(found, dims(heads // 8, 8, 64, 4096), AMPERE) == "prefill_attention_bf16_128"
    assert [item.name for item in found.kernels] == [
        *(f"decode_attention_{each}bf16_128" for each in ("", "2_", "8_")),
        "prefill_attention_bf16_128",
    ]
