"""Measuring the kernels of a choice for some sizes: `custom-dispatch tune`.

Kernels are built here, and launched in another process (`tune_runner.py`). What goes wrong with one
is its result, and never the end of the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy

from custom_dispatch.eager.reference import reference_results
from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes
from custom_dispatch.kernel.tuning_table import sizes_said
from custom_dispatch.measure.bench_inputs import inputs_for_kernel
from custom_dispatch.measure.sample import Sample
from custom_dispatch.measure.tune_candidates import Built, build_each, read_objects
from custom_dispatch.measure.tune_runner import DEFAULT_EFFORT, Candidate, Effort, Runner, not_taken
from custom_dispatch.runtime.device import device_of
from custom_dispatch.toolchain.tuned import digest_of

Report = Callable[[str], object]
Dims = Mapping[str, int]


_MOST_OPERATIONS = 1_000_000_000
"""The reference, usually numpy in double precision, takes seconds for so many."""


def tune(
    choice: Choice,
    sizes: Sequence[Dims],
    target: Target,
    *,
    device: str = "cuda",
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
    device
        The GPU, where the target is one.
    objects
        A directory of what `write_objects` built; nothing is compiled then.
    report, done
        Called with what is done now, and with what came out for each of the sizes.

    Raises
    ------
    CallError
        A dim has no value, a name is not a dim of the kernels, or calls do not pass a scalar.
    DeviceError
        The device is not there.
    """
    for dims in sizes:
        for kernel in choice.kernels:
            _check_names(kernel, dims)
    here = device_of(device if target.is_cuda else "cpu")
    # Of the sources as they were before: an edit while they are measured makes the table stale.
    digests = {kernel.name: digest_of(kernel, target) for kernel in choice.kernels}
    if objects is None:
        report(f"building {len(choice.kernels)} kernels for {target}")
        built = build_each(choice, target, compiler, include_dirs)
    else:
        built = read_objects(choice, target, objects)
    rows = []
    with temporary_directory() as directory:
        ready = [_ready(item, target) for item in built]
        runner = Runner(ready, target, here.argument, effort, directory)
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
    return Measured(
        target,
        here.name,
        ", ".join(sorted({item.compiler for item in built if item.compiler})),
        time.strftime("%Y-%m-%d"),
        digests,
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


def _ready(item: Built, target: Target) -> Candidate:
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
    able = (item for item in choice.kernels if item.reference and not not_taken(item, dims))
    kernel = next(able, None)
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
