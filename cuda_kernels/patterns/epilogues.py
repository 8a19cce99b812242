"""Operations that follow products in a model, found and written as functions of CUDA.

What is the same for all frameworks: each reads its graph into `Value`s, and puts the kernel of a
`Chain` in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import ml_dtypes
import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.choices import choice, with_epilogue
from cuda_kernels.gemm.names import ACTIVATIONS
from cuda_kernels.patterns import statements
from cuda_kernels.shared.activations import activated
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.toolchain.produced import file_of

KINDS = ("f32", "f16", "bf16")
"""The element types of products."""
Statement = Callable[[str, Sequence[str]], str]
"""A statement of CUDA that declares a variable, by its name and those of the operands."""
POINTS = numpy.concatenate([numpy.linspace(-12, 12, 97), [-1e30, -1e4, -40, 40, 1e4, 1e30]])
"""Where operations are compared with activations."""
_MOST_LETTERS = 40
"""Of a function's name, before the digest."""


@dataclass(eq=False, repr=False, slots=True)
class Value:
    """A tensor of a model, and the operation that gives it."""

    source: Any
    """What it is in the framework."""
    kind: str
    """Its element type, of `KINDS`; "bool"; empty for any other."""
    shape: tuple[Any, ...]
    """Sizes that are known to be the same are equal."""
    operands: tuple[Value, ...] = ()
    """The tensors that the operation takes; numbers are in its statement."""
    statement: Statement | None = None
    """The operation on elements; None of any other."""
    word: str = ""
    """What names of functions call it; empty where an element stays what it is."""
    function: cd.Function | None = None
    """The user's, if it is a call of one."""
    position: int = 0
    """In the order of computation."""
    readers: list[Value] = field(default_factory=list)
    is_result: bool = False
    """Whether something reads it that is no value here."""


Role = Callable[[Value, Value], str]


def connected(values: Iterable[Value]) -> list[Value]:
    """Values in the order of computation, each with its position and its readers."""
    found = list(values)
    for position, value in enumerate(found):
        value.position = position
        for operand in dict.fromkeys(value.operands):
            operand.readers.append(value)
    return found


@dataclass(frozen=True)
class Chain:
    """A product, and operations on its elements of which nothing else reads any but the last."""

    product: Value
    operations: tuple[Value, ...]
    """In order."""
    tensor: Value | None
    """What else they take of the result's shape."""
    columns: tuple[Value, ...]
    """The vectors that they take, with an element for each column."""
    dtype: str
    """The element type of what is multiplied."""
    activation: str = ""
    """What ships with products and the first operations are, however they are written."""
    activating: int = 0
    """How many of them."""

    @property
    def result(self) -> Value:
        """The last of the operations."""
        return self.operations[-1]

    @property
    def words(self) -> list[str]:
        """What names call the operations that do not merely convert."""
        first = [self.activation] if self.activation else []
        return [*first, *(each.word for each in self.operations[self.activating :] if each.word)]

    @property
    def is_one(self) -> bool:
        """Whether it is one operation of a model."""
        return not self.activation and len(self.words) == 1

    @property
    def taken(self) -> tuple[Value, ...]:
        """What they take besides the product, in the order of a function's operands."""
        return (*([] if self.tensor is None else [self.tensor]), *self.columns)

    @property
    def names(self) -> list[str]:
        """The names of `taken` as operands."""
        first = [] if self.tensor is None else ["other"]
        return [*first, *(f"vector_{index}" for index, _ in enumerate(self.columns))]

    @property
    def text(self) -> str:
        """The function of CUDA, from its parameters on."""
        names = {self.product: "x", **dict(zip(self.taken, self.names, strict=True))}
        lines, first = [], self.activating
        if self.activation:
            names[self.operations[first - 1]] = "active"
            expression = statements.ACTIVATIONS[self.activation].format("x")
            lines.append(f"  {statements.declared('active', expression)}\n")
        for index, value in enumerate(self.operations[first:]):
            assert value.statement is not None  # noqa: S101 - the search has seen to it
            given = [names[each] for each in value.operands]
            names[value] = f"y{index}"
            lines.append(f"  {value.statement(names[value], given)}\n")
        parameters = ", ".join(f"float {name}" for name in ["x", *self.names])
        return f"({parameters}) {{\n{''.join(lines)}  return {names[self.result]};\n}}\n"

    @property
    def function(self) -> cd.Function:
        """The operations as a function of f32."""
        called = [each.function for each in self.operations if each.function is not None]
        paths = dict.fromkeys(each.source for each in called)
        includes = "".join(f'#include "{path}"\n' for path in paths)
        words = "_".join(self.words)
        digest = sha256((includes + self.text).encode()).hexdigest()
        name = f"{words[:_MOST_LETTERS].strip('_')}_{digest[:8]}"
        remark = "// Follows a product in a model.\n"
        return cd.Function(
            name,
            source=file_of(f"{remark}{includes}\n__device__ float {name}{self.text}", ".cuh"),
            operands=[cd.Scalar(each, "f32") for each in ["x", *self.names]],
            result="f32",
            include_dirs=[path for each in called for path in each.include_dirs],
            options=[option for each in called for option in each.options],
        )

    def kernel(self, layout: str) -> Choice:
        """The product with its operations, or with the activation that they are.

        Parameters
        ----------
        layout
            Of the product, of `gemm.names.LAYOUTS`.
        """
        dtype, out = self.dtype, self.result.kind
        if self.activation and len(self.words) == 1:
            return choice(layout, dtype, self.activation, out)
        first = 0 if self.tensor is None else 1
        tensors, columns = self.names[:first], self.names[first:]
        return with_epilogue(self.function, layout, dtype, out, tensors=tensors, columns=columns)


def role_of(value: Value, product: Value) -> str:
    """What kernels may read a value as: a "vector" of columns, a "tensor", or neither."""
    if value.kind == product.kind and value.shape == product.shape[-1:]:
        return "vector"
    return "tensor" if value.kind in KINDS and value.shape == product.shape else ""


def chains_after(product: Value, role: Role = role_of, dtype: str = "") -> Iterator[Chain]:
    """Every chain of a product, from the shortest on.

    Parameters
    ----------
    product
        Of at least two dims, unless `role` tells vectors from it otherwise.
    role
        What the operations may take another value as.
    dtype
        The element type of what is multiplied, if that is not the product's.
    """
    dtype = dtype or product.kind
    if dtype not in KINDS:
        return
    inside: dict[Value, None] = {product: None}
    taken: dict[Value, str] = {}
    pending = {each.position: each for each in product.readers}
    # What is read elsewhere too is stored, so that no chain goes on behind it.
    while pending and not any(each.is_result for each in inside):
        value = pending.pop(min(pending))
        if value.statement is None or value.shape != product.shape:
            return
        taken |= {each: role(each, product) for each in value.operands if each not in inside}
        tensors = [each for each, known in taken.items() if known == "tensor"]
        if "" in taken.values() or len(tensors) > 1:
            return
        before = tuple(inside)
        inside[value] = None
        pending |= {each.position: each for each in value.readers}
        # Kernels store the type of what they multiply, or f32, and read a tensor of that.
        is_stored = value.kind in (dtype, "f32") and all(e.kind == value.kind for e in tensors)
        if is_stored and all(reader in inside for each in before for reader in each.readers):
            columns = tuple(each for each, known in taken.items() if known == "vector")
            yield Chain(product, tuple(inside)[1:], next(iter(tensors), None), columns, dtype)


def longest_chains(products: Iterable[Value]) -> list[Chain]:
    """The longest chain of each product, of those that end in the same place the longest one."""
    found: dict[Value, Chain] = {}
    for product in products:
        for chain in chains_after(product):
            before = found.get(chain.result)
            if before is None or len(before.operations) < len(chain.operations):
                found[chain.result] = chain
    longest: dict[Value, Chain] = {}
    for chain in found.values():
        before = longest.get(chain.product)
        if before is None or len(before.operations) < len(chain.operations):
            longest[chain.product] = chain
    return [*longest.values()]


def with_activation(chain: Chain, on_points: Callable[[Chain], Any], epsilon: str) -> Chain:
    """A chain whose first operations are an activation as that, if they are more than one.

    Parameters
    ----------
    on_points
        Computes operations of `POINTS` in f64, without rounding between.
    epsilon
        The type to which a model has rounded its constants: that shows most in the tails.
    """
    for first in chains_after(chain.product, dtype=chain.dtype):
        count = len(first.operations)
        if first.taken or first.operations != chain.operations[:count]:
            break
        if len(first.words) > 1 and not any(each.function for each in first.operations):
            name = _activation_of(on_points(first), epsilon)
            if name:
                return replace(chain, activation=name, activating=count)
    return chain


def _activation_of(values: Any, epsilon: str) -> str:
    """The activation that has these values of `POINTS`; empty where there is none."""
    near = 4 * float(ml_dtypes.finfo(cd.In("x", epsilon, [1]).dtype.to_numpy()).eps)
    for name in filter(None, ACTIVATIONS):
        wanted = activated(name, POINTS)
        least = numpy.abs(wanted) + 1e-3 * numpy.minimum(numpy.abs(POINTS), 4.0)
        with numpy.errstate(invalid="ignore"):
            if numpy.all(numpy.abs(values - wanted) <= near * least + 1e-12):
                return name
    return ""
