"""Scans of state-space models as operators, which stand for all their spellings until kernels do.

`torch.ops.custom_dispatch_forms.selective_scan` and `delta_scan` compute what the kernels of
`cuda_kernels.recurrence` do; the rules in `scans.py` and `chunks.py` write them alone.
"""

from __future__ import annotations

import torch
from torch import Tensor


def scan(
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor | None,
    z: Tensor | None,
    beta: Tensor | None,
    first: Tensor | None,
    times_dt: int,
    plain: int,
) -> tuple[Tensor, Tensor]:
    """Both scans, step by step, in the type of dt."""
    batch, length, heads, elements = x.shape
    groups = torch.arange(heads) * b.shape[2] // max(heads, 1)
    wide = x.to(dt.dtype)
    into, out_of = (each.to(dt.dtype)[:, :, groups] for each in (b, c))
    of_states = torch.arange(b.shape[3]) % a.shape[1]
    decays = dt[..., None] if plain else torch.exp(dt[..., None] * a[:, of_states])
    u = wide * dt[..., None] if times_dt else wide
    state = first if first is not None else dt.new_zeros((batch, heads, elements, b.shape[3]))
    found = []
    for t in range(length):
        state = state * decays[:, t, :, None]
        added = u[:, t]
        if beta is not None:
            known = (state * into[:, t, :, None]).sum(-1)
            added = beta[:, t, :, None] * (added - known)
        state = state + added[..., None] * into[:, t, :, None]
        found.append((state * out_of[:, t, :, None]).sum(-1))
    y = torch.stack(found, 1) if found else torch.zeros_like(wide)
    if d is not None:
        y = y + d[:, None] * wide
    if z is not None:
        y = y * torch.nn.functional.silu(z.to(dt.dtype))
    return y.to(x.dtype), state.clone()


def _selective(
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor,
    z: Tensor | None,
    first: Tensor | None,
    times_dt: int,
    plain: int,
) -> tuple[Tensor, Tensor]:
    return scan(x, dt, a, b, c, d, z, None, first, times_dt, plain)


def _delta(
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    beta: Tensor,
    first: Tensor | None,
    plain: int,
) -> tuple[Tensor, Tensor]:
    return scan(x, dt, a, b, c, None, None, beta, first, 0, plain)


_selective_scan = torch.library.custom_op(
    "custom_dispatch_forms::selective_scan",
    _selective,
    mutates_args=(),
    schema="(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor d, Tensor? z, "
    "Tensor? first, int times_dt, int plain) -> (Tensor, Tensor)",
)
_delta_scan = torch.library.custom_op(
    "custom_dispatch_forms::delta_scan",
    _delta,
    mutates_args=(),
    schema="(Tensor x, Tensor dt, Tensor a, Tensor b, Tensor c, Tensor beta, Tensor? first, "
    "int plain) -> (Tensor, Tensor)",
)


def _made(x: Tensor, dt: Tensor, a: Tensor, b: Tensor, *others: object) -> tuple[Tensor, Tensor]:
    del a, others
    batch, _, heads, elements = x.shape
    return x.new_empty(x.shape), dt.new_empty((batch, heads, elements, b.shape[3]))


_selective_scan.register_fake(_made)
_delta_scan.register_fake(_made)
SELECTIVE_SCAN = torch.ops.custom_dispatch_forms.selective_scan.default
DELTA_SCAN = torch.ops.custom_dispatch_forms.delta_scan.default
