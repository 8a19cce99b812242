"""What messages of other programs mean: tables in TOML, beside those who read them."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from custom_dispatch.errors import CustomDispatchError

Error = TypeVar("Error", bound=CustomDispatchError)


@cache
def read_table(path: Path) -> Mapping[str, Any]:
    """A table, by the names of its entries."""
    return tomllib.loads(path.read_text())


def meaning_of(table: Path, text: str, error: type[Error], log: str = "", **values: str) -> Error:
    """The error that a table has for a message: that of its first entry which the message fits.

    An entry has a regular expression, `says`, and the error's parts, in which braces stand for
    `values` and for what the expression's named groups found.

    - `log`: the message as it is shown; its first line where the entry's `log` is "first line",
      and nothing where that is "".
    """
    for entry in read_table(table).values():
        match = re.search(entry["says"], text)
        if match is not None:
            break
    words = values | {name: found or "" for name, found in match.groupdict().items()}  # type: ignore[union-attr]
    found, expected, step = (
        entry.get(part, "").format(**words) for part in ("found", "expected", "next_step")
    )
    shown = entry.get("log", "whole")
    shown = log.partition("\n")[0] if shown == "first line" else log if shown else ""
    return error(found, expected=expected, next_step=step, log=shown)
