"""Tables on standard output, and errors on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from custom_dispatch.tables import bytes_text, plain_lines

if TYPE_CHECKING:
    from custom_dispatch.format.kernel_resources import KernelResources
    from custom_dispatch.toolchain.library import Library


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
