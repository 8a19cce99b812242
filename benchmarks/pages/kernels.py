"""Whether the tables of docs/kernels have the figures of benchmarks/results.

    python -m benchmarks pages.kernels

prints every line that a page should have, and has not, and every picture that is not that of the
tables in cuda_kernels; it needs no GPU. With --pictures it draws these. The tables of
docs/kernels/limits.md are written by `pages/limits.py`.
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.lib.landscape import landscape, picture
from benchmarks.pages import limits as limits_page
from custom_dispatch.kernel.tuning import covering
from custom_dispatch.kernel.tuning_table import read_table

ROOT = Path(__file__).resolve().parents[2]
PAGES, RESULTS = "docs/kernels", "benchmarks/results"
PICTURES = {"gemm_linear": "linear_bf16"}
"""The choice whose table a picture shows, by the name of both."""
MOST_COLUMNS = 120
"""Sizes in a picture; of more, every second, third or later one."""
Row = dict[str, Any]


def _rows(name: str) -> list[Row]:
    found = json.loads((ROOT / RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    rows: list[Row] = found["rows"]
    return rows


def products() -> Iterator[str]:
    """Sizes of `linear_bf16` on Hopper."""
    for row in _rows("gemm_h200"):
        form = row["kernel"].removeprefix("linear_bf16_")
        if form == row["kernel"] or form.startswith("f32_"):
            continue
        yield (
            f"| {row['m']} x {row['n']} x {row['k']} | `{form}` | {row['us']:.1f} | "
            f"{row['torch_us']:.1f} | {row['of_torch']:.2f} | {row['floor_us'] / row['us']:.0%} |"
        ).replace("% |", " % |")


def sizes() -> Iterator[str]:
    """Products at random sizes, by their rows."""
    of_h200, of_h100 = (
        json.loads((ROOT / RESULTS / f"sizes_{gpu}.json").read_text(encoding="utf-8"))["summary"]
        for gpu in ("h200", "h100")
    )
    beside = {line["rows"]: line["of_cublas"] for line in of_h100 if line["choice"] == "all"}
    for line in of_h200:
        if line["choice"] == "all":
            yield (
                f"| {line['rows']} | {line['sizes']} | {line['of_cublas']:.2f} | "
                f"{line['worst']:.2f} | {line['below_0.8']} | {line['of_best_form']:.3f} | "
                f"{beside[line['rows']]:.2f} |"
            )


def moved() -> Iterator[str]:
    """What only moves memory, at 16384 x 8192: a line a kernel, a column a type."""
    cells: dict[str, list[str]] = {}
    for row in _rows("gpu_kernels_h200"):
        # Of a choice, the kernel for any number of rows is what this size gets.
        kernel, _, dtype = row["kernel"].removesuffix("_any").rpartition("_")
        if row["what"] == "16384 x 8192" and dtype in ("f32", "f16", "bf16"):
            faster = min(row["torch_us"]) / min(row["us"])
            cells.setdefault(kernel, []).append(f"{row['of_copy'] * 100:.0f} %, {faster:.1f}")
    for kernel, of_types in cells.items():
        yield f"| `{kernel}` | {' | '.join(of_types)} |"


def quantised(eights: bool) -> Iterator[str]:
    """Products with weights of 8 bits or of 4: for one row of x a column for each shape of weights.

    Of 8 bits, a line has one shape, and a column for each number of rows of x.
    """
    cells: dict[str, list[str]] = {}
    for row in _rows("quantised_h200"):
        name = re.sub(r"_t\d+x.*", "", row["kernel"])
        if name.startswith(("fp8", "int8")) != eights or not (eights or row["batch"] == 1):
            continue
        title = f"`{name}`" + (f", {row['n']} x {row['k']}" if eights else "")
        title += "" if row["group"] == 32 else f", groups of {row['group']}"
        us = statistics.median(row["us"])
        text = f"{us:.1f} us, {row['of_copy'] * 100:.0f} %, {row['torch_us'] / us:.1f}"
        cells.setdefault(title, []).append(text)
    for title, texts in cells.items():
        yield f"| {title} | {' | '.join(texts)} |"


def _table(name: str) -> Path:
    return ROOT / "cuda_kernels" / name.partition("_")[0] / f"{name}.tuning.json"


def _about(name: str) -> str:
    """What a picture says that it is of."""
    table = _table(name)
    return f"{table.name}, SHA-256 {hashlib.sha256(table.read_bytes()).hexdigest()}"


def draw() -> None:
    """Draw every picture."""
    for name, choice in PICTURES.items():
        table = _table(name)
        measured, *_ = read_table(table.read_text(encoding="utf-8"), table.name, choice).measured
        kernels = covering([sizes.seconds for sizes in measured.sizes], 1.0)
        sizes = measured.sizes[:: -(-len(measured.sizes) // MOST_COLUMNS)]
        title = f"{choice} on {measured.device}, {measured.target}"
        chart = landscape(title, [*kernels, *sorted({*measured.digests} - {*kernels})], sizes)
        (ROOT / PAGES / f"{name}.svg").write_bytes(picture(chart, ".svg", _about(name)))


def stale() -> list[str]:
    """Pictures that are of other tables than there are."""
    return [
        f"{PAGES}/{name}.svg: is not of {_about(name)}"
        for name in PICTURES
        if _about(name) not in (ROOT / PAGES / f"{name}.svg").read_text(encoding="utf-8")
    ]


def missing() -> list[str]:
    """Lines that a page has not, each after its page, and pictures that are stale."""
    found = []
    for page, lines in (
        ("gemm.md", products()),
        ("gemm.md", sizes()),
        ("memory_bound.md", moved()),
        ("quantised.md", quantised(eights=False)),
        ("quantised_8bit.md", quantised(eights=True)),
        ("limits.md", limits_page.counted(_rows("ncu_h200"))),
        ("limits.md", limits_page.configured(_rows("kernel_resources"))),
    ):
        there = set((ROOT / PAGES / page).read_text(encoding="utf-8").splitlines())
        found += [f"{PAGES}/{page}: {line}" for line in lines if line not in there]
    return found + stale()


def main() -> int:
    """Print them; 1 if there are any."""
    if sys.argv[1:] == ["--pictures"]:
        draw()
    lines = missing()
    print("\n".join(lines) or "Every figure is that of the results.")
    return int(bool(lines))
