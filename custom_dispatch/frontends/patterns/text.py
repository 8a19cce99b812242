"""Examples that are written in MLIR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iree.compiler import ir

from custom_dispatch.frontends.model import diagnostic
from custom_dispatch.frontends.patterns.example import Example, normalise, read_example
from custom_dispatch.frontends.patterns.pattern import Pattern, wrong


class TextExamples:
    """The examples of a pattern, for every place the same.

    Parameters
    ----------
    module
        The model, in whose context they are parsed.

    Raises
    ------
    DeclarationError
        A text is not valid MLIR, or no example of the kernel.
    """

    def __init__(self, pattern: Pattern, module: ir.Module) -> None:
        self.pattern = pattern
        self._examples = [
            read_example(pattern, parse_example(pattern, text, module.context))
            for text in pattern.computes
        ]

    def roots(self) -> set[str]:
        """The names of the operations that are looked at."""
        return {example.root.name for example in self._examples}

    def at(
        self,
        op: ir.Operation,
        by_name: Mapping[str, list[ir.Operation]],  # noqa: ARG002 - others need it
    ) -> Iterable[Example]:
        """The examples for one place."""
        return [example for example in self._examples if example.root.name == op.name]


def parse_example(pattern: Pattern, text: str, context: ir.Context) -> ir.Module:
    """A text as a module, normalised.

    Raises
    ------
    DeclarationError
        It is not valid MLIR.
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
