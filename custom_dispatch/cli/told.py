"""What a command found, as JSON: on standard output, alone, or in a file.

Nothing is written where a command fails before it has found everything.
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
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

VERSION = 1
"""Of what docs/command-line.md says of the content: raised when something there changes its place
or meaning, and not when something is added."""
_STDOUT = "-"


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

    Parameters
    ----------
    show
        Prints it for people.
    **content
        The same as data: dataclasses, mappings, sequences, numbers and text. Numbers that are not
        finite are the texts "NaN", "Infinity" and "-Infinity". What is nothing of these, or has a
        text of its own, as a target has, is text.
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
    from custom_dispatch.files import write_atomically

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
        from custom_dispatch.files import check_output

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
