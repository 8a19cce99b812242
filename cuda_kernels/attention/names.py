"""The names of the attention kernels, so that listing them declares nothing."""

from __future__ import annotations

from itertools import product
from typing import Any

from cuda_kernels.shared.lazily import TYPES

HEADS = (32, 64, 128)
"""Sizes of a head."""
PREFIXES = {"keys": "", "queries": "masked_", "bool": "bool_masked_"}
"""The prefix of a kernel's name for each form of mask."""
LAYOUTS = ("bhsd", "by_position", "bshd")
"""How operands and results lie: with the heads of a batch apart, [batch, heads, rows, dim]; results
with those of a position beside each other; all with those, [batch, rows, heads, dim]."""
ON_TENSOR_CORES = tuple(product(("f16", "bf16"), HEADS))
"""Element types, and sizes of a head."""

ATTENTION = {
    f"{PREFIXES[mask]}attention_{dtype}_{dim}": (dtype, dim, mask)
    for mask, dtype, dim in product(PREFIXES, TYPES, HEADS)
}
"""By name: the element type, the size of a head, the form of the mask."""
BY_POSITION = {
    f"attention_by_position_{dtype}_{dim}": (dtype, dim) for dtype, dim in ON_TENSOR_CORES
}
BSHD = {
    f"{PREFIXES[mask]}attention_bshd_{dtype}_{dim}": (dtype, dim, mask)
    for mask, (dtype, dim) in product(PREFIXES, [*product(("f32",), HEADS), *ON_TENSOR_CORES])
}
BSHD_ANY_HEAD = {
    f"{PREFIXES[mask]}attention_bshd_{dtype}": (dtype, mask)
    for mask, dtype in product(PREFIXES, TYPES)
}
CACHED = {
    f"cached_attention_{dtype}_{dim}": (dtype, dim) for dtype, dim in ON_TENSOR_CORES if dim != 32
}
ANY_HEAD = {
    f"{PREFIXES[mask]}attention_{dtype}": (dtype, mask) for mask, dtype in product(PREFIXES, TYPES)
}
"""For heads of any size up to 256: the element type, the form of the mask."""
CAPPED = {
    f"{PREFIXES[mask]}capped_attention_{dtype}": (dtype, mask)
    for mask, dtype in product(PREFIXES, TYPES)
}
"""The same with a soft cap of scores and sinks."""
CACHED_ANY_HEAD = {f"cached_attention_{dtype}": dtype for dtype in TYPES[1:]}
STORED = ("f8E4M3FN", "f8E5M2")
"""Types of 8 bits that caches may have."""
CACHED_SMALL = {
    f"cached_attention_{dtype}_{stored.lower()}": (dtype, stored)
    for dtype, stored in product(TYPES[1:], STORED)
}
PAGED = {
    "_".join(filter(None, ("paged_attention", place, dtype, stored.lower()))): (
        dtype,
        place or "bhsd",
        stored,
    )
    for place, dtype, stored in product(("", "bshd"), TYPES[1:], ("", *STORED))
}
"""With caches in pages: the element type, how operands lie, and the type of the caches if it has 8
bits."""
WRITE_PAGES = {name.replace("paged_attention", "write_pages"): form for name, form in PAGED.items()}
"""What writes into these."""
LATENT = {
    f"{prefix}latent_attention_{dtype}": (dtype, bool(prefix))
    for prefix, dtype in product(("", "paged_"), TYPES[1:])
}
"""With caches of latent vectors: the element type, and whether they are in pages."""
PACKED = {f"packed_attention_{dtype}": dtype for dtype in TYPES}
"""With sequences of different lengths behind each other, by name: the element type."""
FLAT_PREFIXES = {**PREFIXES, "shared": "shared_masked_", "key": "key_masked_"}
"""The same for heads in the batch; the last two have one mask for all heads of a sentence."""
FLAT = {
    f"flat_{FLAT_PREFIXES[mask]}attention_{dtype}_{dim}": (dtype, dim, mask)
    for mask, dtype, dim in product(FLAT_PREFIXES, TYPES, HEADS)
}

SPANS = {f"mask_spans_{dtype}": dtype for dtype in ("bool", *TYPES)}


def usual_scale(dim: int) -> float:
    """What PyTorch and ONNX multiply scores by where a model does not say."""
    return float(dim**-0.5)


def ends_and_scales(*sizes: int) -> tuple[tuple[str, Any], ...]:
    """The ends of kernels' names, for these sizes of heads and then for any, and the usual scale.

    For any size the scale is a function of it, as patterns take it.
    """
    return (*((f"_{size}", usual_scale(size)) for size in sizes), ("", usual_scale))


def kernel_name(
    which: str, dtype: str, head: str, mask: str, layout: str = "bhsd", form: str = ""
) -> str:
    """A name: `masked_decode_attention_bf16_64_w8_s6_c2_sm80_w4_s2`, without a form a choice's."""
    placement = "" if layout == "bhsd" else f"{layout}_"
    name = f"{PREFIXES[mask]}{which}attention_{placement}{dtype}"
    return "_".join(filter(None, (name, head, form)))
