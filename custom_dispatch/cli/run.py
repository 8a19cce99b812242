"""`custom-dispatch run`: a function of a .vmfb."""

from __future__ import annotations

from pathlib import Path

import click

from custom_dispatch.cli.options import device_option


@click.command(short_help="Run a function of a .vmfb.")
@click.argument("module", type=click.Path(path_type=Path))
@click.option("--function", "-f", help="The function; may be left out when there is only one.")
@click.option(
    "--input",
    "-i",
    "inputs",
    multiple=True,
    metavar="INPUT",
    help="8xf32=2, 2x2xi32='1 2 3 4', 1.5 or @file.npy; again for each.",
)
@device_option
@click.option(
    "--parameters",
    type=click.Path(path_type=Path),
    help="The .irpa file with the weights, where it is not beside MODULE under its name.",
)
def run(
    module: Path,
    function: str | None,
    inputs: tuple[str, ...],
    device: str,
    parameters: Path | None,
) -> None:
    """Run a function of MODULE, a .vmfb file, and print its results."""
    import numpy

    from custom_dispatch.cli.inputs import format_result, parse_input
    from custom_dispatch.errors import CallError
    from custom_dispatch.runtime import load

    program = load(module, device, parameters=parameters)
    if function is None:
        if len(program.functions) != 1:
            raise CallError(
                f"`{module.name}` has {len(program.functions)} functions: "
                f"{', '.join(program.functions)}.",
                expected="one of them to be chosen",
                next_step="give --function NAME.",
            )
        function = next(iter(program.functions))
    chosen = program.function(function)
    values = [parse_input(text) for text in inputs]
    for index in chosen.writes:
        values[index : index + 1] = map(program.to_device, values[index : index + 1])
    results = chosen(*values)
    click.echo(f"{function} on {program.device} ({program.device_reason})", err=True)
    for result in results if isinstance(results, tuple) else (results,):
        if isinstance(result, numpy.ndarray):
            click.echo(format_result(result))
        elif result is not None:
            click.echo(result)
