"""`custom-dispatch bench`: what calls of a function take, and what of that is its kernel."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from custom_dispatch.cli.options import (
    build_options,
    check_outputs,
    device_option,
    function_option,
    plot_option,
    progress,
    repetitions_option,
    seconds_option,
    timeout_option,
)
from custom_dispatch.cli.told import json_file, json_option, tell

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel
    from custom_dispatch.measure.bench import Bench
    from custom_dispatch.measure.bench_inputs import BenchInputs
    from custom_dispatch.measure.child import Answer, Child
    from custom_dispatch.measure.measurement import Measurement
    from custom_dispatch.toolchain.build import BuildOptions


@click.command(short_help="Time a function of a .vmfb, or a kernel.")
@click.argument("subject", metavar="FILE.vmfb|KERNELS", type=click.Path())
@function_option
@click.option(
    "--kernel",
    "name",
    help="The kernel of KERNELS, likewise.",
)
@click.option(
    "--dims",
    "-d",
    "sizes",
    multiple=True,
    metavar="NAME=SIZE",
    help="A kernel's sizes: n=1024; or a range, n=1024:268435456:x4; repeatable.",
)
@click.option(
    "--input",
    "-i",
    "texts",
    multiple=True,
    metavar="INPUT",
    help="8xf32 (random), 8xf32=2, {n}x4xf32 with a size of --dims, 1.5 or @file.npy.",
)
@device_option
@repetitions_option(200, "Calls that are timed, at most.")
@seconds_option(2.0, "Time for the calls of each kind and size, at most.")
@timeout_option(600.0, "Give up after so many seconds: a kernel may hang.")
@click.option("--seed", type=click.IntRange(0), default=None, help="For the random values.")
@plot_option("all sizes")
@json_option
@build_options("compiler", "include_dirs")
def bench(
    subject: str,
    function: str | None,
    name: str | None,
    sizes: tuple[str, ...],
    texts: tuple[str, ...],
    device: str,
    repetitions: int,
    seconds: float,
    timeout: float,
    seed: int | None,
    plot: Path | None,
    json_path: str | None,
    how: BuildOptions,
) -> int:
    """Time calls of a function of a .vmfb, or of a kernel, on random or given inputs.

    Operands and results stay on the device. The columns are a call through this package, the same
    call through IREE alone and, for a kernel on a GPU, the same object launched through the CUDA
    driver, and the kernel's own time. First, results are compared with the kernel's reference and
    with that launch. Exit status 2 if they differ.
    """
    from secrets import randbelow

    from custom_dispatch.cli.figures import about, show, write_plot
    from custom_dispatch.cli.report import show_error
    from custom_dispatch.cli.sizes import parse_sizes
    from custom_dispatch.files import temporary_directory
    from custom_dispatch.measure.child import Child
    from custom_dispatch.measure.measurement import Subject, read_measurement
    from custom_dispatch.measure.plot import check_plot

    dims = parse_sizes(sizes)
    check_plot(plot)
    given = [Path(text[1:]) for text in texts if text.startswith("@")]
    check_outputs(plot, json_file(json_path), inputs=[Path(subject), *given])
    chosen_seed = randbelow(2**31) if seed is None else seed
    outputs = (plot, json_file(json_path))
    content, asked = _open(subject, function, name, device, how, outputs)
    asked |= {"command": "bench", "subject": subject, "inputs": texts, "seed": chosen_seed}
    asked |= {"repetitions": repetitions, "seconds": seconds}
    measured: list[Measurement] = []
    what = f"the benchmark of `{asked['function'] or subject}`"
    with (
        temporary_directory() as directory,
        Child("custom_dispatch.cli.child", json.dumps(asked), shown=True) as child,
    ):
        ask = partial(_ask, child, what, time.monotonic() + timeout, timeout)
        path = directory / "module.vmfb"
        path.write_bytes(content)
        runs = Subject(**ask(open=str(path)))
        for index, values in enumerate(dims):
            said = " ".join(f"{name}={size}" for name, size in values.items())
            with progress(f"timing {said}"):
                # A reference in numpy may take minutes: the smallest size stands for all.
                found = ask(measure=values, reference=index == 0)
            measured.append(read_measurement(found))
    tell(
        json_path,
        lambda: show(runs, measured),
        about=about(runs, chosen_seed),
        measurements=[
            asdict(found)
            | {"bytes_per_second": found.bytes_per_second}
            | {"flops_per_second": found.flops_per_second}
            for found in measured
        ],
    )
    if plot is not None:
        write_plot(plot, runs, dims, measured)
        click.echo(plot)
    wrong = [str(item) for found in measured for item in found.agreements if item.problem]
    for text in wrong:
        show_error(f"error: `{runs.function}` {text}")
    return 2 if wrong else 0


def _ask(child: Child, what: str, latest: float, timeout: float, **question: Any) -> Answer:
    """Ask the process that measures, until the benchmark's time is over."""
    from custom_dispatch.errors import KernelError
    from custom_dispatch.measure.child import ChildEndedError

    try:
        return child.ask(max(latest - time.monotonic(), 0.1), **question)
    except ChildEndedError as error:
        if time.monotonic() < latest:
            raise error.of(what) from None
    raise KernelError(
        f"The benchmark did not end within {timeout:g} seconds.",
        expected="a kernel that comes to its end, for these sizes",
        next_step="give smaller --dims or more --timeout; the target cpu:checked finds "
        "threads that wait for ones that never come.",
    )


def _open(
    subject: str,
    function: str | None,
    name: str | None,
    device: str,
    how: BuildOptions,
    outputs: tuple[Path | None, ...],
) -> tuple[bytes, dict[str, Any]]:
    """The module, and what its function is opened with."""
    from custom_dispatch.cli.kernels import load_members
    from custom_dispatch.errors import CallError, ModuleFileError
    from custom_dispatch.files import read_bytes
    from custom_dispatch.kernel.choice import files_of
    from custom_dispatch.kernel.names import chosen

    path = Path(subject)
    if path.suffix == ".vmfb":
        if name is not None:
            raise CallError(
                f"--kernel is given for the module `{subject}`.",
                expected="--function, one of the module's",
                next_step=f"write --function {name}.",
            )
        content = read_bytes(path, "The module", ModuleFileError)
        asked = {"label": f"`{path.name}`", "function": function, "device": device}
        return content, asked | {"reason": "", "kernel": ""}
    if function is not None:
        raise CallError(
            f"--function is given for the kernels of `{subject}`.",
            expected="--kernel, or a .vmfb file with functions",
            next_step=f"write --kernel {function}.",
        )
    kernels = {kernel.name: kernel for kernel in load_members((subject,))}
    kernel = chosen(f"`{subject}` declares", kernels, name, "kernel", "--kernel NAME")
    check_outputs(*outputs, inputs=files_of([kernel]))
    kind, reason = device_for(device)
    with progress(f"building {kernel.name}"):
        content = _compile(kernel, kind, how)
    asked = {"label": f"`{subject}`", "function": kernel.name, "device": kind}
    return content, asked | {"reason": reason, "kernel": kernel.name}


def device_for(wanted: str) -> tuple[str, str]:
    """The device that a kernel is built for, and why."""
    from custom_dispatch.errors import DeviceError
    from custom_dispatch.kernel.device_name import gpu_index, gpu_name
    from custom_dispatch.runtime import why_not

    if wanted == "cpu":
        return wanted, "asked for"
    gpu = gpu_name(gpu_index(wanted) or 0)
    problem = why_not(gpu)
    if problem is None:
        return gpu, ""
    if wanted != "auto":
        raise DeviceError(problem)
    return "cpu", problem


def _compile(kernel: Kernel, kind: str, how: BuildOptions) -> bytes:
    from custom_dispatch.compilation import compile as compile_module
    from custom_dispatch.eager.placing import target_for_gpu
    from custom_dispatch.kernel.target import Target

    target = Target("cpu", cpu="host") if kind == "cpu" else target_for_gpu(kernel, kind)
    return compile_module(None, kernel, [target], **how).bytes


def inputs_for(
    runs: Bench, dims: dict[str, int], texts: Sequence[str], generator: Any
) -> BenchInputs:
    """What the function is called with: what --input gives, else random values."""
    from custom_dispatch.errors import CallError
    from custom_dispatch.measure.bench_inputs import (
        given_inputs,
        inputs_for_kernel,
        inputs_for_type,
    )

    if texts:
        used = {name for name in dims if any(f"{{{name}}}" in text for text in texts)}
        if set(dims) - used:
            name = min(set(dims) - used)
            raise CallError(
                f"--dims gives `{name}`, which no --input uses.",
                expected=f"an --input such as {{{name}}}xf32, or no --input at all for a kernel",
                next_step="leave one of them out.",
            )
        values = [_parse_input(text, dims, generator) for text in texts]
        return given_inputs(runs.kernel, runs.function.type, values)
    if runs.kernel is not None:
        return inputs_for_kernel(runs.kernel, dims, generator)
    if dims:
        raise CallError(
            f"--dims is given, and `{runs.function.name}` is no kernel alone, so it has no dims.",
            expected=f"--input for each argument of {runs.function.type}",
            next_step=f"give --input {{{next(iter(dims))}}}xf32, for example.",
        )
    return inputs_for_type(runs.function.name, runs.function.type, generator)


def _parse_input(text: str, dims: dict[str, int], generator: Any) -> Any:
    """An input; one without values is random."""
    import numpy

    from custom_dispatch.cli.inputs import parse_input
    from custom_dispatch.kernel.dtypes import of_numpy
    from custom_dispatch.measure.random_inputs import random_array

    for name, value in dims.items():
        text = text.replace(f"{{{name}}}", str(value))
    found = parse_input(text)
    if not isinstance(found, numpy.ndarray) or "=" in text or text.startswith("@"):
        return found
    kind = of_numpy(found.dtype)
    assert kind is not None  # noqa: S101 - `parse_input` made it of one
    return random_array(kind, found.shape, generator)
