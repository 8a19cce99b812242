"""One place where a model calls a kernel by its name: its types, compared with the declaration."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree.compiler import ir

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.ir.tensor_types import (
    Signature,
    Sizes,
    declared_signature,
    function_type,
    tensor_type,
)
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut
from custom_dispatch.kernel.shapes import KnownShapes
from custom_dispatch.link.operations import NODE, known_sizes

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


def resolve(
    what: str, item: Kernel | Choice, operands: Types, results: Types
) -> tuple[CallSite, Signature]:
    """The kernel that a call fits, as far as its types tell, and the type that its function has.

    - `what`: the call, for errors: "The operator `mine.scale` at model.py:7".
    - `operands`, `results`: its types, those of tensors and numbers as MLIR's own.
    """
    alone = isinstance(item, Kernel)

    def fit(kernel: Kernel) -> tuple[CallSite, Signature]:
        site = CallSite(what if alone else f"`{kernel.name}`: it", kernel)
        return site, site.fit(operands, results, as_called=not alone)

    return first_fitting(item, fit, f"{what} fits no kernel of choice `{item.name}`.")


class CallSite:
    """A call of a kernel, in whatever dialect.

    `what`: the call, for errors: "The operator `mine.scale` at model.py:7".
    """

    def __init__(self, what: str, kernel: Kernel) -> None:
        self._what = what
        self.kernel = kernel

    def refusal(self, found: str, expected: str, next_step: str = "") -> LinkError:
        """An error that begins with what the call is."""
        return LinkError(
            f"{self._what} {found}.",
            expected=expected,
            next_step=next_step or "correct the model, or the kernel's declaration.",
        )

    def fit(self, operands: Types, results: Types, *, as_called: bool) -> Signature:
        """Compare the call's types with the kernel's; return that of the function to be called.

        `as_called`: whether the function is to have all sizes that are known, which a choice
        depends on: of a tensor that is absent, that it has no elements.
        """
        kernel, given = self.kernel, self.types(operands, results)
        inputs, outputs = given.inputs, given.outputs
        signature = declared_signature(kernel, leading=self._check_sizes(inputs, outputs))
        if not as_called:
            return signature
        return Signature(
            tuple(
                sizes if kind is not None else (0,) * len(declared)
                for sizes, kind, declared in zip(inputs, operands, signature.inputs, strict=True)
            ),
            tuple(
                inputs[kernel.arguments.index(operand)] if isinstance(operand, InOut) else sizes
                for operand, sizes in zip(kernel.outputs, outputs, strict=True)
            ),
        )

    def types(self, operands: Types, results: Types) -> Signature:
        """The sizes that the types say, which have to be of the declared ranks and elements."""
        kernel = self.kernel
        given = (len(operands), len(results))
        wanted = (len(kernel.arguments), len(kernel.outputs))
        if given != wanted:
            raise self.refusal(
                f"has {given[0]} operands and {given[1]} results",
                f"{wanted[0]} and {wanted[1]}: @{kernel.name}"
                + function_type(kernel, declared_signature(kernel)),
            )
        inputs = zip(kernel.arguments, operands, strict=True)
        outputs = zip(kernel.outputs, results, strict=True)
        return Signature(
            tuple(
                self._sizes(item, kind) if isinstance(item, Buffer) else () for item, kind in inputs
            ),
            tuple(self._sizes(item, kind) for item, kind in outputs),
        )

    def _sizes(self, operand: Buffer, kind: ir.Type | None) -> Sizes:
        if kind is None and operand.optional:
            return (0,) * operand.rank
        if (
            isinstance(kind, ir.RankedTensorType)
            and kind.encoding is None
            and operand.has_rank(kind.rank)
            and str(kind.element_type) == operand.dtype.mlir
        ):
            return known_sizes(kind)
        rank = f"{operand.least_rank} or more" if operand.batched else operand.rank
        raise self.refusal(
            f"has {kind or 'nothing'} for `{operand.name}`",
            f"a tensor of rank {rank} and type {operand.dtype.mlir}: "
            + tensor_type(operand.dtype, (None,) * operand.rank),
        )

    def _check_sizes(self, inputs: Sequence[Sizes], outputs: Sequence[Sizes]) -> int:
        """Compare all that is known of sizes; what is not, is compared when the kernel is called.

        A result's sizes are the model's word for what comes out: they have to follow from the
        declaration.

        `inputs`: the sizes of each of `Kernel.arguments`; of one that is absent, all zero.

        Returns: how many leading dims there are.
        """
        kernel, known = self.kernel, KnownShapes(self.kernel)
        pairs = zip(kernel.arguments, inputs, strict=True)
        try:
            known.bind(
                {
                    item.name: sizes
                    for item, sizes in pairs
                    if isinstance(item, Buffer) and not (item.optional and None in sizes)
                }
            )
            known.require()
            results = known.results()
        except (CallError, DeclarationError) as error:
            raise self.refusal(
                f"does not fit: {error.found.removesuffix('.')}",
                error.expected,
                "correct the model's sizes.",
            ) from None
        for operand, sizes in zip(kernel.outputs, outputs, strict=True):
            self._check_result(operand, sizes, results[operand.name])
        return 1 if known.leading is None else len(known.leading)

    def _check_result(self, operand: Buffer, sizes: Sizes, known: Sequence[object]) -> None:
        if len(sizes) != len(known):
            raise self.refusal(
                f"has a result `{operand.name}` of rank {len(sizes)}",
                f"rank {len(known)}, with the leading dims of the operands",
            )
        for axis, (size, wanted) in enumerate(zip(sizes, known, strict=True)):
            if size is None or size == wanted:
                continue
            is_leading = axis < len(sizes) - operand.least_rank
            what = "leading dims" if is_leading else operand.shape[axis - len(sizes)]
            raise self.refusal(
                f"has a result `{operand.name}` of size {size} in dimension {axis}",
                f"{what} = {wanted}"
                if wanted is not None
                else f"{what}, which is not known before the call",
            )
