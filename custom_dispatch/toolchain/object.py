"""An object: the device code of one kernel for one target, as bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from custom_dispatch.errors import DeclarationError, OutputError
from custom_dispatch.files import exists, is_directory, write_atomically
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.entry_point import EntryPoint, write_notes

KINDS = ("ptx", "cubin", "fatbin")

_NAME = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Object:
    """The device code of one kernel for one target.

    Raises
    ------
    DeclarationError
        The name could not be part of a file name, or the kind is unknown.
    """

    name: str
    """The kernel's name."""
    target: Target
    kind: str
    """"ptx", "cubin" or "fatbin"."""
    data: bytes = field(repr=False)
    origin: str
    """The compiler with its version, or the path of a prebuilt image."""
    log: str = ""
    """The compiler's warnings."""
    resources: tuple[KernelResources, ...] = ()
    entries: tuple[EntryPoint, ...] = ()
    """Declared entries with their symbols; any other is its own symbol."""
    parts: tuple[Object, ...] = ()
    """What it was made of: a cubin of one PTX, a fatbin of such cubins. Empty for an object that
    came as it is."""

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise DeclarationError(
                f"{self.name!r} cannot name an object, which becomes a file.",
                expected="letters, digits and `_`",
                next_step="rename the kernel.",
            )
        if self.kind not in KINDS:
            raise DeclarationError(
                f"{self.kind!r} is not a kind of object.",
                expected=" or ".join(KINDS),
                next_step="correct the kind.",
            )

    @property
    def ptx(self) -> Object | None:
        """The PTX that it is or was made of; None for machine code that came as it is."""
        if self.kind == "ptx":
            return self
        return self.parts[0].ptx if self.kind == "cubin" and self.parts else None

    @property
    def archs(self) -> tuple[Arch, ...]:
        """The architectures that it was built for."""
        if self.kind == "fatbin" and self.parts:
            return tuple(part.target.cuda_arch for part in self.parts)
        return (self.target.cuda_arch,)

    @property
    def file_name(self) -> str:
        """`NAME_sm_90.ptx`."""
        return f"{self.name}_{self.target.symbol}.{self.kind}"

    def symbol(self, entry: str) -> str:
        """The name that a declared entry has in this object."""
        return self.entry_point(entry).symbol

    def entry_point(self, entry: str) -> EntryPoint:
        """What a declared entry is in this object."""
        known = (found for found in self.entries if found.name == entry)
        return next(known, EntryPoint(entry, entry))

    def write(self, directory: Path) -> Path:
        """Write the object as `directory / file_name`, whole or not at all; return that path.

        Raises
        ------
        OutputError
            The directory is a file, may not be written or made, or the disk is full.
        """
        path = directory / self.file_name
        if exists(directory) and not is_directory(directory):
            raise OutputError(
                f"`{directory}` is a file.",
                expected="a directory for the objects",
                next_step="choose another directory.",
            )
        is_ptx = self.kind == "ptx"
        notes = write_notes(self.entries, is_ptx=is_ptx)
        ends = notes and not (is_ptx and self.data.endswith(b"\n"))
        write_atomically(path, self.data + b"\n" * bool(ends) + notes)
        return path
