"""A place of a graph that a kernel computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import custom_dispatch as cd
from cuda_kernels import attention, convolution, elementwise, gemm, norms
from cuda_kernels.patterns.jax_places.graph import Node, Value, nodes_between
from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting, kernels_of
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.expr import Condition
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer

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


def call(name: str, item: Choice | None = None) -> Callable[..., Any]:
    """A kernel that ships as a function of JAX; it refuses sizes for which IREE is faster.

    Parameters
    ----------
    item
        What is called instead, for the same sizes.
    """

    def called(*arrays: Any, **others: Any) -> Any:
        function = _function(name)
        for condition in (_CONDITIONS.get() or {}).get(name, ()):
            if not _may_hold(condition, function.kernel, arrays, others):
                raise IreeIsFaster
        return (function if item is None else cd.jax.call(item))(*arrays, **others)

    return called


@cache
def _function(name: str) -> Any:
    modules = (attention, convolution, elementwise, gemm, norms)
    return cd.jax.call(next(getattr(each, name) for each in modules if name in dir(each)))


class IreeIsFaster(Exception):  # noqa: N818 - nothing is wrong
    """A place is left to IREE."""


_CONDITIONS: ContextVar[Mapping[str, Sequence[Condition]] | None]
_CONDITIONS = ContextVar("conditions", default=None)


@contextmanager
def only_where(conditions: Mapping[str, Sequence[Condition]]) -> Iterator[None]:
    """Put kernels, by name, only where conditions on their dims hold or are not known to fail."""
    token = _CONDITIONS.set(conditions)
    try:
        yield
    finally:
        _CONDITIONS.reset(token)


def _may_hold(
    condition: Condition, item: Kernel | Choice, arrays: Sequence[Any], others: Mapping[str, Any]
) -> bool:
    kernel = kernels_of(item)[0]
    buffers = [each for each in kernel.inputs if isinstance(each, Buffer)]
    named = dict(zip((each.name for each in buffers), arrays, strict=False)) | dict(others)
    shapes: dict[str, Any] = {
        each.name: tuple(named[each.name].shape) if each.name in named else (0,) * each.rank
        for each in buffers
    }
    if not all(isinstance(size, int) for shape in shapes.values() for size in shape):
        return True
    try:
        dims = first_fitting(item, lambda each: bind_dims(each, shapes), "No kernel takes these.")
    except CustomDispatchError:  # as the call says
        return True
    return holds(condition, dims)


def exists(name: str) -> bool:
    """Whether a kernel ships."""
    return any(name in dir(each) for each in (attention, elementwise, gemm, norms))
