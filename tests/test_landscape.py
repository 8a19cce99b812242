"""The picture of a table: what was measured is where its numbers say, and all marks have words."""

from __future__ import annotations

import re

import pytest

from benchmarks.lib.landscape import landscape, picture, size_text
from custom_dispatch.kernel.tuning import MeasuredSizes, Result


def _words(content: bytes) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", content.decode())


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
