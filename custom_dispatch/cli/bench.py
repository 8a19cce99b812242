"""`custom-dispatch bench`: what calls of a function take, and what of that is its kernel."""

import platform
import secrets
import shlex
import sys
import time
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import load_members
from custom_dispatch.cli.notation import parse_sizes
from custom_dispatch.cli.report import json_file, json_option, show_error, show_table, tell
from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.eager.placing import target_of
from custom_dispatch.errors import CallError, KernelError, ModuleFileError
from custom_dispatch.files import read_bytes, temporary_directory
from custom_dispatch.kernel.declared import files_of
from custom_dispatch.kernel.names import chosen
from custom_dispatch.measure.child import Child, ChildEndedError
from custom_dispatch.measure.measurement import Measurement, Subject, Timing
from custom_dispatch.plain_data import as_it_is, read
from custom_dispatch.tables import rate_text, seconds_text
from custom_dispatch.toolchain.build import BuildOptions

_KINDS = {
    "a call": "call",
    "IREE alone": "invoke",
    "CUDA driver": "native",
    "kernel": "kernel",
    "a copy": "copy",
}
"""What is timed, as `Measurement` calls it."""


@click.command()
@click.argument("subject", metavar="FILE.vmfb|KERNELS", type=click.Path())
@options.function
@click.option("--kernel", "name", help="The kernel of KERNELS, likewise.")
@click.option(
    "--dims",
    "-d",
    "sizes",
    multiple=True,
    metavar="NAME=SIZE",
    help="A kernel's sizes: n=1024; or a range, n=1024:268435456:x4; repeatable.",
)
@options.inputs(help="8xf32 (random), 8xf32=2, {n}x4xf32 with a size of --dims, 1.5 or @file.npy.")
@options.device()
@options.repetitions(default=200, help="Calls that are timed, at most.")
@options.seconds(default=2.0, help="Time for the calls of each kind and size, at most.")
@options.timeout(default=600.0, help="Give up after so many seconds: a kernel may hang.")
@click.option("--seed", type=click.IntRange(0), default=None, help="For the random values.")
@json_option
@options.build("compiler", "include_dirs")
def command(
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
    json_path: str | None,
    how: BuildOptions,
) -> int:
    """Time calls of a function of a .vmfb, or of a kernel, on random or given inputs.

    Operands and results stay on the device. The columns are a call through this package, the same
    call through IREE alone and, for a kernel on a GPU, the same object launched through the CUDA
    driver, and the kernel's own time. First, results are compared with the kernel's reference and
    with that launch. Exit status 2 if they differ.
    """
    dims = parse_sizes(sizes)
    output = json_file(json_path)
    options.check_outputs(output, inputs=[Path(subject), *options.input_files(texts)])
    chosen_seed = secrets.randbelow(2**31) if seed is None else seed
    opened = _open(subject, function, name, device, how, output)
    measured: list[Measurement] = []
    what = f"the benchmark of `{opened.function or subject}`"
    with (
        temporary_directory() as directory,
        Child(
            "custom_dispatch.cli.isolated",
            "Benches",
            shown=True,
            names=opened.names,
            texts=texts,
            seed=chosen_seed,
            repetitions=repetitions,
            budget_s=seconds,
        ) as child,
    ):
        ask = partial(_ask, child, what, time.monotonic() + timeout, timeout)
        path = directory / "module.vmfb"
        path.write_bytes(opened.content)
        runs = Subject(**ask("open", str(path), *opened[1:5]))
        for index, values in enumerate(dims):
            said = " ".join(f"{name}={size}" for name, size in values.items())
            with options.progress(f"timing {said}"):
                # A reference in numpy may take minutes: the smallest size stands for all.
                found = ask("measure", values, index == 0)
            measured.append(read(Measurement, found, as_it_is))
    tell(
        json_path,
        lambda: _show(runs, measured),
        about=_about(runs, chosen_seed),
        measurements=[
            asdict(found)
            | {"bytes_per_second": found.bytes_per_second}
            | {"flops_per_second": found.flops_per_second}
            for found in measured
        ],
    )
    wrong = [str(item) for found in measured for item in found.agreements if item.problem]
    for text in wrong:
        show_error(f"error: `{runs.function}` {text}")
    return 2 if wrong else 0


def _ask(child: Child, what: str, latest: float, timeout: float, *asked: Any) -> Any:
    """Ask the process that measures, until the benchmark's time is over."""
    try:
        return child.ask(max(latest - time.monotonic(), 0.1), *asked)
    except ChildEndedError as error:
        if time.monotonic() < latest:
            raise error.of(what) from None
    raise KernelError(
        f"The benchmark did not end within {timeout:g} seconds.",
        expected="a kernel that comes to its end, for these sizes",
        next_step="give smaller --dims or more --timeout; the target cpu:checked finds "
        "threads that wait for ones that never come.",
    )


class _Opened(NamedTuple):
    """A module whose function is measured."""

    content: bytes
    label: str
    function: str | None
    device: str
    reason: str
    """Why it is this device, where that was decided here."""
    names: tuple[str, ...]
    """The files with the kernel that the function is."""


def _open(
    subject: str,
    function: str | None,
    name: str | None,
    device: str,
    how: BuildOptions,
    output: Path | None,
) -> _Opened:
    path = Path(subject)
    if path.suffix == ".vmfb":
        if name is not None:
            raise CallError(
                f"--kernel is given for the module `{subject}`.",
                expected="--function, one of the module's",
                next_step=f"write --function {name}.",
            )
        content = read_bytes(path, "The module", ModuleFileError)
        return _Opened(content, f"`{path.name}`", function, device, "", ())
    if function is not None:
        raise CallError(
            f"--function is given for the kernels of `{subject}`.",
            expected="--kernel, or a .vmfb file with functions",
            next_step=f"write --kernel {function}.",
        )
    kernels = {kernel.name: kernel for kernel in load_members((subject,))}
    kernel = chosen(f"`{subject}` declares", kernels, name, "kernel", "--kernel NAME")
    options.check_outputs(output, inputs=files_of([kernel]))
    kind, reason = options.device_for(device)
    with options.progress(f"building {kernel.name}"):
        content = compile_module(None, kernel, [target_of(kernel, kind)], **how).bytes
    return _Opened(content, f"`{subject}`", kernel.name, kind, reason, (subject,))


def _show(subject: Subject, measured: list[Measurement]) -> None:
    """Print them as a table."""
    click.echo(f"{subject.function}{subject.type}")
    click.echo(f"on {subject.device} ({subject.reason})")
    rows = []
    for found in measured:
        what = " ".join(f"{name}={size}" for name, size in found.dims.items())
        rows.append(
            (
                what or " ".join(found.shapes) or "-",
                *(_time(getattr(found, kind)) for kind in _KINDS.values()),
                rate_text(found.bytes_per_second, "B/s"),
                rate_text(found.flops_per_second, "FLOP/s"),
                "; ".join(map(str, found.agreements)) or f"not compared: {found.why_not_compared}",
            )
        )
    show_table(("sizes", *_KINDS, "bandwidth", "arithmetic", "results"), rows)
    click.echo("Times are medians, with the quartiles beside them.")
    if any(found.copy for found in measured):
        click.echo("A copy moves as many bytes as the kernel must.")
    dispatches = subject.dispatches
    if dispatches is not None and dispatches > 1:
        each = measured[-1].invoke.median_s / dispatches
        click.echo(f"{dispatches} dispatches: {seconds_text(each)} each, the call included.")
    if subject.native_note:
        click.echo(subject.native_note)
    least = min(measured, key=lambda found: found.invoke.median_s)
    over = least.call.median_s - least.invoke.median_s
    click.echo(f"Of the shortest call, this package takes {seconds_text(max(over, 0.0))}.")


def _time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    low, high = seconds_text(timing.low_s), seconds_text(timing.high_s)
    return f"{seconds_text(timing.median_s)} ({low} - {high})"


def _about(subject: Subject, seed: int) -> dict[str, object]:
    """What was measured, by what, and on what."""
    return {
        "command": shlex.join(["custom-dispatch", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
        "function": subject.function,
        "type": subject.type,
        "device": subject.device,
        "variant": subject.variant,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("iree-base-runtime", "numpy")},
        "seed": seed,
        "note": subject.native_note,
    }
