"""What compiling and emitting give: data that needs neither compiler nor device."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from custom_dispatch.files import write_atomically
from custom_dispatch.kernel.target import Target


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """A compiled module: a `.vmfb` that the stock IREE runtime runs by itself."""

    bytes: bytes = field(repr=False)
    """The file's content."""
    targets: tuple[Target, ...]
    """What it runs on, the best first."""
    kernels: tuple[str, ...]
    """The kernels in it."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, whole or not at all, and return its path.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        file = Path(path)
        write_atomically(file, self.bytes)
        return file


@dataclass(frozen=True, slots=True)
class EmittedModule:
    """An `.mlir` file and its objects, for stock `iree-compile`."""

    path: Path
    text: str = field(repr=False)
    """The file's content: the IR."""
    objects: tuple[Path, ...]
    """The object files it refers to; empty where they are embedded."""
    command: tuple[str, ...]
    """The `iree-compile` command, as arguments."""

    @property
    def command_line(self) -> str:
        """The command, to be pasted into a shell."""
        return shlex.join(self.command)
