"""The file of a table: JSON that `custom-dispatch tune` writes, and people review and may edit.

A table that is damaged, or says two things of one, is refused: what it decides is which code runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, Result
from custom_dispatch.plain_data import UNREADABLE, read

VERSION = 1


@dataclass(frozen=True, slots=True)
class TuningTable:
    """What was measured of one choice, one entry a target."""

    choice: str
    measured: tuple[Measured, ...]

    def for_target(self, target: Target) -> Measured | None:
        """What was measured for a target; None where nothing was."""
        return next((item for item in self.measured if item.target == target), None)

    def with_measured(self, measured: Measured) -> TuningTable:
        """The same with what was measured now.

        What was measured for that target before is kept if it was on the same device, by the same
        compiler and of the same kernels, but for sizes that were measured again.
        """
        others = [item for item in self.measured if item.target != measured.target]
        before = self.for_target(measured.target)
        if before is not None and before.is_like(measured):
            again = [item.dims for item in measured.sizes]
            kept = [item for item in before.sizes if item.dims not in again]
            measured = replace(measured, sizes=(*kept, *measured.sizes))
        return replace(self, measured=(*others, measured))

    def text(self) -> str:
        """As JSON, one line a result."""
        measured = [
            {
                "target": str(item.target),
                "device": item.device,
                "compiler": item.compiler,
                "date": item.date,
                **({"scalars": dict(item.scalars)} if item.scalars else {}),
                "digests": dict(item.digests),
                "sizes": [
                    {"dims": dict(sizes.dims), "results": [_as_data(r) for r in sizes.results]}
                    for sizes in item.sizes
                ],
            }
            for item in self.measured
        ]
        content = {"version": VERSION, "choice": self.choice, "measured": measured}
        # A result is a line, as are the sizes that it is for.
        return _INNERMOST.sub(_on_one_line, json.dumps(content, indent=1)) + "\n"


_INNERMOST = re.compile(r'(?:\{\s+"kernel"|"dims": \{)[^{}]*\}')


def _on_one_line(found: re.Match[str]) -> str:
    return re.sub(r"\n\s*", "", re.sub(r",\n\s+", ", ", found[0]))


def _as_data(result: Result) -> dict[str, Any]:
    if result.seconds is None:
        return {"kernel": result.kernel, "problem": result.problem}
    return {"kernel": result.kernel, "seconds": float(f"{result.seconds:.4g}")}


def read_table(text: str, where: str, choice: str) -> TuningTable:
    """A table from its text.

    - `where`: what the file is called, for errors.
    - `choice`: the choice that it is for.
    """
    try:
        content = json.loads(text, object_pairs_hook=_object)
        version, name = content["version"], content["choice"]
        said = content["measured"] if version == VERSION else []
        measured = tuple(map(_checked, read(tuple[Measured, ...], said, _leaf)))
    except UNREADABLE:
        version, name, measured = None, choice, ()
    if version != VERSION or name != choice:
        found = (
            f"is that of `{name}`"
            if name != choice
            else "is damaged, or of a form that this package does not read"
        )
        raise DeclarationError(
            f"Choice `{choice}`: its table `{where}` {found}.",
            expected=f"what `custom-dispatch tune` writes for `{choice}`",
            next_step="measure again, or remove the file: the kernels are then taken in order.",
        )
    contradiction = _contradiction(measured)
    if contradiction:
        found, expected = contradiction
        raise DeclarationError(
            f"Choice `{choice}`: its table `{where}` {found}.",
            expected=expected,
            next_step="remove what is not so from the file, or measure again.",
        )
    return TuningTable(choice, measured)


def _contradiction(measured: Sequence[Measured]) -> tuple[str, str] | None:
    """What a table says twice, or says and does not back, and what is expected; None if nothing."""
    twice = _repeated(item.target for item in measured)
    if twice is not None:
        return f"has two entries for {twice}", "one for each target"
    for item in measured:
        on = f"on {item.target}"
        several = _repeated(frozenset(sizes.dims.items()) for sizes in item.sizes)
        if several is not None:
            return f"has {sizes_said(dict(sorted(several)))} {on} twice", "each of the sizes once"
        for sizes in item.sizes:
            repeated = _repeated(result.kernel for result in sizes.results)
            if repeated is not None:
                said = sizes_said(sizes.dims)
                return f"has two results of `{repeated}` {on} for {said}", "one for each kernel"
        timed = {name for sizes in item.sizes for name in sizes.seconds}
        if unknown := sorted(timed - set(item.digests)):
            return (
                f"times `{unknown[0]}` {on}, and does not say from which source",
                "a digest for each kernel that was timed",
            )
    return None


def _repeated(values: Iterable[Any]) -> Any | None:
    seen = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def sizes_said(dims: Mapping[str, int]) -> str:
    """As messages name sizes: m=1 n=4096."""
    return " ".join(f"{name}={size}" for name, size in dims.items()) or "no sizes"


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose names may not be repeated: Python would take the last."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def _checked(measured: Measured) -> Measured:
    """What was read, where it could have been measured."""
    if len({frozenset(sizes.dims) for sizes in measured.sizes}) > 1:
        raise ValueError("sizes of different dims")
    results = [result for sizes in measured.sizes for result in sizes.results]
    if any((item.seconds is None) == (not item.problem) for item in results):
        raise ValueError("neither a time nor a problem")
    return measured


def _leaf(kind: Any, value: Any) -> Any:
    """As `custom_dispatch.plain_data.read` has it."""
    if kind is Target:
        return Target.parse(value)
    is_number = type(value) in (int, float) and abs(value) < math.inf
    fits = {
        str: type(value) is str,
        int: type(value) is int and 0 <= value < 2**63,
        float: type(value) is float and is_number and value > 0,
        float | int: is_number,
    }
    if not fits.get(kind, False):
        raise ValueError(f"{value!r:.80} is no {kind}")
    return value
