"""Where the shipped kernels go in functions of JAX, for `cd.jax.compile(..., replace=...)`.

Each name is a tuple of rules, which find what a kernel computes however it is written: see
`cuda_kernels.patterns.jax_places`. None of them has to be found, and `everything`
leaves places to IREE whose sizes its own code is faster for (`profitable.py`). In 16 bits a model
rounds once an operation; the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import custom_dispatch as cd
from cuda_kernels.patterns.jax_places.rewriting import PROFITABLE, put_kernels
from cuda_kernels.shared.lazily import lazily

if TYPE_CHECKING:
    Rules = tuple[cd.jax.Rule, ...]

_GROUPS = {
    "rms_norm": ("rms_norm",),
    "add_rms_norm": ("add_rms_norm", "rms_norm"),
    "layer_norm": ("layer_norm",),
    "softmax": ("softmax",),
    "gelu": ("gelu",),
    "swiglu": ("swiglu",),
    "rotary": ("rotary",),
    "attention": ("attention",),
    "matmul": ("matmul",),
    "convolution": ("convolution",),
}
"""By name: the groups of kernels that `put_kernels` is to put."""


def _rules(*groups: str) -> Rules:
    return (cd.jax.Rule(put_kernels, groups),)


_TABLE: dict[str, Callable[[], Rules]] = {
    **{name: partial(_rules, *groups) for name, groups in _GROUPS.items()},
    "everything": partial(_rules, *(PROFITABLE + name for name in _GROUPS)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
