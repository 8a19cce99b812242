"""Every shipped kernel under the four tools of compute-sanitizer.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
compute-sanitizer

    python -m benchmarks gpu.sanitize check DIRECTORY
    python -m benchmarks gpu.sanitize run DIRECTORY [--save FILE]

`check` is the same launches without a tool; `build DIRECTORY --save FILE` writes what each instance
takes of a multiprocessor, as JSON, in the place of what the file has of the same sources.

Inputs are drawn on the host and copied with cuMemcpyHtoD, and nothing but the kernels runs on the
GPU (`lib/bare_launch.py`). So initcheck sees every write there is, and neither filters nor
suppressions are needed. Sizes are small and odd, half of the launches begin one element beside an
aligned address, and every result, poisoned with NaN before, is compared with the kernel's
reference: a launch that did nothing would be found.

Poisoned, since initcheck does not see what the tensor memory accelerator writes: left as they are
allocated, results of `gemm_sm90a.cu` are right, but the copy back to the host counts as one of
memory that nobody wrote.

What is launched is in `cases/launches.py`.

Each tool and part of the kernels is a process of its own, as many at once as there are CPUs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy

import custom_dispatch as cd
from benchmarks.cases.launches import chosen, elsewhere, group, launches, members, parts
from benchmarks.lib.bare_launch import (
    PORTABLE,
    Launcher,
    build,
    drawn,
    numbers_of,
    problem,
    resources,
    wanted,
)
from benchmarks.lib.gpu_command import Tally, itself, parser, save, versions

TOOLS = {
    "memcheck": ("--leak-check", "no"),
    "racecheck": ("--racecheck-report", "all"),
    "initcheck": (),
    "synccheck": (),
}
SECONDS = 150
"""After which a process has hung."""
FOUND = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")
DONE = re.compile(r"(\d+) launches, (\d+) wrong")


def check(directory: Path, names: list[str]) -> int:
    """Launch everything of some parts; 1 if a result is wrong."""
    launcher, tally = Launcher(directory), Tally()
    random = numpy.random.default_rng(11)
    for name in names:
        for case in members(name):
            form = case.subject.form
            inputs = drawn(form, case.dims, random, all_there=case.all_there)
            numbers = numbers_of(form, causal=case.causal)
            results = launcher.launch(case.subject, case.dims, inputs, numbers, offset=case.offset)
            what = f"{case.subject.key} {case.dims}, {case.offset} off"
            tally.add(what, problem(form, results, wanted(form, inputs, numbers)))
    return tally.finish()


@dataclass(frozen=True)
class Verdict:
    """What a tool said of a part."""

    tool: str
    part: str
    summary: str
    launches: int
    wrong: int
    status: int
    seconds: float
    log: str

    @property
    def is_clean(self) -> bool:
        """Whether all was run, right, and without a finding."""
        numbers = [int(each) for each in re.findall(r"\d+", self.summary)]
        return self.status == 0 and self.wrong == 0 and bool(numbers) and not any(numbers)


def watch(directory: Path, tool: str, part: str) -> Verdict:
    """One part under one tool."""
    own = itself("gpu.sanitize", "check", str(directory), "--part", part)
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "9", *own]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        status, log = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        status, log = 124, output.decode() if isinstance(output, bytes) else output
    summary, counts = FOUND.findall(log), DONE.findall(log)
    launches, wrong = map(int, counts[-1]) if counts else (0, 0)
    seconds = time.perf_counter() - start
    what = summary[-1] if summary else "no summary"
    print(f"{tool:10} {part:24} {launches:3} launches, {wrong} wrong, {seconds:3.0f} s: {what}")
    sys.stdout.flush()
    return Verdict(tool, part, what, launches, wrong, status, seconds, log)


def run(directory: Path, tools: list[str], only: str, file: Path | None) -> int:
    """Everything under the tools; 1 if anything is found."""
    work = [(directory, tool, part) for tool in tools for part in parts(only, tool)]
    # What takes longest first.
    work.sort(key=lambda item: (item[1] != "racecheck", not item[2].startswith(("gemm", "att"))))
    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda item: watch(*item), work))
    seconds = time.perf_counter() - start
    report = text(verdicts, seconds)
    print(report)
    for verdict in verdicts:
        if not verdict.is_clean:
            print(f"\n== {verdict.tool}, {verdict.part}: status {verdict.status}")
            print(verdict.log[:6000])
    if file:
        file.write_text(report, encoding="utf-8")
    return int(not all(verdict.is_clean for verdict in verdicts))


def text(verdicts: list[Verdict], seconds: float) -> str:
    """The file that is kept."""
    version = subprocess.run(
        ["compute-sanitizer", "--version"], capture_output=True, text=True, check=False
    )
    words = re.findall(r"[Vv]ersion [\d.]+", version.stdout)
    lines = [
        "compute-sanitizer over every kernel: python -m benchmarks gpu.sanitize run",
        f"{time.strftime('%Y-%m-%d')}; compute-sanitizer {words[0] if words else 'unknown'}; "
        + ", ".join(starmap("{} {}".format, versions().items())),
        *(
            f"$ compute-sanitizer --tool {' '.join([tool, *flags])}"
            for tool, flags in TOOLS.items()
        ),
        f"{len(verdicts)} processes, {seconds:.0f} s. No filters, no suppressions.",
        "",
    ]
    columns: dict[str, dict[str, list[Verdict]]] = {}
    for verdict in verdicts:
        source = verdict.part.rpartition(":")[0]
        columns.setdefault(source, {}).setdefault(verdict.tool, []).append(verdict)
    for source, by_tool in sorted(columns.items()):
        lines.append(source)
        for tool, items in by_tool.items():
            total = sum(item.launches for item in items)
            wrong = sum(item.wrong for item in items)
            said = Counter(item.summary for item in items)
            summary = "; ".join(
                each + (f" ({n} times)" if n > 1 else "") for each, n in said.items()
            )
            longest = max(item.seconds for item in items)
            lines.append(
                f"  {tool:10} {total:4} launches, {wrong} wrong; {summary}; {longest:.0f} s"
                + ("" if all(item.is_clean for item in items) else "  NOT CLEAN")
            )
    lines += ["", "Instances, as they are named in the declarations, and where their code is from:"]
    launched = {verdict.part.rpartition(":")[0] for verdict in verdicts}
    for source in sorted(launched):
        keys = [subject.key for subject in chosen() if group(subject) == source]
        lines.append(f"  {source}: " + ", ".join(sorted(keys)))
    return "\n".join(lines) + "\n"


def with_others(file: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was built, and what a file has of other sources."""
    before = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    built = {row["source"] for row in rows}
    others = [row for row in before if row["source"] not in built]
    return sorted([*others, *rows], key=lambda row: (row["source"], row["target"], row["entry"]))


def main() -> int:
    """Build, check or run."""
    options = parser(__doc__)
    options.add_argument("--part", help="of `check`, one part")
    options.add_argument(
        "--only", default="", help="sources with this regular expression in their name"
    )
    options.add_argument("--tool", choices=tuple(TOOLS), help="one tool instead of all")
    given = options.parse_args()
    if given.what == "build":
        rows = build(
            given.directory, [item for item in chosen() if re.search(given.only, group(item))]
        )
        if given.save:
            same = [item for item in elsewhere() if re.search(given.only, group(item))]
            rows += resources(cd.build([item.form for item in same], [PORTABLE]), same)
            save(given.save, "gpu.sanitize build", rows=with_others(given.save, rows))
        count = sum(map(len, launches(given.only).values()))
        print(f"{len(rows)} instances, {count} launches")
        return 0
    if given.what == "check":
        return check(given.directory, [given.part] if given.part else parts(given.only))
    return run(given.directory, [given.tool] if given.tool else list(TOOLS), given.only, given.save)
