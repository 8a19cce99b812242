"""Modules kept in the store, by the installed IREE compiler and all else that they follow from."""

import functools
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.store import (
    file_identity,
    host_identity,
    key_of,
    open_store,
    package_identity,
    remember,
)

TOOL = "iree-compile"
# The program only calls the library; CPU code passes through the linker.
_LIBRARY = "libIREECompiler.so"
LINKER = "iree-lld"


@functools.cache
def find_compiler_tool(name: str = TOOL) -> Path:
    """A program inside the iree-base-compiler package, such as `iree-compile`."""
    try:
        package = importlib.util.find_spec("iree.compiler")
    except ModuleNotFoundError:
        package = None
    for location in (package.submodule_search_locations or ()) if package else ():
        tool = Path(location) / "_mlir_libs" / name
        if tool.is_file():
            return tool.absolute()
    raise ToolNotFoundError(
        "The IREE compiler is not installed in this Python environment.",
        expected="the package iree-base-compiler 3.13",
        next_step="pip install 'iree-base-compiler>=3.13.0,<3.14'.",
    )


def compiler_identity(cpu: str) -> bytes | None:
    """What tells this compiler, and what it compiles for, from any other; None where it cannot.

    `cpu`: the CPU that it is told to compile for: "host" is whatever this machine has.
    """
    tool = find_compiler_tool()
    try:
        parts = [file_identity(tool.parent / name) for name in (TOOL, _LIBRARY, LINKER)]
    except OSError:
        return None
    host = host_identity() if cpu == "host" else os.uname().machine
    return None if host is None else key_of("iree", parts, cpu, host)


def remember_module(
    kind: str, parts: Sequence[object], cpu: str, make: Callable[[], bytes], *, store: bool
) -> bytes:
    """The `.vmfb` of these parts from the store, or else made now and kept.

    - `kind`: what the parts are: "kernels" or "model".
    - `cpu`: the CPU that it is compiled for, if it is for one.
    - `store`: whether the store is wanted at all.
    """

    def key() -> bytes | None:
        compiler = compiler_identity(cpu)
        return compiler and key_of("module", kind, package_identity(), compiler, *parts)

    return remember(open_store() if store else None, bytes, key, make)
