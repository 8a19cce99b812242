"""What was measured of a choice's kernels, and which of them is best for a call because of it.

A table is data that `custom-dispatch tune` writes and `cd.compile` reads without a GPU: for each
target the seconds that every kernel took for some sizes, or why it has none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.target import Target

VERSION = 1
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Result:
    """One kernel for some sizes."""

    kernel: str
    seconds: float | None
    """The median; None where it could not be measured."""
    problem: str = ""
    """Why not: it spills, does not fit, gave wrong results, failed."""


@dataclass(frozen=True, slots=True)
class MeasuredSizes:
    """Every kernel for the same sizes."""

    dims: Mapping[str, int]
    results: tuple[Result, ...]

    @property
    def seconds(self) -> dict[str, float]:
        """The kernels that were measured."""
        return {item.kernel: item.seconds for item in self.results if item.seconds is not None}

    def distance(self, dims: Mapping[str, int]) -> float:
        """How far other sizes are: the factors between them, as powers of two; 0 if the same."""
        known = [(size, dims[name]) for name, size in self.dims.items() if name in dims]
        return sum(abs(math.log2(max(a, 1) / max(b, 1))) for a, b in known)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on one device."""

    target: Target
    device: str
    compiler: str
    date: str
    """As 2026-11-21."""
    digests: Mapping[str, str]
    """What each kernel was built from, by its name."""
    sizes: tuple[MeasuredSizes, ...]

    def ranked(self, names: Sequence[str], dims: Mapping[str, int]) -> tuple[str, ...]:
        """Kernels, the best for some sizes first; those that were not measured last, as they come.

        What counts are the measured sizes that are nearest, as far as sizes are known; of several,
        the geometric mean of how much longer a kernel takes than the best one.

        Parameters
        ----------
        dims
            The sizes that are known: none, where only the call tells.
        """
        distances = [item.distance(dims) for item in self.sizes]
        nearest = [
            item
            for item, distance in zip(self.sizes, distances, strict=True)
            if distance <= min(distances) + _CLOSE and item.seconds
        ]

        def slowness(name: str) -> float:
            total = 0.0
            for item in nearest:
                if name not in item.seconds:
                    return math.inf
                total += math.log(item.seconds[name] / min(item.seconds.values()))
            return total if nearest else math.inf

        return tuple(sorted(names, key=slowness))

    def best(self, names: Sequence[str]) -> tuple[str, ...]:
        """The kernels that are the best of these for some measured sizes, or for all together."""
        wanted: list[Mapping[str, int]] = [{}, *(item.dims for item in self.sizes)]
        return tuple(dict.fromkeys(self.ranked(names, dims)[0] for dims in wanted))

    def without(self, kernels: Sequence[str]) -> Measured:
        """The same as if some kernels had not been measured."""
        sizes = tuple(
            replace(item, results=tuple(r for r in item.results if r.kernel not in kernels))
            for item in self.sizes
        )
        return replace(self, sizes=sizes)


@dataclass(frozen=True, slots=True)
class TuningTable:
    """What was measured of one choice, one entry a target."""

    choice: str
    measured: tuple[Measured, ...]

    def for_targets(self, targets: Sequence[Target]) -> Measured | None:
        """What was measured for the first of some targets that was."""
        found = {item.target: item for item in self.measured}
        return next((found[target] for target in targets if target in found), None)

    def with_measured(self, measured: Measured) -> TuningTable:
        """The same with what was measured now, in the place of what was for that target before."""
        others = [item for item in self.measured if item.target != measured.target]
        return replace(self, measured=(*others, measured))

    def text(self) -> str:
        """As JSON, one line a result."""
        measured = [
            {
                "target": str(item.target),
                "device": item.device,
                "compiler": item.compiler,
                "date": item.date,
                "digests": dict(item.digests),
                "sizes": [
                    {"dims": dict(sizes.dims), "results": [_as_data(r) for r in sizes.results]}
                    for sizes in item.sizes
                ],
            }
            for item in self.measured
        ]
        content = {"version": VERSION, "choice": self.choice, "measured": measured}
        return json.dumps(content, indent=1) + "\n"


def _as_data(result: Result) -> dict[str, Any]:
    if result.seconds is None:
        return {"kernel": result.kernel, "problem": result.problem}
    return {"kernel": result.kernel, "seconds": result.seconds}


def read_table(text: str, where: str, choice: str) -> TuningTable:
    """A table from its text.

    Parameters
    ----------
    where
        What the file is called, for errors.
    choice
        The choice that it is for.

    Raises
    ------
    DeclarationError
        It is no table, one of a later form, or that of another choice.
    """
    try:
        content = json.loads(text)
        version, name = content["version"], content["choice"]
        measured = tuple(map(_measured, content["measured"])) if version == VERSION else ()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
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
    return TuningTable(choice, measured)


def _measured(item: Any) -> Measured:
    return Measured(
        Target.parse(item["target"]),
        _text(item["device"]),
        _text(item["compiler"]),
        _text(item["date"]),
        {_text(name): _text(digest) for name, digest in item["digests"].items()},
        tuple(
            MeasuredSizes(
                {_text(name): _size(size) for name, size in sizes["dims"].items()},
                tuple(map(_result, sizes["results"])),
            )
            for sizes in item["sizes"]
        ),
    )


def _result(item: Any) -> Result:
    if "seconds" not in item:
        return Result(_text(item["kernel"]), None, _text(item["problem"]))
    seconds = item["seconds"]
    if not isinstance(seconds, float) or not 0 < seconds < math.inf:
        raise ValueError("no time")
    return Result(_text(item["kernel"]), seconds)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("no size")
    return value
