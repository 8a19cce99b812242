"""Examples that are written in MLIR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from iree.compiler import ir

from custom_dispatch.link.model import diagnostic
from custom_dispatch.link.operations import kind_of
from custom_dispatch.match.example import Example, normalise, read_example
from custom_dispatch.match.pattern import Pattern, Replaceable, wrong
from custom_dispatch.match.searched import Searched

_TELLING = re.compile(r"\b(?:math|iree_linalg_ext|linalg)\.(?!yield|fill|index|generic)[a-z_0-9.]+")
"""Operations of an example that nothing else becomes when it is normalised, nor disappears."""
_TENSORS = re.compile(r"tensor<((?:[?0-9]+x)+)([a-z]+[0-9]+)>")
"""The sizes and element types of its tensors, but for those of one number."""


class Texts:
    """The texts that are looked for in a model, each parsed once, whatever kernels it is for."""

    def __init__(self, model: Searched) -> None:
        self._model = model
        self._sizes = {str(size) for size in model.sizes}
        self._parsed: dict[str, ir.Module] = {}

    def parsed(self, pattern: Pattern, text: str) -> ir.Module:
        """A text as a module, normalised; raises DeclarationError where it is not valid MLIR."""
        if text not in self._parsed:
            self._parsed[text] = parse_example(pattern, text, self._model.module.context)
        return self._parsed[text]

    def may_hold(self, text: str) -> bool:
        """Whether the model has the operations that tell an example from others, and its types."""
        if not self._model.names.issuperset(_TELLING.findall(text)):
            return False
        return all(
            element in self._model.elements
            and all(size == "?" or size in self._sizes for size in sizes.split("x")[:-1])
            for sizes, element in set(_TENSORS.findall(text))
        )


def text_examples(pattern: Pattern, texts: Texts) -> KnownExamples:
    """The examples of a pattern over MLIR.

    One that need not be found is not looked at where the model lacks its operations.

    Raises
    ------
    DeclarationError
        A text is not valid MLIR, or no example of the kernel.
    """
    found = [
        read_example(pattern, texts.parsed(pattern, text))
        for text in pattern.computes
        if pattern.required or texts.may_hold(text)
    ]
    return KnownExamples(pattern, found)


class KnownExamples:
    """Examples that are the same for every place."""

    def __init__(self, pattern: Replaceable, examples: Sequence[Example]) -> None:
        self.pattern = pattern
        self._examples = examples

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
        kind = kind_of(op)
        return [example for example in self._examples if kind_of(example.root) == kind]


def is_of_linalg(pattern: object) -> bool:
    """Whether a pattern is text in the dialects that IREE converts models of StableHLO to."""
    others = ("stablehlo.", "torch.")
    return isinstance(pattern, Pattern) and not any(
        word in text for text in pattern.computes for word in others
    )


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
