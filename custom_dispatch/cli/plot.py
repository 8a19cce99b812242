"""A line chart as SVG, both axes logarithmic: no library is needed for that."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from custom_dispatch.errors import OutputError

_WIDTH, _HEIGHT = 760, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 190, 50, 60
# Dark enough on white, and told apart by people who see few colours (Okabe and Ito's palette).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")

Points = Sequence[tuple[float, float]]


def check_plot(plot: Path | None) -> None:
    """Require a chart's name to say that it is one.

    Raises
    ------
    OutputError
        It ends otherwise.
    """
    if plot is not None and plot.suffix != ".svg":
        # What is a directory, such as `..`, has no name to put a suffix behind.
        named = plot.with_suffix(".svg") if plot.name.strip(".") else plot / "times.svg"
        raise OutputError(
            f"A chart cannot be written as `{plot}`.",
            expected="a name that ends in .svg: charts are SVG, which browsers show",
            next_step=f"write --plot {shlex.quote(str(named))}.",
        )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where numbers lie: from `first` on for `length` pixels, between powers of ten."""

    low: int
    high: int
    """Powers of ten."""
    first: float
    length: float
    """Negative where numbers grow towards the top."""

    def at(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return round(self.first + share * self.length, 2)


def line_chart(title: str, x_label: str, y_label: str, series: Mapping[str, Points]) -> str:
    """The chart's text. Each point is a circle with `data-x` and `data-y`, its exact values.

    Parameters
    ----------
    series
        Points by the name of their line, in the order of the legend; all numbers above zero.
    """
    points = [point for line in series.values() for point in line]
    x_axis = _axis([x for x, _ in points], _LEFT, _WIDTH - _LEFT - _RIGHT)
    y_axis = _axis([y for _, y in points], _HEIGHT - _BOTTOM, _TOP + _BOTTOM - _HEIGHT)
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 28, title, 'font-size="15"'),
        _text((_LEFT + right) / 2, _HEIGHT - 18, x_label, 'text-anchor="middle"'),
        _text(
            0,
            0,
            y_label,
            f'text-anchor="middle" transform="translate(20 {(_TOP + bottom) / 2}) rotate(-90)"',
        ),
    ]
    for power in range(x_axis.low, x_axis.high + 1):
        x = x_axis.at(10.0**power)
        parts.append(_line(x, _TOP, x, bottom))
        parts.append(_text(x, bottom + 18, _power(power), 'text-anchor="middle"'))
    for power in range(y_axis.low, y_axis.high + 1):
        y = y_axis.at(10.0**power)
        parts.append(_line(_LEFT, y, right, y))
        parts.append(_text(_LEFT - 8, y + 4, _power(power), 'text-anchor="end"'))
    for index, (name, line) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        places = [(x_axis.at(x), y_axis.at(y)) for x, y in line]
        path = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<g data-series="{escape(name)}" stroke="{colour}" fill="{colour}">')
        parts.append(f'<polyline points="{path}" fill="none" stroke-width="2"/>')
        for (x, y), (value_x, value_y) in zip(places, line, strict=True):
            about = f'data-x="{value_x:.9g}" data-y="{value_y:.9g}"'
            hover = f"<title>{escape(name)}: {value_y:.4g} at {value_x:.9g}</title>"
            parts.append(f'<circle cx="{x}" cy="{y}" r="3.5" {about}>{hover}</circle>')
        parts.append("</g>")
        row = _TOP + 10 + 22 * index
        swatch = f'stroke="{colour}" stroke-width="2"'
        parts.append(f'<path d="M{right + 14} {row}h22" {swatch}/>')
        parts.append(_text(right + 42, row + 4, name, ""))
    return "\n".join([*parts, "</svg>", ""])


def _axis(values: list[float], first: float, length: float) -> _Axis:
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    return _Axis(low, high, first, length)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1} {y1}L{x2} {y2}" stroke="#dddddd"/>'


def _text(x: float, y: float, content: str, attributes: str) -> str:
    return f'<text x="{x}" y="{y}" {attributes}>{escape(content)}</text>'


def _power(power: int) -> str:
    if -2 <= power <= 3:
        return f"{10.0**power:g}"
    return f"1e{power}"
