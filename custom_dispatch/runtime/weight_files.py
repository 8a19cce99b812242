"""The weights of a module that are not in it: found, compared with what it needs, and mapped.

IREE maps an archive into memory. On the CPU a program reads the weights there; on a GPU they are
copied to it while the module is loaded.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iree import runtime as rt

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import ModuleFileError, sentence
from custom_dispatch.files import exists, is_directory, is_file
from custom_dispatch.kernel.names import as_path, shown
from custom_dispatch.parameters import SCOPE, SUFFIX, Parameters, identity_of
from custom_dispatch.runtime.access import IREE_ERRORS

Given = str | os.PathLike[str] | Parameters | Mapping[str, str | os.PathLike[str]] | None
"""A file; the weights of a compiled module; or the file of each scope, which nothing compares."""


@dataclass(frozen=True, slots=True)
class NeededParameters:
    """What a module says of the weights that it needs."""

    scope: str
    identity: str
    count: int
    size_bytes: int

    def __str__(self) -> str:
        return described(self.count, self.size_bytes)


def described(count: int, size_bytes: int) -> str:
    """How many weights, and how large they are together."""
    return f"{count} weight{'' if count == 1 else 's'} of {size_bytes} bytes"


def needed_parameters(text: str | None) -> NeededParameters | None:
    """What a module needs; None where it says nothing of it, or nothing that can be read."""
    if text is None:
        return None
    try:
        said = json.loads(text)
        found = NeededParameters(
            str(said["scope"]), str(said["identity"]), int(said["count"]), int(said["bytes"])
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return found if found.scope.isprintable() else None


def open_parameters(
    label: str, path: Path | None, needed: NeededParameters | None, given: Given
) -> list[Any]:
    """IREE's providers of the weights that a module needs.

    - `label`: what messages call the module.
    - `path`: its file, beside which its weights are looked for.
    - `given`: the weights, where the caller says so.
    """
    if isinstance(given, Mapping):
        return [
            _index(_path(file)).create_provider(str(scope), None) for scope, file in given.items()
        ]
    if isinstance(given, Parameters):
        return [_in_memory(given).create_provider(needed.scope if needed else "", None)]
    if given is None and needed is None:
        return []
    if given is not None:
        file = _path(given)
    elif path is None:
        raise ModuleFileError(
            f"{sentence(label)} needs its weights, {needed}, which are in a file of their own.",
            next_step='give it: cd.load(..., parameters="model.irpa").',
        )
    else:
        file = path.with_suffix(SUFFIX)
        if not exists(file):
            raise ModuleFileError(
                f"{sentence(label)} needs its weights, {needed}, and `{file}` does not exist.",
                expected="the file that was saved beside it",
                next_step='copy it there, or say where it is: cd.load(..., parameters="...").',
            )
    index = _index(file)
    if needed is None:
        # Somebody else's module: with these two scopes, iree-turbine's too, it need not be said.
        return [index.create_provider(scope, None) for scope in ("", SCOPE)]
    _compare(label, file, index, needed)
    return [index.create_provider(needed.scope, None)]


def tool_flags(
    path: Path, needed: NeededParameters | None, given: Given, directory: Path
) -> list[str]:
    """The flags by which IREE's tools take a module's weights.

    - `path`, `needed`, `given`: as of `open_parameters`.
    - `directory`: where to write weights that are in memory.
    """
    if given is None and needed is None:
        return []
    file: Any = path.with_suffix(SUFFIX) if given is None else given
    if isinstance(file, Parameters):
        with (directory / f"weights{SUFFIX}").open("wb") as opened:
            file.write_to(opened)
        file = opened.name
    files = file
    if not isinstance(file, Mapping):
        files = dict.fromkeys([needed.scope] if needed else ["", SCOPE], file)
    named = {f"{scope}=" if scope else "": file for scope, file in files.items()}
    return [f"--parameters={scope}{file}" for scope, file in named.items()]


def _path(given: object) -> Path:
    if isinstance(given, str | os.PathLike):
        return as_path(given, "The parameters' file", ModuleFileError)
    raise ModuleFileError(
        f"The parameters are given as {shown(given)}.",
        expected="the path of an .irpa file, or a mapping from scopes to paths",
        next_step="give the file that was saved with the module.",
    )


def _index(file: Path) -> Any:
    """An archive, mapped into memory."""
    index = rt.ParameterIndex()
    if not is_file(file):
        raise ModuleFileError(
            f"The weights `{file}` {'are a directory' if is_directory(file) else 'do not exist'}.",
            expected="an .irpa file",
            next_step="correct the path.",
        )
    try:
        index.load(str(file))
    except (*IREE_ERRORS, OSError) as error:
        raise ModuleFileError(
            f"`{file}` is no archive of weights, or it was cut short.",
            expected="the .irpa file as it was saved",
            next_step="copy it again from where it was made, or save the module again; IREE says:",
            log=str(error).splitlines()[0] if str(error) else "",
        ) from error
    return index


def _in_memory(parameters: Parameters) -> Any:
    """The weights of a compiled module: copied, as who compiled it may train the model further."""
    index = rt.ParameterIndex()
    descriptor = os.memfd_create("custom-dispatch-weights")
    with os.fdopen(descriptor, "wb") as file:
        parameters.write_to(file)
        file.flush()
        index.load(f"/proc/self/fd/{descriptor}", format="irpa")
    return index


def _compare(label: str, file: Path, index: Any, needed: NeededParameters) -> None:
    entries = [entry for _, entry in index.items()]
    said = [(str(entry.key), bytes(entry.metadata).decode("utf-8", "replace")) for entry in entries]
    if identity_of(said) == needed.identity:
        return
    found = described(len(entries), sum(int(entry.length) for entry in entries))
    raise ModuleFileError(
        f"`{file}` does not hold the weights that {label} was compiled with: it has {found}.",
        expected=f"{needed}, saved with the module",
        next_step="copy both files from where they were saved together, or save the module again.",
    )
