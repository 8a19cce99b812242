"""A built library as executables, ready to be written as IR."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import prod

from custom_dispatch.cpu import CpuKernel, lower
from custom_dispatch.errors import DeclarationError, UnsupportedInstructionError
from custom_dispatch.ir.cpu_target import cpu_executable_target, features_of, processor_of
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.executable import (
    CpuVariant,
    Executable,
    Workloads,
    dims_of_grids,
    entry_symbol,
)
from custom_dispatch.ir.layout import layout_of
from custom_dispatch.ir.signature import argument_types
from custom_dispatch.ir.usage import FunctionUse, KernelUse
from custom_dispatch.kernel.abi import MAX_CONSTANTS, counted
from custom_dispatch.kernel.buffer import In
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.library import Library, Unit
from custom_dispatch.toolchain.object import Object
from custom_dispatch.toolchain.plan import code_left_out

SYMBOL_PREFIX = "custom_dispatch_"
"""Executables are named after their unit with this before it, apart from a model's own symbols."""
MANIFEST_KEY = "custom_dispatch.manifest"
"""The key, in a function's `iree.reflection`, under which a module says what was built in."""
MANIFEST_VERSION = 2
"""Version 1 has neither "made_by", "sources" nor "cpu_features". "flags" may be missing."""


def executables_of(library: Library, kernels: Sequence[Kernel]) -> tuple[Executable, ...]:
    """The executables of the kernels that a module uses.

    Raises
    ------
    UnsupportedInstructionError
        The CPU is a target, and a kernel cannot run on it.
    """
    cpu_target = library.cpu_target
    names = {kernel.name for kernel in kernels} | {choice.name for choice in library.choices}
    found = []
    for unit in library.units:
        used = tuple(kernel for kernel in unit.kernels if kernel in kernels)
        if used:
            forms = tuple(kernel.for_target(cpu_target) for kernel in used)
            cpu = None if cpu_target is None else _cpu_variant(unit, forms, cpu_target)
            symbol = SYMBOL_PREFIX + unit.name
            while symbol in names:  # a kernel may have that name
                symbol += "_"
            checked = cpu_target is not None and cpu_target.checked
            of_choices = workloads_of_choices(library)
            found.append(
                Executable(symbol, used, unit.objects, cpu, checked, of_choices, library.targets)
            )
    return tuple(found)


def workloads_of_choices(library: Library) -> Workloads:
    """The dims that the grids of choices' kernels are computed from: as many as they share.

    These kernels may be dispatched without being meant to run.
    """
    found: dict[str, tuple[str, ...]] = {}
    for choice in library.choices:
        dims = dims_of_grids(choice.kernels)
        for kernel in choice.kernels:
            own = {dim.name for dim in kernel.dims}
            both = dict.fromkeys([*found.get(kernel.name, ()), *dims])
            found[kernel.name] = tuple(name for name in both if name in own)
    return found


def callable_choices(library: Library) -> tuple[Choice, ...]:
    """The choices that are a function of one type: of kernels with the same dtypes and ranks."""
    return tuple(
        choice
        for choice in library.choices
        if len({argument_types(kernel) for kernel in choice.kernels}) == 1
    )


def _cpu_variant(unit: Unit, kernels: tuple[Kernel, ...], target: Target) -> CpuVariant:
    if unit.cpu_ptx is None:  # pragma: no cover - `build` makes one for every CPU target
        raise TypeError(f"unit {unit.name} has no PTX for the CPU")
    for kernel in kernels:
        if len(kernel.abi.constants) >= MAX_CONSTANTS:
            raise DeclarationError(
                f"Kernel `{kernel.name}` has {counted(kernel.abi)} and the target cpu.",
                expected=f"at most {MAX_CONSTANTS - 1}: the CPU variant needs one for the grid",
                next_step="pass some of them in a buffer, or name targets without cpu.",
            )
        if kernel.cluster is not None and prod(kernel.cluster) > 1:
            raise UnsupportedInstructionError(
                f"Kernel `{kernel.name}` is launched in clusters of {kernel.cluster} blocks.",
                expected="blocks that know nothing of each other: on the CPU each runs by itself",
                next_step="give the clusters to an implementation for a GPU alone, "
                'implementations={"cuda:sm_90": cd.Implementation(cluster=...)}, or the CPU one of '
                "its own.",
            )
    module = read_module(unit.cpu_ptx.data.decode("utf-8"))
    described = cpu_executable_target(target)
    processor = processor_of(described)
    lowered = [
        CpuKernel(
            entry=unit.cpu_ptx.symbol(kernel.entry),
            symbol=unit.cpu_ptx.symbol(kernel.entry),
            block=kernel.block,
            bindings=len(kernel.abi.bindings),
            constants=len(kernel.abi.constants),
            layout=layout_of(kernel.abi, with_grid=True),
            grid_x_ordinal=len(kernel.abi.constants),
            dynamic_shared_memory=kernel.dynamic_shared_memory,
            processor=processor,
            name=kernel.name,
            operands=tuple((b.name, not isinstance(b, In)) for b in kernel.abi.bindings),
        )
        for kernel in kernels
    ]
    try:
        code = lower(module, lowered, checked=target.checked)
    except UnsupportedInstructionError as error:
        raise _with_fallback(error, lowered, kernels) from None
    return CpuVariant(target.symbol, described, unit.cpu_ptx, code)


def _with_fallback(
    error: UnsupportedInstructionError, lowered: Sequence[CpuKernel], kernels: Sequence[Kernel]
) -> UnsupportedInstructionError:
    """A refusal that says what else there is, where the kernel has a reference."""
    refused = next(
        (
            kernel
            for kernel, item in zip(kernels, lowered, strict=True)
            if error.found.startswith(f"Kernel `{item.entry}` ")
        ),
        None,
    )
    if refused is None or refused.reference is None:
        return error
    also = 'fallback="reference" in its declaration lets calls from Python run the reference.'
    if refused.fallback is not None:
        also = "its reference runs in calls from Python, and a module cannot hold it."
    return UnsupportedInstructionError(
        error.found,
        expected=error.expected,
        next_step=f"{error.next_step.rstrip('.')}; {also}",
        log=error.log,
    )


def manifest(
    library: Library,
    kernels: Sequence[Kernel],
    functions: Sequence[FunctionUse],
    flags: Sequence[str] = (),
) -> str:
    """What a module holds, as JSON: kernels, targets, objects, and which function calls what.

    Parameters
    ----------
    flags
        Those of `iree-compile`, where they are known: stock `iree-compile` says nothing of its own.
    """
    units = [
        (unit, [kernel for kernel in unit.kernels if kernel in kernels]) for unit in library.units
    ]
    content: dict[str, object] = {
        "version": MANIFEST_VERSION,
        "made_by": _versions(),
        "targets": [str(target) for target in library.targets],
        "kernels": [describe(kernel) for kernel in kernels],
        "functions": [use.as_data() for use in functions],
        "objects": [
            _describe_object(item, used) for unit, used in units if used for item in unit.objects
        ],
    }
    sources = [
        {"unit": unit.name, **source.as_data(), "kernels": [kernel.name for kernel in used]}
        for unit, used in units
        if used
        for source in unit.sources
    ]
    if sources:
        content["sources"] = sources
    if left_out := code_left_out(kernels, library.targets):
        content["left_out"] = {str(target): names for target, names in left_out.items()}
    if flags:
        content["flags"] = list(flags)
    if library.cpu_target is not None:
        content["cpu_architecture"] = library.cpu_target.cpu_architecture
        content["cpu_features"] = features_of(cpu_executable_target(library.cpu_target))
    return json.dumps(content, separators=(",", ":"))


def _versions() -> dict[str, str]:
    """The packages that put the module together; where stock iree-compile compiles it, that one's
    version is not known here.
    """
    found = {}
    for package in ("custom-dispatch", "iree-base-compiler"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _describe_object(item: Object, kernels: Sequence[Kernel]) -> dict[str, object]:
    symbols = {kernel.name: entry_symbol(item, kernel) for kernel in kernels}
    described: dict[str, object] = {
        "file": item.file_name,
        "target": str(item.target),
        "origin": item.origin.rpartition("/")[2],
        "sha256": sha256(item.data).hexdigest(),
        "bytes": len(item.data),
        "symbols": symbols,
        "resources": [
            asdict(taken) for taken in item.resources if taken.kernel in symbols.values()
        ],
    }
    if item.kind == "ptx":
        major, minor = read_module(item.data.decode("utf-8")).version
        described["ptx"] = f"{major}.{minor}"
    return described


def manifest_entry(library: Library, kernels: Sequence[Kernel], flags: Sequence[str] = ()) -> str:
    """The manifest of a module whose functions are the kernels, as an entry of a reflection."""
    functions = [
        FunctionUse(kernel.name, (KernelUse(kernel.name, 1),), kernel.name) for kernel in kernels
    ]
    functions += [
        FunctionUse(
            choice.name, tuple(KernelUse(kernel.name, 1, varies=True) for kernel in choice.kernels)
        )
        for choice in callable_choices(library)
    ]
    content = manifest(library, kernels, functions, flags)
    return f"{MANIFEST_KEY} = {quote(content)}"
