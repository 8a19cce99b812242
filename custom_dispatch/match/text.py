"""A model that patterns are looked for in, and examples that are written in MLIR."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from iree.compiler import ir

from custom_dispatch.kernel.evaluation import dims_of, evaluate
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.link.model import diagnostic
from custom_dispatch.link.operations import has_operation, kind_of, operations_of
from custom_dispatch.match.converted_examples import TORCH, convert_examples
from custom_dispatch.match.example import Example, normalise, read_example
from custom_dispatch.match.pattern import Pattern, Replaceable, wrong
from custom_dispatch.match.sizes import ANY_SIZES, any_sizes
from custom_dispatch.match.state import Miss

_TELLING = re.compile(r"\b(?:math|iree_linalg_ext|linalg)\.(?!yield|fill|index|generic)[a-z_0-9.]+")
"""Operations of an example that nothing else becomes when it is normalised, nor disappears."""
_TELLING_TORCH = re.compile(r"\btorch\.aten\.(?!(?:size|floordiv)\.int)[\w.]+")
_TENSORS = re.compile(r"tensor<\[?((?:[?0-9]+[x,])*(?:[?0-9]+\],|(?<=x)))((?:b?f|i)[0-9]+)>")
"""The sizes and element types of its tensors, but for those of one number."""


def text_examples(pattern: Pattern, model: Searched) -> Examples:
    """The examples of a pattern over MLIR.

    One that need not be found is not looked at where the model lacks its operations.
    """
    found = [
        read_example(pattern, model.parsed(pattern, text))
        for text in pattern.computes
        if pattern.required or model.may_hold_text(text)
    ]
    return Examples(pattern, found)


class Examples:
    """What places of a model are compared with.

    - `pattern`: the pattern that the examples are of.
    - `known`: those that need no place.
    """

    def __init__(self, pattern: Replaceable, known: Collection[Example]) -> None:
        self.pattern = pattern
        self.known = known

    def roots(self) -> set[str]:
        """The kinds of the operations that are looked at."""
        return {kind_of(example.root) for example in self.known}

    def at(
        self,
        op: ir.Operation,
        by_name: Mapping[str, list[ir.Operation]],  # noqa: ARG002 - others need it
    ) -> Iterable[Example | tuple[Miss, Example | None]]:
        """The examples for one place, or why there is none.

        Beside the reason is what the place may look like; None where all but sizes fits.
        """
        kind = kind_of(op)
        return [example for example in self.known if kind_of(example.root) == kind]


def is_of_linalg(pattern: object) -> bool:
    """Whether a pattern is text in the dialects that IREE converts models to, or in torch's.

    The latter is converted as the model is: importers write one computation in several ways there.
    """
    return isinstance(pattern, Pattern) and not any("stablehlo." in t for t in pattern.computes)


_FLOATS = ("f16", "bf16", "f32", "f64")
"""Types that kernels and MLIR call the same."""


class Searched:
    """A model, which stays as it is while patterns are looked for.

    `names`: those of its operations.
    """

    def __init__(self, module: ir.Module, names: Collection[str]) -> None:
        self.module = module
        self.names = frozenset(names)
        self._parsed: dict[str, ir.Module] = {}
        self._lacking: Collection[str] = ()
        """Texts that IREE cannot convert whole."""

    @cached_property
    def _is_of_torch(self) -> bool:
        return any(name.startswith(TORCH) for name in self.names)

    @cached_property
    def tensors(self) -> tuple[ir.RankedTensorType, ...]:
        """The types of what its operations take and give, in any dialect."""
        ops = operations_of(self.module)
        kinds = {value.type for op in ops for value in (*op.operands, *op.results)}
        with self.module.context:
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

    def may_hold(self, pattern: Replaceable) -> bool:
        """Whether it has tensors of the types and sizes of a kernel's operands and result at all.

        Examples take time.
        """
        is_open = any(not kind.has_static_shape for kind in self.tensors)
        return self._may_give(pattern) and all(
            (item.dtype.name not in _FLOATS or item.dtype.name in self.elements)
            and all(
                is_open or dims_of(size) or evaluate(size, {}) in {0, 1, *self.sizes}
                for size in item.shape
            )
            for item in pattern.kernel.inputs
            if isinstance(item, Buffer) and not item.optional
        )

    def _may_give(self, pattern: Replaceable) -> bool:
        wanted = pattern.kernel.outputs[0]
        tail = wanted.shape[int(wanted.batched) :]
        tail = tuple(tail[axis] for axis in pattern.axes.get(wanted.name, range(len(tail))))
        return any(
            str(kind.element_type).removeprefix("u") == wanted.dtype.mlir
            and wanted.has_rank(kind.rank)
            and all(
                ir.ShapedType.is_dynamic_size(size) or dims_of(expr) or evaluate(expr, {}) == size
                for expr, size in zip(reversed(tail), reversed(kind.shape), strict=False)
            )
            for kind in self.tensors
        )

    def may_hold_text(self, text: str) -> bool:
        """Whether it has the operations that tell an example from others, and its types."""
        if text in self._lacking:
            return False
        telling = _TELLING_TORCH if self._is_of_torch else _TELLING
        is_same_dialect = self._is_of_torch or TORCH not in text
        if is_same_dialect and not self.names.issuperset(telling.findall(text)):
            return False
        known = {1, *self.sizes, *any_sizes(text.partition(ANY_SIZES)[2])}
        return all(
            element in self.elements and known.issuperset(map(int, re.findall(r"\d+", sizes)))
            for sizes, element in set(_TENSORS.findall(text))
        )

    def convert(self, patterns: Iterable[object]) -> None:
        """Convert what it may hold of patterns in the torch dialect, all at once."""
        texts = {
            text: (pattern, self.parsed(pattern, text))
            for pattern in patterns
            if isinstance(pattern, Pattern)
            for text in pattern.computes
            if TORCH in text and (pattern.required or self.may_hold_text(text))
        }
        if texts and not self._is_of_torch:
            self._parsed |= convert_examples(texts)
            self._lacking = {text for text in texts if has_operation(self._parsed[text], TORCH)}

    def parsed(self, pattern: Replaceable, text: str) -> ir.Module:
        """A text as a module, normalised: parsed once, whatever kernels it is for."""
        if text not in self._parsed:
            with self.module.context, ir.Location.unknown():
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
            self._parsed[text] = module
        return self._parsed[text]
