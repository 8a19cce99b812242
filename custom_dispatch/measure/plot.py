"""Charts as SVG or PNG, drawn by matplotlib, which is loaded where one is asked for."""

from __future__ import annotations

import io
import math
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from custom_dispatch.errors import OutputError, ToolNotFoundError
from custom_dispatch.installation import install_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_SUFFIXES = (".svg", ".png")
# Dark enough on white, and told apart by people who see few colours (Okabe and Ito's palette).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")
_MARKS = ("o", "s", "^", "D", "v")
STYLE = {
    "figure.facecolor": "white",  # pages with a dark background show it as it is
    "font.size": 9.0,
    "svg.fonttype": "none",  # text that can be searched and selected
    "svg.hashsalt": "custom-dispatch",  # the same picture is the same file
}
_DPI, _MOST_PIXELS = 150, 30_000
_LOGARITHMIC = 8.0
"""How many times the smallest number the largest is where an axis is logarithmic."""
_CHARACTER = 0.075
"""Inches, about, of a character of a tick's label."""


def check_plot(plot: Path | None) -> None:
    """Require what a chart needs, before anything is measured for it.

    Raises
    ------
    OutputError
        Its name does not say that it is one.
    ToolNotFoundError
        matplotlib is not installed.
    """
    if plot is None:
        return
    if plot.suffix not in _SUFFIXES:
        # What is a directory, such as `..`, has no name to put a suffix behind.
        named = plot.with_suffix(".svg") if plot.name.strip(".") else plot / "times.svg"
        raise OutputError(
            f"A chart cannot be written as `{plot}`.",
            expected="a name that ends in .svg or .png",
            next_step=f"write --plot {shlex.quote(str(named))}.",
        )
    if find_spec("matplotlib") is None:
        raise ToolNotFoundError(
            "Charts are drawn by matplotlib, which is not installed.",
            expected="matplotlib, or no --plot",
            next_step=install_step("plot"),
        )


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


@dataclass(frozen=True, slots=True)
class Point:
    """Where something was measured, and between which quartiles."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart; a bound, which has no quartiles shown, is dashed."""

    name: str
    points: Sequence[Point]
    is_bound: bool = False


def line_chart(title: str, about: str, x_label: str, lines: Sequence[Line]) -> Figure:
    """A chart of times: medians, and the bands between their quartiles.

    Parameters
    ----------
    about
        What holds for all points, under the title.
    lines
        In the order of the legend, in seconds; an axis is logarithmic where its numbers are above
        zero, and the largest is eight times the smallest.
    """
    import matplotlib
    from matplotlib.figure import Figure

    points = [point for line in lines for point in line.points]
    unit, scale = _unit([point.y for point in points])
    places = sorted({point.x for point in points})
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=(8.4, 4.6), layout="constrained")
        figure.suptitle(_wrapped(title, 80), x=0.01, ha="left", fontsize=11)
        axes = figure.add_subplot()
        axes.set_title(_wrapped(about, 84), loc="left", fontsize=9)
        for index, line in enumerate(lines):
            _draw(axes, line, index, scale, len(places) == 1)
        _x_axis(axes.xaxis, places)
        _y_axis(axes.yaxis, [point.y / scale for point in points])
        axes.set(xlabel=x_label, ylabel=unit)
        axes.grid(color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return figure


def _draw(axes: Axes, line: Line, index: int, scale: float, alone: bool) -> None:
    """Draw a line and the band between its quartiles; a single size has bars, side by side."""
    x = [point.x for point in line.points]
    y, low, high = (
        [getattr(point, name) / scale for point in line.points] for name in ("y", "low", "high")
    )
    colour = _COLOURS[index % len(_COLOURS)]
    if line.is_bound:
        x, y = ([x[0] - 1, x[0] + 1], y * 2) if alone else (x, y)
        axes.plot(x, y, color="#666666", linestyle="--", linewidth=1.5, label=line.name)
        return
    if alone:
        x = [x[0] + 0.2 * index - 0.2]
        axes.vlines(x, low, high, color=colour, linewidth=1.5)
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    mark = _MARKS[index % len(_MARKS)]
    axes.plot(x, y, color=colour, marker=mark, markersize=5, linewidth=1.5, label=line.name)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width))


def _unit(seconds: Sequence[float]) -> tuple[str, float]:
    """A unit in which the middle number is readable, and its seconds."""
    middle = sorted(seconds)[len(seconds) // 2]
    for name, scale in (("seconds", 1.0), ("milliseconds", 1e-3)):
        if middle >= scale:
            return name, scale
    return "microseconds", 1e-6


def _x_axis(axis: Axis, values: Sequence[float]) -> None:
    """Ticks where something was measured, as many as there is room for."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    scale = _scale(values)
    axis.axes.set_xscale(scale)
    place = math.log if scale == "log" else float
    low, high = place(values[0]), place(values[-1])
    axis.axes.margins(x=0.05)
    if len(values) == 1:
        axis.axes.set_xlim(values[0] - 1, values[0] + 1)
    labels = {value: size_text(value) for value in values}
    apart = max(map(len, labels.values())) * _CHARACTER + 0.1
    room = (high - low or 1.0) * apart / 5.5  # the axis is some 5.5 inches long
    shown = [values[0]]
    for value in values[1:]:
        if place(value) - place(shown[-1]) >= room:
            shown.append(value)
    if shown[-1] != values[-1]:  # both ends are named
        shown[-1:] = [values[-1]] if len(shown) > 1 else [shown[0], values[-1]]
    axis.set_major_locator(FixedLocator(shown))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))


def _y_axis(axis: Axis, values: Sequence[float]) -> None:
    """Ticks at 1, 2 and 5 times powers of ten; from zero on where times are close."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    scale = _scale(values)
    axis.axes.set_yscale(scale)
    if scale == "linear":
        axis.axes.set_ylim(bottom=0)
        return
    decades = math.log10(max(values) / min(values))
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 4 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _scale(values: Sequence[float]) -> str:
    return "log" if min(values) > 0 and max(values) / min(values) >= _LOGARITHMIC else "linear"


def size_text(size: float) -> str:
    """A size as ticks have it: 1000, 4096, 64Ki, 1.5e+06."""
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size >= 16384 and size % unit == 0:
            return f"{size // unit:.0f}{suffix}"
    return f"{size:.0f}" if size < 1e6 else f"{size:.4g}"
