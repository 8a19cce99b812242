"""`custom-dispatch store`: what was compiled before, and is kept."""

import click

from custom_dispatch.cli.report import show_table
from custom_dispatch.errors import OutputError
from custom_dispatch.store import Store, open_store
from custom_dispatch.store.directory import DIRECTORY_VARIABLE
from custom_dispatch.store.maintenance import clear as clear_store
from custom_dispatch.store.maintenance import remove_damaged, summarise
from custom_dispatch.tables import bytes_text


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show, verify or clear the store of compiled code.

    CUSTOM_DISPATCH_STORE sets its directory, or turns it off; CUSTOM_DISPATCH_STORE_LIMIT sets its
    maximum size (500M, 2G).
    """
    if context.invoked_subcommand is None:
        _show()


@command.command(short_help="Read every entry; remove the damaged ones.")
def verify() -> int:
    """Read every entry, and remove those that are damaged; the status is 2 if there were some."""
    opened = _open()
    damaged = remove_damaged(opened)
    for path in damaged:
        click.echo(f"damaged, and removed: {path}")
    click.echo(f"{summarise(opened).entries} entries are whole")
    return 2 if damaged else 0


@command.command(short_help="Remove everything in it.")
def clear() -> None:
    """Remove everything in it."""
    opened = _open()
    before = summarise(opened)
    try:
        clear_store(opened)
    except OSError as problem:
        raise OutputError(
            f"The store at `{opened.path}` cannot be cleared: {problem.strerror or problem}.",
            next_step="remove the directory by hand; nothing else is in it.",
        ) from problem
    click.echo(f"{opened.path}: {before.entries} entries removed, {bytes_text(before.bytes)}")


def _show() -> None:
    opened = _open()
    found = summarise(opened)
    asked = found.hits + found.misses
    share = f"{found.hits / asked:.0%} of {asked}" if asked else ""
    rows = [
        ("directory", str(opened.path), ""),
        ("entries", str(found.entries), ""),
        ("size", bytes_text(found.bytes), f"of at most {bytes_text(opened.limit)}"),
        ("hits", str(found.hits), share),
        ("misses", str(found.misses), ""),
    ]
    show_table(("what", "found", "note"), rows)


def _open() -> Store:
    found = open_store()
    if found is None:
        raise OutputError(
            "There is no store: it is turned off, or its directory cannot be used.",
            next_step=f"unset {DIRECTORY_VARIABLE}, or let it name a directory of yours.",
        )
    return found
