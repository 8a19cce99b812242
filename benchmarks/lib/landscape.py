"""The picture of a table: how much longer than the best each kernel takes, kernels by sizes.

Matplotlib draws it.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from custom_dispatch.kernel.tuning import MeasuredSizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = {
    "figure.facecolor": "white",  # pages with a dark background show it as it is
    "font.size": 9.0,
    "svg.fonttype": "none",  # text that can be searched and selected
    "svg.hashsalt": "custom-dispatch",  # the same picture is the same file
}
_DPI, _MOST_PIXELS = 150, 30_000

_SHADES = {1.03: "#08306b", 1.1: "#2171b5", 1.25: "#6baed6", 1.5: "#b4d3e8", 2.0: "#e3eef8"}
"""Up to how much longer than the best: from dark to light; what takes longer is white."""
_MORE, _NONE = "#ffffff", "#c9c4bb"
_BEST, _EDGE = "#ffb000", "#aaaaaa"
_BY = " x "
_CELL, _LETTER, _FONT = 0.2, 0.062, 7.5
"""Inches of a cell and, about, of a letter, and the points of the font."""
_COLUMNS = 40
"""Sizes side by side, at most; where there are more, they go on below."""


def picture(figure: Figure, suffix: str, about: str = "") -> bytes:
    """A chart's file: the same bytes for the same chart and matplotlib.

    Parameters
    ----------
    suffix
        `.svg` or `.png`.
    about
        A description that is kept in the file.
    """
    import matplotlib

    written = io.BytesIO()
    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    metadata = {"Description": about} | ({"Date": None} if suffix == ".svg" else {})
    # As it is by default: nothing of a user's own style, which may be white on black.
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        figure.savefig(written, format=suffix[1:], dpi=dpi, metadata=metadata)
    return written.getvalue()


def size_text(size: float) -> str:
    """A size as ticks have it: 1000, 4096, 64Ki, 1.5e+06."""
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size >= 16384 and size % unit == 0:
            return f"{size // unit:.0f}{suffix}"
    return f"{size:.0f}" if size < 1e6 else f"{size:.4g}"


def landscape(title: str, kernels: Sequence[str], sizes: Sequence[MeasuredSizes]) -> Figure:
    """The picture: a row for each kernel, in the order given, a column for each of the sizes.

    Sizes that differ in one dim stand together; what all of them share is said under the title.
    """
    import matplotlib
    from matplotlib.figure import Figure

    values = {name: {item.dims.get(name, 0) for item in sizes} for name in sizes[0].dims}
    # Of those that come first there are few: neighbours differ in the last.
    names = sorted((name for name in values if len(values[name]) > 1), key=lambda n: len(values[n]))
    shared = [f"{name}={size}" for name, size in sizes[0].dims.items() if name not in names]
    keys = {id(item): [item.dims.get(name, 0) for name in names] for item in sizes}
    ordered = sorted(sizes, key=lambda item: keys[id(item)])
    lines = [ordered[at : at + _COLUMNS] for at in range(0, len(ordered), _COLUMNS)]
    labels = [[_BY.join(map(size_text, keys[id(item)])) for item in line] for line in lines]
    below = max(len(label) for line in labels for label in line) * _LETTER + 0.25
    left = max(map(len, kernels)) * _LETTER + 0.25
    width = max(left + len(lines[0]) * _CELL + 0.2, 7.6)
    rows = len(kernels) * _CELL
    height = 0.8 + len(lines) * (rows + below)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "font.size": _FONT}):
        figure = Figure(figsize=(width, height))
        head = textwrap.shorten(title, int(width / 0.1), placeholder=" ...")
        figure.text(0.1 / width, 1 - 0.22 / height, head, fontsize=11)
        columns = f"Columns: {_BY.join(names)}" if names else ""
        about = ["Times as a multiple of the best", ", ".join(shared), columns]
        figure.text(0.1 / width, 1 - 0.4 / height, ". ".join(filter(None, about)))
        _add_legend(figure, width, height)
        for index, (line, names_of) in enumerate(zip(lines, labels, strict=True)):
            bottom = height - 0.75 - index * (rows + below) - rows
            box = (left / width, bottom / height, len(line) * _CELL / width, rows / height)
            axes = figure.add_axes(box)
            _draw_cells(axes, kernels, line)
            axes.set_xticks([at + 0.5 for at in range(len(line))], names_of, rotation=90)
            firsts = [keys[id(item)][:-1] for item in line]
            apart = [at + 1 for at, (one, other) in enumerate(pairwise(firsts)) if one != other]
            axes.vlines(apart, 0, len(kernels), color="black", linewidth=0.75)
    return figure


def _draw_cells(axes: Axes, kernels: Sequence[str], sizes: Sequence[MeasuredSizes]) -> None:
    from matplotlib.colors import ListedColormap

    shades = [*_SHADES.values(), _MORE, _NONE]
    cells = [[0] * len(sizes) for _ in kernels]
    best = []
    for column, item in enumerate(sizes):
        least = min(item.seconds.values(), default=0.0)
        for row, name in enumerate(kernels):
            seconds = item.seconds.get(name)
            if seconds is None:
                cells[row][column] = shades.index(_NONE)
                continue
            ratio = seconds / least if least else 1.0
            cells[row][column] = sum(ratio > most for most in _SHADES)
            if seconds == least:
                best.append((column + 0.5, row + 0.5))
    colours = ListedColormap(shades)
    # A picture in the picture: a path for each of a thousand results makes a large file.
    around = (0, len(sizes), len(kernels), 0)
    axes.imshow(cells, colours, vmin=0, vmax=len(shades) - 1, extent=around, aspect="auto")
    axes.hlines(range(len(kernels)), 0, len(sizes), color=_EDGE, linewidth=0.25)
    axes.vlines(range(len(sizes)), 0, len(kernels), color=_EDGE, linewidth=0.25)
    axes.plot([x for x, _ in best], [y for _, y in best], "o", color=_BEST, markersize=4)
    axes.tick_params(length=0, pad=2)
    axes.set_yticks([row + 0.5 for row in range(len(kernels))], kernels)
    axes.spines[:].set_color(_EDGE)


def _add_legend(figure: Figure, width: float, height: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dot = Line2D([], [], marker="o", color=_BEST, linestyle="", markersize=4, label="the best")
    named = {f"to {most:g}": shade for most, shade in _SHADES.items()}
    named |= {f"over {max(_SHADES):g}": _MORE, "not measured": _NONE}
    patches = [Patch(facecolor=shade, edgecolor=_EDGE, label=said) for said, shade in named.items()]
    figure.legend(
        handles=[dot, *patches],
        loc="upper left",
        bbox_to_anchor=(0.05 / width, 1 - 0.42 / height),
        ncols=len(patches) + 1,
        frameon=False,
        handlelength=1.2,
        columnspacing=1.2,
    )
