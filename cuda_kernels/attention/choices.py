"""Which attention kernel a call gets: few queries or many, with tensor cores or without.

Heads of 16 bits take tensor cores (`prefill.py`, `decode.py`), except in the kernels for heads of
32 alone; these and f32 take `simt.py`. On CPUs all are `attention_cpu.cu`; `kernel.own` is what
GPUs run, and runs on a CPU by itself too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

import custom_dispatch as cd
from cuda_kernels.attention.decode import SPLITS, SPLITS_OF_TABLES, decode, decode_cache
from cuda_kernels.attention.head_sizes import UP_TO, UpTo
from cuda_kernels.attention.names import (
    ANY_HEAD,
    ATTENTION,
    BSHD,
    BSHD_ANY_HEAD,
    BY_POSITION,
    CACHED,
    CACHED_ANY_HEAD,
    CAPPED,
    ON_TENSOR_CORES,
    kernel_name,
)
from cuda_kernels.attention.prefill import PREFILLS_OF_TABLES, Prefill, prefill
from cuda_kernels.attention.simt import declare
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Condition


@cache
def choose(dtype: str, dim: int, mask: str = "keys", *, layout: str = "bhsd") -> cd.Choice:
    """The kernels for a type, a size of heads and a form of mask, few queries first.

    Which is taken was measured on an H200 for bf16 without a mask; the others take the same.
    """
    forms = (*SPLITS, *SPLITS_OF_TABLES)
    decoding = [decode(dtype, dim, mask, each, layout=layout) for each in forms]
    others = [
        prefill(dtype, dim, mask, layout=layout, form=form)
        for form in (Prefill(), *PREFILLS_OF_TABLES)
    ]
    is_own = (dtype, mask, layout) == ("bf16", "keys", "bhsd")
    return cd.Choice(
        kernel_name("", dtype, str(dim), mask, layout),
        [*decoding, *others],
        tuning=f"attention_{dim}.tuning.json" if is_own else choose("bf16", dim),
        rules=_rules(decoding),
    )


def choose_cached(dtype: str, dim: int) -> cd.Choice:
    """The kernels for few queries and a partly filled KV cache."""
    decoding = [decode_cache(dtype, dim, form) for form in (*SPLITS, *SPLITS_OF_TABLES)]
    return cd.Choice(
        f"cached_attention_{dtype}_{dim}",
        decoding,
        tuning=choose("bf16", dim),
        rules=_rules(decoding),
    )


def choose_any_head(
    dtype: str, mask: str, *, layout: str = "bhsd", is_capped: bool = False
) -> cd.Choice:
    """The kernels for heads of any sizes up to 256, for smaller ones first.

    Their rules are those of heads of 64 and 128.
    """
    name = kernel_name("capped_" if is_capped else "", dtype, "", mask, layout)

    def one(head: UpTo) -> cd.Kernel:
        return declare(dtype, head, mask, layout=layout, is_capped=is_capped)

    if dtype == "f32":
        return cd.Choice(name, [one(head) for head in UP_TO])

    def few(head: UpTo) -> list[cd.Kernel]:
        return [
            decode(dtype, head, mask, form, layout=layout, is_capped=is_capped) for form in SPLITS
        ]

    def many(head: UpTo) -> cd.Kernel:
        return prefill(dtype, head, mask, layout=layout, is_capped=is_capped)

    decoding = {head: few(head) for head in UP_TO}
    return cd.Choice(
        name,
        [each for head in UP_TO for each in (*decoding[head], many(head))],
        rules=_rules_of(decoding.values()),
    )


def choose_cached_any_head(dtype: str) -> cd.Choice:
    """The same for few queries and a partly filled KV cache."""
    decoding = [[decode_cache(dtype, head, form) for form in SPLITS] for head in UP_TO]
    return cd.Choice(
        f"cached_attention_{dtype}",
        [kernel for kernels in decoding for kernel in kernels],
        rules=_rules_of(decoding),
    )


def _rules_of(groups: Iterable[Sequence[cd.Kernel]]) -> dict[str, list[Condition]]:
    return {name: rule for kernels in groups for name, rule in _rules(kernels).items()}


def _rules(kernels: Sequence[cd.Kernel]) -> dict[str, list[Condition]]:
    """The rules of the kernels for few queries, by their names."""
    pairs = zip(kernels, (*SPLITS, *SPLITS_OF_TABLES), strict=False)  # tables may lack
    return {kernel.name: form.rule for kernel, form in pairs if form.rule}


def _attention(dtype: str, dim: int, mask: str, layout: str = "bhsd") -> cd.Kernel | cd.Choice:
    of = choose if (dtype, dim) in ON_TENSOR_CORES else declare
    return of(dtype, dim, mask, layout=layout)


_TABLE: dict[str, Callable[[], cd.Kernel | cd.Choice]] = {
    **{name: partial(_attention, *form) for name, form in ATTENTION.items()},
    **{name: partial(choose, *form, layout="by_position") for name, form in BY_POSITION.items()},
    **{name: partial(_attention, *form, "bshd") for name, form in BSHD.items()},
    **{
        name: partial(choose_any_head, *form, layout="bshd") for name, form in BSHD_ANY_HEAD.items()
    },
    **{name: partial(choose_cached, *form) for name, form in CACHED.items()},
    **{name: partial(choose_any_head, *form) for name, form in ANY_HEAD.items()},
    **{name: partial(choose_any_head, *form, is_capped=True) for name, form in CAPPED.items()},
    **{name: partial(choose_cached_any_head, dtype) for name, dtype in CACHED_ANY_HEAD.items()},
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
