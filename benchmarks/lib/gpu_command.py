"""The two halves of a benchmark on a GPU as a program, and the file that keeps its figures.

`build DIRECTORY` needs the compilers and no GPU; `check DIRECTORY` and `run DIRECTORY` need a GPU,
iree-base-runtime and mostly PyTorch, and no compiler.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = ("iree-base-runtime", "numpy", "torch", "cupy-cuda13x")
"""Whose versions a figure depends on, as far as they are installed."""


def parser(document: str | None) -> argparse.ArgumentParser:
    """What every one of them takes; `what`, `directory` and `save` of its result."""
    found = argparse.ArgumentParser(
        description=document, formatter_class=argparse.RawTextHelpFormatter
    )
    found.add_argument("what", choices=("build", "check", "run"))
    found.add_argument("directory", type=Path)
    found.add_argument("--device", default="cuda", help="as for cd.load")
    found.add_argument("--save", type=Path, help="a JSON file for the figures")
    return found


def of_three(
    document: str | None,
    build: Callable[[Path], object],
    check: Callable[..., int],
    run: Callable[..., int],
) -> int:
    """A program of three commands; its exit status. `check` and `run` take the directory and, by
    name, those of `device` and `save` that they have.
    """
    given = parser(document).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    command = check if given.what == "check" else run
    named = {name: getattr(given, name) for name in ("device", "save")}
    taken = inspect.signature(command).parameters
    return command(given.directory, **{name: named[name] for name in named if name in taken})


def save(file: Path, command: str, **content: Any) -> None:
    """Keep figures, with what they were measured by and on.

    Parameters
    ----------
    command
        What is run again for the same, behind `python -m benchmarks `.
    content
        Plain data.
    """
    head = {
        "command": f"python -m benchmarks {command}",
        "versions": versions(),
        "date": time.strftime("%Y-%m-%d"),
    }
    file.write_text(json.dumps(head | content, indent=1) + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    """Of Python, of the packages, and of the GPU with its driver where there is one."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return found
    return found | {"gpu": done.stdout.strip()}


class Tally:
    """Launches that are checked: those that are wrong are printed, and at the end how many."""

    def __init__(self) -> None:
        self.count = self.wrong = 0

    def add(self, what: str, problem: str) -> None:
        """Count one, with what is wrong; empty if nothing."""
        self.count += 1
        if problem:
            self.wrong += 1
            print(f"{what}: {problem}", flush=True)

    def finish(self, of: str = "launches") -> int:
        """Print the numbers; 1 if one is wrong."""
        print(f"{self.count} {of}, {self.wrong} wrong", flush=True)
        return int(self.wrong > 0)


def itself(*arguments: str) -> list[str]:
    """The command that runs a benchmark in a process of its own, in the working directory."""
    return [sys.executable, "-W", "ignore", "-m", "benchmarks", *arguments]
