"""The file of a table: JSON that `custom-dispatch tune` writes, and people review and may edit.

A table that is damaged, or says two things of one, is refused: what it decides is which code runs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.plain_data import UNREADABLE, read

VERSION = 2


@dataclass(frozen=True, slots=True)
class TuningTable:
    """What was measured of one choice, one entry a target."""

    choice: str
    measured: tuple[Measured, ...]

    def for_target(self, target: Target) -> tuple[Measured, ...]:
        """What was measured for a target: on each device."""
        return tuple(item for item in self.measured if item.target == target)

    def with_measured(self, measured: Measured) -> TuningTable:
        """The same with what was measured now.

        What was measured for that target on the same device before is kept if it was by the same
        compiler and of the same kernels, but for sizes that were measured again.
        """
        key = measured.target, measured.device
        others = [item for item in self.measured if (item.target, item.device) != key]
        for before in self.measured:
            if before.target == measured.target and before.is_like(measured):
                again = [item.dims for item in measured.sizes]
                kept = [item for item in before.sizes if item.dims not in again]
                models = {**before.models, **measured.models}
                measured = replace(measured, sizes=(*kept, *measured.sizes), models=models)
        return replace(self, measured=(*others, measured))

    def text(self) -> str:
        """As JSON, one line for the results of some sizes."""
        content = {
            "version": VERSION,
            "choice": self.choice,
            "measured": [asdict(_Entry.of(item)) for item in self.measured],
        }
        return _LINES.sub(_on_one_line, json.dumps(content, indent=1)) + "\n"


_LINES = re.compile(r'\[\s+\d[^]]*]|\{\s+"places"[^}]*}|"dims": \[[^]]*]')
"""A row of results, a model, and what a row begins with."""


def _on_one_line(found: re.Match[str]) -> str:
    return re.sub(r"\n\s*", "", re.sub(r",\n\s+", ", ", found[0]))


@dataclass(frozen=True, slots=True)
class _Entry:
    """What was measured on one device, as the file has it."""

    target: str
    device: str
    compiler: str
    date: str
    digests: Mapping[str, str]
    models: Mapping[str, Mapping[str, float]]
    """The seconds of each part, and first the places."""
    dims: tuple[str, ...]
    kernels: tuple[str, ...]
    sizes: Any
    """A row for each: the dims, then microseconds or a problem, kernel by kernel."""
    scalars: Mapping[str, float | int] = field(default_factory=dict)

    @classmethod
    def of(cls, measured: Measured) -> _Entry:
        """The entry of a table."""
        named = [result.kernel for sizes in measured.sizes for result in sizes.results]
        kernels = tuple(dict.fromkeys([*measured.digests, *named]))
        dims = tuple(measured.sizes[0].dims) if measured.sizes else ()
        rows = []
        for sizes in measured.sizes:
            of = {r.kernel: r.problem or _rounded(1e6 * (r.seconds or 0)) for r in sizes.results}
            rows.append([*(sizes.dims[name] for name in dims), *map(of.get, kernels)])
        models = {
            name: {
                "places": model.places,
                **{part: _rounded(s) for part, s in model.seconds.items()},
            }
            for name, model in measured.models.items()
        }
        about = str(measured.target), measured.device, measured.compiler, measured.date
        scalars = dict(measured.scalars)
        return cls(*about, dict(measured.digests), models, dims, kernels, rows, scalars)

    def measured(self) -> Measured:
        """What it says; raises `ValueError` where it is not so."""
        width, sizes = len(self.dims), []
        every = [row[:width] for row in self.sizes]
        if twice := [row for at, row in enumerate(every) if row in every[:at]]:
            said = sizes_said(dict(zip(self.dims, twice[0], strict=True)))
            raise ValueError(f"{said} is there twice")
        if unknown := sorted({*self.kernels, *self.models} - {*self.digests}):
            raise ValueError(f"it does not say from which source `{unknown[0]}` is")
        if len({*self.kernels}) < len(self.kernels):
            raise ValueError("a kernel is there twice")
        for row in self.sizes:
            cells = [*zip(self.kernels, row[width:], strict=True)]
            results = [
                Result(name, None, cell)
                if isinstance(cell, str)
                else Result(name, _leaf(float, cell) / 1e6)
                for name, cell in cells
                if cell is not None
            ]
            values = [_leaf(int, size) for size in row[:width]]
            sizes.append(MeasuredSizes(dict(zip(self.dims, values, strict=True)), tuple(results)))
        models = {}
        for name, found in self.models.items():
            parts = dict(found)
            models[name] = TimeModel(int(parts.pop("places")), parts)
        target = Target.parse(self.target)
        about = target, self.device, self.compiler, self.date, self.digests
        return Measured(*about, tuple(sizes), self.scalars, models)


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")


def _leaf(kind: Any, value: Any) -> Any:
    """As `custom_dispatch.plain_data.read` has it."""
    if kind is Any:
        return value
    is_number = type(value) in (int, float) and abs(value) < math.inf
    fits = {
        str: type(value) is str,
        int: type(value) is int and 0 <= value < 2**63,
        float: is_number and value > 0,
        float | int: is_number,
    }
    if not fits.get(kind, False):
        raise ValueError(f"{value!r:.80} is no {kind}")
    return value


def read_table(text: str, where: str, choice: str) -> TuningTable:
    """A table from its text.

    - `where`: what the file is called, for errors.
    - `choice`: the choice that it is for.
    """
    version, name, why = None, choice, ""
    measured: tuple[Measured, ...] = ()
    try:
        content = json.loads(text, object_pairs_hook=_object)
        version, name = content["version"], content["choice"]
        said = content["measured"] if (version, name) == (VERSION, choice) else []
        measured = tuple(item.measured() for item in read(tuple[_Entry, ...], said, _leaf))
        if len({(item.target, item.device) for item in measured}) < len(measured):
            raise ValueError("two entries for a target and a device")
    except UNREADABLE as error:
        version, why = None, f": {error}" if type(error) is ValueError else ""
    if version != VERSION or name != choice:
        found = (
            f"is that of `{name}`"
            if name != choice
            else f"is damaged, or of a form that this package does not read{why}"
        )
        raise DeclarationError(
            f"Choice `{choice}`: its table `{where}` {found}.",
            expected=f"what `custom-dispatch tune` writes for `{choice}`",
            next_step="measure again, or remove the file: the kernels are then taken in order.",
        )
    return TuningTable(choice, measured)


def sizes_said(dims: Mapping[str, int]) -> str:
    """As messages name sizes: m=1 n=4096."""
    return " ".join(f"{name}={size}" for name, size in dims.items()) or "no sizes"


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose names may not be repeated: Python would take the last."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)
