"""Which attention kernel a call gets: few queries or many, with tensor cores or without.

Rules say which, from what was measured on an H200 (docs/kernels/attention.md). Heads of 16 bits
take tensor cores (`prefill.py`, `decode.py`, `paged.py`), f32 takes `simt.py`. On CPUs all are
`attention_cpu.cu`; `kernel.own` is what GPUs run, and runs on a CPU by itself too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import custom_dispatch as cd
from cuda_kernels.attention.decode import FEW_QUERIES, Decode, decode, forms_of
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.head_sizes import UP_TO, Head, UpTo
from cuda_kernels.attention.names import (
    ANY_HEAD,
    ATTENTION,
    BSHD,
    BSHD_ANY_HEAD,
    BY_POSITION,
    CACHED,
    CACHED_ANY_HEAD,
    CACHED_SMALL,
    CAPPED,
    ON_TENSOR_CORES,
    PAGED,
    PREFIXES,
    kernel_name,
)
from cuda_kernels.attention.paged import CACHE, paged
from cuda_kernels.attention.prefill import PREFILLS, Prefill, prefill
from cuda_kernels.attention.scores import AS_THEY_ARE, Scores, capped, changed_by
from cuda_kernels.attention.signature import keys
from cuda_kernels.attention.simt import declare
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import Condition, Expr
from custom_dispatch.kernel.names import shown


def choose(dtype: str, dim: int, mask: str = "keys", *, layout: str = "bhsd") -> cd.Choice:
    """The kernels for a type, a size of heads and a form of mask, few queries first."""
    decoding = {form: decode(dtype, dim, mask, form, layout=layout) for form in forms_of(dim)}
    many = {form: prefill(dtype, dim, mask, layout=layout, form=form) for form in PREFILLS[dim]}
    return cd.Choice(
        kernel_name("", dtype, str(dim), mask, layout),
        [*decoding.values(), *many.values()],
        rules=_rules(dim, decoding) | _rules_of_many(many),
    )


def choose_cached(dtype: str, dim: int) -> cd.Choice:
    """The kernels for few queries and a partly filled KV cache."""
    decoding = {form: decode_cache(dtype, dim, form) for form in forms_of(dim)}
    return cd.Choice(
        f"cached_attention_{dtype}_{dim}",
        [*decoding.values()],
        rules=_rules_of_caches(dim, decoding),
    )


def choose_any_head(
    dtype: str, mask: str, *, layout: str = "bhsd", scores: Scores = AS_THEY_ARE
) -> cd.Choice:
    """The kernels for heads of any sizes up to 256, for smaller ones first.

    Their rules are those of heads of 64 and 128.
    """
    name = kernel_name(scores.prefix, f"{scores.label}{dtype}", "", mask, layout)

    def one(head: UpTo) -> cd.Kernel:
        return declare(dtype, head, mask, layout=layout, scores=scores)

    if dtype == "f32":
        return cd.Choice(name, [one(head) for head in UP_TO])

    def few(head: UpTo) -> dict[Decode, cd.Kernel]:
        return {
            form: decode(dtype, head, mask, form, layout=layout, scores=scores)
            for form in forms_of(head)
        }

    def of_many(head: UpTo) -> dict[Prefill, cd.Kernel]:
        return {
            form: prefill(dtype, head, mask, layout=layout, form=form, scores=scores)
            for form in PREFILLS[head]
        }

    decoding, many = {head: few(head) for head in UP_TO}, {head: of_many(head) for head in UP_TO}
    return cd.Choice(
        name,
        [each for head in UP_TO for each in (*decoding[head].values(), *many[head].values())],
        rules={k: r for head, each in decoding.items() for k, r in _rules(head, each).items()}
        | {k: rule for each in many.values() for k, rule in _rules_of_many(each).items()},
    )


def with_scores(
    function: cd.Function, dtype: str = "bf16", mask: str = "keys", *, layout: str = "bhsd"
) -> cd.Choice:
    """Attention that calls a function of the user's on each scaled score: one launch for both.

    The result is softmax(function(q k^T * scale, ...) + mask) v, where the function is computed in
    f32. Kernels and rules are those of `capped_attention_{dtype}`, with a function in the place of
    the soft cap: heads of any sizes up to 256, sinks, and the operands of `attention_{dtype}`.

    Parameters
    ----------
    function
        Its first operand is a scaled score, and the others are numbers that a call passes, behind
        the sinks. One that is named like an operand of attention has the function's name before
        its own. A key whose score it makes -inf is hidden.
    dtype
        f32, f16 or bf16.
    mask
        "keys", "queries" or "bool", as `attention_`, `masked_attention_` and
        `bool_masked_attention_` take.
    layout
        "bhsd", or "bshd" where all operands are [batch, rows, heads, dim].

    Raises
    ------
    DeclarationError
        The function cannot be called with scores, or there are no such kernels: the message says
        why.
    """
    given = {"dtype": (dtype, TYPES), "mask": (mask, [*PREFIXES]), "layout": (layout, _OF_ANY_HEAD)}
    for what, (found, known) in given.items():
        if found not in known:
            raise DeclarationError(
                f"Attention with a function of scores has no {what} {shown(found)}.",
                expected=f"one of {', '.join(map(repr, known))}",
                next_step=f"pass one of these as `{what}`.",
            )
    return choose_any_head(dtype, mask, layout=layout, scores=changed_by(function, dtype))


_OF_ANY_HEAD = ("bhsd", "bshd")
"""The layouts of kernels for heads of any sizes."""


def choose_cached_any_head(dtype: str, stored: str = "") -> cd.Choice:
    """The same for few queries and a partly filled KV cache, whose type may be one of 8 bits."""
    name = "_".join(filter(None, ("cached_attention", dtype, stored.lower())))
    return _of_caches(name, lambda head, form: decode_cache(dtype, head, form, stored))


def choose_paged(name: str, dtype: str, layout: str, stored: str) -> cd.Choice:
    """The same with a cache in pages."""
    return _of_caches(
        name, lambda head, form: paged(dtype, head, form, layout=layout, stored=stored), CACHE
    )


def _of_caches(
    name: str, kernel: Callable[[UpTo, Decode], cd.Kernel], cache: Expr = keys
) -> cd.Choice:
    decoding = {head: {form: kernel(head, form) for form in forms_of(head)} for head in UP_TO}
    rules = [_rules_of_caches(head, kernels, cache) for head, kernels in decoding.items()]
    return cd.Choice(
        name,
        [each for kernels in decoding.values() for each in kernels.values()],
        rules={name: rule for each in rules for name, rule in each.items()},
    )


def _rules_of_many(kernels: Mapping[Prefill, cd.Kernel]) -> dict[str, Sequence[Condition]]:
    return {kernel.name: form.rule for form, kernel in kernels.items() if form.rule}


def _rules(head: Head, kernels: Mapping[Decode, cd.Kernel]) -> dict[str, list[Condition]]:
    """The rules of the kernels for few queries, by their names."""
    return {kernel.name: [*form.rule(head), *FEW_QUERIES] for form, kernel in kernels.items()}


def _rules_of_caches(
    head: Head, kernels: Mapping[Decode, cd.Kernel], cache: Expr = keys
) -> dict[str, list[Condition]]:
    """The same where the last of them takes any number of queries."""
    rules = {kernel.name: form.rule(head, cache) for form, kernel in kernels.items()}
    return {name: rule for name, rule in rules.items() if rule}


def _attention(dtype: str, dim: int, mask: str, layout: str = "bhsd") -> cd.Kernel | cd.Choice:
    of = choose if (dtype, dim) in ON_TENSOR_CORES else declare
    return of(dtype, dim, mask, layout=layout)


def _capped(dtype: str, mask: str) -> cd.Choice:
    return choose_any_head(dtype, mask, scores=capped(dtype))


_TABLE: dict[str, Callable[[], cd.Kernel | cd.Choice]] = {
    **{name: partial(_attention, *form) for name, form in ATTENTION.items()},
    **{name: partial(choose, *form, layout="by_position") for name, form in BY_POSITION.items()},
    **{name: partial(_attention, *form, "bshd") for name, form in BSHD.items()},
    **{
        name: partial(choose_any_head, *form, layout="bshd") for name, form in BSHD_ANY_HEAD.items()
    },
    **{name: partial(choose_cached, *form) for name, form in CACHED.items()},
    **{name: partial(choose_any_head, *form) for name, form in ANY_HEAD.items()},
    **{name: partial(_capped, *form) for name, form in CAPPED.items()},
    **{name: partial(choose_cached_any_head, dtype) for name, dtype in CACHED_ANY_HEAD.items()},
    **{name: partial(choose_cached_any_head, *form) for name, form in CACHED_SMALL.items()},
    **{name: partial(choose_paged, name, *form) for name, form in PAGED.items()},
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
