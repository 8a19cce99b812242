"""Charts are SVG whose points are where their numbers say."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from custom_dispatch.cli.plot import check_plot, line_chart
from custom_dispatch.errors import OutputError

SVG = "{http://www.w3.org/2000/svg}"


def _circles(text: str) -> dict[str, list[tuple[float, float, float, float]]]:
    found = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):  # noqa: S314 - our own
        found[group.attrib["data-series"]] = [
            tuple(float(circle.attrib[name]) for name in ("data-x", "data-y", "cx", "cy"))
            for circle in group.iter(f"{SVG}circle")
        ]
    return found  # type: ignore[return-value]


def test_points_carry_their_values_and_lie_on_a_logarithmic_scale() -> None:
    lines = {"a & <b>": [(1024.0, 3.5), (1048576.0, 350.0)], "c": [(1024.0, 12.0)]}
    text = line_chart("f<x>", "n", "microseconds", lines)
    found = _circles(text)
    assert {name: [(x, y) for x, y, _, _ in line] for name, line in found.items()} == lines
    (x1, y1, cx1, cy1), (x2, y2, cx2, cy2) = found["a & <b>"]
    items = list(ElementTree.fromstring(text).iter(f"{SVG}text"))  # noqa: S314 - our own
    middle = {item.text: item for item in items if item.get("text-anchor") == "middle"}
    ticks = {item.text: item for item in items if item.get("text-anchor") == "end"}
    at_1000, at_1e7 = (float(middle[name].attrib["x"]) for name in ("1000", "1e7"))
    pixels = (at_1e7 - at_1000) / 4
    assert cx2 - cx1 == pytest.approx(pixels * math.log10(x2 / x1), abs=0.1)
    at_1, at_100 = (float(ticks[name].attrib["y"]) for name in ("1", "100"))
    assert cy1 - cy2 == pytest.approx((at_1 - at_100) / 2 * math.log10(y2 / y1), abs=0.1)
    assert {"f<x>", "n", "microseconds", "a & <b>", "c"} <= {item.text for item in items}


def test_everything_lies_inside_the_picture() -> None:
    lines = {str(i): [(10.0**i, 10.0**-i), (1.0, 1.0)] for i in range(7)}
    text = line_chart("t", "x", "y", lines)
    root = ElementTree.fromstring(text)  # noqa: S314 - our own
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for line in _circles(text).values():
        for _, _, cx, cy in line:
            assert 0 < cx < width
            assert 0 < cy < height


def test_one_point_is_a_chart_too() -> None:
    assert _circles(line_chart("t", "x", "y", {"a": [(1.0, 1.0)]}))["a"][0][:2] == (1.0, 1.0)


@pytest.mark.parametrize(
    ("path", "instead"),
    [("p.png", "p.svg"), ("p", "p.svg"), ("", "times.svg"), ("..", "../times.svg")],
)
def test_other_names_than_those_of_charts_are_refused(path: str, instead: str) -> None:
    with pytest.raises(OutputError, match=r"A chart cannot be written as `.+`\.") as caught:
        check_plot(Path(path))
    assert caught.value.next_step == f"write --plot {instead}."
