"""The tables of docs/kernels/limits.md: what ncu counted, and what the compilers say.

    python -m benchmarks pages.limits

It needs no GPU, but `benchmarks/results/ncu_h200.json`, which `limiters.py run` writes where there
is one, and `kernel_resources.json` beside it, by `sanitize.py build DIRECTORY --save FILE`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COUNTED = "benchmarks/results/ncu_h200.json"
RESOURCES = "benchmarks/results/kernel_resources.json"
PAGE = "docs/kernels/limits.md"
PHRASES = {
    "long_scoreboard": "for memory",
    "short_scoreboard": "for shared memory",
    "wait": "fixed latencies",
    "barrier": "at barriers",
    "not_selected": "for their turn",
    "math_pipe_throttle": "for a full arithmetic unit",
    "mio_throttle": "for the queue to shared memory",
    "lg_throttle": "for the queue to memory",
    "dispatch_stall": "for the dispatcher",
    "no_instruction": "for instructions",
    "gmma": "for wgmma",
    "branch_resolving": "for branches",
}
"""ncu's reasons for which warps wait, in words (Nsight Compute, Metrics Reference)."""

TABLES = {
    "counted": (
        "Kernel, size",
        "us",
        "Of the floor's speed",
        "Busy, or waiting",
        "Warps",
        "Registers, spilled",
        "Shared",
    ),
    "configured": (
        "Source",
        "Template arguments",
        "Target",
        "Threads",
        "Registers",
        "Spilled",
        "Shared",
    ),
}
"""What stands between `<!-- NAME -->` and `<!-- end -->`: the columns."""

# Sizes of a head, as cuda_kernels/include/head_sizes.cuh has them.
_EXACTLY = re.compile(r"cuda_kernels::Exactly<(\d+)>")
_UP_TO = re.compile(r"cuda_kernels::UpTo<(\d+), (\d+)>")
_NUMBERS = re.compile(r"(\d+|up to \d+ and \d+)$")


def limiter(row: dict[str, Any]) -> str:
    """What ncu's reasons mean."""
    found: str = row["limiter"]
    for name, phrase in PHRASES.items():
        found = found.replace(f" {name} ", f" {phrase} ")
    return found


def counted(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Lines of the first table."""
    for row in rows:
        target = "" if row["target"] == "cuda:sm_90a" else f", code for {row['target'][5:]}"
        yield (
            f"| `{row['kernel']}`{target}, {row['size']} | {row['us']:.1f} "
            f"| {row['of_floor'] * 100:.0f} % | {limiter(row)} | {row['occupancy']:.0f} % "
            f"| {row['registers']}, {row['spill_stores_bytes']} "
            f"| {row['shared_bytes'] / 1024:.0f} |"
        )


def configured(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Lines of the second table."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        name, _, rest = row["entry"].partition("<")
        rest = _EXACTLY.sub(r"\1", _UP_TO.sub(r"up to \1 and \2", rest))
        numbers = [each for each in rest.rstrip(">").split(", ") if _NUMBERS.match(each)]
        name = name.removeprefix("cuda_kernels::")
        same = name if name != Path(row["source"]).stem else ""
        what = f"`{same}<{', '.join(numbers)}>`" if numbers else f"`{same}`" if same else ""
        groups.setdefault((f"`{row['source']}`", what, row["target"][5:]), []).append(row)
    for group, members in sorted(groups.items()):
        most = {
            name: max(member[name] for member in members)
            for name in ("threads", "registers", "shared_bytes")
        }
        spilled = max(member["spill_stores_bytes"] or 0 for member in members)
        yield (
            f"| {' | '.join(group)} | {most['threads']} | {most['registers']} | {spilled} "
            f"| {most['shared_bytes'] / 1024:.1f} |"
        )


def with_table(page: str, name: str, lines: Iterable[str]) -> str:
    """The page with a table in the place of the last one."""
    start, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, marked, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not marked or not closed:
        sys.exit(f"{PAGE} has no place for a table: {start.strip()} and {end}.")
    columns = TABLES[name]
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return before + start + "\n".join([*head, *lines]) + "\n" + end + after


def main() -> int:
    """Write both tables."""
    found = json.loads((ROOT / COUNTED).read_text(encoding="utf-8"))
    resources = json.loads((ROOT / RESOURCES).read_text(encoding="utf-8"))
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    page = with_table(page, "counted", counted(found["rows"]))
    page = with_table(page, "configured", configured(resources["rows"]))
    (ROOT / PAGE).write_text(page, encoding="utf-8")
    return 0
