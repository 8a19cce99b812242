"""Every shipped kernel on a GPU with sizes, addresses and numbers that nobody chose well.

    python -m benchmarks gpu.sanitize build DIRECTORY
    python -m benchmarks gpu.odd_inputs run DIRECTORY [--save FILE]

The first on any machine, the second where there are a GPU and iree-base-runtime; `check` is what
each of its processes does. Every size of a kernel is each of 1, 7, 8, 63, 65 and 4095 in turn (for
attention others of these for each kernel), as far as operands have up to a million elements, at
aligned addresses and one element behind; and each floating-point input has a NaN and an infinity in
it once. What comes out is compared with the kernel's reference in double precision: where that is
not finite, the result must be the same NaN or infinity.

Left out is where a reference says less than a kernel does: what is not finite where a mask or the
end of a cache hides it, and the reference multiplies by zero; GELU in 16 bits of -infinity, where
the kernel has the limit, 0, and the definition -infinity times 0; and infinite scales of the batch
norm behind a convolution, by which kernels multiply the mean before they subtract it. Of a
quantised product with an infinity it is said only that its result is not finite; so of a layer norm
with an infinite weight, since what it multiplies may be zero in f32 and not quite in double
precision; and of scans, where the delta rule subtracts infinities from each other, and a sequence
that is split multiplies an infinite state by what a whole part decays by, which may vanish.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy

from benchmarks.cases.launches import cases, chosen, fits
from benchmarks.lib import gpu_command
from benchmarks.lib.bare_launch import (
    MOST_DRAWN,
    Launcher,
    Repeated,
    Subject,
    drawn,
    numbers_of,
    problem,
    shape_of,
    wanted,
)
from custom_dispatch.errors import DeclarationError

SIZES = (1, 7, 8, 63, 65, 4095)
ONE_OF = {"attention": 8}
"""Of a module's sizes, where it has thousands of kernels of few sources: others of each."""
PARTS = 6
"""Processes: more of them wait for each other's turns on the GPU."""
DECAYS = {"a": -numpy.inf, "dt": numpy.inf}
"""Those of scans, of which the others make a state of zero times infinity."""
ALIGNED, BESIDE = "aligned", "one element behind"

Array = numpy.ndarray[Any, numpy.dtype[Any]]


def dims_of(subject: Subject) -> Iterator[dict[str, int]]:
    """Each size as each of the kernel's, the others as the sanitizers launch it first."""
    first = next((case.dims for case in cases(subject)), None)
    if first is None:
        return
    others = [first | {name: size} for name, size in product(first, SIZES)]
    yield from fits(subject, [dims for dims in others if has_shapes(subject, dims)])


def has_shapes(subject: Subject, dims: dict[str, int]) -> bool:
    """Whether all its operands have a shape, and numbers of their own for all elements."""
    try:
        shapes = [shape_of(item, dims) for item in (*subject.form.buffers, *subject.form.outputs)]
    except DeclarationError:  # a window that is larger than the image
        return False
    return all(prod(shape) <= MOST_DRAWN for shape in shapes)


def spoiled(subject: Subject, inputs: dict[str, Array], name: str, turn: int) -> dict[str, Array]:
    """The same with a NaN and, where it is defined, an infinity in one of them."""
    values = inputs[name].copy()
    has_gelu = subject.module == "glu" or re.search("gelu", subject.form.entry, re.IGNORECASE)
    is_folded = (subject.module, name) == ("convolution", "scale")
    infinite = DECAYS.get(name, numpy.inf if turn % 2 else -numpy.inf)
    values.flat[(7 * turn) % values.size] = numpy.nan
    has_limit = has_gelu and subject.form.outputs[0].dtype.bits == 16
    if not (has_limit or is_folded):
        values.flat[(11 * turn + 5) % values.size] = infinite
    return inputs | {name: values}


def variants(
    subject: Subject, inputs: dict[str, Array], turn: int
) -> Iterator[tuple[str, dict[str, Array]]]:
    """The inputs with each of them spoiled."""
    hidden = [] if "mask" not in inputs else ["k", "v", "mask"]
    hidden += [] if "lengths" not in inputs else ["q", "k", "v"]
    # Of a filter over the image's edge, references multiply zeros, and kernels nothing.
    hidden += ["weight"] if subject.module == "convolution" else []
    for operand in subject.form.abi.bindings:
        name = operand.name
        if name not in inputs or not operand.dtype.is_float or operand.dtype.bits < 16:
            continue
        if name in hidden:
            continue
        yield name, spoiled(subject, inputs, name, turn)


def same_kinds(subject: Subject, results: list[Array], references: list[Array], what: str) -> str:
    """Whether NaN is where it should be, and each infinity has its sign; empty if so."""
    if subject.module in ("quantised", "selective_scan"):
        return ""
    if (subject.module, what) == ("layer_norm", "spoiled weight"):
        return ""
    for got, want in zip(results, references, strict=True):
        one, other = got.astype(numpy.float64), want.astype(numpy.float64).reshape(got.shape)
        infinite = numpy.isinf(other)
        if (numpy.isnan(one) != numpy.isnan(other)).any():
            return "NaN where infinity should be, or the other way round"
        if (one[infinite] != other[infinite]).any():
            return "an infinity of the other sign"
    return ""


def check(directory: Path, part: int | None) -> int:
    """Launch one part, or everything; the last line printed is counts by source, as JSON."""
    launcher, random = Launcher(directory), numpy.random.default_rng(part or 0)
    launches, wrong = Counter[str](), Counter[str]()

    def one(subject: Subject, dims: dict[str, int], inputs: dict[str, Array], what: str) -> None:
        # With a causal mask where nothing is infinite.
        numbers = numbers_of(subject.form, causal=what == BESIDE)
        offset = 0 if what == ALIGNED else 1
        results = launcher.launch(subject, dims, inputs, numbers, offset=offset)
        with numpy.errstate(all="ignore"):
            references = wanted(subject.form, inputs, numbers)
            found = problem(subject.form, results, references)
            found = found or same_kinds(subject, results, references, what)
        launches[subject.source] += 1
        if found:
            wrong[subject.source] += 1
            print(f"{subject.key} {dims}, {what}: {found}", flush=True)

    built = [subject for subject in chosen() if subject.key in launcher.keys]
    for number, subject in enumerate(built):
        if part is not None and number % PARTS != part:
            continue
        step = ONE_OF.get(subject.module, 1)
        for turn, dims in enumerate([*dims_of(subject)][number % step :: step]):
            drawn_now = drawn(subject.form, dims, random, all_there=subject.module != "attention")
            inputs = {k: v for k, v in drawn_now.items() if not isinstance(v, Repeated)}
            assert len(inputs) == len(drawn_now)
            one(subject, dims, inputs, ALIGNED)
            one(subject, dims, inputs, BESIDE)
            for name, bad in variants(subject, inputs, turn):
                one(subject, dims, bad, f"spoiled {name}")
    print(json.dumps({"launches": launches, "wrong": wrong}), flush=True)
    return int(bool(wrong))


def run(directory: Path, save: Path | None) -> int:
    """All parts at once; 1 if anything is wrong."""

    def start(part: int) -> str:
        own = gpu_command.itself("gpu.odd_inputs", "check", str(directory))
        done = subprocess.run(
            [*own, "--part", str(part)],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        if not done.stdout.rstrip().endswith("}}"):
            sys.exit(done.stdout + done.stderr)  # it did not come to its counts
        return done.stdout

    with ThreadPoolExecutor(PARTS) as pool:
        outputs = list(pool.map(start, range(PARTS)))
    launches, wrong, problems = Counter[str](), Counter[str](), list[str]()
    for output in outputs:
        *lines, counts = output.splitlines()
        problems += lines
        found = json.loads(counts)
        launches.update(found["launches"])
        wrong.update(found["wrong"])
    shown = Counter[tuple[str, str]]()
    for line in problems:  # two of each kernel and kind of input
        kernel, what = line.split(" {")[0], line.rpartition("}, ")[2]
        shown[kernel, what] += 1
        if shown[kernel, what] <= 2:
            print(line)
    for source, count in sorted(launches.items()):
        print(f"{source:20} {count:6} launches, {wrong[source]} wrong")
    print(f"{launches.total()} launches, {wrong.total()} wrong")
    if save:
        rows = [
            {"source": f"{source}.cu", "launches": count, "wrong": wrong[source]}
            for source, count in sorted(launches.items())
        ]
        gpu_command.save(save, "gpu.odd_inputs run", sizes=SIZES, rows=rows)
    return int(bool(wrong))


def main() -> int:
    """Check or run."""
    options = gpu_command.parser(__doc__)
    options.add_argument("--part", type=int, help="of `check`, one part")
    given = options.parse_args()
    if given.what == "build":
        sys.exit("What it launches is built by benchmarks/gpu/sanitize.py build DIRECTORY.")
    if given.what == "check":
        return check(given.directory, given.part)
    return run(given.directory, given.save)
