"""What `gpu/attention.py` runs: inputs on the GPU, and what must come out, in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import custom_dispatch as cd
from cuda_kernels.attention.names import PREFIXES
from custom_dispatch.kernel.evaluation import holds

TOLERANCES = {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-5}
"""Of ||error|| / ||result||: weights and results are rounded to these types."""
ODD = (
    (1, 1, 1, 1, 1),
    (1, 2, 2, 7, 63),
    (2, 4, 2, 65, 64),
    (1, 3, 1, 130, 257),
    (3, 4, 4, 129, 4095),
    (40, 8, 4, 129, 65),  # several tiles for a persistent block
)
FEW = ((1, 1, 1, 1, 1), (2, 8, 2, 1, 100), (3, 32, 8, 1, 63), (1, 16, 1, 1, 65), (2, 4, 2, 7, 4095))
"""Batch, heads, heads of keys, queries and keys; of the second, for kernels of few queries."""


PREFILLS = (
    (1, 32, 32, 4096, 4096, 128),
    (1, 32, 8, 4096, 4096, 128),
    (8, 32, 8, 1024, 1024, 128),
    (1, 32, 32, 4096, 4096, 64),
    (8, 16, 16, 2048, 2048, 64),
)
DECODES = (
    (16, 32, 8, 1, 8192, 128),
    (16, 32, 8, 1, 4096, 128),
    (4, 32, 8, 1, 8192, 128),
    (1, 32, 8, 1, 8192, 128),
    (1, 32, 8, 1, 4096, 128),
    (64, 32, 8, 1, 2048, 128),
    (16, 32, 8, 1, 8192, 64),
)


@dataclass(frozen=True)
class Inputs:
    """One call's."""

    q: Any
    k: Any
    v: Any
    mask: Any
    scale: float
    causal: bool

    @property
    def sizes(self) -> tuple[int, ...]:
        """Batch, heads, heads of keys, queries, keys and a head's size."""
        batch, heads, queries, dim = self.q.shape
        return batch, heads, self.k.shape[1], queries, self.k.shape[2], dim


def inputs(
    kind: str,
    sizes: tuple[int, ...],
    *,
    causal: bool = False,
    mask: str = "",
    scale: float | None = None,
    offset: int = 0,
    value_dim: int | None = None,
) -> Inputs:
    """Fresh random ones, which begin `offset` elements behind a boundary of 16 bytes.

    Values are as large as queries and keys, unless `value_dim` says otherwise.
    """
    import torch

    batch, heads, kv_heads, queries, keys, dim = sizes
    dtype = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[kind]

    def normal(*shape: int) -> Any:
        flat = torch.randn(math.prod(shape) + offset, device="cuda").to(dtype)
        return flat[offset:].view(shape)

    added = None
    if mask:
        added = normal(batch, 1, 1 if mask == "keys" else queries, keys)
        added[torch.rand(added.shape, device="cuda") < 0.3] = -math.inf
        added = added.isfinite() if mask == "bool" else added
    q, k, v = (
        normal(batch, heads, queries, dim),
        normal(batch, kv_heads, keys, dim),
        normal(batch, kv_heads, keys, value_dim or dim),
    )
    return Inputs(q, k, v, added, dim**-0.5 if scale is None else scale, causal)


def takes(kernel: cd.Kernel, given: Inputs) -> bool:
    """Whether a kernel is one for such inputs: some are for few keys alone."""
    names = ("batch", "heads", "kv_heads", "queries", "keys", "dim")
    dims = dict(zip(names, given.sizes, strict=True)) | {"value_dim": given.v.shape[-1]}
    of_mask = (1, 1, 1) if given.mask is None else given.mask.shape[:3]
    dims |= dict(zip(("mask_batches", "mask_heads", "mask_rows"), of_mask, strict=True))
    return all(holds(each, dims) for each in kernel.requires)


@dataclass(frozen=True)
class Scores:
    """What is done to scores beside adding a mask."""

    softcap: float = 0.0
    sinks: Any = None
    change: Callable[[Any], Any] | None = None
    """What a function of the user's computes, in double precision."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """That it takes beside a score."""


AS_THEY_ARE = Scores()


def exact(given: Inputs, of_scores: Scores = AS_THEY_ARE) -> Any:
    """The result in double precision."""
    import torch

    group = given.q.shape[1] // given.k.shape[1]
    k, v = (x.double().repeat_interleave(group, 1) for x in (given.k, given.v))
    scores = given.q.double() @ k.transpose(-1, -2) * given.scale
    if of_scores.softcap:
        scores = of_scores.softcap * (scores / of_scores.softcap).tanh()
    if of_scores.change is not None:
        scores = of_scores.change(scores)
    if given.causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    if given.mask is not None and given.mask.dtype == torch.bool:
        scores = scores.masked_fill(~given.mask, -math.inf)
    elif given.mask is not None:
        scores = scores + given.mask.double()
    base = scores.amax(-1, keepdim=True).clamp_min(-1e300)
    weights = (scores - base).exp()
    total = weights.sum(-1, keepdim=True)
    if of_scores.sinks is not None:
        total = total + (of_scores.sinks.double()[:, None, None] - base.clamp_min(-600.0)).exp()
    return weights @ v / total.clamp_min(1e-300)


def wrong(kind: str, out: Any, want: Any, guard: Any = None) -> str:
    """What is wrong with a result; empty if nothing."""
    norm = want.norm().item()
    error = (out.double() - want).norm().item() / (norm or 1.0)
    if not error < TOLERANCES[kind]:
        return f"the error is {error:.3g} of the result"
    return "" if guard is None or guard.isnan().all() else "it wrote behind its result"


def cases(few: bool) -> Iterator[tuple[str, str, Inputs]]:
    """What is checked: the choice's name, the prefix of its kernels, and inputs."""
    for kind in ("f16", "bf16"):
        for dim in (64, 128):
            for prefix, sizes in (("prefill", ODD), ("decode", FEW)):
                for size in sizes[:3] if few else sizes:
                    for causal in (False, True):
                        yield f"{kind}_{dim}", prefix, inputs(kind, (*size, dim), causal=causal)
                size = (*sizes[1], dim)
                for mask in ("keys", "queries", "bool"):
                    yield f"{kind}_{dim}", PREFIXES[mask] + prefix, inputs(kind, size, mask=mask)
                    if few:
                        continue
                    given = inputs(kind, size, mask=mask, causal=True)
                    yield f"{kind}_{dim}", PREFIXES[mask] + prefix, given
                yield f"{kind}_{dim}", prefix, inputs(kind, size, offset=1, causal=True)
                for scale in () if few else (-0.2, 0.0, 3.0):
                    yield f"{kind}_{dim}", prefix, inputs(kind, size, scale=scale)


def shape_text(sizes: tuple[int, ...]) -> str:
    """Sizes in words."""
    batch, heads, kv_heads, queries, keys, dim = sizes
    return f"{batch} x {heads}/{kv_heads} x {queries}/{keys} x {dim}"
