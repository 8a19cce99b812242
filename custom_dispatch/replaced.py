"""What of a model was replaced by kernels, and what nearly was: data, and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from custom_dispatch.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in a model."""

    module: str
    """The path of the module that computes it: "layers.0.norm"; empty for the model itself."""
    source: str
    """The line of the user's source, "model.py:31"; empty where the model does not say."""
    function: str = ""
    """The function of the module that it is in, where a module has several."""

    def __str__(self) -> str:
        parts = [f"`{self._path}`" if self._path else "", self.source]
        return " at ".join(part for part in parts if part) or "the model"

    @property
    def _path(self) -> str:
        return ": ".join(part for part in (self.function, self.module) if part)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A place where a kernel was put."""

    kernel: str
    place: Place
    operations: tuple[str, ...]
    """The operations that it stands for, in the model's order: "aten.rsqrt.default"."""
    scalars: dict[str, Any] = field(default_factory=dict)
    """The numbers of the model that it takes, by the names of its scalars."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place that looks alike, and computes something else."""

    kernel: str
    place: Place
    reason: str
    """The first difference, as a sentence without its stop."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """Operations of one kind that stay with IREE."""

    kind: str
    """"attention", "product", "convolution", "norm" or "softmax"."""
    count: int
    of: int
    """How many the model has, those that kernels took among them."""
    types: tuple[str, ...]
    """What they give: "tensor<2x4x16x80xbf16>"."""
    faster: int = 0
    """How many stay because IREE's code is faster."""

    def __str__(self) -> str:
        """A sentence: 2 of 2 attentions stay with IREE: tensor<2x4x16x80xbf16>."""
        plural = "es" if self.kind.endswith("x") else "s"
        named = self.kind + (plural if self.of != 1 else "")
        shown = ", ".join(self.types[:_MOST_TYPES]) + (", ..." * (len(self.types) > _MOST_TYPES))
        why = ", whose code is faster" if self.faster else ""
        why += f" for {self.faster}" if 0 < self.faster < self.count else ""
        stay = "stays" if self.count == 1 else "stay"
        return f"{self.count} of {self.of} {named} {stay} with IREE{why}: {shown}"


_MOST_TYPES = 3
_NOTHING = Remaining("", 0, 0, ())


@dataclass(frozen=True, slots=True)
class Replaced:
    """What became of `replace=`. Its length is the number of places that were replaced."""

    replacements: tuple[Replacement, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    """What is worth a kernel and has none."""

    def __len__(self) -> int:
        return len(self.replacements)

    def __iter__(self) -> Iterator[Replacement]:
        return iter(self.replacements)

    def of(self, kernel: str) -> tuple[Replacement, ...]:
        """The places where one kernel was put."""
        return tuple(item for item in self.replacements if item.kernel == kernel)

    def and_those(self, others: Replaced) -> Replaced:
        """These, and those of a later search in the same model."""
        before = {item.kind: item for item in self.remaining}
        remaining = tuple(
            replace(item, of=item.of + its.of - its.count, faster=max(item.faster, its.faster))
            for item in others.remaining
            for its in [before.get(item.kind, _NOTHING)]
        )
        return Replaced(
            (*self.replacements, *others.replacements),
            (*self.near_misses, *others.near_misses),
            remaining,
        )

    def __str__(self) -> str:
        """Two tables and what remains, as `print` shows them."""
        lines = ["No place was replaced."]
        if self.replacements:
            lines = _lines(_COLUMNS, self._rows)
        if self.near_misses:
            lines += ["", *near_miss_lines(self.near_misses)]
        if self.remaining:
            lines += ["", *map(str, self.remaining)]
        return "\n".join(lines)

    def __rich__(self) -> Any:
        """The same for rich's `print`."""
        from rich.console import Group
        from rich.table import Table

        first, second = Table(*_COLUMNS, title="Replaced"), Table(*_MISSED, title="Near misses")
        for row in self._rows:
            first.add_row(*row)
        for row in _near_rows(self.near_misses):
            second.add_row(*row)
        return Group(first, *[second] * bool(self.near_misses), *map(str, self.remaining))

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                item.kernel,
                item.place._path or "-",
                item.place.source or "-",
                ", ".join(f"{key}={value!r}" for key, value in item.scalars.items()) or "-",
            )
            for item in self.replacements
        ]


_COLUMNS = ("replaced by", "in", "at", "with")
_MISSED = ("not replaced by", "in", "at", "because")


def near_miss_lines(misses: tuple[NearMiss, ...]) -> list[str]:
    """Near misses as a table of text: what several places share is said once."""
    return _lines(_MISSED, _near_rows(misses))


def _near_rows(misses: Sequence[NearMiss]) -> list[tuple[str, ...]]:
    """A row for each kernel and reason: the first place, and how many are like it."""
    alike: dict[tuple[str, str], list[Place]] = {}
    for item in misses:
        alike.setdefault((item.kernel, item.reason), []).append(item.place)
    return [
        (
            kernel,
            (places[0]._path or "-") + f" and {len(places) - 1} more" * (len(places) > 1),
            places[0].source or "-",
            reason,
        )
        for (kernel, reason), places in alike.items()
    ]


def _lines(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    from custom_dispatch.tables import plain_lines

    return plain_lines(columns, rows)
