"""A model that patterns are looked for in, as far as it tells at once which are not there."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from iree.compiler import ir

from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.operations import operations_of

_FLOATS = ("f16", "bf16", "f32", "f64")
"""Types that kernels and MLIR call the same."""


class Searched:
    """A model, which stays as it is while patterns are looked for.

    Parameters
    ----------
    names
        Those of its operations.
    """

    def __init__(self, module: ir.Module, names: Collection[str]) -> None:
        self.module = module
        self.names = frozenset(names)

    @cached_property
    def tensors(self) -> tuple[ir.RankedTensorType, ...]:
        """The types of what its operations take and give, in any dialect."""
        ops = operations_of(self.module)
        kinds = {value.type for op in ops for value in (*op.operands, *op.results)}
        found = [builtin_type(kind) for kind in kinds]
        return tuple(kind for kind in found if isinstance(kind, ir.RankedTensorType))

    @cached_property
    def elements(self) -> frozenset[str]:
        """The types of their elements."""
        return frozenset(str(kind.element_type) for kind in self.tensors)

    @cached_property
    def sizes(self) -> frozenset[int]:
        """Their sizes."""
        return frozenset(size for kind in self.tensors for size in kind.shape)

    def may_hold(self, kernel: Kernel) -> bool:
        """Whether it has tensors of the types and sizes of a kernel's operands at all."""
        is_open = any(not kind.has_static_shape for kind in self.tensors)
        return all(
            (item.dtype.name not in _FLOATS or item.dtype.name in self.elements)
            and all(
                is_open or dims_of(size) or evaluate(size, {}) in {1, *self.sizes}
                for size in item.shape
            )
            for item in kernel.inputs
            if isinstance(item, Buffer) and not item.optional
        )
