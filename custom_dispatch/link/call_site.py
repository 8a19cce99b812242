"""One place where a model calls a kernel by its name: its types, compared with the declaration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.ir.tensor_types import (
    Signature,
    Sizes,
    declared_signature,
    fold_sizes,
    known_dims,
    leading_count,
    tensor_type,
)
from custom_dispatch.kernel.binding import bind_dims, declared_shapes
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting
from custom_dispatch.kernel.evaluation import dims_of, evaluate, for_values, holds
from custom_dispatch.kernel.expr import Condition
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut
from custom_dispatch.link.declarations import said_type, sizes_of
from custom_dispatch.link.operations import NODE

_LOCATION = re.compile(r'"([^"]+)":(\d+)')


def place_of(op: ir.Operation) -> str:
    """Where the model's source has an operation, `" at model.py:7"`; empty where nobody knows."""
    found = _LOCATION.search(str(op.location))
    if found is None:
        named = NODE.fullmatch(str(op.location))
        return f" at `{named[1]}`" if named else ""
    # What is parsed without a name is "-".
    return f" at {found[1]}:{found[2]}" if found[1] != "-" else ""


Types = Sequence[ir.Type | None]
"""Types of operands; None for a tensor that is absent."""


def resolve(what: str, item: Kernel | Choice, operands: Types, results: Types) -> Fitting:
    """The kernel that a call fits, as far as its types tell, and the type that its function has.

    - `what`: the call, for errors: "The operator `mine.scale` at model.py:7".
    - `operands`, `results`: its types, those of tensors and numbers as MLIR's own.
    """
    alone = isinstance(item, Kernel)
    return first_fitting(
        item,
        lambda kernel: CallSite(what if alone else f"`{kernel.name}`: it", kernel).fit(
            operands, results, as_called=not alone
        ),
        f"{what} fits no kernel of choice `{item.name}`.",
    )


@dataclass(frozen=True, slots=True)
class Fitting:
    """A kernel that a call fits."""

    site: CallSite
    kernel: Kernel
    signature: Signature
    """The type of the function to be called."""


class CallSite:
    """A call of a kernel, in whatever dialect.

    `what`: the call, for errors: "The operator `mine.scale` at model.py:7".
    """

    def __init__(self, what: str, kernel: Kernel) -> None:
        self._what = what
        self._kernel = kernel

    def refusal(self, found: str, expected: str, next_step: str = "") -> LinkError:
        """An error that begins with what the call is."""
        return LinkError(
            f"{self._what} {found}.",
            expected=expected,
            next_step=next_step or "correct the model, or the kernel's declaration.",
        )

    def undecided(self, operands: Types) -> tuple[Condition, ...]:
        """What the kernel requires of sizes that the call's types do not tell."""
        inputs = self._inputs(operands)
        if not any(None in sizes for sizes in inputs):
            return ()
        known = self._known_dims(inputs)
        return tuple(
            condition
            for condition in self._kernel.requires
            if any(dim.name not in known for dim in dims_of(condition.left, condition.right))
        )

    def fit(self, operands: Types, results: Types, *, as_called: bool) -> Fitting:
        """Compare the call's types with the kernel's.

        `as_called`: whether the function is to have all sizes that are known, which a choice
        depends on: of a tensor that is absent, that it has no elements.
        """
        kernel = self._kernel
        given = (len(operands), len(results))
        wanted = (len(kernel.arguments), len(kernel.outputs))
        if given != wanted:
            raise self.refusal(
                f"has {given[0]} operands and {given[1]} results",
                f"{wanted[0]} and {wanted[1]}, as kernel `{kernel.name}` is declared",
            )
        inputs = self._inputs(operands)
        outputs = [
            self._sizes(operand, kind)
            for operand, kind in zip(kernel.outputs, results, strict=True)
        ]
        signature = declared_signature(kernel, leading=self.check_sizes(inputs, outputs))
        if as_called:
            signature = Signature(
                tuple(
                    sizes if kind is not None else (0,) * len(declared)
                    for sizes, kind, declared in zip(
                        inputs, operands, signature.inputs, strict=True
                    )
                ),
                tuple(
                    inputs[kernel.arguments.index(operand)] if isinstance(operand, InOut) else sizes
                    for operand, sizes in zip(kernel.outputs, outputs, strict=True)
                ),
            )
        return Fitting(self, kernel, signature)

    def _inputs(self, operands: Types) -> list[Sizes]:
        return [
            self._sizes(operand, kind) if isinstance(operand, Buffer) else ()
            for operand, kind in zip(self._kernel.arguments, operands, strict=True)
        ]

    def _sizes(self, operand: Buffer, kind: ir.Type | None) -> Sizes:
        if kind is None and operand.optional:
            return (0,) * operand.rank
        sizes = sizes_of(operand, kind)
        if sizes is None:
            wanted = tensor_type(operand.dtype, (None,) * operand.rank)
            raise self.refusal(
                f"has {kind or 'nothing'} for `{operand.name}`", f"{said_type(operand)}: {wanted}"
            )
        return sizes

    def check_sizes(self, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
        """Compare all that is known of sizes; what is not, is compared when the kernel is called.

        A result's sizes are the model's word for what comes out: they have to follow from the
        declaration.

        `inputs`: the sizes of each of `Kernel.arguments`; of one that is absent, all zero.

        Returns: how many leading dims there are.
        """
        leading = self._leading(inputs)
        try:
            known = self._known_dims(inputs)
            for operand, sizes in zip(self._kernel.outputs, outputs, strict=True):
                self._check_result(operand, sizes, leading, known)
            self._check_requirements(known)
        except (CallError, DeclarationError) as error:
            raise self.refusal(
                f"does not fit: {error.found.removesuffix('.')}",
                error.expected,
                "correct the model's sizes.",
            ) from None
        return 1 if leading is None else len(leading)

    def _leading(self, inputs: Sequence[Sizes]) -> Sizes | None:
        """What is known of the leading dims, from all operands together."""
        first = ""
        leading: Sizes | None = None
        for operand, sizes in zip(self._kernel.arguments, inputs, strict=True):
            if not isinstance(operand, Buffer) or not operand.batched:
                continue
            if operand.optional and 0 in sizes:
                continue
            found = sizes[: leading_count(operand, sizes)]
            if leading is None:
                first, leading = operand.name, found
                continue
            pairs = list(zip(leading, found, strict=False))
            if len(leading) != len(found) or any(
                None not in pair and pair[0] != pair[1] for pair in pairs
            ):
                raise self.refusal(
                    f"has leading dims that disagree: [{_listed(leading)}] of `{first}`, and "
                    f"[{_listed(found)}] of `{operand.name}`",
                    f"the same ones everywhere: {declared_shapes(self._kernel)}",
                    "correct the model's sizes, or broadcast there.",
                )
            leading = tuple(b if a is None else a for a, b in pairs)
        return leading

    def _known_dims(self, inputs: Sequence[Sizes]) -> dict[str, int]:
        kernel, numbers = self._kernel, {}
        for operand, sizes in zip(kernel.arguments, inputs, strict=True):
            if None in sizes:
                return known_dims(kernel, Signature(tuple(inputs), ()))
            numbers[operand.name] = [size for size in sizes if size is not None]
        return bind_dims(kernel, numbers)

    def _check_requirements(self, known: Mapping[str, int]) -> None:
        for condition in self._kernel.requires:
            dims = dims_of(condition.left, condition.right)
            if all(dim.name in known for dim in dims) and not holds(condition, known):
                raise self.refusal(
                    f"does not fit: kernel `{self._kernel.name}` requires {condition}, which does "
                    f"not hold{for_values(condition, known)}",
                    ", ".join(map(str, self._kernel.requires)),
                )

    def _check_result(
        self, operand: Buffer, sizes: Sizes, leading: Sizes | None, known: Mapping[str, int]
    ) -> None:
        if operand.batched and leading is not None:
            found = sizes[: leading_count(operand, sizes)]
            if len(found) != len(leading) or any(
                size is not None and size != wanted
                for size, wanted in zip(found, leading, strict=True)
            ):
                raise self.refusal(
                    f"has a result `{operand.name}` with the leading dims [{_listed(found)}]",
                    f"those of the operands: [{_listed(leading)}]",
                )
        folded = fold_sizes(operand, sizes)
        more = len(sizes) - len(folded)
        for axis, (expr, size) in enumerate(zip(operand.shape, folded, strict=True)):
            if size is None or (operand.batched and axis == 0):
                continue
            certain = all(dim.name in known for dim in dims_of(expr))
            if not certain or evaluate(expr, known) != size:
                raise self.refusal(
                    f"has a result `{operand.name}` of size {size} in dimension {axis + more}",
                    f"{expr} = {evaluate(expr, known)}"
                    if certain
                    else f"{expr}, which is not known before the call",
                )


def _listed(sizes: Sizes) -> str:
    return ", ".join("?" if size is None else str(size) for size in sizes)
