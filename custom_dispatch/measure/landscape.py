"""How much longer than the best each kernel of a choice takes: a picture, kernels by sizes."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from custom_dispatch.kernel.tuning import MeasuredSizes
from custom_dispatch.measure.plot import STYLE, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHADES = (
    (1.03, "#08306b"),
    (1.1, "#2171b5"),
    (1.25, "#6baed6"),
    (1.5, "#b4d3e8"),
    (2.0, "#e3eef8"),
)
"""Up to how much longer than the best: from dark to light; what takes longer is white."""
_MORE, _NONE = "#ffffff", "#c9c4bb"
_BEST = "#ffb000"
_EDGE = "#aaaaaa"
_BY = " x "
# Inches, and points of a font.
_CELL, _ROW, _GAP = 0.21, 0.19, 0.14
_LETTER, _FONT = 0.062, 7.5
_TITLE, _LINE = 0.75, 0.14
_COLUMNS = 40
"""Sizes on a line of panels, at least."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """Sizes side by side, of which all but one dim are equal, or all differ."""

    title: tuple[str, ...]
    labels: tuple[str, ...]
    sizes: tuple[MeasuredSizes, ...]

    @property
    def width(self) -> float:
        """In inches."""
        words = max(map(len, self.title), default=0) * _LETTER
        return max(len(self.sizes) * _CELL, words)


def landscape(title: str, kernels: Sequence[str], sizes: Sequence[MeasuredSizes]) -> Figure:
    """The picture: a row for each kernel, in the order given, a column for each of the sizes.

    Sizes that differ in one dim stand together under those that they share; what all of them share
    is said under the title.
    """
    import matplotlib
    from matplotlib.figure import Figure

    shared = {name: size for name, size in sizes[0].dims.items() if _same(sizes, name)}
    along, panels = _panels(sizes, [name for name in sizes[0].dims if name not in shared])
    left = max(map(len, kernels)) * _LETTER + 0.25
    above = (max(len(panel.title) for panel in panels) + 0.7) * _LINE
    lines = _lines(panels, max(_COLUMNS, int((len(sizes) * len(kernels)) ** 0.5)) * _CELL)
    width = max(left + max(map(_width, lines)) + 0.2, 7.6)
    rows = len(kernels) * _ROW
    below = [
        max(len(label) for panel in line for label in panel.labels) * _LETTER + 0.35
        for line in lines
    ]
    height = _TITLE + len(lines) * (above + rows) + sum(below)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "font.size": _FONT}):
        figure = Figure(figsize=(width, height))
        head = textwrap.shorten(title, int(width / 0.1), placeholder=" ...")
        figure.text(0.1 / width, 1 - 0.22 / height, head, fontsize=11)
        _legend(figure, shared)
        top = height - _TITLE
        for line, under in zip(lines, below, strict=True):
            x = left
            for panel in line:
                box = (x / width, (top - above - rows) / height)
                axes = figure.add_axes((*box, len(panel.sizes) * _CELL / width, rows / height))
                _draw(axes, kernels, panel, is_first=panel is line[0])
                x += panel.width + _GAP
            if along:
                place = (left / width, (top - above - rows - under + 0.08) / height)
                figure.text(*place, along)
            top -= above + rows + under
    return figure


def _same(sizes: Sequence[MeasuredSizes], name: str) -> bool:
    return len({item.dims.get(name) for item in sizes}) == 1


def _panels(sizes: Sequence[MeasuredSizes], names: Sequence[str]) -> tuple[str, list[_Panel]]:
    """What the columns are, and the panels: by the dim for which there are fewest."""
    if not names:
        return "", [_Panel((), ("",), tuple(sizes))]
    grouped = {name: _groups(sizes, [other for other in names if other != name]) for name in names}
    along = min(names, key=lambda name: len(grouped[name]))
    panels, single = [], []
    for shared, group in grouped[along].items():
        if len(group) < 2 and len(names) > 1:
            single += group
            continue
        found = sorted(group, key=lambda item: item.dims.get(along, 0))
        others = (name for name in names if name != along)
        title = tuple(f"{name}={size}" for name, size in zip(others, shared, strict=True))
        labels = tuple(size_text(item.dims.get(along, 0)) for item in found)
        panels.append(_Panel(title, labels, tuple(found)))
    said = f"Columns: {along}"
    if single:
        sizes_of = ([str(item.dims.get(name, "-")) for name in names] for item in single)
        labels = tuple(map(_BY.join, sizes_of))
        panels.append(_Panel(("others",) if panels else (), labels, tuple(single)))
        product = _BY.join(names)
        said = f"{said}; of the others, {product}" if len(panels) > 1 else f"Columns: {product}"
    return said, panels


def _groups(
    sizes: Sequence[MeasuredSizes], names: Sequence[str]
) -> dict[tuple[int, ...], list[MeasuredSizes]]:
    found: dict[tuple[int, ...], list[MeasuredSizes]] = {}
    for item in sizes:
        found.setdefault(tuple(item.dims.get(name, 0) for name in names), []).append(item)
    return found


def _lines(panels: Sequence[_Panel], most: float) -> list[list[_Panel]]:
    """Panels on lines that are as wide as that; a panel that is wider is cut."""
    cut = max(int(most / _CELL), 1)
    pieces = [
        _Panel(panel.title, panel.labels[at : at + cut], panel.sizes[at : at + cut])
        for panel in panels
        for at in range(0, len(panel.sizes), cut)
    ]
    lines: list[list[_Panel]] = [[]]
    for panel in pieces:
        if lines[-1] and _width([*lines[-1], panel]) > most + 0.5:
            lines.append([])
        lines[-1].append(panel)
    return lines


def _width(line: Sequence[_Panel]) -> float:
    return sum(panel.width for panel in line) + _GAP * (len(line) - 1)


def _draw(axes: Axes, kernels: Sequence[str], panel: _Panel, is_first: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    cells: dict[str, list[Path]] = {}
    best = []
    for column, item in enumerate(panel.sizes):
        least = min(item.seconds.values(), default=0.0)
        for row, name in enumerate(kernels):
            seconds = item.seconds.get(name)
            shade = _NONE if seconds is None else _shade(seconds / least if least else 1.0)
            corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
            cells.setdefault(shade, []).append(Path([*corners, corners[0]], closed=True))
            if seconds == least:
                best.append((column + 0.5, row + 0.5))
    for shade, paths in cells.items():  # one path each: a thousand results make a small file
        path = Path.make_compound_path(*paths)
        axes.add_patch(PathPatch(path, facecolor=shade, edgecolor=_EDGE, linewidth=0.25))
    axes.plot(*zip(*best, strict=True), "o", color=_BEST, markersize=4) if best else None
    axes.set(xlim=(0, len(panel.sizes)), ylim=(len(kernels), 0))
    axes.set_title("\n".join(panel.title), loc="left", fontsize=_FONT, pad=4)
    axes.tick_params(length=0, pad=2)
    axes.set_xticks([column + 0.5 for column in range(len(panel.sizes))], panel.labels, rotation=90)
    axes.set_yticks([row + 0.5 for row in range(len(kernels))], kernels if is_first else [])
    axes.spines[:].set_color(_EDGE)


def _shade(ratio: float) -> str:
    return next((shade for most, shade in _SHADES if ratio <= most), _MORE)


def _legend(figure: Figure, shared: Mapping[str, int]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    width, height = figure.get_size_inches()
    said = ", ".join(f"{name}={size}" for name, size in shared.items())
    figure.text(0.1 / width, 1 - 0.4 / height, f"Times as a multiple of the best. {said}")
    dot = Line2D([], [], marker="o", color=_BEST, linestyle="", markersize=4, label="the best")
    named = [(shade, f"to {most:g}") for most, shade in _SHADES]
    more = [(_MORE, f"over {_SHADES[-1][0]:g}"), (_NONE, "not measured")]
    patches = [Patch(facecolor=shade, edgecolor=_EDGE, label=said) for shade, said in named + more]
    figure.legend(
        handles=[dot, *patches],
        loc="upper left",
        bbox_to_anchor=(0.05 / width, 1 - 0.42 / height),
        ncols=len(patches) + 1,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )
