"""`custom-dispatch tune`: which kernel of a choice is the best, for which sizes."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from secrets import randbelow
from typing import Any

import click
import numpy

from custom_dispatch.cli import options
from custom_dispatch.cli.kernels import choice_in
from custom_dispatch.cli.notation import parse_sizes, read_number
from custom_dispatch.cli.report import json_file, json_option, show_error, tell
from custom_dispatch.eager.call_choice import targets_here
from custom_dispatch.errors import CallError
from custom_dispatch.files import write_atomically
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import files_of
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured
from custom_dispatch.kernel.tuning_table import TuningTable, sizes_said
from custom_dispatch.measure.time_fit import Quality, fitted, quality
from custom_dispatch.measure.tune import is_worth_measuring, tune
from custom_dispatch.measure.tune_candidates import write_objects
from custom_dispatch.measure.tune_child import Effort
from custom_dispatch.runtime.call_arguments import number_for
from custom_dispatch.toolchain.tuned import read_file

_MOST_SIZES = 10**6
"""Of which some are measured."""


@click.command()
@click.argument("subject", metavar="KERNELS", type=click.Path())
@click.option("--choice", "name", help="The choice of KERNELS; optional if there is only one.")
@options.shape(
    help="Sizes to measure: m=4096,n=4096,k=4096; or ranges, m=1:4096:x1.4; repeat it for others. "
    "Without it every dim goes from 1 to 16384."
)
@click.option(
    "--most-sizes",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Measure so many of the sizes that ranges have together, at random.",
)
@click.option(
    "--scalar",
    "scalars",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value of a scalar argument, causal=0, which is otherwise arbitrary; repeatable.",
)
@options.device()
@click.option(
    "--table", type=options.FILE, help="The table to write, instead of the choice's tuning=."
)
@options.repetitions(default=20, help="Launches that are timed of each kernel and size, at most.")
@options.seconds(default=0.2, help="Time for these, at most.")
@options.timeout(default=60.0, help="Abandon a kernel that takes longer for one size, in seconds.")
@click.option("--no-check", is_flag=True, help="Do not compare results with the reference.")
@options.build("compiler", "include_dirs", "objects")
@click.option(
    "--build-only",
    type=options.FILE,
    help="Measure nothing: write objects for --target there, for --objects on the machine with the "
    "GPU.",
)
@click.option("--target", "-t", help="What --build-only builds for: cuda:sm_90a.")
@json_option
def command(
    subject: str,
    name: str | None,
    shapes: tuple[str, ...],
    most_sizes: int,
    scalars: tuple[str, ...],
    device: str,
    table: Path | None,
    repetitions: int,
    seconds: float,
    timeout: float,
    no_check: bool,
    build_only: Path | None,
    target: str | None,
    json_path: str | None,
    how: dict[str, Any],
) -> int:
    """Measure every kernel of a cd.Choice for some sizes, and write a table beside it.

    Each kernel is built for this machine's GPU, launched through the CUDA driver with the same
    random inputs, compared with the reference, and timed on the GPU's clock, in a separate process.
    On the CPU (--device cpu, or without a GPU) calls through IREE are timed. The table records
    which kernels spill, do not fit, are wrong or fail. `cd.compile` then chooses by the table,
    without a GPU. Exit status 2 if no kernel could be measured for some sizes.
    """
    choice = choice_in(subject, name)
    _check_options(build_only, target)
    if build_only is not None:
        _build_only(choice, build_only, target or "", how)
        return 0
    path = _table(choice, table)
    read = [file for file in files_of([choice]) if file != choice.tuning]
    read += options.object_files(how)
    options.check_outputs(path, json_file(json_path), inputs=read)
    options.check_outputs(json_file(json_path), inputs=[path])
    sizes = _sizes(choice, shapes, most_sizes)
    read_file(path, choice.name)  # before anything is measured: it may be no table
    device, _ = options.device_for(device)
    measured_for = targets_here(choice, device)[0]
    numbers = _scalars(choice, scalars)
    effort = Effort(repetitions, seconds, timeout, randbelow(2**31), not no_check, numbers)
    with options.progress(f"measuring {choice.name}") as say:
        measured = tune(
            choice,
            sizes,
            measured_for,
            device=device,
            effort=effort,
            **how,
            report=say,
            done=lambda line: click.echo(line, err=True),
        )
    # Another may have been written meanwhile.
    *others, grown = read_file(path, choice.name).with_measured(measured).measured
    grown = fitted(choice, grown)
    write_atomically(path, TuningTable(choice.name, (*others, grown)).text().encode())
    found = quality(choice, grown)
    tell(
        json_path,
        lambda: _show(measured, found),
        choice=choice.name,
        measured=measured,
        quality=found,
    )
    click.echo(path)
    without = [item for item in measured.sizes if not item.seconds]
    for item in without:
        why = "; ".join(f"{result.kernel}: {result.problem}" for result in item.results[:3])
        show_error(f"error: no kernel could be measured for {sizes_said(item.dims)}: {why}")
    return 2 if without else 0


def _scalars(choice: Choice, given: Sequence[str]) -> dict[str, float | int]:
    """The values of scalars by name, as their types hold them."""
    known = {item.name: item for item in choice.inputs if isinstance(item, Scalar)}
    found: dict[str, float | int] = {}
    for word in given:
        name, _, text = word.partition("=")
        if name not in known or name in found:
            raise CallError(
                f"Calls of `{choice.name}` pass no scalar `{name}`."
                if name not in known
                else f"`{name}` is given twice.",
                expected=f"NAME=VALUE for one of {', '.join(known)}"
                if known
                else "no --scalar: calls pass none",
                next_step=f"give --scalar {next(iter(known))}=1." if known else "leave it out.",
            )
        value = read_number(text)
        if value is None:
            raise CallError(
                f"{word[:60]!r} is no scalar.",
                expected="NAME=VALUE with a number",
                next_step=f"give --scalar {name}=1.",
            )
        found[name] = number_for(value, known[name], f"scalar `{name}`")
    return found


def _sizes(choice: Choice, shapes: Sequence[str], most: int) -> list[dict[str, int]]:
    """The sizes to measure, each once; some that are worth it, if ranges have more."""
    every = " ".join(f"{dim}=1:16384:x1.4" for dim in choice.kernels[0].dims)
    given = [dims for shape in shapes or [every] for dims in parse_sizes((shape,), _MOST_SIZES)]
    sizes = [dict(pairs) for pairs in dict.fromkeys(tuple(dims.items()) for dims in given)]
    if len(sizes) <= most:
        return sizes
    drawn = numpy.random.default_rng(0).permutation(len(sizes))
    return [*islice((sizes[at] for at in drawn if is_worth_measuring(choice, sizes[at])), most)]


def _check_options(build_only: Path | None, target: str | None) -> None:
    if (build_only is None) != (target is None):
        raise CallError(
            "--build-only and --target are for one another.",
            expected="both, or neither: kernels are measured for the GPU that is here",
            next_step="give --build-only DIRECTORY --target cuda:sm_90a, or leave both out.",
        )


def _build_only(choice: Choice, directory: Path, target: str, how: dict[str, Any]) -> None:
    built_for = Target.parse(target)
    with options.progress(f"building {choice.name}"):
        paths = write_objects(choice, built_for, directory, how["compiler"], how["include_dirs"])
    for path in paths:
        click.echo(path)


def _table(choice: Choice, given: Path | None) -> Path:
    path = given or choice.tuning
    if path is None and choice.like is not None:
        raise CallError(
            f"Choice `{choice.name}` takes the table of `{choice.like.name}`.",
            expected="a choice with a table of its own, or --table",
            next_step=f"give --choice {choice.like.name}.",
        )
    if path is None:
        raise CallError(
            f"Choice `{choice.name}` declares no table.",
            expected='tuning="NAME.tuning.json" in its declaration, or --table',
            next_step=f'write cd.Choice("{choice.name}", [...], '
            f'tuning="{choice.name}.tuning.json").',
        )
    return path


def _show(measured: Measured, found: Quality | None) -> None:
    click.echo(f"{measured.device}, {measured.target}, {measured.compiler}")
    problems = Counter(
        (result.kernel, result.problem)
        for item in measured.sizes
        for result in item.results
        if result.problem
    )
    for (name, problem), count in problems.items():
        click.echo(f"{name}, {count} of {len(measured.sizes)} sizes: {problem}")
    if found is not None:
        click.echo(
            f"chosen without having been measured, {found.sizes} sizes run at {found.mean:.3f} of "
            f"the best kernel's speed in the geometric mean, at worst at {found.worst:.3f} "
            f"({sizes_said(found.worst_dims)})"
        )
