"""A built library as executables, ready to be written as IR."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import prod

from custom_dispatch.cpu.cpu_kernel import CpuCode, CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import (
    CustomDispatchError,
    DeclarationError,
    UnsupportedInstructionError,
)
from custom_dispatch.format.keys import MANIFEST_KEY
from custom_dispatch.format.manifest import FunctionUse, KernelUse, Manifest, ModuleObject
from custom_dispatch.ir import executable
from custom_dispatch.ir.compiler_tool import cpu_executable_target, features_of, processor_of
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.tensor_types import argument_types
from custom_dispatch.kernel.abi import MAX_CONSTANTS, counted
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.description import describe
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import In
from custom_dispatch.kernel.target import Target
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.store import key_of, open_store, package_identity, remember
from custom_dispatch.toolchain.library import Library, Object, Unit, stated_version
from custom_dispatch.toolchain.plan import code_left_out

SYMBOL_PREFIX = "custom_dispatch_"
"""Executables are named after their unit with this before it, apart from a model's own symbols."""


def executables_of(
    library: Library, kernels: Sequence[Kernel]
) -> tuple[executable.Executable, ...]:
    """The executables of the kernels that a module uses."""
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
                executable.Executable(
                    symbol, used, unit.objects, cpu, checked, of_choices, library.targets
                )
            )
    return tuple(found)


def workloads_of_choices(library: Library) -> executable.Workloads:
    """The dims that the grids of choices' kernels are computed from: as many as they share.

    These kernels may be dispatched without being meant to run.
    """
    found: dict[str, tuple[str, ...]] = {}
    for choice in library.choices:
        dims = executable.dims_of_grids(choice.kernels)
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


def _cpu_variant(unit: Unit, kernels: tuple[Kernel, ...], target: Target) -> executable.CpuVariant:
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
                expected="independent blocks: on the CPU each runs alone",
                next_step="give the clusters to an implementation for a GPU alone, "
                'implementations={"cuda:sm_90": cd.Implementation(cluster=...)}, or the CPU one of '
                "its own.",
            )
    ptx = unit.cpu_ptx.data
    described = cpu_executable_target(target)
    processor = processor_of(described)
    lowered = [
        CpuKernel(
            entry=unit.cpu_ptx.symbol(kernel.entry),
            symbol=unit.cpu_ptx.symbol(kernel.entry),
            block=kernel.block,
            bindings=len(kernel.abi.bindings),
            constants=len(kernel.abi.constants),
            dynamic_shared_memory=kernel.dynamic_shared_memory,
            processor=processor,
            # Only checked code names them: any other is the same for kernels of other names.
            name=kernel.name if target.checked else "",
            operands=tuple(
                (b.name, not isinstance(b, In)) for b in kernel.abi.bindings if target.checked
            ),
        )
        for kernel in kernels
    ]

    def make() -> CpuCode:
        return lower(read_module(ptx.decode("utf-8")), lowered, checked=target.checked)

    def key() -> bytes:
        return key_of("CPU code", package_identity(), ptx, lowered, target.checked)

    try:
        code = remember(open_store(), CpuCode, key, make, counted=False)  # models share kernels
    except UnsupportedInstructionError as error:
        raise _with_fallback(error, lowered, kernels) from None
    return executable.CpuVariant(target.symbol, described, unit.cpu_ptx, code)


def _with_fallback(
    error: UnsupportedInstructionError, lowered: Sequence[CpuKernel], kernels: Sequence[Kernel]
) -> CustomDispatchError:
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
    return error.saying(error.found, f"{error.next_step.rstrip('.')}; {also}")


def manifest(
    library: Library,
    kernels: Sequence[Kernel],
    functions: Sequence[FunctionUse],
    flags: Sequence[str] = (),
) -> Manifest:
    """What a module holds: kernels, targets, objects, and which function calls what.

    `flags`: those of `iree-compile`, where they are known: stock `iree-compile` says nothing of its
    own.
    """
    units = [
        (unit, used)
        for unit in library.units
        if (used := [kernel for kernel in unit.kernels if kernel in kernels])
    ]
    cpu = library.cpu_target
    return Manifest(
        library.targets,
        tuple(kernel.name for kernel in kernels),
        tuple(_module_object(item, used) for unit, used in units for item in unit.objects),
        "" if cpu is None else cpu.cpu_architecture,
        tuple(functions),
        tuple(describe(kernel) for kernel in kernels),
        _versions(),
        tuple(
            replace(source, kernels=tuple(kernel.name for kernel in used))
            for unit, used in units
            for source in unit.sources
        ),
        () if cpu is None else tuple(features_of(cpu_executable_target(cpu))),
        tuple(flags),
        code_left_out(kernels, library.targets),
    )


def _versions() -> dict[str, str]:
    """The packages that put the module together; where stock iree-compile compiles it, that one's
    version is not known here.
    """
    found = {}
    for package in ("custom-dispatch", "iree-base-compiler"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _module_object(item: Object, kernels: Sequence[Kernel]) -> ModuleObject:
    symbols = {kernel.name: executable.entry_symbol(item, kernel) for kernel in kernels}
    return ModuleObject(
        item.file_name,
        item.target,
        item.origin.rpartition("/")[2],
        sha256(item.data).hexdigest(),
        stated_version(item.data) if item.kind == "ptx" else None,
        tuple(taken for taken in item.resources if taken.kernel in symbols.values()),
        len(item.data),
        symbols,
    )


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
    return f"{MANIFEST_KEY} = {quote(content.as_text())}"
