"""The options of programs of two halves: one builds anywhere, one runs where the GPU is."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from gpu.each import run_each


def options(document: str | None) -> argparse.Namespace:
    """`half`, "build" or "run"; `directory`, between them; `device`, of the second.

    Parameters
    ----------
    document
        The program's own, whose first line is its description.
    """
    description = (document or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("half", choices=("build", "run"))
    parser.add_argument("directory", type=lambda text: Path(text).resolve())
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    return parser.parse_args()


def build_or_run(
    document: str | None, build: Callable[[Path], None], cases: Sequence[Callable[[Path], None]]
) -> int:
    """The half that is asked for, of a program whose cases take the directory alone."""
    given = options(document)
    if given.half == "build":
        build(given.directory)
        return 0
    return run_each(cases, lambda: (given.directory,))
