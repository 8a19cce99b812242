"""What a command tells: tables and JSON on standard output, errors on standard error.

JSON is alone on standard output, or in a file. None is written where a command fails before it has
found everything.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from custom_dispatch.files import check_output, write_atomically
from custom_dispatch.tables import bytes_text, plain_lines

if TYPE_CHECKING:
    from custom_dispatch.format.kernel_resources import KernelResources
    from custom_dispatch.toolchain.library import Library

Command = TypeVar("Command", bound=Callable[..., Any])

VERSION = 1
"""Of what docs/command-line.md says of the JSON: raised when something there changes its place
or meaning, and not when something is added."""
_STDOUT = "-"


def show_error(message: str, colour: str = "red") -> None:
    """Print an error's lines to standard error: on a terminal, the first of them is red.

    A terminal without colours says so in TERM, and a user who wants none in NO_COLOR. What is no
    terminal gets no colours.
    """
    first, *rest = message.split("\n")
    if not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        first = click.style(first, fg=colour)
    click.echo("\n".join([first, *rest]), err=True)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: fitted to a terminal, else one line a row, for a pipe or a file.

    Nothing is printed of one without rows.
    """
    if not rows:
        return
    if sys.stdout.isatty():
        _show_on_terminal(columns, rows)
    else:
        for line in plain_lines(columns, rows):
            click.echo(line)


def _show_on_terminal(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")  # a path is to be read whole
    for row in rows:
        table.add_row(*row)
    # Cells come from users' files: nothing in them is markup.
    Console(highlight=False, markup=False, emoji=False).print(table)


RESOURCE_COLUMNS = ("registers", "spills st/ld", "stack", "shared", "constant", "barriers")
"""What `resource_cells` gives: numbers of bytes, but for registers and barriers."""


def resource_cells(resources: KernelResources | None, dynamic_shared_bytes: int = 0) -> list[str]:
    """What a kernel takes, as cells of a table; shared memory as static+dynamic where there is
    some of the latter.
    """
    if resources is None:
        return ["-"] * len(RESOURCE_COLUMNS)
    spills = (resources.spill_stores_bytes, resources.spill_loads_bytes)
    dynamic = f"+{dynamic_shared_bytes}" if dynamic_shared_bytes else ""
    return [
        str(resources.registers),
        "-" if None in spills else f"{spills[0]} / {spills[1]}",
        str(resources.stack_bytes),
        f"{resources.static_shared_bytes}{dynamic}",
        str(resources.constant_bytes),
        str(resources.barriers),
    ]


def show_resources(library: Library) -> None:
    """Print what each kernel takes of the machine for each target, and the objects' sizes."""
    rows = []
    for report in library.report():
        cells = resource_cells(report.resources, report.dynamic_shared_bytes)
        full = "-" if report.occupancy is None else str(report.occupancy)
        rows.append((report.kernel, report.target.symbol, *cells, full))
    show_table(("kernel", "arch", *RESOURCE_COLUMNS, "occupancy"), rows)
    sizes = [(item.file_name, item.kind, bytes_text(len(item.data))) for item in library.objects]
    show_table(("object", "kind", "size"), sizes)


def json_option(command: Command) -> Command:
    """`--json` for standard output, and `--json FILE.json`: `tell` gets what was given."""
    option = click.option(
        "--json",
        "json_path",
        metavar="[FILE.json]",
        callback=_prepare,
        type=click.Path(),
        help="What was found as JSON: to the file, or alone on standard output.",
    )
    return option(command)


def with_json_places(words: Sequence[str]) -> list[str]:
    """The command line with a place for each `--json` that has none: the next word is another."""
    return [
        f"{word}={_STDOUT}" if word == "--json" and not after.endswith(".json") else word
        for word, after in itertools.pairwise([*words, ""])
    ]


def json_file(given: str | None) -> Path | None:
    """The file that is asked for, to be checked as an output."""
    return None if given in (None, _STDOUT) else Path(str(given))


def tell(given: str | None, show: Callable[[], object], **content: Any) -> None:
    """Show what was found, or write it as JSON, or both where JSON goes to a file.

    - `show`: prints it for people.
    - `**content`: the same as data: dataclasses, mappings, sequences, numbers and text. Numbers
      that are not finite are the texts "NaN", "Infinity" and "-Infinity". What is nothing of these,
      or has a text of its own, as a target has, is text.
    """
    if given is None:
        show()
        return
    context = click.get_current_context()
    found = {"version": VERSION, "command": context.info_name, **content}
    text = json.dumps(_plain(found), indent=1, allow_nan=False) + "\n"
    if given == _STDOUT:
        context.meta[__name__] = text
        return
    show()
    write_atomically(Path(given), text.encode())
    click.echo(given)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _prepare(context: click.Context, _: click.Parameter, given: str | None) -> str | None:
    if given == _STDOUT and not context.resilient_parsing:
        context.with_resource(_alone(context))
    elif (path := json_file(given)) is not None:
        check_output(path)
    return given


@contextmanager
def _alone(context: click.Context) -> Iterator[None]:
    """Have all else that is printed go to standard error, what kernels print with it."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
    click.echo(context.meta.get(__name__, ""), nl=False)
