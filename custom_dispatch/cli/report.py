"""Tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from custom_dispatch.toolchain.library import Library

_WIDTH_WITHOUT_TERMINAL = 160


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; without a terminal it is wide enough not to cut anything usual."""
    table = Table(*columns, box=SIMPLE, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL
    Console(width=width, highlight=False, markup=False).print(table)


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
