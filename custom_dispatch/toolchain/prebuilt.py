"""Objects built elsewhere: by CMake, by nvcc in a user's own build, or by another framework."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.files import read_bytes
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.image import describe_image
from custom_dispatch.toolchain.object import Object

SUFFIXES = (".ptx", ".cubin", ".fatbin")
"""In order of preference: PTX also runs on later GPUs."""


def read_object(name: str, target: Target, path: Path) -> Object:
    """Read an object file and find out by its bytes what it is.

    Raises
    ------
    PtxError
        It is missing, unreadable, no GPU code, or has no code for the target's architecture.
    """
    data = read_bytes(path, "The object", PtxError)
    image = describe_image(data)
    if image.kind == "ptx":
        data = data.rstrip(b"\0")  # nvcc and NVRTC may leave C's terminator in the file
    return Object(name=name, target=target, kind=image.kind, data=data, origin=str(path), log="")


@dataclass(frozen=True, slots=True)
class Found:
    """The objects of one source that a directory holds, by target."""

    directory: Path
    stem: str
    files: dict[Target, Path]

    def path(self, target: Target) -> Path:
        """The object for a target.

        Raises
        ------
        DeclarationError
            There is none; the message lists those there are.
        """
        if target in self.files:
            return self.files[target]
        there = ", ".join(path.name for path in self.files.values()) or "none of this name"
        raise DeclarationError(
            f"`{self.directory}` holds no object of `{self.stem}` for target {target}.",
            expected=f"`{self.stem}_{target.symbol}.ptx` (or .cubin, .fatbin); there: {there}",
            next_step="build that object, or drop the target.",
        )

    def lowest_ptx(self) -> Target:
        """The target of the PTX for the earliest plain architecture: what the CPU runs.

        Raises
        ------
        DeclarationError
            There is no such PTX.
        """
        plain = [
            target
            for target, path in self.files.items()
            if target.arch is not None and not target.arch.suffix and path.suffix == ".ptx"
        ]
        if not plain:
            raise DeclarationError(
                f"`{self.directory}` holds no PTX of `{self.stem}` for the target cpu.",
                expected=f"`{self.stem}_sm_80.ptx`, say: the CPU runs a kernel's PTX",
                next_step="build it, or drop the target cpu.",
            )
        return min(plain, key=lambda target: target.cuda_arch)


def find_in_directory(directory: Path, stem: str) -> Found:
    """Look a source's objects up by their names, NAME_sm_XX.ptx.

    Raises
    ------
    DeclarationError
        The directory does not exist.
    """
    if not directory.is_dir():
        raise DeclarationError(
            f"The objects' directory `{directory}` does not exist.",
            expected="a directory of NAME_sm_XX.ptx files",
            next_step="build them first: cmake --build build --target ptx, or custom-dispatch "
            "build --out DIR.",
        )
    files: dict[Target, Path] = {}
    for suffix in reversed(SUFFIXES):
        for path in sorted(directory.glob(f"*{suffix}")):
            name, separator, arch = path.stem.rpartition("_sm_")
            if not separator or name != stem:
                continue
            try:
                files[Target("cuda", Arch.parse(f"sm_{arch}"))] = path
            except DeclarationError:
                continue  # another file that happens to be named so
    return Found(directory, stem, files)
