"""Tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from custom_dispatch.toolchain.library import Library

_GAP = "  "


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: fitted to a terminal, else one line a row, for a pipe or a file."""
    if sys.stdout.isatty():
        _show_on_terminal(columns, rows)
    else:
        for line in _plain_lines(columns, rows):
            click.echo(line)


def _plain_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [columns, *(["\\n".join(cell.splitlines()) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(_GAP.join(cells).rstrip())
    return lines


def _show_on_terminal(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=SIMPLE, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    # Cells come from users' files: nothing in them is markup.
    Console(highlight=False, markup=False, emoji=False).print(table)


def show_resources(library: Library) -> None:
    """Print what each kernel takes of the machine, per object."""
    rows = []
    for item in library.objects:
        for report in item.resources:
            rows.append(
                (
                    report.kernel,
                    item.target.symbol,
                    str(report.registers),
                    f"{report.spill_stores_bytes} / {report.spill_loads_bytes}",
                    str(report.stack_bytes),
                    str(report.static_shared_bytes),
                    str(report.barriers),
                )
            )
    columns = ("kernel", "arch", "registers", "spills st/ld", "stack", "shared", "barriers")
    show_table(columns, rows)
