"""What compiling and emitting give: data that needs neither compiler nor device."""

from __future__ import annotations

import os
import shlex
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import OutputError
from custom_dispatch.files import check_output, is_file, write_atomically, write_together
from custom_dispatch.kernel.names import as_path
from custom_dispatch.kernel.target import Target
from custom_dispatch.parameters import SUFFIX, Parameters

if TYPE_CHECKING:
    from custom_dispatch.replaced import Replaced


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """A compiled module: a `.vmfb` that the stock IREE runtime runs by itself."""

    bytes: bytes = field(repr=False)
    """The file's content."""
    targets: tuple[Target, ...]
    """What it runs on, the best first."""
    kernels: tuple[str, ...]
    """The kernels in it."""
    parameters: Parameters | None = field(default=None, repr=False)
    """The weights that it needs besides, which are the model's own tensors; None where it holds
    all."""
    replaced: Replaced | None = None
    """What `replace=` has replaced, and what it nearly has; None where nothing was asked for."""
    no_graph: str = ""
    """Why functions are no graphs, with `graph="where possible"`: a line for each."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, whole or not at all, and return its path.

        Weights that are not in it are written beside it, `model.irpa` beside `model.vmfb`: both
        files or none.

        Raises `OutputError`: the file cannot be written, a weight has changed since the
        model was compiled, or the path is an existing file that is neither a module nor
        named `.vmfb`.
        """
        file = as_path(path, "The module's file", OutputError)
        beside = file.with_suffix(SUFFIX)
        if beside == file and self.parameters is not None:
            raise OutputError(
                f"The module cannot be named `{file.name}`.",
                expected=f"another ending than {SUFFIX}: that is the name of the weights beside it",
                next_step=f"name it `{file.stem}.vmfb`.",
            )
        check_module_output(file)
        if self.parameters is None:
            write_atomically(file, self.bytes)
            return file
        # Weights first: whoever loads in between finds weights that the old module refuses.
        write_together({beside: self.parameters.write_to, file: lambda out: out.write(self.bytes)})
        return file


_MODULES = (0, b"PK\x03\x04"), (8, b"IREE")
"""What modules begin with: a zip archive, or the flatbuffer alone, behind its size."""


def is_module(content: bytes) -> bool:
    """Whether bytes begin as a module does."""
    return any(content.startswith(mark, at) for at, mark in _MODULES)


def check_module_output(path: Path) -> None:
    """Refuse names for a module under which there is something else; see `check_output`.

    Raises `OutputError`: something other than a module has that name; see `check_output`.
    """
    check_output(path)
    if path.suffix == ".vmfb" or not is_file(path):
        return
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError:
        return  # to write will tell
    if head and not is_module(head):
        raise OutputError(
            f"`{path}` would be written over, and it is no module.",
            expected="the name of a new file, or of a module that is to be replaced",
            next_step=f"name it `{path.stem}.vmfb`, or remove the file first.",
        )


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
