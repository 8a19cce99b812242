"""A library: kernels together with the objects built for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from custom_dispatch.errors import DeclarationError, OutputError, PtxError
from custom_dispatch.files import check_output, exists, is_directory, write_atomically
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.format.manifest import ModuleSource
from custom_dispatch.format.occupancy import Occupancy, occupancy
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import files_of
from custom_dispatch.kernel.geometry import Block
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_one_of, shown
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.store import Closure
from custom_dispatch.toolchain.entry_point import EntryPoint, write_notes

IMAGES = ("ptx", "cubin", "fatbin")

_VERSION = re.compile(r"([1-9][0-9]?)\.([0-9])", re.ASCII)
_VERSION_LINE = re.compile(rb"^([ \t]*\.version[ \t]+)(\d+)\.(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Form:
    """What PTX becomes before it is linked."""

    image: str = "ptx"
    """"ptx", "cubin", or "fatbin": one object with PTX and machine code for every CUDA target."""
    ptx_version: tuple[int, int] | None = None
    """The PTX ISA version that it is to say it needs; None for the compiler's own."""
    is_foreign: bool = False
    """Whether another compiler than ours made it: `ptx/foreign.py` says what is left out then."""


def check_form(image: str, ptx_version: str | None) -> Form:
    """The form that is asked for."""
    if not is_one_of(image, IMAGES):
        raise DeclarationError(
            f"image is given as {shown(image)}.",
            expected=" or ".join(IMAGES),
            next_step="leave it out for PTX, which also runs on later GPUs.",
        )
    if ptx_version is None:
        return Form(image)
    match = _VERSION.fullmatch(ptx_version) if isinstance(ptx_version, str) else None
    if match is None:
        raise DeclarationError(
            f"ptx_version is given as {shown(ptx_version)}.",
            expected='a version of the PTX ISA, as text: "8.0"',
            next_step="give the version that the oldest driver reads, or leave it out.",
        )
    return Form(image, (int(match[1]), int(match[2])))


def stated_version(ptx: bytes) -> tuple[int, int] | None:
    """The version of the PTX ISA that a module says it needs."""
    match = _VERSION_LINE.search(ptx)
    return (int(match[2]), int(match[3])) if match is not None else None


def with_version(ptx: bytes, version: tuple[int, int]) -> bytes:
    """PTX that says it needs an older version; whether it does, ptxas finds out."""
    found = stated_version(ptx) or version
    if found == version:
        return ptx
    if found < version:
        raise PtxError(
            f"The PTX is of version {found[0]}.{found[1]}, below ptx_version="
            f'"{version[0]}.{version[1]}".',
            expected="a version that is lower: drivers read PTX of every version up to their own",
            next_step="lower ptx_version, or leave it out.",
        )
    return _VERSION_LINE.sub(rb"\g<1>%d.%d" % version, ptx, count=1)


@dataclass(frozen=True, slots=True)
class Object:
    """The device code of one kernel for one target."""

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
        """Write the object as `directory / file_name`, whole or not at all; return that path."""
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


@dataclass(frozen=True, slots=True)
class Unit:
    """Kernels that come from one source with the same options, and so share their objects."""

    name: str
    """Names its objects' files and its executable: the source's stem, as an identifier."""
    kernels: tuple[Kernel, ...]
    objects: tuple[Object, ...]
    """One a CUDA target, the best target first; or one for all, a fatbin."""
    cpu_ptx: Object | None
    """The PTX that the CPU target runs, where that is asked for."""
    sources: tuple[ModuleSource, ...] = ()
    """Several where targets have implementations of their own; none for objects that were built
    elsewhere."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """What a kernel takes of the GPUs of one target, and how many of its blocks run there."""

    kernel: str
    """The declared name."""
    target: Target
    resources: KernelResources
    dynamic_shared_bytes: int
    block: Block
    occupancy: Occupancy | None
    """None for architectures whose limits are not known."""


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """What a compilation read: where all of it is the same, the PTX is."""

    source: bytes
    """SHA-256 of the source, without a byte order mark."""
    closure: Closure
    """The other files."""
    state: bytes
    """What they were; see `Snapshot.state_of`."""


@dataclass(frozen=True, slots=True)
class Library:
    """The result of `cd.build`: everything needed to put the kernels into a model."""

    units: tuple[Unit, ...]
    targets: tuple[Target, ...]
    """The CUDA targets, best first, and then the CPU."""
    choices: tuple[Choice, ...] = ()
    """The choices among its kernels."""
    read: SourceFiles | None = field(
        default=None, compare=False, repr=False, metadata={"not_in_keys": True}
    )
    """What the one source of all was compiled from, where there is one and that is known."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every kernel, those of one unit together."""
        return tuple(kernel for unit in self.units for kernel in unit.kernels)

    @property
    def cuda_targets(self) -> tuple[Target, ...]:
        """The CUDA targets, best first."""
        return tuple(target for target in self.targets if target.is_cuda)

    @property
    def cpu_target(self) -> Target | None:
        """The CPU target, if there is one."""
        return next((target for target in self.targets if target.is_cpu), None)

    @property
    def objects(self) -> Iterator[Object]:
        """Every object for a CUDA target."""
        return (item for unit in self.units for item in unit.objects)

    def report(self) -> tuple[KernelReport, ...]:
        """The resources of every kernel for each CUDA target; unknown for foreign fatbins."""
        return tuple(
            _report(kernel.for_target(item.target), item, resources)
            for unit in self.units
            for kernel in unit.kernels
            for whole in unit.objects
            for item in (whole.parts if whole.kind == "fatbin" else (whole,))
            for resources in item.resources
            if resources.kernel == item.symbol(kernel.for_target(item.target).entry)
        )

    def write(self, directory: Path | str) -> tuple[Path, ...]:
        """Write the objects for CUDA into a directory as NAME_sm_XX.ptx; return the files.

        The files are what is linked: if a kernel's C signature does not follow IREE's convention,
        its entry is rewritten to it. `build(..., objects=directory)` finds them again, and
        recognises rewritten entries by the names of their parameters, which are appended to machine
        code. The PTX that the CPU runs is one of the files, unless no plain CUDA target was
        requested; if the CPU has its own implementation, it is NAME_cpu_sm_80.ptx.

        Raises
        ------
        OutputError
            The directory cannot be made or written, or a file there is one of the kernels'.
        """
        if not isinstance(directory, str | Path) or "\0" in str(directory):
            raise OutputError(
                f"Objects cannot be written into {shown(directory)}.",
                expected="a directory",
                next_step="name one; it is made where it is missing.",
            )
        on_cpu = [unit.cpu_ptx for unit in self.units if unit.cpu_ptx is not None]
        names = {unit.name for unit in self.units}
        written = (*self.objects, *(item for item in on_cpu if item.name not in names))
        for item in written:
            check_output(Path(directory, item.file_name), files_of(self.kernels))
        return tuple(item.write(Path(directory)) for item in written)


def _report(kernel: Kernel, item: Object, resources: KernelResources) -> KernelReport:
    shared = resources.static_shared_bytes + kernel.dynamic_shared_memory
    capability = item.target.cuda_arch.compute_capability
    return KernelReport(
        kernel.name,
        item.target,
        resources,
        kernel.dynamic_shared_memory,
        kernel.block,
        occupancy(capability, kernel.block, resources.registers, shared),
    )
