"""`custom-dispatch tune`: which kernel of a choice is the best, for which sizes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custom_dispatch.cli.options import compiler_option, include_option, progress

if TYPE_CHECKING:
    from custom_dispatch.kernel.choice import Choice
    from custom_dispatch.kernel.target import Target
    from custom_dispatch.kernel.tuning import Measured

_MOST_LINES = 16
"""What the legend of a chart has room for."""


@click.command(short_help="Measure the kernels of a choice.")
@click.argument("subject", metavar="KERNELS")
@click.option("--choice", "name", help="The choice of KERNELS; may be left out for the only one.")
@click.option(
    "--shape",
    "-s",
    "shapes",
    multiple=True,
    required=True,
    metavar="NAME=SIZE,...",
    help="Sizes to measure: m=4096,n=4096,k=4096; a range for one, m=1:4096:x4; again for others.",
)
@click.option(
    "--device", type=click.Choice(["auto", "cuda", "cpu"]), default="auto", show_default=True
)
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    help="Where to write; else what the choice declares, tuning=.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Write a chart (.svg) of all sizes.")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="Launches that are timed of each kernel and size, at most.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.001, 3600),
    default=1.0,
    show_default=True,
    help="Time for these, at most.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86400),
    default=60.0,
    show_default=True,
    help="Give a kernel up that takes longer for one of the sizes, in seconds.",
)
@click.option("--no-check", is_flag=True, help="Do not compare results with the reference.")
@compiler_option
@include_option
def tune(
    subject: str,
    name: str | None,
    shapes: tuple[str, ...],
    device: str,
    table: Path | None,
    plot: Path | None,
    repetitions: int,
    seconds: float,
    timeout: float,
    no_check: bool,
    compiler: str,
    include_dirs: tuple[Path, ...],
) -> int:
    """Measure every kernel of a cd.Choice for some sizes, and write a table beside it.

    Each is built for this machine's GPU, launched with the same random inputs through the CUDA
    driver, compared with the reference, and timed on the GPU's clock, in a process of its own. What
    spills, does not fit, is wrong or fails is written down as that. From the table `cd.compile`
    picks kernels without a GPU. Exit status 2 if no kernel could be measured for some sizes.
    """
    from secrets import randbelow

    from custom_dispatch.cli.bench import check_plot
    from custom_dispatch.cli.sizes import parse_sizes
    from custom_dispatch.files import check_output, write_atomically
    from custom_dispatch.kernel.tuning import TuningTable, read_table
    from custom_dispatch.runtime.tune import Effort
    from custom_dispatch.runtime.tune import tune as measure

    choice = _choice(subject, name)
    path = _table(choice, table)
    check_plot(plot)
    for output in (path, plot):
        if output is not None:
            check_output(output)
    sizes = [dims for shape in shapes for dims in parse_sizes((shape,))]
    known = TuningTable(choice.name, ())
    if path.exists():
        known = read_table(path.read_text("utf-8", "replace"), path.name, choice.name)
    target = _target(choice, device)
    effort = Effort(repetitions, seconds, timeout, randbelow(2**31), not no_check)
    with progress(f"measuring {choice.name}"):
        measured = measure(
            choice, sizes, target, effort=effort, compiler=compiler, include_dirs=include_dirs
        )
    write_atomically(path, known.with_measured(measured).text().encode())
    _show(choice, measured)
    click.echo(path)
    if plot is not None:
        _write_plot(plot, choice, measured)
        click.echo(plot)
    without = [item.dims for item in measured.sizes if not item.seconds]
    for dims in without:
        click.echo(f"error: no kernel could be measured for {_said(dims)}", err=True)
    return 2 if without else 0


def _choice(subject: str, name: str | None) -> Choice:
    from custom_dispatch.cli.kernels import load_kernels
    from custom_dispatch.errors import CallError
    from custom_dispatch.kernel.choice import Choice

    found = {item.name: item for item in load_kernels((subject,)) if isinstance(item, Choice)}
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name in found:
        return found[name]
    known = ", ".join(found)
    raise CallError(
        f"`{subject}` declares "
        + (f"{len(found)} choices: {known}." if name is None and found else "")
        + (f"no choice `{name}`." if name is not None else "" if found else "no choice."),
        expected=f"one of {known}" if found else "a cd.Choice of the kernels to be compared",
        next_step="give --choice NAME."
        if found
        else 'write gemm = cd.Choice("gemm", [...], tuning="gemm.tuning.json").',
    )


def _table(choice: Choice, given: Path | None) -> Path:
    from custom_dispatch.errors import CallError

    path = given or choice.tuning
    if path is None:
        raise CallError(
            f"Choice `{choice.name}` declares no table.",
            expected='tuning="NAME.tuning.json" in its declaration, or --table',
            next_step=f'write cd.Choice("{choice.name}", [...], '
            f'tuning="{choice.name}.tuning.json").',
        )
    return path


def _target(choice: Choice, device: str) -> Target:
    """What kernels are built for: the best target that the device of this machine has."""
    from custom_dispatch.cli.bench import device_for
    from custom_dispatch.kernel.target import Target
    from custom_dispatch.runtime.eager import target_for_gpu

    kind, _ = device_for(device)
    if kind == "cpu":
        return Target("cpu", cpu="host")
    return max(map(target_for_gpu, choice.kernels), key=lambda target: target.cuda_arch)


def _show(choice: Choice, measured: Measured) -> None:
    from custom_dispatch.cli.report import show_table

    click.echo(f"{measured.device}, {measured.target}, {measured.compiler}")
    rows = []
    for item in measured.sizes:
        best = min(item.seconds.values(), default=math.nan)
        by_time = sorted(item.results, key=lambda result: result.seconds or math.inf)
        for result in by_time:
            if result.seconds is None:
                cells = ("-", "-", result.problem)
            else:
                cells = (f"{1e6 * result.seconds:.2f}", f"{result.seconds / best:.3f}", "")
            rows.append((_said(item.dims), result.kernel, *cells))
    show_table(("sizes", "kernel", "us", "of the best", "problem"), rows)
    overall = measured.ranked([kernel.name for kernel in choice.kernels], {})
    click.echo(f"where sizes are not known: {overall[0]}")


def _said(dims: object) -> str:
    items = dims.items() if isinstance(dims, dict) else ()
    return " ".join(f"{name}={size}" for name, size in items) or "-"


def _write_plot(path: Path, choice: Choice, measured: Measured) -> None:
    from custom_dispatch.cli.plot import line_chart
    from custom_dispatch.files import write_atomically

    names = measured.ranked([kernel.name for kernel in choice.kernels], {})
    series: dict[str, list[tuple[float, float]]] = {}
    for name in names[:_MOST_LINES]:
        points = [
            (float(max(math.prod(item.dims.values()), 1)), 1e6 * item.seconds[name])
            for item in measured.sizes
            if name in item.seconds
        ]
        if points:
            series[name] = sorted(points)
    if not series:
        return
    title = f"{choice.name} on {measured.device}"
    if len(names) > _MOST_LINES:
        title += f", the best {_MOST_LINES} of {len(names)} kernels"
    chart = line_chart(title, "product of all sizes", "microseconds", series)
    write_atomically(path, chart.encode())
