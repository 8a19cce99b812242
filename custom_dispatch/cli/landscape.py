"""How much longer than the best each kernel of a choice takes, as an SVG: kernels by sizes.

Everything of one shade is one path, so that a table of a thousand results makes a small file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from custom_dispatch.kernel.tuning import MeasuredSizes

_CELL, _HEIGHT = 13, 17
_TOP, _GAP = 46, 6
_LETTER = 6.6
"""The width of a letter, about, in pixels."""
_SHADES = (
    (1.03, "#08306b"),
    (1.1, "#2171b5"),
    (1.25, "#6baed6"),
    (1.5, "#c6dbef"),
    (2.0, "#eff3ff"),
)
"""Up to how much longer than the best: from dark to light; what takes longer is white."""
_NONE = "#dddddd"


def landscape(title: str, kernels: Sequence[str], sizes: Sequence[MeasuredSizes]) -> str:
    """The chart's text: a row for each kernel, in the order given, a column for each of the sizes.

    Sizes that differ from those before in other dims than the first are set apart.
    """
    left = round(max(map(len, kernels)) * _LETTER) + 24
    bottom = _TOP + _HEIGHT * len(kernels)
    cells: dict[str, list[str]] = {}
    labels, dots = [], []
    x = left
    for index, item in enumerate(sizes):
        if index and _others(item.dims) != _others(sizes[index - 1].dims):
            x += _GAP
        best = min(item.seconds.values(), default=0.0)
        for row, name in enumerate(kernels):
            y = _TOP + row * _HEIGHT
            seconds = item.seconds.get(name)
            shade = _NONE if seconds is None else _shade(seconds / best)
            cells.setdefault(shade, []).append(f"M{x} {y}h{_CELL}v{_HEIGHT}h-{_CELL}z")
            if seconds == best:
                dots.append(f"M{x + _CELL // 2} {y + _HEIGHT // 2}h.01")
        said = " x ".join(map(str, item.dims.values()))
        place = f"{x + _CELL - 3} {bottom + 8}"
        labels.append(f'<text transform="translate({place}) rotate(90)">{escape(said)}</text>')
        x += _CELL
    said = " x ".join(sizes[0].dims) if sizes else ""
    width = max(x + 16, left + 560)
    height = bottom + 40 + round(_LETTER * max((_length(item.dims) for item in sizes), default=0))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="12" y="20" font-size="15">{escape(title)}</text>',
        *_legend(left),
        *(f'<path fill="{shade}" d="{"".join(found)}"/>' for shade, found in cells.items()),
        f'<path stroke="#ffb000" stroke-width="6" stroke-linecap="round" d="{"".join(dots)}"/>',
        *(
            f'<text data-series="{escape(name)}" x="{left - 8}" y="{_TOP + row * _HEIGHT + 13}" '
            f'text-anchor="end">{escape(name)}</text>'
            for row, name in enumerate(kernels)
        ),
        *labels,
        f'<text x="12" y="{height - 10}">{escape(said)}</text>',
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def _shade(ratio: float) -> str:
    return next((shade for most, shade in _SHADES if ratio <= most), "#ffffff")


def _legend(left: int) -> list[str]:
    parts, x = [], left
    named = [(shade, f"to {most:g}") for most, shade in _SHADES]
    for shade, said in [*named, ("#ffffff", "more"), (_NONE, "not measured")]:
        parts.append(
            f'<rect x="{x}" y="28" width="12" height="12" fill="{shade}" stroke="#999999"/>'
            f'<text x="{x + 16}" y="38">{said}</text>'
        )
        x += 72
    parts.append('<text x="12" y="38">times the best:</text>')
    return parts


def _others(dims: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(dims.values())[1:]


def _length(dims: Mapping[str, int]) -> int:
    return len(" x ".join(map(str, dims.values())))
