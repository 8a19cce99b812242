"""`custom-dispatch profile`: where the time of a function's calls goes."""

from functools import partial
from pathlib import Path

import click
import numpy

from custom_dispatch.cli import options
from custom_dispatch.cli.notation import parse_input_or_draw
from custom_dispatch.cli.report import json_file, json_option, show_table, tell
from custom_dispatch.measure.inputs import inputs_for_type
from custom_dispatch.measure.profile import writers
from custom_dispatch.measure.profile.profiling import MOST_CALLS
from custom_dispatch.measure.profile.summary import Profile
from custom_dispatch.runtime.program import load


@click.command()
@click.argument("module", type=options.FILE)
@options.function
@options.inputs(
    help="8xf32 (random), 8xf32=2, 1.5 or @file.npy; none at all where the type says all sizes."
)
@options.device()
@options.parameters
@click.option(
    "--calls",
    type=click.IntRange(1, MOST_CALLS),
    default=20,
    show_default=True,
    help="Calls that are recorded.",
)
@click.option("--html", "page", type=options.FILE, help="Write a page that needs no network.")
@click.option("--trace", type=options.FILE, help="Write a Chrome trace, which Perfetto opens.")
@json_option
def command(
    module: Path,
    function: str | None,
    texts: tuple[str, ...],
    device: str,
    parameters: Path | None,
    calls: int,
    page: Path | None,
    trace: Path | None,
    json_path: str | None,
) -> None:
    """Record calls of a function of MODULE, and tell the time of each kernel and of the gaps.

    Hand-written kernels stand beside their floors: the time for the bytes they must move, and for
    what they compute. On a GPU CUPTI records (the extra `profile`), on the CPU IREE's own tools.
    """
    read = [module, parameters, *options.input_files(texts)]
    options.check_outputs(page, trace, json_file(json_path), inputs=read)
    program = load(module, device, parameters=parameters)
    chosen = program.function(function)
    generator = numpy.random.default_rng()
    if texts:
        values = tuple(parse_input_or_draw(text, generator) for text in texts)
    else:
        values = inputs_for_type(chosen.name, chosen.type, generator).values
    with options.progress(f"profiling {chosen.name}"):
        found: Profile = program.profile(*values, function=chosen.name, calls=calls)
    for path, save in ((page, found.save_html), (trace, found.save_trace)):
        if path is not None:
            save(path)
    files = tuple(path for path in (page, trace) if path is not None)
    tell(json_path, partial(_show, found), **writers.data_of(found), files=files)


def _show(found: Profile) -> None:
    click.echo("\n".join(writers.head_lines(found)))
    show_table(writers.COLUMNS, writers.rows_of(found))
    click.echo("\n".join(writers.foot_lines(found)))
