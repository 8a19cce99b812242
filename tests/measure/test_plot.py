"""Charts: what is measured is where its numbers say, and every mark has a word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from custom_dispatch.errors import OutputError, ToolNotFoundError
from custom_dispatch.kernel.tuning import MeasuredSizes, Result
from custom_dispatch.measure import plot
from custom_dispatch.measure.measurement import Timing
from custom_dispatch.measure.plot import check_plot, landscape, line_chart, picture, size_text


def _line(times: dict[float, float]) -> dict[float, Timing]:
    return {x: Timing(y, 0.9 * y, 1.1 * y, 5) for x, y in times.items()}


def _words(content: bytes) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", content.decode())


def _ticks(axis: Any) -> list[str]:
    low, high = sorted(axis.get_view_interval())
    ticks = zip(
        axis.get_majorticklocs(),
        axis.get_major_formatter().format_ticks(axis.get_majorticklocs()),
        strict=True,
    )
    return [text for place, text in ticks if low <= place <= high]


def test_medians_quartiles_and_a_bound_are_drawn() -> None:
    times = {64.0: 2e-5, 128.0: 3e-5, 256.0: 5e-5, 512.0: 2e-4}
    bound = dict.fromkeys(times, 1e-6)
    lines = {"a & <b>": _line(times), "a copy": _line(bound)}
    figure = line_chart("f<x> on a CPU", "m = n = 256", "k", lines, bound="a copy")
    (axes,) = figure.axes
    drawn, dashed = axes.lines
    assert drawn.get_xydata().tolist() == [pytest.approx([x, y * 1e6]) for x, y in times.items()]
    assert dashed.get_linestyle() == "--"
    (band,) = axes.collections
    corners = {(x, round(y, 6)) for x, y in band.get_paths()[0].vertices.tolist()}
    assert {(512.0, 180.0), (512.0, 220.0), (64.0, 18.0), (64.0, 22.0)} <= corners
    assert _ticks(axes.xaxis) == ["64", "128", "256", "512"]
    assert _ticks(axes.yaxis) == ["1", "2", "5", "10", "20", "50", "100", "200"]
    content = picture(figure, ".svg", "what it is")
    expected = {"f&lt;x&gt; on a CPU", "m = n = 256", "k", "microseconds", "a &amp; &lt;b&gt;"}
    assert expected | {"a copy"} <= set(_words(content))
    assert b"what it is" in content
    again = line_chart("f<x> on a CPU", "m = n = 256", "k", lines, bound="a copy")
    assert content == picture(again, ".svg", "what it is")
    assert picture(figure, ".png").startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("sizes", "ticks"),
    [
        ([7.0], ["7"]),
        ([0.0, 7.0, 100.0], ["0", "7", "100"]),
        ([1000.0, 1100.0, 1200.0], ["1000", "1100", "1200"]),
        ([float(2**power) for power in range(10, 29, 6)], ["1024", "64Ki", "4Mi", "256Mi"]),
    ],
)
def test_ticks_are_the_sizes(sizes: list[float], ticks: list[str]) -> None:
    chart = line_chart("t", "", "n", {"a": _line(dict.fromkeys(sizes, 1e-3))})
    assert _ticks(chart.axes[0].xaxis) == ticks
    assert chart.axes[0].get_ylabel() == "milliseconds"
    assert chart.axes[0].get_ylim()[0] == 0  # times that are close to one another are no cliff


def test_of_many_sizes_as_many_have_ticks_as_there_is_room_for() -> None:
    sizes = {float(size): 1e-3 for size in range(1000, 1640, 10)}
    ticks = _ticks(line_chart("t", "", "n", {"a": _line(sizes)}).axes[0].xaxis)
    assert (ticks[0], ticks[-1]) == ("1000", "1630")
    assert 5 <= len(ticks) <= 15


def test_sizes_are_short_and_exact() -> None:
    assert [size_text(size) for size in (0, 4096, 12345, 16384, 28672, 2**30)] == [
        "0",
        "4096",
        "12345",
        "16Ki",
        "28Ki",
        "1Gi",
    ]


def _sizes(dims: dict[str, int], **seconds: float | None) -> MeasuredSizes:
    return MeasuredSizes(dims, tuple(Result(name, value) for name, value in seconds.items()))


def test_sizes_that_differ_in_one_dim_stand_together() -> None:
    """What all share is said once; what stands alone has all of its dims."""
    sizes = [
        _sizes({"m": 256, "n": 64, "k": 8}, a=1.0, b=2.5),
        _sizes({"m": 16, "n": 64, "k": 8}, a=1.05, b=1.0),
        _sizes({"m": 16, "n": 128, "k": 8}, a=1.0, b=None),
        _sizes({"m": 32, "n": 128, "k": 8}, a=None, b=None),
        _sizes({"m": 1, "n": 2, "k": 8}, a=1.0, b=1.2),
    ]
    figure = landscape("c on a GPU", ["a", "b"], sizes)
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["2 x 1", "64 x 16", "64 x 256", "128 x 16", "128 x 32"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    marked = {tuple(place) for place in axes.lines[0].get_xydata().tolist()}
    assert marked == {(0.5, 0.5), (1.5, 1.5), (2.5, 0.5), (3.5, 0.5)}
    (cells,) = axes.images
    assert cells.get_array().tolist() == [[0, 1, 0, 0, 6], [2, 0, 5, 6, 6]]
    words = set(_words(picture(figure, ".svg")))
    assert {
        "c on a GPU",
        "Times as a multiple of the best. k=8. Columns: n x m",
        "the best",
    } <= words
    assert {"not measured", "to 1.03", "over 2"} <= words


@pytest.mark.parametrize(
    ("kernels", "sizes"),
    [
        (["only"], [_sizes({"n": 7}, only=1e-6)]),
        (["fails"], [_sizes({"n": 7}, fails=None)]),
        (["x"], [_sizes({}, x=1.0)]),
        (["a_kernel_with_a_long_name" * 4], [_sizes({"n": n}, x=None) for n in range(300)]),
        (["x"], [_sizes({"m": n, "n": 300 - n}, x=1.0) for n in range(120)]),
    ],
)
def test_everything_lies_inside_the_picture(kernels: list[str], sizes: list[MeasuredSizes]) -> None:
    figure = landscape("t" * 300, kernels, sizes)
    assert sum(len(axes.get_xticks()) for axes in figure.axes) == len(sizes)
    assert picture(figure, ".png").startswith(b"\x89PNG")
    width, height = figure.get_size_inches()
    for axes in figure.axes:
        box = axes.get_tightbbox().transformed(figure.dpi_scale_trans.inverted())
        assert box.x0 >= 0
        assert box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height


@pytest.mark.parametrize(
    ("path", "instead"),
    [("p.jpg", "p.svg"), ("p", "p.svg"), ("", "times.svg"), ("..", "../times.svg")],
)
def test_other_names_than_those_of_charts_are_refused(path: str, instead: str) -> None:
    with pytest.raises(OutputError, match=r"A chart cannot be written as `.+`\.") as caught:
        check_plot(Path(path))
    assert caught.value.next_step == f"write --plot {instead}."


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    check_plot(None)
    with pytest.raises(ToolNotFoundError) as caught:
        check_plot(Path("p.png"))
    assert str(caught.value) == (
        "Charts are drawn by matplotlib, which is not installed.\n"
        "  expected: matplotlib, or no --plot\n"
        "  next step: pip install -e '.[plot]' (in the clone)."
    )


def test_matplotlib_is_loaded_where_a_chart_is_asked_for() -> None:
    program = "import sys, custom_dispatch.cli.tune\nassert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
