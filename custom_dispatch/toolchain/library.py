"""A library: kernels together with the objects built for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from custom_dispatch.errors import OutputError
from custom_dispatch.files import check_output
from custom_dispatch.format.kernel_resources import KernelResources, Occupancy, occupancy
from custom_dispatch.kernel.choice import Choice, files_of
from custom_dispatch.kernel.geometry import Block
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.target import Target
from custom_dispatch.toolchain.object import Object

if TYPE_CHECKING:
    from custom_dispatch.toolchain.stored_build import SourceFiles


@dataclass(frozen=True, slots=True)
class UnitSource:
    """What a unit was compiled from."""

    file: str
    """The source's name, without its directory."""
    sha256: str
    """Of the source itself; headers show in the objects."""
    options: tuple[str, ...]
    """The compiler's, in nvcc's spelling, with every macro."""
    targets: tuple[str, ...] = ()
    """The targets that take it, where others take another source or other options."""


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
    sources: tuple[UnitSource, ...] = ()
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
class Library:
    """What `cd.build` returns: everything that is needed to put the kernels into a model."""

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
        return next((target for target in self.targets if not target.is_cuda), None)

    @property
    def objects(self) -> Iterator[Object]:
        """Every object for a CUDA target."""
        return (item for unit in self.units for item in unit.objects)

    def report(self) -> tuple[KernelReport, ...]:
        """What every kernel takes, for each CUDA target; fatbins built elsewhere do not tell."""
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

        They are what is linked: where a kernel's C signature is not in IREE's form, its entry is
        rewritten to that. `build(..., objects=directory)` finds them there again, and tells by the
        names of an entry's parameters which form it has; behind machine code these stand in
        remarks. The PTX that the CPU runs is one of them, unless no plain CUDA target was asked
        for; where the CPU has an implementation of its own, it is NAME_cpu_sm_80.ptx.

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
