"""Measuring the kernels of a choice for some sizes: `custom-dispatch tune`.

Kernels are built here, and launched in another process (`tune_runner.py`). What goes wrong with one
is its result, and never the end of the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy

from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes
from custom_dispatch.runtime.bench_inputs import inputs_for_kernel
from custom_dispatch.runtime.device import devices
from custom_dispatch.runtime.reference import reference_results
from custom_dispatch.runtime.sample import Sample
from custom_dispatch.runtime.tune_runner import DEFAULT_EFFORT, Candidate, Effort, Runner
from custom_dispatch.toolchain.build import build
from custom_dispatch.toolchain.library import KernelReport, Library
from custom_dispatch.toolchain.tuned import digest_of

Report = Callable[[str], object]
Dims = Mapping[str, int]


_MOST_OPERATIONS = 1_000_000_000
"""The reference, usually numpy in double precision, takes seconds for so many."""


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
    effort: Effort = DEFAULT_EFFORT,
    compiler: str = "auto",
    include_dirs: Sequence[Path] = (),
    objects: Path | None = None,
    report: Report = lambda _: None,
    done: Report = lambda _: None,
) -> Measured:
    """Measure every kernel of a choice for some sizes, on the device of this machine.

    Parameters
    ----------
    sizes
        The value of every dim, once for each measurement.
    target
        What the kernels are built for: of the GPU, or the CPU.
    objects
        A directory of objects that were built for these kernels together; nothing is compiled then.
    report, done
        Called with what is done now, and with what came out for each of the sizes.

    Raises
    ------
    CallError
        A dim has no value, or is none of the kernels'; or a scalar is none that calls pass.
    DeviceError
        The device is not there.
    """
    for dims in sizes:
        for kernel in choice.kernels:
            _check_names(kernel, dims)
    if objects is None:
        report(f"building {len(choice.kernels)} kernels for {target}")
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            built = list(
                pool.map(
                    lambda kernel: _build(kernel, target, compiler, include_dirs), choice.kernels
                )
            )
    else:
        library = build(choice.kernels, [target], objects=objects)
        built = [_candidate(kernel, library, target) for kernel in choice.kernels]
    rows = []
    with temporary_directory() as directory:
        runner = Runner([_ready(item, target) for item in built], target, effort, directory)
        try:
            for index, dims in enumerate(sizes):
                said = f"{index + 1} of {len(sizes)}, {sizes_said(dims)}"
                report(said)
                reference = _reference(choice, dims, effort, directory / f"reference{index}.npz")
                found = MeasuredSizes(dict(dims), runner.measure(dims, reference))
                rows.append(found)
                done(f"{said}: {_best_said(found)}")
        finally:
            runner.close()
    units = [unit for each in built if each.library for unit in each.library.units]
    built_objects = [item for unit in units for item in (*unit.objects, unit.cpu_ptx) if item]
    origins = {item.origin.rpartition("/")[2] for item in built_objects}
    kind = "cuda" if target.is_cuda else "cpu"
    device = next(item for item in devices() if item.kind == kind)
    return Measured(
        target,
        device.name,
        ", ".join(sorted(origins)) if objects is None else "objects that were built elsewhere",
        time.strftime("%Y-%m-%d"),
        {kernel.name: digest_of(kernel, target) for kernel in choice.kernels},
        tuple(rows),
        dict(effort.scalars),
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
        return _candidate(kernel, library, target)
    except CustomDispatchError as error:
        return _Candidate(kernel, None, error.found)


def _candidate(kernel: Kernel, library: Library, target: Target) -> _Candidate:
    """A kernel with the object that it is in."""
    (unit,) = (item for item in library.units if kernel in item.kernels)
    library = replace(library, units=(unit,))
    if not target.is_cuda:
        return _Candidate(kernel, library)
    (found,) = (item for item in library.report() if item.kernel == kernel.name)
    return _Candidate(kernel, library, _unfit(found))


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


def _ready(item: _Candidate, target: Target) -> Candidate:
    """What the child process needs of a kernel; for the CPU a module of it."""
    kernel, library = item.kernel, item.library
    if library is None or item.problem:
        return Candidate(kernel, b"", "", item.problem)
    if target.is_cuda:
        (found,) = library.objects
        return Candidate(kernel, found.data, found.symbol(kernel.for_target(target).entry))
    from custom_dispatch.compilation import compile as compile_module

    try:
        return Candidate(kernel, compile_module(None, library).bytes, "")
    except CustomDispatchError as error:
        return Candidate(kernel, b"", "", error.found)


def _reference(choice: Choice, dims: Dims, effort: Effort, path: Path) -> Path | None:
    """What the reference computes for some sizes, as a file; None where there is none, or more
    operations than it is asked for.
    """
    if not effort.with_reference:
        return None
    kernel = next((item for item in choice.kernels if item.reference is not None), None)
    if kernel is None or _operations(kernel, dims) > _MOST_OPERATIONS:
        return None
    generator = numpy.random.default_rng(effort.seed)
    inputs = inputs_for_kernel(kernel, dims, generator, with_optional=False, scalars=effort.scalars)
    results = reference_results(kernel, inputs.given or ())
    names = [item.name for item in kernel.outputs]
    Sample.of(dict(zip(names, results, strict=True))).write(path)
    return path


def _operations(kernel: Kernel, dims: Dims) -> int:
    """As many as the kernel declares; one for each element of its operands otherwise."""
    try:
        if kernel.flops is not None:
            return evaluate(kernel.flops, dims)
        buffers = [item for item in kernel.operands if isinstance(item, Buffer)]
        return sum(prod(evaluate(size, dims) for size in item.shape) for item in buffers)
    except DeclarationError:
        return 0


def _best_said(found: MeasuredSizes) -> str:
    if not found.seconds:
        return "no kernel could be measured"
    name, seconds = min(found.seconds.items(), key=lambda item: item[1])
    return f"{name}, {1e6 * seconds:.2f} us"


def sizes_said(dims: Dims) -> str:
    """As messages name sizes: m=1 n=4096."""
    return " ".join(f"{name}={size}" for name, size in dims.items()) or "no sizes"
