"""Where a kernel's code comes from: files, directories and compiler options, read and checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.target import Target


def declaring_directory() -> Path:
    """The directory of the file that declares a kernel; the working directory at a prompt."""
    frame = sys._getframe(2)
    file = frame.f_globals.get("__file__")
    return _directory_of(file) if isinstance(file, str) else Path.cwd()


@lru_cache(maxsize=256)
def _directory_of(file: str) -> Path:
    return Path(file).resolve().parent


def check_path(
    kernel: str, what: str, path: str | os.PathLike[str], base: Path, *, of: str = "Kernel"
) -> Path:
    """A file's or directory's path, relative to the declaring file's directory.

    Parameters
    ----------
    what
        What it is, for errors: "source".
    base
        The directory that it is relative to.
    of
        What it is a part of, if that is no kernel.

    Raises
    ------
    DeclarationError
        The value is not a path.
    """
    try:
        text = os.fspath(path)
    except TypeError:
        text = ""
    if not isinstance(text, str) or not text or not is_argument(text, escaped=True):
        raise DeclarationError(
            f"{of} `{kernel}`: {what} is given as {shown(path)}.",
            expected="a file's path, as text or a pathlib.Path",
            next_step=f"name the file, relative to the one that declares the {of.lower()}.",
        )
    return base / text


def check_include_dirs(
    kernel: str, directories: Sequence[str | os.PathLike[str]], base: Path
) -> tuple[Path, ...]:
    """The directories that are searched for headers.

    Raises
    ------
    DeclarationError
        One is no path, or they are no list.
    """
    if not is_list(directories):
        raise DeclarationError(
            f"Kernel `{kernel}`: include_dirs is {shown(directories)}.",
            expected="a list of directories",
            next_step='put the directory into a list: include_dirs=["include"].',
        )
    return tuple(check_path(kernel, "an include directory", path, base) for path in directories)


def check_objects(
    kernel: str, objects: Mapping[str, str | os.PathLike[str]] | None, base: Path
) -> tuple[tuple[Target, Path], ...]:
    """Objects built elsewhere, by target.

    Raises
    ------
    DeclarationError
        One is no path, or is given for no CUDA target, or two are given for one.
    """
    if objects is None:
        return ()
    if not isinstance(objects, Mapping):
        raise DeclarationError(
            f"Kernel `{kernel}`: objects is given as {shown(objects)}.",
            expected="a dict of files by target",
            next_step='write objects={"cuda:sm_90": "kernel.ptx"}.',
        )
    found: dict[Target, Path] = {}
    for name, path in objects.items():
        target = Target.parse(name)
        if not target.is_cuda:
            raise DeclarationError(
                f"Kernel `{kernel}`: an object is given for target {target}.",
                expected="objects for cuda:sm_XX targets; the CPU runs the PTX of one of them",
                next_step=f"drop {str(target)!r} from objects.",
            )
        if target in found:
            raise DeclarationError(
                f"Kernel `{kernel}`: two objects are given for target {target}.",
                expected="one a target",
                next_step="drop one of them.",
            )
        found[target] = check_path(kernel, f"the object for {target}", path, base)
    return tuple(sorted(found.items(), key=lambda item: str(item[0])))


def check_options(kernel: str, options: Sequence[str]) -> tuple[str, ...]:
    """The compiler's options.

    Raises
    ------
    DeclarationError
        They are no list of texts that a program can be given.
    """
    if not is_list(options) or not all(map(is_argument, options)):
        raise DeclarationError(
            f"Kernel `{kernel}`: options is {shown(options)}.",
            expected='a list of texts, one an option: ["-use_fast_math", "-DTILE=64"]',
            next_step="put each option into a text of its own.",
        )
    return tuple(options)


def is_argument(option: object, *, escaped: bool = False) -> bool:
    """Whether a program can be given it: text of characters that exist, none of them NUL.

    Parameters
    ----------
    escaped
        Whether it may have bytes that are no text, as Python keeps those of file names.
    """
    if not isinstance(option, str) or "\0" in option:
        return False
    try:
        option.encode("utf-8", "surrogateescape" if escaped else "strict")
    except UnicodeEncodeError:
        return False
    return True
