"""The kernels that `tune.py` measures, each built by itself: here, or on another machine before.

One that does not compile is a result like any other. So kernels that are built for a machine
without compilers have a directory each, and `tuning_objects.json` says what became of them.
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from custom_dispatch.errors import CallError, CustomDispatchError
from custom_dispatch.files import exists, read_bytes, write_atomically
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.process import result_of
from custom_dispatch.toolchain.build import build
from custom_dispatch.toolchain.library import KernelReport, Library
from custom_dispatch.toolchain.tuned import digest_of

INDEX = "tuning_objects.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that was built, or why not."""

    kernel: Kernel
    library: Library | None
    compiler: str
    """What it was compiled by; empty if it was not."""
    problem: str = ""
    """Why it is not worth measuring."""
    resident: int = 1
    """Blocks that a multiprocessor holds at once."""


def distinct(choice: Choice, target: Target) -> Choice:
    """The same with the first of the kernels that are equal on a target, which are measured once.

    The other ones have no times there, so nothing takes them.
    """
    kernels = reversed(choice.kernels)
    found = {digest_of(item.with_launch(name="one"), target): item.name for item in kernels}
    return choice.only(found.values())


def build_each(
    choice: Choice, target: Target, compiler: str, include_dirs: Sequence[Path], image: str = "ptx"
) -> list[Candidate]:
    """Every kernel of a choice, built here in parallel."""

    def build_one(kernel: Kernel) -> Candidate:
        try:
            library = build(
                kernel, [target], compiler=compiler, include_dirs=include_dirs, image=image
            )
        except CustomDispatchError as error:
            return Candidate(kernel, None, "", error.found)
        objects = [item for unit in library.units for item in (*unit.objects, unit.cpu_ptx) if item]
        origins = {item.origin.rpartition("/")[2] for item in objects}
        return _fitting(kernel, library, ", ".join(sorted(origins)))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = [pool.submit(build_one, kernel) for kernel in choice.kernels]
        return [result_of(future) for future in futures]


def write_objects(
    choice: Choice, target: Target, directory: Path, compiler: str, include_dirs: Sequence[Path]
) -> list[Path]:
    """Build every kernel, and write what `read_objects` takes on the machine with the GPU.

    Returns: the files; the last one says what became of each kernel.
    """
    choice = distinct(choice, target)
    digests = {kernel.name: digest_of(kernel, target) for kernel in choice.kernels}
    built = build_each(choice, target, compiler, include_dirs, "cubin")
    paths = [
        path
        for item in built
        if item.library is not None
        for path in item.library.write(directory / item.kernel.name)
    ]
    kernels = {
        item.kernel.name: {
            "digest": digests[item.kernel.name],
            "compiler": item.compiler,
            "problem": "" if item.library is not None else item.problem,
        }
        for item in built
    }
    content = {"choice": choice.name, "target": str(target), "kernels": kernels}
    write_atomically(directory / INDEX, json.dumps(content, indent=1).encode() + b"\n")
    return [*paths, directory / INDEX]


def read_objects(choice: Choice, target: Target, directory: Path) -> list[Candidate]:
    """Every kernel of a choice, from a directory of objects.

    Without an index they are those that something else built, all kernels together.
    """
    if not exists(directory / INDEX):
        library = build(choice.kernels, [target], objects=directory)
        return [_fitting(kernel, library, "objects built elsewhere") for kernel in choice.kernels]
    known = _read_index(choice, target, directory)
    found = []
    for kernel in choice.kernels:
        entry = known[kernel.name]
        if entry["problem"]:
            found.append(Candidate(kernel, None, "", entry["problem"]))
            continue
        library = build(kernel, [target], objects=directory / kernel.name)
        found.append(_fitting(kernel, library, entry["compiler"]))
    return found


def _read_index(choice: Choice, target: Target, directory: Path) -> dict[str, dict[str, str]]:
    path = directory / INDEX
    content = read_bytes(path, "The list of objects", CallError)
    try:
        listed: Any = json.loads(content)
        of, built_for = listed["choice"], listed["target"]
        known = {
            name: {part: str(entry[part]) for part in ("digest", "compiler", "problem")}
            for name, entry in listed["kernels"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        of, built_for, known = choice.name, str(target), {}
    names = [kernel.name for kernel in choice.kernels]
    if of != choice.name:
        found = f"is of the choice `{of}`"
    elif built_for != str(target):
        found = f"is for {built_for}"
    elif missing := [name for name in names if name not in known]:
        found = f"says nothing of `{missing[0]}`"
    else:
        changed = [
            kernel.name
            for kernel in choice.kernels
            if known[kernel.name]["digest"] != digest_of(kernel, target)
        ]
        if not changed:
            return known
        found = f"is of another source or launch of `{changed[0]}` than there is now"
    raise CallError(
        f"The list of objects `{path}` {found}.",
        expected=f"objects of `{choice.name}` as it is, for {target}, which is measured here",
        next_step="build them again: custom-dispatch tune ... --build-only DIRECTORY "
        f"--target {target}.",
    )


def _fitting(kernel: Kernel, library: Library, compiler: str) -> Candidate:
    """A kernel with the object that it is in, and whether that is worth measuring."""
    (unit,) = (item for item in library.units if kernel in item.kernels)
    library = replace(library, units=(unit,))
    # An image that came with the declaration, for several architectures, does not tell.
    found = [item for item in library.report() if item.kernel == kernel.name]
    if len(found) != 1:
        return Candidate(kernel, library, compiler)
    blocks = found[0].occupancy.blocks if found[0].occupancy else 1
    return Candidate(kernel, library, compiler, _unfit(found[0]), max(blocks, 1))


def _unfit(found: KernelReport) -> str:
    """Why a kernel is not worth measuring."""
    taken = found.resources
    if taken.spills:
        return (
            f"spills: each thread stores {taken.spill_stores_bytes} bytes and loads "
            f"{taken.spill_loads_bytes}, with {taken.registers} registers"
        )
    if found.occupancy is not None and found.occupancy.blocks == 0:
        return f"does not fit: {found.occupancy.limited_by}"
    return ""
