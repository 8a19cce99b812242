"""Running `iree-compile` of the installed compiler package.

The compiler runs in a process of its own: flags that are global to a process can be given, and a
crash of the compiler is an error here and not the end of the user's Python.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.process import Completed, run

TOOL = "iree-compile"


@functools.cache
def find_compiler_tool() -> Path:
    """The `iree-compile` binary inside the iree-base-compiler package.

    Raises
    ------
    ToolNotFoundError
        The package is not installed.
    """
    try:
        package = importlib.util.find_spec("iree.compiler")
    except ModuleNotFoundError:
        package = None
    for location in (package.submodule_search_locations or ()) if package else ():
        tool = Path(location) / "_mlir_libs" / TOOL
        if tool.is_file():
            return tool
    raise ToolNotFoundError(
        "The IREE compiler is not installed in this Python environment.",
        expected="the package iree-base-compiler 3.13",
        next_step="pip install 'iree-base-compiler>=3.13,<3.14'.",
    )


def run_compiler(
    arguments: Sequence[str], source: bytes, *, timeout_seconds: float = 3600.0
) -> Completed:
    """Run `iree-compile` with a source on its standard input.

    Raises
    ------
    ToolNotFoundError
        The IREE compiler is not installed.
    ToolTimeoutError
        It ran past the time limit (an hour: large models take many minutes).
    """
    return run([find_compiler_tool(), *arguments], stdin=source, timeout_seconds=timeout_seconds)
