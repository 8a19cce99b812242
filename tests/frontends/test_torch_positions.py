"""Attention over a cache that is partly filled, found by what its mask is, however it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_torch

BATCH, HEADS, KV_HEADS, KEYS, SIZE = 2, 4, 2, 12, 64
Tensor = torch.Tensor
Mask = Callable[[dict[str, Tensor]], Tensor]
TABLE = torch.ones(KEYS, KEYS, dtype=torch.bool).tril()
positions = torch.arange(KEYS)


def up_to(position: Tensor) -> Tensor:
    return positions[None, None, None, :] <= position.reshape(1, 1, -1, 1)


def as_transformers_has_it(given: dict[str, Tensor]) -> Tensor:
    length, queries = given["position"][0], given["position"].shape[0]
    rows = (torch.arange(queries) + length)[None, None, :, None]
    keys = (torch.arange(KEYS) + 0)[None, None, None, :]
    return (keys <= rows).expand(BATCH, -1, queries, KEYS)


SEEN: dict[str, Mask] = {
    "transformers": as_transformers_has_it,
    "not_behind": lambda x: ~(torch.arange(KEYS) > x["position"][:, None])[None, None],
    "of_a_table": lambda x: TABLE[None, None, x["position"]],
    "of_a_triangle": lambda x: torch.ones(KEYS, KEYS).bool().tril()[x["position"]][None, None],
    "of_each_sequence": lambda x: (positions < x["lengths"][:, None])[:, None, None, :],
    "of_all_heads": lambda x: (positions < x["lengths"][:, None])[:, None, None].expand(
        -1, HEADS, 1, -1
    ),
    "also_what_is_always_so": lambda x: up_to(x["position"]) & (positions >= 0),
    "two_further": lambda x: (torch.arange(2, KEYS + 2) <= x["position"] + 2)[None],
}
"""Masks that say how many keys there are, in the ways in which models write that."""
OTHER: dict[str, Mask] = {
    "window": lambda x: up_to(x["position"]) & (positions > x["position"].reshape(1, 1, -1, 1) - 3),
    "padding": lambda x: up_to(x["position"]) & x["attended"][:, None, None, :],
    "prefix": lambda x: up_to(x["position"]) | (positions < 6),
    "the_end": lambda x: positions >= x["position"][:, None],
    "another_table": lambda x: TABLE.flip(1)[None, None, x["position"]],
    "every_other": lambda x: 2 * positions <= x["position"][:, None],
    "of_each_key": lambda x: (x["every"] <= x["position"])[None, None, None],
    "any": lambda x: x["attended"][:, None, None, :],
}


def inputs() -> dict[str, Tensor]:
    torch.manual_seed(3)
    q, k, v = (
        torch.randn(BATCH, heads, length, SIZE).bfloat16()
        for heads, length in ((HEADS, 1), (KV_HEADS, KEYS), (KV_HEADS, KEYS))
    )
    attended = torch.ones(BATCH, KEYS, dtype=torch.bool)
    attended[1, :2] = False
    every = torch.arange(KEYS).flip(0)
    found = {"q": q, "k": k, "v": v, "attended": attended, "every": every}
    return {**found, "position": torch.tensor([4]), "lengths": torch.tensor([3, 12])}


class Attended(torch.nn.Module):
    """One attention for each mask."""

    def __init__(self, masks: dict[str, Mask], scale: float | None = None) -> None:
        super().__init__()
        self.masks, self.scale = masks, scale

    def forward(self, given: dict[str, Tensor]) -> tuple[Tensor, ...]:
        return tuple(
            functional.scaled_dot_product_attention(
                given["q"],
                given["k"],
                given["v"],
                make(given),
                scale=self.scale,
                enable_gqa=True,
            )
            for make in self.masks.values()
        )


def replaced(model: torch.nn.Module, arguments: Any, items: Any, shapes: Any = None) -> Replaced:
    return replaced_in_torch(model.eval(), arguments, items, shapes)


def test_what_is_there_so_far_is_found_in_each_form_and_computed() -> None:
    given = inputs()
    model = Attended(SEEN).eval()
    items = torch_patterns.cached_attention
    module = cd.torch.compile(model, (given,), ["cpu"], replace=items)
    assert module.replaced is not None
    assert [item.kernel for item in module.replaced] == ["cached_attention_bf16_64"] * len(SEEN)
    assert {item.scalars["scale"] for item in module.replaced} == {SIZE**-0.5}
    main = cd.load(module, "cpu").main
    for position, lengths in ((4, [3, 12]), (0, [1, 2]), (11, [0, 20])):
        given |= {"position": torch.tensor([position]), "lengths": torch.tensor(lengths)}
        for name, found, wanted in zip(SEEN, main(*given.values()), model(given), strict=True):
            torch.testing.assert_close(
                torch.from_dlpack(found),
                wanted,
                rtol=2e-2,
                atol=2e-2,
                msg=lambda text, name=name: f"{name}: {text}",
            )


@pytest.mark.parametrize("name", OTHER)
def test_other_masks_are_left(name: str) -> None:
    """With lengths, something else would come out."""
    given = inputs()

    def make(given: dict[str, Tensor]) -> Tensor:
        return OTHER[name](given).expand(BATCH, 1, 1, KEYS)

    (other,), (causal,) = (Attended({"": each})(given) for each in (make, SEEN["transformers"]))
    assert not torch.allclose(other, causal, rtol=2e-2, atol=2e-2)
    assert not len(replaced(Attended({"": make}), (given,), [torch_patterns.cached_attention]))


def test_why_a_mask_is_another_one_is_said() -> None:
    report = replaced(
        Attended({"": OTHER["window"]}, 0.2), (inputs(),), [torch_patterns.cached_attention]
    )
    assert not len(report)
    (miss,) = (item for item in report.near_misses if item.kernel.endswith("_64"))
    assert miss.kernel == "cached_attention_bf16_64"
    assert "is true where -given_position[0] + i3 + 2 >= 0 and given_position[0] - i3 >= 0, " in (
        miss.reason
    )
    assert "and in the pattern where `lengths`[i0] - i3 - 1 >= 0" in miss.reason


def test_several_queries_are_left_as_lengths_behind_the_cache_are_its_end() -> None:
    given = inputs() | {"position": torch.tensor([4, 5]), "q": torch.randn(2, 4, 2, 64).bfloat16()}
    model = Attended({"": SEEN["transformers"]})
    report = replaced(model, (given,), [torch_patterns.attention])
    assert [item.kernel for item in report] == ["bool_masked_attention_bf16_64"]


def test_an_open_number_of_sequences_needs_a_length_of_each() -> None:
    sequences = torch.export.Dim("sequences", min=2)
    of = {key: {0: sequences} for key in ("q", "k", "v", "attended", "lengths")}
    shapes = ({name: of.get(name) for name in inputs()},)
    masks = {name: SEEN[name] for name in ("of_each_sequence", "not_behind")}
    items = [torch_patterns.cached_attention]
    report = replaced(Attended(masks, 0.2), (inputs(),), items, shapes)
    assert [item.kernel for item in report] == ["cached_attention_bf16_64"]
    reasons = [miss.reason for miss in report.near_misses]
    assert "`lengths` would be given_position[0] + 1, which is not known how to compute" in reasons


class Step(torch.nn.Module):
    """A layer of transformers' Llama with its static cache: the module's own, or given."""

    def __init__(self, *, own: bool) -> None:
        super().__init__()
        for name in ("keys", "values"):
            cache = torch.zeros(1, KV_HEADS, KEYS, SIZE, dtype=torch.bfloat16)
            self.register_buffer(name, cache, persistent=False)
        self.own = own

    def forward(self, q: Tensor, k: Tensor, position: Tensor, *given: Tensor) -> Tensor:
        keys, values = (self.keys, self.values) if self.own else given
        keys.index_copy_(2, position, k)
        values[:, :, position] = k
        repeated = (
            each[:, :, None].expand(1, KV_HEADS, HEADS // KV_HEADS, KEYS, SIZE)
            for each in (keys, values)
        )
        keys, values = (each.reshape(1, HEADS, KEYS, SIZE) for each in repeated)
        mask = up_to(position)
        return functional.scaled_dot_product_attention(q, keys, values, mask, scale=0.2)


@pytest.mark.parametrize("own", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_steps_of_a_decoder_take_as_much_as_is_filled(own: bool) -> None:
    q = torch.randn(KEYS, 1, HEADS, 1, SIZE).bfloat16()
    k = torch.randn(KEYS, 1, KV_HEADS, 1, SIZE).bfloat16()
    caches = [] if own else [torch.zeros(1, KV_HEADS, KEYS, SIZE).bfloat16() for _ in range(2)]
    arguments = (q[0], k[0], torch.tensor([0]), *caches)
    model = Step(own=own)
    module = cd.torch.compile(
        model,
        arguments,
        ["cpu"],
        replace=[torch_patterns.write_cache, torch_patterns.cached_attention],
    )
    assert module.replaced is not None
    assert sorted(item.kernel for item in module.replaced) == [
        "cached_attention_bf16_64",
        "write_cache_bf16",
        "write_cache_bf16",
    ]
    program = cd.load(module, "cpu")
    held = [program.to_device(cache) for cache in caches]
    for number in range(0, KEYS, 3):
        position = torch.tensor([number])
        wanted = model(q[number], k[number], position, *caches)
        found = torch.from_dlpack(program.main(q[number], k[number], position, *held))
        torch.testing.assert_close(found, wanted, rtol=2e-2, atol=2e-2)


def test_a_function_says_of_an_operand_what_a_model_computes() -> None:
    """Where the operand is there by itself, it has to be the one that follows from the mask."""

    def computes(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
        seen = (torch.arange(k.shape[2]) < lengths[:, None])[:, None, None]
        return functional.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)

    pattern = cd.torch.Pattern(
        attention.cached_attention_bf16_64,
        computes,
        fixed={"scale": SIZE**-0.5},
        sizes={"heads": 4, "kv_heads": 2, "queries": 1},
    )
    given = inputs() | {"lengths": torch.tensor([3, 12], dtype=torch.int32)}
    report = replaced(Attended({"": SEEN["of_each_sequence"]}), (given,), [pattern])
    assert [item.kernel for item in report] == ["cached_attention_bf16_64"]
