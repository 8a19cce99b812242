"""What a module says was built into it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from custom_dispatch.errors import DeclarationError
from custom_dispatch.ir.library_ir import MANIFEST_KEY, MANIFEST_VERSION
from custom_dispatch.ir.usage import FunctionUse, function_use
from custom_dispatch.kernel.description import read_description
from custom_dispatch.kernel.kernel import Kernel
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
    size_bytes: int | None = None
    symbols: Mapping[str, str] = field(default_factory=dict)
    """The names that kernels have in it, by their declared names."""

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
    functions: tuple[FunctionUse, ...] = ()
    """What each public function calls, where the module says so."""
    declarations: tuple[Mapping[str, Any], ...] = ()
    """What the kernels declare, for `declaration`."""

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

    def use_of(self, function: str) -> FunctionUse | None:
        """What a public function calls; None where the module does not say."""
        return next((use for use in self.functions if use.function == function), None)

    def declaration(self, kernel: str) -> Kernel | None:
        """A kernel as it was declared, but for its source; None where the module does not say."""
        try:
            described = next(item for item in self.declarations if item.get("name") == kernel)
            return read_description(described)
        except (StopIteration, KeyError, TypeError, DeclarationError):
            return None

    def object_of(self, kernel: str, target: Target) -> ModuleObject | None:
        """The object that holds a kernel's code for a target; a fatbin has that of all."""
        held = [item for item in self.objects if kernel in item.symbols]
        exact = next((item for item in held if item.target == target), None)
        return exact or next((item for item in held if item.file.endswith(".fatbin")), None)

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
            tuple(function_use(use) for use in content.get("functions", ())),
            tuple(dict(kernel) for kernel in content["kernels"]),
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
        None if item.get("bytes") is None else int(item["bytes"]),
        {str(name): str(symbol) for name, symbol in item.get("symbols", {}).items()},
    )


def manifest_of(reflections: list[dict[str, str]]) -> Manifest | None:
    """The manifest of a module, from its functions' reflections."""
    for reflection in reflections:
        if MANIFEST_KEY in reflection:
            return parse_manifest(reflection[MANIFEST_KEY])
    return None
