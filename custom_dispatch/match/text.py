"""Examples that are written in MLIR."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from iree.compiler import ir

from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.model import diagnostic
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.example import Example, normalise, read_example
from custom_dispatch.match.pattern import Pattern, wrong

_TELLING = re.compile(r"\b(?:math|iree_linalg_ext|linalg)\.(?!yield|fill|index|generic)[a-z_0-9.]+")
"""Operations of an example that nothing else becomes when it is normalised, nor disappears."""
_TENSORS = re.compile(r"tensor<((?:[?0-9]+x)+)([a-z]+[0-9]+)>")
"""The sizes and element types of its tensors, but for those of one number."""


class Texts:
    """The texts that are looked for in a model, each parsed once, whatever kernels it is for.

    Parameters
    ----------
    module
        The model, in whose context they are parsed.
    names
        Those of its operations.
    """

    def __init__(self, module: ir.Module, names: Collection[str]) -> None:
        self._context = module.context
        self._names = frozenset(names)
        kinds = tensors_of(module)
        self._elements = {str(kind.element_type) for kind in kinds}
        self._sizes = {str(size) for kind in kinds for size in kind.shape}
        self._parsed: dict[str, ir.Module] = {}

    def parsed(self, pattern: Pattern, text: str) -> ir.Module:
        """A text as a module, normalised; raises DeclarationError where it is not valid MLIR."""
        if text not in self._parsed:
            self._parsed[text] = parse_example(pattern, text, self._context)
        return self._parsed[text]

    def may_hold(self, text: str) -> bool:
        """Whether the model has the operations that tell an example from others, and its types."""
        if not self._names.issuperset(_TELLING.findall(text)):
            return False
        return all(
            element in self._elements
            and all(size == "?" or size in self._sizes for size in sizes.split("x")[:-1])
            for sizes, element in set(_TENSORS.findall(text))
        )


def tensors_of(module: ir.Module) -> list[ir.RankedTensorType]:
    """The types of what a model's operations take and give, in any dialect."""
    kinds = {value.type for op in operations_of(module) for value in (*op.operands, *op.results)}
    found = [builtin_type(kind) for kind in kinds]
    return [kind for kind in found if isinstance(kind, ir.RankedTensorType)]


class TextExamples:
    """The examples of a pattern, for every place the same.

    One that need not be found is not looked at where the model lacks its operations.

    Raises
    ------
    DeclarationError
        A text is not valid MLIR, or no example of the kernel.
    """

    def __init__(self, pattern: Pattern, texts: Texts) -> None:
        self.pattern = pattern
        self._examples = [
            read_example(pattern, texts.parsed(pattern, text))
            for text in pattern.computes
            if pattern.required or texts.may_hold(text)
        ]

    def roots(self) -> set[str]:
        """The names of the operations that are looked at."""
        return {kind_of(example.root) for example in self._examples}

    def known(self) -> Iterable[Example]:
        """The examples that need no place: all."""
        return self._examples

    def at(
        self,
        op: ir.Operation,
        by_name: Mapping[str, list[ir.Operation]],  # noqa: ARG002 - others need it
    ) -> Iterable[Example]:
        """The examples for one place."""
        return [example for example in self._examples if kind_of(example.root) == kind_of(op)]


def is_of_linalg(pattern: object) -> bool:
    """Whether a pattern is text in the dialects that IREE converts models of StableHLO to."""
    return isinstance(pattern, Pattern) and not any("stablehlo." in t for t in pattern.computes)


def parse_example(pattern: Pattern, text: str, context: ir.Context) -> ir.Module:
    """A text as a module, normalised.

    Raises
    ------
    DeclarationError
        The text is not valid MLIR.
    """
    with context, ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except (ir.MLIRError, ValueError) as error:
            raise wrong(
                pattern.kernel,
                "is not valid MLIR",
                "",
                "correct it where the parser points:",
                log=diagnostic(error),
            ) from None
        normalise(module)
    return module
