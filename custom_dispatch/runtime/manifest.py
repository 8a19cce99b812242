"""What a module says was built into it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.ir.library_ir import MANIFEST_KEY, MANIFEST_VERSION
from custom_dispatch.kernel.target import Target
from custom_dispatch.toolchain.kernel_resources import KernelResources


@dataclass(frozen=True, slots=True)
class ModuleObject:
    """An object in a module."""

    file: str
    target: Target
    origin: str
    """The compiler with its version, or the file it came from."""
    sha256: str
    ptx: tuple[int, int] | None
    """The PTX ISA version, for PTX."""
    resources: tuple[KernelResources, ...]
    """What each kernel in it takes, by its name in the object, where that is known."""

    @property
    def is_machine_code(self) -> bool:
        """Whether it is a cubin, which runs on few GPUs."""
        return self.file.endswith(".cubin")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The targets, kernels and objects of a module."""

    targets: tuple[Target, ...]
    kernels: tuple[str, ...]
    objects: tuple[ModuleObject, ...]
    cpu_architecture: str = ""
    """That of the CPU it was built for ("x86_64", "aarch64"), where it says so."""

    @property
    def cuda_targets(self) -> tuple[Target, ...]:
        """The CUDA targets, best first."""
        return tuple(target for target in self.targets if target.is_cuda)

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the kernels were built for a CPU too."""
        return any(not target.is_cuda for target in self.targets)

    def best_for(self, compute_capability: int) -> Target | None:
        """The CUDA target whose objects run on a GPU: the one that IREE will choose."""
        return next(
            (target for target in self.cuda_targets if self._runs_on(target, compute_capability)),
            None,
        )

    def _runs_on(self, target: Target, compute_capability: int) -> bool:
        arch = target.cuda_arch
        if any(item.is_machine_code and item.target == target for item in self.objects):
            return arch.machine_code_runs_on(compute_capability)
        return arch.runs_on(compute_capability)


def parse_manifest(text: str) -> Manifest | None:
    """Read a manifest; None for one of another version, or that is damaged."""
    try:
        content: dict[str, Any] = json.loads(text)
        if content["version"] != MANIFEST_VERSION:
            return None
        return Manifest(
            tuple(Target.parse(name) for name in content["targets"]),
            tuple(str(kernel["name"]) for kernel in content["kernels"]),
            tuple(_object(item) for item in content["objects"]),
            str(content.get("cpu_architecture", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, DeclarationError):
        return None


def _object(item: dict[str, Any]) -> ModuleObject:
    version = item.get("ptx")
    major, _, minor = version.partition(".") if version else ("", "", "")
    return ModuleObject(
        str(item["file"]),
        Target.parse(item["target"]),
        str(item["origin"]),
        str(item["sha256"]),
        (int(major), int(minor)) if version else None,
        tuple(KernelResources(**resources) for resources in item.get("resources", ())),
    )


def manifest_of(reflections: list[dict[str, str]]) -> Manifest | None:
    """The manifest of a module, from its functions' reflections."""
    for reflection in reflections:
        if MANIFEST_KEY in reflection:
            return parse_manifest(reflection[MANIFEST_KEY])
    return None
