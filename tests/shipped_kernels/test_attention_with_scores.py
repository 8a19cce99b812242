"""Attention that calls a function of the user's on scores, on the CPU: what GPUs run, and CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.attention.decode import Decode, decode
from cuda_kernels.attention.head_sizes import UP_TO, UpTo
from cuda_kernels.attention.mask_spans import spans_of
from cuda_kernels.attention.prefill import PREFILLS, Prefill, Tiles, WarpgroupTiles, prefill
from cuda_kernels.attention.scores import capped, changed_by
from cuda_kernels.attention.simt import declare
from custom_dispatch.errors import DeclarationError, SourceError

Random = np.random.Generator
Array = np.ndarray[Any, Any]
SOURCE = Path(__file__).with_name("scores.cuh")
SMALLEST, MLA = UP_TO[0], UpTo(192, 128)
SMALL = Prefill(Tiles(32, 2, 1, 1), WarpgroupTiles(64, 2, 2))
NO_SPANS = np.zeros(0, np.int32)


def of_scores(entry: str, reference: Any, *operands: tuple[str, str], **others: Any) -> cd.Function:
    return cd.Function(
        entry,
        source=SOURCE,
        entry=f"scores::{entry}",
        operands=[cd.Scalar("score", "f32"), *(cd.Scalar(*each) for each in operands)],
        reference=reference,
        **{"result": "f32", **others},
    )


def _powers(score: Array, times: Array, keeps_sign: Array, limit: Array) -> Array:
    power: Array = np.minimum(np.abs(score) ** times, limit)
    return np.where(keeps_sign & (score < 0), -power, power)


SOFT_CAP = of_scores("soft_cap", lambda score, cap: cap * np.tanh(score / cap), ("cap", "f32"))
SQUARED = of_scores("squared", lambda score: score * np.abs(score))
ABOVE = of_scores(
    "above", lambda score, least: np.where(score < least, -np.inf, score), ("least", "f32")
)
POWERS = of_scores("powers", _powers, ("times", "i32"), ("keeps_sign", "bool"), ("scale", "f32"))
"""The last of which has the name of an operand of attention."""


def given(random: Random, kind: str, sizes: tuple[int, ...], dims: tuple[int, int]) -> list[Any]:
    batch, heads, kv_heads, queries, keys = sizes
    shapes = ((heads, queries, dims[0]), (kv_heads, keys, dims[0]), (kv_heads, keys, dims[1]))
    return [random.standard_normal((batch, *each)).astype(DTYPES[kind]) for each in shapes]


def hiding(random: Random, kind: str, form: str, sizes: tuple[int, ...]) -> Array:
    """A mask of each head, with rows that see nothing and some that see all."""
    batch, heads, _, queries, keys = sizes
    if form == "keys":
        return np.zeros((batch, 1, 1, 0), DTYPES[kind])
    shown = random.random((batch, heads, queries, keys)) < 0.7
    shown[..., :1, :] = False
    shown[..., 1:2, :] = True
    numbers = np.where(shown, random.standard_normal(shown.shape), -np.inf)
    return shown if form == "bool" else numbers.astype(DTYPES[kind])


def forms(function: cd.Function, dtype: str, mask: str, *, few: bool = False) -> list[cd.Kernel]:
    """A kernel from the PTX for GPUs, and as CPUs run it."""
    scores = changed_by(function, dtype)
    if dtype == "f32":
        kernel = declare("f32", UP_TO[1], mask, scores=scores)
    elif few:
        kernel = decode(dtype, SMALLEST, mask, Decode(16, 1), scores=scores)
    else:
        kernel = prefill(dtype, SMALLEST, mask, form=SMALL, scores=scores)
    return [kernel.own, kernel]


thorough = pytest.mark.thorough
CASES = [
    # function, its numbers, type, mask, few queries, "own" of GPUs or of CPUs
    pytest.param(POWERS, (2, True, 0.3), "bf16", "keys", False, 0, id="bf16"),
    pytest.param(SQUARED, (), "f32", "queries", False, 1, id="f32-cpu"),
    pytest.param(SQUARED, (), "f16", "queries", False, 0, id="f16", marks=thorough),
    pytest.param(POWERS, (2, False, 0.3), "f16", "bool", True, 0, id="few", marks=thorough),
    pytest.param(POWERS, (3, True, 0.3), "bf16", "bool", True, 1, id="few-cpu", marks=thorough),
    pytest.param(POWERS, (2, True, 0.3), "f32", "queries", False, 0, id="f32", marks=thorough),
    pytest.param(ABOVE, (0.25,), "bf16", "queries", False, 0, id="hides", marks=thorough),
    pytest.param(ABOVE, (0.25,), "f16", "queries", False, 0, id="hides-f16", marks=thorough),
    pytest.param(ABOVE, (0.25,), "bf16", "queries", True, 0, id="hides-few", marks=thorough),
    pytest.param(ABOVE, (9.0,), "bf16", "queries", False, 0, id="hides-all", marks=thorough),
    pytest.param(ABOVE, (9.0,), "f32", "queries", False, 0, id="hides-all-f32", marks=thorough),
    pytest.param(ABOVE, (9.0,), "f32", "queries", False, 1, id="hides-all-cpu", marks=thorough),
]


@pytest.mark.parametrize(("function", "numbers", "kind", "mask", "few", "which"), CASES)
def test_a_function_of_scores(
    random: Random, function: cd.Function, numbers: Any, kind: str, mask: str, few: bool, which: int
) -> None:
    kernel = forms(function, kind, mask, few=few)[which]
    shipped = Shipped([kernel])
    for sizes, dims in (((2, 4, 2, 35, 50), (40, 24)), ((1, 3, 1, 3, 71), (33, 64))):
        q, k, v = given(random, kind, sizes, dims)
        added = hiding(random, kind, mask, sizes)
        sinks = random.standard_normal(sizes[1]).astype(DTYPES[kind])
        for causal, of_heads in ((0, sinks), (1, sinks[:0])):
            for spans in ([spans_of(added)] if added.size else []) + [NO_SPANS]:
                last = (0.1, causal, spans, of_heads, *numbers)
                got, want = shipped.both(kernel.name, q, k, v, added, *last)
                assert_close(got, want, scale=2)


@pytest.mark.parametrize(
    ("kind", "which"),
    [("f16", 1), *(pytest.param(*each, marks=thorough) for each in (("bf16", 0), ("f32", 0)))],
)
def test_a_soft_cap_as_a_function_is_the_built_in_one(
    random: Random, kind: str, which: int
) -> None:
    other = (
        declare("f32", UP_TO[1], "bool", scores=capped(kind))
        if kind == "f32"
        else prefill(kind, SMALLEST, "bool", form=SMALL, scores=capped(kind))
    )
    kernel, built_in = forms(SOFT_CAP, kind, "bool")[which], (other.own, other)[which]
    shipped, sizes = Shipped([kernel, built_in]), (1, 4, 2, 37, 51)
    q, k, v = given(random, kind, sizes, (64, 64))
    mask = hiding(random, kind, "bool", sizes)
    for causal in (0, 1):
        got, want = shipped.both(
            kernel.name, q, k, v, mask, 0.5, causal, NO_SPANS, k[0, 0, 0, :0], 1.5
        )
        same, _ = shipped.both(built_in.name, q, k, v, mask, 0.5, causal, NO_SPANS, 1.5)
        assert_close(got, want, scale=2)
        assert_close(got, same, scale=2)


@pytest.mark.parametrize(
    ("kind", "few", "which"),
    [
        ("f32", False, 1),
        ("bf16", False, 0),
        *(
            pytest.param(*each, marks=thorough)
            for each in (("f32", False, 0), ("f16", True, 0), ("bf16", True, 1))
        ),
    ],
)
def test_what_the_lowest_numbers_hide_is_seen_where_a_function_hides_the_rest(
    random: Random, kind: str, few: bool, which: int
) -> None:
    kernel = forms(ABOVE, kind, "queries", few=few)[which]
    sizes = (1, 2, 1, 4, 150)
    q, k, v = given(random, kind, sizes, (40, 24))
    shown = np.arange(150) < np.array([2, 40, 100, 149])[:, None]
    low = np.finfo(np.float16).min if kind == "f16" else np.finfo(np.float32).min / 2
    mask = np.where(shown, 0.0, low).astype(DTYPES[kind])[None, None]
    q[:, :, :2] = -abs(q[:, :, :2])  # whose first keys are all hidden
    k[:, :, :40] = abs(k[:, :, :40])
    last = (0.1, 0, spans_of(mask), k[0, 0, 0, :0], 0.0)
    got, want = Shipped([kernel]).both(kernel.name, q, k, v, mask, *last)
    assert abs(np.asarray(want, np.float64)[..., :2, :]).max() > 0
    assert_close(got, want, scale=2)


def test_a_call_passes_the_numbers_by_name(random: Random) -> None:
    of_powers = attention.with_scores(POWERS, "f32", layout="bshd")
    q, k, v = (
        np.ascontiguousarray(each.swapaxes(1, 2))
        for each in given(random, "f32", (1, 2, 1, 3, 5), (8, 4))
    )
    got = of_powers(q, k, v, scale=0.5, causal=True, times=2, keeps_sign=True, powers_scale=1.0)
    kernel = of_powers.kernels[0]
    assert kernel.reference is not None
    empty = np.zeros(0, np.float32)
    want = kernel.reference(q, k, v, None, 0.5, True, None, empty, 2, True, 1.0)
    assert_close(np.asarray(got), want)


def test_a_choice_is_that_of_a_soft_cap() -> None:
    built_in, called = attention.capped_attention_bf16, attention.with_scores(SOFT_CAP)
    assert called.name == "attention_with_soft_cap_bf16"
    for queries, keys, head in ((1, 4096, 128), (64, 64, 96), (4096, 4096, 256)):
        for target in ("cuda:sm_90a", "cuda:sm_80", "cpu"):
            of = {"batch": 2, "heads": 8, "kv_heads": 2, "queries": queries, "keys": keys}
            sizes = {**of, "dim": head, "value_dim": head}
            one = built_in.which(target=target, **sizes).kernel
            other = called.which(target=target, **sizes).kernel
            assert other.replace("with_soft_cap_", "") == one.replace("capped_", "")
    masked = attention.with_scores(SOFT_CAP, "f32", "queries", layout="bshd")
    assert masked.name == "masked_attention_bshd_with_soft_cap_f32"
    unknown = of_scores("squared", None)
    assert attention.with_scores(unknown, "f32").kernels[0].reference is None


def _of_many(arch: str) -> list[cd.Kernel]:
    """On sm_90a without the numbers of a mask, for which producers spill without functions, too."""
    scores, masks = (
        changed_by(SOFT_CAP, "bf16"),
        ("keys", *(["queries"] if arch == "sm_80" else [])),
    )
    return [
        prefill("bf16", head, mask, form=form, scores=scores)
        for head in (UP_TO if arch == "sm_80" else UP_TO[:3])
        for form in PREFILLS[head]
        for mask in masks
    ]


def _of_few(_: str) -> list[cd.Kernel]:
    scores = changed_by(SOFT_CAP, "bf16")
    forms = [(head, Decode(rows, 2)) for head in UP_TO[:5] for rows in (16, 64, 128)]
    return [decode("bf16", head, "queries", form, scores=scores) for head, form in forms]


def _of_f32(_: str) -> list[cd.Kernel]:
    return [declare("f32", head, "queries", scores=changed_by(SOFT_CAP, "f32")) for head in UP_TO]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param(lambda arch: _of_many(arch)[-1:], id="one"),
        *(pytest.param(each, marks=thorough) for each in (_of_many, _of_few, _of_f32)),
    ],
)
def test_kernels_do_not_spill(kernels: Any, arch: str) -> None:
    """Of a function as long as `tanhf`. Those for heads over 128 do, on sm_90a."""
    declared = kernels(arch)
    report = cd.build(declared, [f"cuda:{arch}"], fail_on_spill=True).report()
    assert [item.kernel for item in report] == [each.name for each in declared]


def refused(function: Any, *others: Any, **named: Any) -> tuple[str, str, str]:
    with pytest.raises(DeclarationError) as caught:
        attention.with_scores(function, *others, **named)
    error = caught.value
    return error.found, str(error.expected), str(error.next_step)


def declared(*operands: Any, **others: Any) -> cd.Function:
    return cd.Function("wrong", source=SOURCE, operands=operands, **{"result": "f32", **others})


def test_functions_that_cannot_change_scores_are_refused() -> None:
    assert refused("my_cap") == (
        "What is to change scores of attention is 'my_cap'.",
        "a cd.Function",
        'declare it: cd.Function("my_cap", source="my_cap.cu", ...).',
    )
    score, pair = cd.Scalar("score", "f32"), cd.Struct("pair", low="f32", high="f32")
    changes = "Function `wrong` is to change scores of attention, and "
    assert refused(declared(score, result="f16")) == (
        f"{changes}returns f16.",
        "one result, of f32",
        "declare a function that returns the score that is to take its place.",
    )
    assert refused(declared(score, pair))[0] == f"{changes}takes the struct `pair`."
    for first in (cd.Scalar("score", "bf16"), cd.Scalar("index", "i32")):
        assert refused(declared(first)) == (
            f"{changes}takes `{first.name}` of {first.dtype} first.",
            "the scaled score as its first operand, of f32",
            "declare a function that takes it first.",
        )


def test_kernels_that_there_are_none_of_are_refused() -> None:
    for what, value, known in (
        ("dtype", "f64", "'f32', 'f16', 'bf16'"),
        ("mask", "spans", "'keys', 'queries', 'bool'"),
        ("layout", "by_position", "'bhsd', 'bshd'"),
    ):
        assert refused(SQUARED, **{what: value}) == (
            f"Attention with a function of scores has no {what} {value!r}.",
            f"one of {known}",
            f"pass one of these as `{what}`.",
        )


def test_a_function_that_returns_what_is_not_declared_is_refused() -> None:
    wrong = of_scores("widened", None)
    kernel = prefill("bf16", SMALLEST, form=SMALL, scores=changed_by(wrong, "bf16"))
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_80"], compiler="nvrtc")
    assert "returns another type than its declaration says" in str(caught.value)
