"""Measuring the kernels of a choice for some sizes: `custom-dispatch tune`.

Each kernel is measured in a process of its own (`tune_child.py`), because one that faults ends the
use of the GPU for everything in its process, and one that hangs ends only with it. What goes wrong
with a kernel is its result, and never the end of the others.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.errors import (
    CallError,
    CustomDispatchError,
    DeclarationError,
    ToolTimeoutError,
)
from custom_dispatch.kernel.binding import grids_for
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.expr import for_values, holds
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.process import run
from custom_dispatch.runtime.bench_inputs import inputs_for_kernel
from custom_dispatch.runtime.device import devices
from custom_dispatch.runtime.reference import reference_results
from custom_dispatch.toolchain.build import build
from custom_dispatch.toolchain.library import KernelReport, Library
from custom_dispatch.toolchain.tuned import digest_of

Report = Callable[[str], object]
Dims = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured, and how inputs are made."""

    repetitions: int = 100
    """Launches of each kernel and size, at most."""
    seconds: float = 1.0
    """Time for these, at most."""
    timeout_s: float = 60.0
    """Seconds after which one kernel with one of the sizes is given up."""
    seed: int = 0
    """For the random inputs, which are the same for every kernel."""
    with_reference: bool = True
    """Whether results are compared with the reference of the choice's kernels, if one has any."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A kernel that was built, or why not."""

    kernel: Kernel
    library: Library | None
    problem: str = ""


def tune(
    choice: Choice,
    sizes: Sequence[Dims],
    target: Target,
    *,
    effort: Effort = Effort(),
    compiler: str = "auto",
    include_dirs: Sequence[Path] = (),
    report: Report = lambda _: None,
) -> Measured:
    """Measure every kernel of a choice for some sizes, on the device of this machine.

    Parameters
    ----------
    sizes
        The value of every dim, once for each measurement.
    target
        What the kernels are built for: of the GPU, or the CPU.
    report
        Called with what is done now.

    Raises
    ------
    CallError
        A dim has no value, or is none of the kernels'.
    DeviceError
        The device is not there.
    """
    for dims in sizes:
        for kernel in choice.kernels:
            _check_names(kernel, dims)
    workers = len(os.sched_getaffinity(0))
    report(f"building {len(choice.kernels)} kernels for {target}")
    with ThreadPoolExecutor(workers) as pool:
        built = list(
            pool.map(lambda kernel: _build(kernel, target, compiler, include_dirs), choice.kernels)
        )
    with tempfile.TemporaryDirectory(prefix="custom-dispatch-tune-") as name:
        directory = Path(name)
        wanted = _references(choice, sizes, effort, directory) if effort.with_reference else {}
        found = [_measure(item, sizes, target, effort, directory, wanted, report) for item in built]
    rows = tuple(
        MeasuredSizes(dict(dims), tuple(results[index] for results in found))
        for index, dims in enumerate(sizes)
    )
    units = [unit for each in built if each.library for unit in each.library.units]
    objects = [item for unit in units for item in (*unit.objects, unit.cpu_ptx) if item]
    origins = {item.origin.rpartition("/")[2] for item in objects}
    kind = "cuda" if target.is_cuda else "cpu"
    device = next(item for item in devices() if item.kind == kind)
    return Measured(
        target,
        device.name,
        ", ".join(sorted(origins)),
        time.strftime("%Y-%m-%d"),
        {kernel.name: digest_of(kernel, target) for kernel in choice.kernels},
        rows,
    )


def _check_names(kernel: Kernel, dims: Dims) -> None:
    names = {dim.name for dim in kernel.dims}
    if names == set(dims):
        return
    missing, unknown = sorted(names - set(dims)), sorted(set(dims) - names)
    raise CallError(
        f"Kernel `{kernel.name}` "
        + (f"needs a value for `{missing[0]}`." if missing else f"has no dim `{unknown[0]}`."),
        expected=f"values for {', '.join(sorted(names))}" if names else "no dims: it has none",
        next_step="give --shape " + ",".join(f"{name}=1024" for name in sorted(names)) + ".",
    )


def _build(
    kernel: Kernel, target: Target, compiler: str, include_dirs: Sequence[Path]
) -> _Candidate:
    try:
        library = build(kernel, [target], compiler=compiler, include_dirs=include_dirs)
        if not target.is_cuda:
            return _Candidate(kernel, library)
        (found,) = (item for item in library.report() if item.kernel == kernel.name)
        return _Candidate(kernel, library, _unfit(found))
    except CustomDispatchError as error:
        return _Candidate(kernel, None, error.found)


def _unfit(found: KernelReport) -> str:
    """Why a kernel is not worth measuring."""
    taken = found.resources
    if taken.spills:
        return (
            f"spills: each thread stores {taken.spill_stores_bytes} bytes and loads "
            f"{taken.spill_loads_bytes}, with {taken.registers} registers"
        )
    if found.occupancy is not None and found.occupancy.blocks == 0:
        return f"does not fit: {found.occupancy.limited_by}"
    return ""


def _references(
    choice: Choice, sizes: Sequence[Dims], effort: Effort, directory: Path
) -> dict[int, Path]:
    """What the reference computes for each of the sizes, as files, where a kernel has one."""
    found: dict[int, Path] = {}
    kernel = next((item for item in choice.kernels if item.reference is not None), None)
    if kernel is None:
        return found
    for index, dims in enumerate(sizes):
        inputs = inputs_for_kernel(kernel, dims, numpy.random.default_rng(effort.seed))
        results = reference_results(kernel, inputs.given or ())
        path = found[index] = directory / f"reference{index}.npz"
        bits = [numpy.ascontiguousarray(item).reshape(-1).view(numpy.uint8) for item in results]
        numpy.savez(path, *bits, dtypes=[item.dtype.name for item in results])
    return found


def _measure(
    item: _Candidate,
    sizes: Sequence[Dims],
    target: Target,
    effort: Effort,
    directory: Path,
    wanted: Mapping[int, Path],
    report: Report,
) -> list[Result]:
    """One kernel's results, one for each of the sizes."""
    kernel, library = item.kernel, item.library
    problems = {i: item.problem or _not_taken(kernel, dims) for i, dims in enumerate(sizes)}
    seconds: dict[int, float] = {}
    waiting = [index for index, problem in problems.items() if not problem]
    request: dict[str, Any] = {}
    if waiting and library is not None:
        try:
            request = _request(kernel, library, target, effort, directory)
        except CustomDispatchError as error:
            problems |= dict.fromkeys(waiting, error.found)
            waiting = []
    while waiting:
        report(f"timing {kernel.name}")
        answers, end = _run_child(
            request
            | {
                "sizes": [dict(sizes[index]) for index in waiting],
                "references": [str(wanted.get(index, "")) for index in waiting],
            },
            directory,
            effort.timeout_s * len(waiting),
        )
        for index, answer in zip(waiting, answers, strict=False):
            if "seconds" in answer:
                seconds[index] = float(answer["seconds"])
            else:
                problems[index] = str(answer["problem"])
        done = len(answers)
        if done < len(waiting) and end:
            problems[waiting[done]] = end
            done += 1
        waiting = waiting[done:]
    return [
        Result(kernel.name, seconds.get(index), problems[index] if index not in seconds else "")
        for index in range(len(sizes))
    ]


def _not_taken(kernel: Kernel, dims: Dims) -> str:
    """Why a kernel does not take a call of these sizes."""
    try:
        for condition in kernel.requires:
            if not holds(condition, dims):
                return f"requires {condition}, which does not hold{for_values(condition, dims)}"
        grids_for(kernel, dims)
    except (CallError, DeclarationError) as error:
        return error.found
    return ""


def _request(
    kernel: Kernel, library: Library, target: Target, effort: Effort, directory: Path
) -> dict[str, Any]:
    """What a child has to know."""
    form = kernel.for_target(target)
    path = directory / f"{kernel.name}.code"
    symbol = ""
    if target.is_cuda:
        (item,) = library.objects
        path.write_bytes(item.data)
        symbol = item.symbol(form.entry)
    else:
        from custom_dispatch.compilation import compile as compile_module

        path.write_bytes(compile_module(None, library).bytes)
    return {
        "kernel": describe(form),
        "code": str(path),
        "symbol": symbol,
        "repetitions": effort.repetitions,
        "budget_s": effort.seconds,
        "seed": effort.seed,
    }


def _run_child(
    request: Mapping[str, Any], directory: Path, timeout_s: float
) -> tuple[list[dict[str, Any]], str]:
    """What a child has measured, in order; and why it ended before all of it, if it did."""
    asked, answers = directory / "request.json", directory / "answers.jsonl"
    asked.write_text(json.dumps(request))
    answers.write_text("")
    command = [sys.executable, "-m", "custom_dispatch.runtime.tune_child", str(asked), str(answers)]
    end = ""
    try:
        done = run(command, timeout_seconds=timeout_s)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["it said nothing"]
            end = f"its process ended with status {done.returncode}: {lines[-1]}"
    except ToolTimeoutError:
        end = f"did not end within {timeout_s:g} seconds"
    found = []
    for line in answers.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:  # ended while it wrote
            break
    return found, end or "its process ended without a result"
