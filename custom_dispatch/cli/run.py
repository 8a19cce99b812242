"""`custom-dispatch run`: a function of a .vmfb, and its results: printed, as JSON, and in files."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy

from custom_dispatch.cli import options
from custom_dispatch.cli.notation import format_result, parse_input
from custom_dispatch.cli.report import json_file, json_option, tell
from custom_dispatch.errors import OutputError
from custom_dispatch.files import write_together
from custom_dispatch.kernel.dtypes import named_bits, of_numpy
from custom_dispatch.runtime.program import load

Array = numpy.ndarray[Any, Any]

_MOST_LINES, _MOST_VALUES = 20, 1000
"""Of a result that is printed whole."""
_FIRST = 8
"""Values that are printed of another."""


@click.command()
@click.argument("module", type=options.FILE)
@options.function
@options.inputs(help="8xf32=2, 2x2xi32='1 2 3 4', 1.5 or @file.npy; repeat it for each.")
@options.device()
@options.parameters
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=options.FILE,
    help="A .npy file for a result; repeat it for each, or give one .npz for all.",
)
@json_option
def command(
    module: Path,
    function: str | None,
    texts: tuple[str, ...],
    device: str,
    parameters: Path | None,
    outputs: tuple[Path, ...],
    json_path: str | None,
) -> None:
    """Run a function of MODULE, a .vmfb file, and print its results; large ones only in part."""
    read = [module, parameters, *options.input_files(texts)]
    options.check_outputs(*outputs, json_file(json_path), inputs=read)
    program = load(module, device, parameters=parameters)
    chosen = program.function(function)
    check_result_files(outputs, chosen.name, len(chosen.type.outputs))
    values = [parse_input(text) for text in texts]
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


def show(results: Sequence[Any], saved: bool) -> None:
    """Print results in the form of inputs; of a large one the first values."""
    for result in results:
        if not isinstance(result, numpy.ndarray):
            click.echo(result)
            continue
        text = format_result(result) if result.size <= _MOST_VALUES else ""
        if text and text.count("\n") < _MOST_LINES:
            click.echo(text)
            continue
        sizes = "".join(f"{size}x" for size in result.shape)
        first = numpy.array2string(result.reshape(-1)[:_FIRST], max_line_width=1 << 20)
        more = "" if saved else "; -o FILE.npy saves all"
        click.echo(f"{sizes}{of_numpy(result.dtype) or result.dtype}={first.rstrip(']')} ...]")
        click.echo(f"the first {_FIRST} of {result.size} values are shown{more}", err=True)


def result_data(result: Array, with_values: bool) -> dict[str, Any]:
    """A result for JSON: its values nested as its dims are, where they are in no file."""
    found = {"dtype": str(of_numpy(result.dtype) or result.dtype), "shape": result.shape}
    return found | ({"values": result.tolist()} if with_values else {})


def check_result_files(files: Sequence[Path], function: str, count: int) -> None:
    """Require a file for each result of a function, or one for all, before it runs."""
    if not files or (len(files) == 1 and files[0].suffix == ".npz"):
        return
    names = " ".join(f"-o {function}_{index}.npy" for index in range(count))
    wrong = next((file for file in files if file.suffix != ".npy"), None)
    if wrong is not None:
        found = f"Results cannot be saved as `{wrong}`."
    elif len({file.absolute() for file in files}) < len(files):
        found = f"`{max(files, key=files.count)}` is given twice."
    elif len(files) != count:
        found = f"`{function}` has {count} results, and {len(files)} files are given."
    else:
        return
    raise OutputError(
        found,
        expected="a name that ends in .npy for each result, or one in .npz for all",
        next_step=f"write {names}." if 0 < count <= 4 else "write -o results.npz.",
    )


def save(files: Sequence[Path], results: Sequence[Array]) -> None:
    """Write results, in one step: all of them, or none.

    Of a type that numpy lacks, the file has the bits under the type's name.
    """

    def write_all(file: BinaryIO) -> None:
        named = {f"result_{index}": named_bits(result) for index, result in enumerate(results)}
        numpy.savez(file, **named)  # type: ignore[arg-type]

    def write(result: Array, file: BinaryIO) -> None:
        numpy.save(file, named_bits(result))

    each: dict[Path, Callable[[BinaryIO], object]]
    each = {file: partial(write, result) for file, result in zip(files, results, strict=False)}
    write_together({files[0]: write_all} if files and files[0].suffix == ".npz" else each)
    for result in results if files else ():
        if named_bits(result) is not result:
            kind = of_numpy(result.dtype)
            click.echo(
                f"numpy has no {kind}: numpy.load(FILE).view(ml_dtypes.{result.dtype.name}), or "
                "--input @FILE",
                err=True,
            )
