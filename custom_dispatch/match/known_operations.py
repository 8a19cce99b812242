"""What matching knows of operations by their names: `operations.toml`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def known_operations() -> dict[str, Any]:
    """The table, lists as sets."""
    read = tomllib.loads(Path(__file__).with_name("operations.toml").read_text())
    return {
        name: frozenset(each) if isinstance(each, list) else each for name, each in read.items()
    }
