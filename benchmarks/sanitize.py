"""Every shipped kernel under the four tools of compute-sanitizer.

Two halves: `build DIRECTORY` on any machine, then where there are a GPU, iree-base-runtime and
compute-sanitizer

    python benchmarks/sanitize.py check DIRECTORY
    python benchmarks/sanitize.py run DIRECTORY [--save FILE]

`check` is the same launches without a tool; `build DIRECTORY --save FILE` writes what each instance
takes of a multiprocessor, as JSON.

Inputs are drawn on the host and copied with cuMemcpyHtoD, and nothing but the kernels runs on the
GPU (`bare_launch.py`). So initcheck sees every write there is, and neither filters nor suppressions
are needed. Sizes are small and odd, half of the launches begin one element beside an aligned
address, and every result, poisoned with NaN before, is compared with the kernel's reference: a
launch that did nothing would be found.

Poisoned, since initcheck does not see what the tensor memory accelerator writes: left as they are
allocated, results of `gemm_sm90a.cu` are right, but the copy back to the host counts as one of
memory that nobody wrote.

Matrix products differ in element type, layout and the numbers of their tiles; of each combination
one instance is taken, with another epilogue each. Of everything else all instances are.

Each tool and part of the kernels is a process of its own, as many at once as there are CPUs.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from benchmarks.bare_launch import (
    PORTABLE,
    Launcher,
    Subject,
    build,
    declared,
    drawn,
    numbers_of,
    problem,
    resources,
    subjects,
    wanted,
)
from benchmarks.gpu_command import parser, save, versions
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.evaluation import holds
from custom_dispatch.kernel.expr import Dim
from custom_dispatch.kernel.target import Target

TOOLS = {
    "memcheck": ("--leak-check", "no"),
    "racecheck": ("--racecheck-report", "all"),
    "initcheck": (),
    "synccheck": (),
}
LAUNCHES, SLOW = 100, {"gemm_sm90a": 32, "attention": 30, "attention_decode": 22}
"""Of one process, about, to which beginning takes seconds; and of sources whose launches take long
under racecheck: 2 s of clusters of 8 blocks."""
SECONDS = 150
"""After which a process has hung."""
FOUND = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (.*)")
DONE = re.compile(r"(\d+) launches, (\d+) wrong")


def _dims(names: str, *rows: tuple[int, ...]) -> list[dict[str, int]]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


SAME_CODE = ("flat_attention",)
"""Modules that declare instances of others once more, for operands of other ranks."""
SMALL_MODULES = (
    "softmax",
    "layer_norm",
    "rms_norm",
    "gelu",
    "swiglu",
    "rotary",
    "write_cache",
    "simple_mul",
)
ROWS_GROUP = "softmax, norms, GELU, SwiGLU, rotary, write_cache, simple_mul"
ROWS = _dims("batch columns", (3, 7), (37, 63), (5, 384), (2, 4095), (1, 8200), (1, 20001))
SIZES = {
    **dict.fromkeys(("softmax", "layer_norm", "rms_norm", "gelu", "swiglu"), ROWS),
    "rotary": _dims("batch heads length dim tables", (2, 3, 5, 128, 1), (3, 5, 7, 10, 3)),
    "write_cache": _dims(
        "batch heads keys count dim", (2, 3, 65, 7, 128), (1, 2, 7, 9, 10), (3, 1, 300, 33, 64)
    ),
    "simple_mul": _dims("n", (1,), (1000,)),
    "gemm": _dims(
        "batch m n k",
        (1, 7, 65, 200),
        (1, 16, 63, 13),
        (2, 130, 264, 72),
        (1, 65, 72, 200),
        (1, 4, 9, 8),
        (1, 300, 520, 64),
    ),
    "attention": _dims(
        "batch heads kv_heads queries keys",
        (1, 1, 1, 1, 1),
        (2, 4, 2, 65, 64),
        (1, 8, 2, 1, 100),
        (1, 3, 1, 130, 257),
        (1, 2, 1, 7, 300),
        (2, 4, 1, 1, 63),
    ),
    "quantised": [
        row
        | {"halves": row["k"] // 2, "blocks": row["k"] // 32, "groups": row["k"] // row["group"]}
        for row in _dims(
            "batch n k group parts",
            (1, 1, 32, 32, 1),
            (1, 65, 288, 96, 5),
            (7, 33, 1024, 64, 1),
            (8, 65, 512, 32, 65),
            (17, 7, 256, 64, 7),
            (1, 40, 4352, 256, 1),
        )
    ],
}
"""By the module that declares the kernels; each takes those that it can compute."""


@dataclass(frozen=True)
class Case:
    """One launch."""

    subject: Subject
    dims: dict[str, int]
    offset: int
    """Elements from an aligned address to the beginning of each operand."""
    causal: bool
    all_there: bool
    """Whether optional operands are."""


def _is_needed(condition: Condition, module: str) -> bool:
    """Whether a kernel is wrong without it; the others say where a choice finds it fast."""
    if module == "gemm":
        return isinstance(condition.left, Dim) and condition.operator == "<="
    return condition.operator not in (">", ">=")


def fits(subject: Subject, rows: Iterable[dict[str, int]]) -> Iterator[dict[str, int]]:
    """Of sizes, those that a kernel can compute, as its dims."""
    names = {dim.name for dim in subject.form.dims}
    needed = [item for item in subject.form.requires if _is_needed(item, subject.module)]
    for row in rows:
        dims = dict(row)
        if "m" in dims and "m" not in names:  # a product of leading dims and weights
            dims["batch"] *= dims["m"]
        dims = {name: size for name, size in dims.items() if name in names}
        if all(holds(item, dims) for item in needed):
            yield dims


def cases(subject: Subject) -> list[Case]:
    """The launches of a kernel, aligned and not, causal and not, with and without what may lack."""
    if subject.module not in SIZES:
        sys.exit(f"benchmarks/sanitize.py has no sizes for cuda_kernels.{subject.module}.")
    found = [
        Case(subject, dims, count & 1, bool(count & 2), count % 3 != 1)
        for count, dims in enumerate(fits(subject, SIZES[subject.module]))
    ]
    if not found:
        sys.exit(f"benchmarks/sanitize.py has no sizes that {subject.key} can compute.")
    return found


def chosen() -> list[Subject]:
    """What is launched."""
    found: dict[tuple[str, ...], Subject] = {}
    products: dict[tuple[str, ...], list[Subject]] = {}
    for subject in subjects():
        if subject.module in SAME_CODE:
            continue
        if subject.module != "gemm":
            found.setdefault(subject.code, subject)
            continue
        arguments = subject.form.entry.partition("<")[2].rstrip(">").split(", ")
        numbers = [each for each in arguments if each in ("true", "false") or each.isdecimal()]
        kind = str(subject.form.abi.bindings[0].dtype)
        products.setdefault((subject.source, kind, *numbers), []).append(subject)
    some = [same[7 * turn % len(same)] for turn, same in enumerate(products.values())]
    return [*found.values(), *some]


def elsewhere() -> list[Subject]:
    """Of what is launched as code for Hopper, what GPUs from sm_80 on take, too."""
    kernels = {kernel.name: kernel for _, kernel in declared()}
    found: dict[tuple[str, ...], Subject] = {}
    for item in chosen():
        form = kernels[item.form.name].for_target(Target.parse(PORTABLE))
        subject = Subject(item.module, form, PORTABLE)
        if item.target != PORTABLE and subject.code == item.code:
            found[item.source, form.entry] = subject
    return list(found.values())


def group(subject: Subject) -> str:
    """What is summed up in one line: a source, or all those of rows and of single elements."""
    return ROWS_GROUP if subject.module in SMALL_MODULES else f"{subject.source}.cu"


@functools.cache
def launches() -> dict[str, list[Case]]:
    """All of them, by group; neighbours have the same code, which is loaded once."""
    found: dict[str, list[Case]] = {}
    for subject in chosen():
        found.setdefault(group(subject), []).extend(cases(subject))
    return found


def parts(tool: str = "") -> list[str]:
    """What a process each does under a tool: "GROUP:NUMBER/COUNT"."""
    found = []
    for name, items in launches().items():
        most = SLOW.get(items[0].subject.source, LAUNCHES) if tool == "racecheck" else LAUNCHES
        count = -(-len(items) // most)
        found += [f"{name}:{number}/{count}" for number in range(count)]
    return found


def members(part: str) -> list[Case]:
    """The launches of one."""
    name, _, turn = part.rpartition(":")
    number, count = map(int, turn.split("/"))
    items = launches()[name]
    return items[len(items) * number // count : len(items) * (number + 1) // count]


def check(directory: Path, names: list[str]) -> int:
    """Launch everything of some parts; 1 if a result is wrong."""
    launcher, failures, count = Launcher(directory), 0, 0
    random = numpy.random.default_rng(11)
    for name in names:
        for case in members(name):
            count += 1
            form = case.subject.form
            inputs = drawn(form, case.dims, random, all_there=case.all_there)
            numbers = numbers_of(form, causal=case.causal)
            results = launcher.launch(case.subject, case.dims, inputs, numbers, offset=case.offset)
            found = problem(form, results, wanted(form, inputs, numbers))
            if found:
                failures += 1
                print(f"{case.subject.key} {case.dims}, {case.offset} off: {found}", flush=True)
    print(f"{count} launches, {failures} wrong", flush=True)
    return int(failures > 0)


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
    own = [sys.executable, "-W", "ignore", __file__, "check", str(directory), "--part", part]
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
    work = [
        (directory, tool, part) for tool in tools for part in parts(tool) if re.search(only, part)
    ]
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
        "compute-sanitizer over every kernel of cuda_kernels: python benchmarks/sanitize.py run",
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


def main() -> int:
    """Build, check or run."""
    options = parser(__doc__)
    options.add_argument("--part", help="of `check`, one part")
    options.add_argument(
        "--only", default="", help="parts with this regular expression in their name"
    )
    options.add_argument("--tool", choices=tuple(TOOLS), help="one tool instead of all")
    given = options.parse_args()
    if given.what == "build":
        rows = build(
            given.directory, [item for item in chosen() if re.search(given.only, group(item))]
        )
        if given.save:
            same = elsewhere()
            library = cd.build([item.form for item in same], [PORTABLE])
            rows += resources(library, same)
            save(given.save, "benchmarks/sanitize.py build", rows=rows)
        print(f"{len(rows)} instances, {sum(map(len, launches().values()))} launches")
        return 0
    if given.what == "check":
        names = (
            [given.part]
            if given.part
            else [part for part in parts() if re.search(given.only, part)]
        )
        return check(given.directory, names)
    return run(given.directory, [given.tool] if given.tool else list(TOOLS), given.only, given.save)


if __name__ == "__main__":
    sys.exit(main())
