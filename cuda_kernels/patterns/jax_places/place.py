"""A place of a graph that a kernel computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import custom_dispatch as cd
from cuda_kernels import attention, elementwise, gemm, norms
from cuda_kernels.patterns.jax_places.graph import Node, Value, nodes_between

KINDS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
"""The element types of kernels, by what numpy calls them."""
WIDE = {kind: name for name, kind in KINDS.items()}
"""What numpy calls them."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Place:
    """What a kernel computes, and from what."""

    kernel: str
    results: tuple[Value, ...]
    operands: tuple[Value, ...]
    covers: frozenset[Node]
    """What it stands for."""
    build: Callable[..., Sequence[Any]]
    """Computes the results from arrays, with the kernel."""
    scalars: Mapping[str, Any] = field(default_factory=dict)
    """The numbers that the kernel takes."""


def place(
    kernel: str,
    results: Sequence[Value],
    operands: Sequence[Value],
    build: Callable[..., Sequence[Any]],
    **scalars: Any,
) -> Place:
    """A place that stands for all that its results are computed with from its operands."""
    covers = frozenset(node for each in results for node in nodes_between(each, *operands))
    return Place(kernel, tuple(results), tuple(operands), covers, build, scalars)


def kind_of(value: Value) -> str:
    """The element type of kernels for a value; empty where there is none."""
    return KINDS.get(str(value.dtype), "")


@cache
def call(name: str) -> Any:
    """A kernel that ships as a function of JAX."""
    modules = (attention, elementwise, gemm, norms)
    return cd.jax.call(next(getattr(each, name) for each in modules if name in dir(each)))


def exists(name: str) -> bool:
    """Whether a kernel ships."""
    return any(name in dir(each) for each in (attention, elementwise, gemm, norms))
