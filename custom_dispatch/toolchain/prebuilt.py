"""Objects built elsewhere: by CMake, by nvcc in a user's own build, or by another framework."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.files import exists, is_directory, read_bytes
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.cubin import read_cubin
from custom_dispatch.toolchain.entry_point import read_notes, split_notes
from custom_dispatch.toolchain.image import describe_image
from custom_dispatch.toolchain.object import Object

SUFFIXES = (".ptx", ".cubin", ".fatbin")
"""In order of preference: PTX also runs on later GPUs."""


def read_object(name: str, target: Target, path: Path) -> Object:
    """Read an object file and find out by its bytes what it is; its entries are those of remarks.

    Raises
    ------
    PtxError
        It is missing, unreadable, no GPU code, or has no code for the target's architecture.
    """
    data = read_bytes(path, "The object", PtxError)
    notes = data
    try:
        image = describe_image(data)
    except PtxError as error:
        raise PtxError(
            f"`{path}`: {error.found}", expected=error.expected, next_step=error.next_step
        ) from error
    if image.kind == "ptx":
        data = data.rstrip(b"\0")  # nvcc and NVRTC may leave C's terminator in the file
    else:
        data, notes = split_notes(data)
    entries = read_notes(notes)
    return Object(name, target, image.kind, data, str(path), entries=entries)


def is_ptx(path: Path) -> bool:
    """Whether an object file is PTX, by its bytes.

    Raises
    ------
    PtxError
        The file cannot be read as an object; see `read_object`.
    """
    return read_object("object", _ANY_TARGET, path).kind == "ptx"


def entry_names(item: Object) -> tuple[str, ...]:
    """The entries of an object; none of a fatbin, whose parts may be compressed.

    Raises
    ------
    PtxError
        It is a damaged cubin.
    """
    if item.kind == "ptx":
        found = _ENTRY.findall(item.data.decode("utf-8", "replace"))
        return tuple(dict.fromkeys(found))
    return tuple(read_cubin(item.data)) if item.kind == "cubin" else ()


_ENTRY = re.compile(r"\.entry\s+([\w$%]+)", re.ASCII)
_ANY_TARGET = Target("cuda", Arch(80))


def find_in_directory(
    directory: Path, names: Sequence[str], image: str = "ptx"
) -> dict[Target, Path]:
    """Look a source's objects up by their names, NAME_sm_XX.ptx; a fatbin serves all that it holds.

    Parameters
    ----------
    names
        The names that the objects may have; the first is preferred.
    image
        The kind that is preferred where there are several of one name.

    Raises
    ------
    DeclarationError
        The directory does not exist.
    """
    if not is_directory(directory):
        raise DeclarationError(
            f"The objects' directory `{directory}` "
            f"{'is a file' if exists(directory) else 'does not exist'}.",
            expected="a directory of NAME_sm_XX.ptx files",
            next_step="build them first: cmake --build build --target ptx, or custom-dispatch "
            "build --out DIR.",
        )
    found: dict[Target, Path] = {}
    for name in reversed(names):
        for suffix in (*reversed(SUFFIXES), f".{image}"):
            for path in sorted(directory.glob(f"*{suffix}")):
                stem, separator, arch = path.stem.rpartition("_sm_")
                if not separator or stem != name:
                    continue
                try:
                    found[Target("cuda", Arch.parse(f"sm_{arch}"))] = path
                except DeclarationError:
                    continue  # another file that happens to be named so
    for path in [path for path in found.values() if path.suffix == ".fatbin"]:
        with suppress(PtxError):  # one that is damaged is refused when it is read
            for held in describe_image(read_bytes(path, "The object", PtxError)).archs:
                found.setdefault(Target("cuda", held), path)
    return found
