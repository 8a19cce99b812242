"""Choices by what was measured: tables read from their files, and whether they still hold."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from custom_dispatch.errors import DeclarationError, SourceError, TuningWarning
from custom_dispatch.files import read_bytes
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, TuningTable, read_table


def tuned(choice: Choice, targets: Sequence[Target]) -> Choice:
    """The choice by what its table says of the first of some targets that it knows.

    What was measured of another source or launch than the kernel has now is left out, with a
    warning. A choice without a table, or whose file is not there yet, stays what it is.

    Raises
    ------
    DeclarationError
        The file is no table of this choice.
    """
    table = table_of(choice)
    measured = None if table is None else table.for_targets(targets)
    if measured is None:
        return choice
    stale = [kernel.name for kernel in choice.kernels if _is_other(kernel, measured)]
    if stale:
        warnings.warn(
            f"choice `{choice.name}`: `{'`, `'.join(stale)}` changed after the table "
            f"`{choice.tuning}` was measured, and so is taken after the others; "
            "`custom-dispatch tune` measures again.",
            TuningWarning,
            stacklevel=2,
        )
    return choice.with_measured(measured.without(stale))


def _is_other(kernel: Kernel, measured: Measured) -> bool:
    """Whether a kernel was measured, and is another now.

    Where only objects that were built elsewhere are here, and no source, nothing tells.
    """
    known = measured.digests.get(kernel.name)
    try:
        return known is not None and known != digest_of(kernel, measured.target)
    except SourceError:
        return False  # whoever compiles it says that it is missing


def table_of(choice: Choice) -> TuningTable | None:
    """The table of a choice; None where it declares none, or the file is not there.

    Raises
    ------
    DeclarationError
        The file is no table of this choice.
    """
    path = choice.tuning
    if path is None:
        return None
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL character
        return None
    except OSError:
        pass  # reading it says what is wrong
    content = read_bytes(path, "The table", DeclarationError)
    return read_table(content.decode("utf-8", "replace"), path.name, choice.name)


def digest_of(kernel: Kernel, target: Target) -> str:
    """What a kernel's time follows from: its source, the compiler's options, and its launch.

    Headers are not in it: whoever changes them measures again.
    """
    form = kernel.for_target(target)
    given = dict(form.objects).get(target)
    path = form.source or given
    code = read_bytes(Path(path), "The CUDA source", SourceError) if path is not None else b""
    parts = {
        "code": sha256(code).hexdigest(),
        "options": form.options,
        "max_registers": form.max_registers,
        "launch": describe(form),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
