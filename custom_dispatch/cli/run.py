"""`custom-dispatch run`: a function of a .vmfb."""

from __future__ import annotations

from pathlib import Path

import click

from custom_dispatch.cli.options import check_outputs, device_option, function_option
from custom_dispatch.cli.told import json_file, json_option, tell


@click.command(short_help="Run a function of a .vmfb.")
@click.argument("module", type=click.Path(path_type=Path))
@function_option
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    metavar="INPUT",
    help="8xf32=2, 2x2xi32='1 2 3 4', 1.5 or @file.npy; repeat it for each.",
)
@device_option
@click.option(
    "--parameters",
    type=click.Path(path_type=Path),
    help="The .irpa file with the weights, if it is not beside MODULE with the same name.",
)
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A .npy file for a result; repeat it for each, or give one .npz for all.",
)
@json_option
def run(
    module: Path,
    function: str | None,
    inputs: tuple[str, ...],
    device: str,
    parameters: Path | None,
    outputs: tuple[Path, ...],
    json_path: str | None,
) -> None:
    """Run a function of MODULE, a .vmfb file, and print its results; large ones only in part."""
    import numpy

    from custom_dispatch.cli.inputs import parse_input
    from custom_dispatch.cli.results import check_result_files, result_data, save, show
    from custom_dispatch.runtime import load

    files = [Path(text[1:]) for text in inputs if text.startswith("@")]
    read = [module, parameters, *files]
    check_outputs(*outputs, json_file(json_path), inputs=read)
    program = load(module, device, parameters=parameters)
    chosen = program.function(function)
    check_result_files(outputs, chosen.name, len(chosen.type.outputs))
    values = [parse_input(text) for text in inputs]
    for index in chosen.writes:
        values[index : index + 1] = map(program.to_device, values[index : index + 1])
    given = chosen(*values)
    several = given if isinstance(given, tuple) else () if given is None else (given,)
    results = [numpy.asarray(result) for result in several]
    click.echo(f"{chosen.name} on {program.device} ({program.device_reason})", err=True)
    save(outputs, results)
    tell(
        json_path,
        lambda: show(several, saved=bool(outputs)),
        function=chosen.name,
        device=program.device,
        reason=program.device_reason,
        results=[result_data(item, with_values=not outputs) for item in results],
        files=outputs,
    )
