"""Choices by what was measured: tables read from their files, and whether they still hold."""

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from custom_dispatch.errors import DeclarationError, SourceError, TuningWarning
from custom_dispatch.files import read_bytes
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured
from custom_dispatch.kernel.tuning_table import TuningTable, read_table

_HOST = Target("cpu", cpu="host")


def tuned(choice: Choice, targets: Sequence[Target], device: str = "") -> Choice:
    """The choice by what its table says of each of some targets.

    Where a target was measured on several devices, all of them count; but for calls on one of them,
    `device`, that one alone.

    Where nothing was measured for a target, what was of the same code on another GPU counts, or for
    another name of the same CPU, which is said. For a target where what was measured is another
    source or launch than a kernel has now, the table does not count, with a warning: without its
    times, no others could be compared with it, and a kernel for other sizes might come first. Nor
    does it for `cpu:host` if that was another CPU than the one that is here, for which kernels are
    compiled. A choice without a table, or whose file is not there yet, stays what it is.
    """
    if choice.settled:
        return choice
    source = choice.like or choice
    table = table_of(source)
    if table is None:
        return choice
    valid: list[Measured] = []
    for target in targets:
        found = table.for_target(target) or _of_same_code(source, table, target)
        valid += tuple(item for item in found if item.device == device) or found
    valid = [i for i in valid if not (_is_of_another_cpu(source, i) or _is_stale(source, i))]
    return (
        choice.by_tables([_as_it_is(choice, source, item) for item in valid]) if valid else choice
    )


def _of_same_code(source: Choice, table: TuningTable, target: Target) -> tuple[Measured, ...]:
    """What was measured of the same code elsewhere: for `cpu:host`, or on another GPU, of the same
    generation if there is one.

    For a CPU that is so whichever was measured: a module for `cpu` is for no certain one, and is
    the same wherever it is compiled.
    """
    given = (item.target for item in table.measured)
    for of in sorted(given, key=lambda of: _kind(of) != _kind(target)):
        found = table.for_target(of)
        if of.is_cuda and target.is_cuda:
            if any(each.for_target(of) is not each.for_target(target) for each in source.kernels):
                continue
        elif _kind(of) != _kind(target) or _is_stale(source, found[0]):
            continue
        else:
            warnings.warn(
                f"choice `{source.name}`: nothing was measured for {target}, so what the table "
                f"`{source.tuning}` has of {of}, on {found[0].device}, counts for it.",
                TuningWarning,
                stacklevel=4,
            )
        return tuple(replace(item, target=target) for item in found)
    return ()


def _kind(of: Target) -> int | str:
    """GPUs of a generation, which have room for as many blocks, or CPUs of an architecture."""
    return of.arch.compute_capability // 10 if of.arch else str(of.checked) + of.cpu_architecture


def _is_of_another_cpu(source: Choice, measured: Measured) -> bool:
    """Whether `cpu:host` was another machine's CPU when it was measured; then it is said."""
    cpu = host_cpu()
    if measured.target != _HOST or cpu.is_named(measured.device):
        return False
    warnings.warn(
        f"choice `{source.name}`: the table `{source.tuning}` was measured for {measured.target} "
        f"on {measured.device}, and this machine's CPU is {cpu}. So it does not count here, and "
        "kernels are taken in the declared order; `custom-dispatch tune --device cpu` measures on "
        "this one, in the place of the other.",
        TuningWarning,
        stacklevel=3,
    )
    return True


def _is_stale(source: Choice, measured: Measured) -> bool:
    """Whether kernels are others now than those that were measured; then it is said."""
    stale = [kernel.name for kernel in source.kernels if _is_other(kernel, measured)]
    if stale:
        warnings.warn(
            f"choice `{source.name}`: `{'`, `'.join(stale)}` changed after the table "
            f"`{source.tuning}` was measured for {measured.target}. So it does not count there, "
            "and kernels are taken in the declared order; `custom-dispatch tune` measures again.",
            TuningWarning,
            stacklevel=3,
        )
    return bool(stale)


def _as_it_is(choice: Choice, source: Choice, measured: Measured) -> Measured:
    """What was measured of the kernels that there are, by the names of this choice."""
    own = [kernel.name for kernel in source.kernels]
    timed = {name for sizes in measured.sizes for name in sizes.seconds}
    if gone := sorted(timed.difference(own)):
        warnings.warn(
            f"choice `{source.name}`: the table `{source.tuning}` times `{'`, `'.join(gone)}` for "
            f"{measured.target}, and it has no such kernel; its kernels are {', '.join(own)}.",
            TuningWarning,
            stacklevel=3,
        )
    names = dict(zip(own, (kernel.name for kernel in choice.kernels), strict=False))
    corrects = str(source.kernels[0].flops) == str(choice.kernels[0].flops)
    measured = measured.renamed(names, corrects=corrects)
    _check_dims(source, choice, measured)
    return measured


def _check_dims(source: Choice, choice: Choice, measured: Measured) -> None:
    """Require sizes that the kernels have: a table is a file, which anybody may have edited."""
    names = [dim.name for dim in choice.kernels[0].dims]
    others = [name for name in measured.dims if name not in names]
    if others:
        raise DeclarationError(
            f"Choice `{choice.name}`: its table `{source.tuning and source.tuning.name}` is for "
            f"sizes `{'`, `'.join(others)}`, which its kernels do not have.",
            expected=f"sizes of {', '.join(names)}",
            next_step="measure again, or remove the file: the kernels are then taken in order.",
        )


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
    """The table of a choice; None where it declares none, or the file is not there."""
    path = choice.tuning
    if path is None:
        return None
    return _read(path, choice.name, _state_of(path)) if _is_there(path) else None


@cache
def _read(path: Path, choice: str, state: tuple[int, int]) -> TuningTable:
    del state  # of the file, so that it is read again when it has changed
    return read_file(path, choice)


def read_file(path: Path, choice: str) -> TuningTable:
    """The table in a file; an empty one where there is none yet."""
    if not _is_there(path):
        return TuningTable(choice, ())
    content = read_bytes(path, "The table", DeclarationError)
    return read_table(content.decode("utf-8", "replace"), path.name, choice)


def digest_of(kernel: Kernel, target: Target) -> str:
    """What a kernel's time follows from: its source, the compiler's options, and its launch.

    Comments and spaces are not in it, nor are headers: whoever changes these measures again.
    """
    form = kernel.for_target(target)
    given = dict(form.objects).get(target)
    path = form.source or given
    code = b"" if path is None else _without_comments(Path(path), _state_of(Path(path)))
    parts = {
        "code": sha256(code).hexdigest(),
        "options": form.options,
        "max_registers": form.max_registers,
        "launch": describe(form),
    }
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


_TEXT_OR_SPACE = re.compile(rb'"(?:\\.|[^"\\\n])*"|(?://[^\n]*|/\*.*?\*/|\s+)+', re.DOTALL)


@cache
def _without_comments(path: Path, state: tuple[int, int]) -> bytes:
    del state  # as in `_read`
    code = read_bytes(path, "The CUDA source", SourceError)
    return _TEXT_OR_SPACE.sub(_text_or_space, code).strip()


def _text_or_space(found: re.Match[bytes]) -> bytes:
    return found[0] if found[0].startswith(b'"') else b" "


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL character
        return False
    except OSError:
        pass  # reading it says what is wrong
    return True


def _state_of(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0  # reading it says what is wrong
    return found.st_mtime_ns, found.st_size
