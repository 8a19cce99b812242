"""What a module says was built into it, as JSON in its functions' reflections."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.kernel.names import listed
from custom_dispatch.kernel.target import Target
from custom_dispatch.plain_data import UNREADABLE, read

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel

VERSION = 2
"""Version 1 has neither "made_by", "sources" nor "cpu_features". "flags" may be missing."""


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """Calls of a kernel whose sizes the module's types say."""

    calls: int
    dims: Mapping[str, int]
    absent: tuple[str, ...] = ()
    """The optional operands that they leave out."""


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel, as one function calls it."""

    kernel: str
    calls: int
    """Places that call it, in the function and in those that it calls."""
    varies: bool = False
    """Whether one of them is in a loop or a branch: then data says how often it is called."""
    sizes: tuple[KnownSizes, ...] = field(default=(), compare=False)
    """Of those of the calls whose sizes are known."""

    def __str__(self) -> str:
        if self.varies:
            return f"{self.kernel} as often as data says"
        return f"{self.kernel} x {self.calls}" if self.calls > 1 else self.kernel


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A public function, and the kernels that it calls."""

    function: str
    kernels: tuple[KernelUse, ...]
    direct: str | None = None
    """The kernel that the function is: it passes its arguments on as they are, and returns what
    comes. None for a function that does anything else."""


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

    def as_data(self) -> dict[str, Any]:
        """The same, of JSON's types."""
        ptx = {} if self.ptx is None else {"ptx": ".".join(map(str, self.ptx))}
        return {
            "file": self.file,
            "target": str(self.target),
            "origin": self.origin,
            "sha256": self.sha256,
            "bytes": self.size_bytes,
            "symbols": dict(self.symbols),
            "resources": [asdict(taken) for taken in self.resources],
            **ptx,
        }

    @property
    def is_machine_code(self) -> bool:
        """Whether it is a cubin, which runs on few GPUs."""
        return self.file.endswith(".cubin")


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A source that kernels of a module were compiled from."""

    file: str
    """Its name, without a directory."""
    sha256: str
    """Of the source itself; headers show in the objects."""
    options: tuple[str, ...]
    """The CUDA compiler's, in nvcc's spelling, with every macro."""
    kernels: tuple[str, ...]
    targets: tuple[str, ...] = ()
    """The targets that take it, where others take another source or other options."""


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
    made_by: Mapping[str, str] = field(default_factory=dict)
    """The versions of the packages that linked it, by name."""
    sources: tuple[ModuleSource, ...] = ()
    """What was compiled from source, where the module says so."""
    cpu_features: tuple[str, ...] = ()
    """What its CPU code may use beyond what every CPU of its architecture has, in LLVM's names."""
    flags: tuple[str, ...] = ()
    """Those of `iree-compile`, where this package called it."""
    left_out: Mapping[Target, tuple[str, ...]] = field(default_factory=dict)
    """The kernels with code of their own for a GPU for which an earlier target's was built, by the
    target that it is for."""

    def as_text(self) -> str:
        """The same as JSON, which `parse_manifest` reads."""
        content: dict[str, Any] = {
            "version": VERSION,
            "made_by": dict(self.made_by),
            "targets": [str(target) for target in self.targets],
            "kernels": list(self.declarations),
            "functions": [asdict(use) for use in self.functions],
            "objects": [item.as_data() for item in self.objects],
        }
        more = {
            "sources": [asdict(source) for source in self.sources],
            "left_out": {str(target): names for target, names in self.left_out.items()},
            "flags": self.flags,
            "cpu_architecture": self.cpu_architecture,
            "cpu_features": self.cpu_features,
        }
        content |= {key: value for key, value in more.items() if value}
        return json.dumps(content, separators=(",", ":"))

    @property
    def cuda_targets(self) -> tuple[Target, ...]:
        """The CUDA targets, best first."""
        return tuple(target for target in self.targets if target.is_cuda)

    @property
    def runs_on_cpu(self) -> bool:
        """Whether the kernels were built for a CPU too."""
        return any(target.is_cpu for target in self.targets)

    def best_for(self, compute_capability: int) -> Target | None:
        """The CUDA target whose objects run on a GPU: the one that IREE will choose."""
        return next(
            (target for target in self.cuda_targets if self._runs_on(target, compute_capability)),
            None,
        )

    def target_on(self, compute_capability: int | None) -> Target | None:
        """The target whose code IREE chooses: on a GPU, or on the CPU for None."""
        if compute_capability is not None:
            return self.best_for(compute_capability)
        return next((target for target in self.targets if target.is_cpu), None)

    def slower_on(self, compute_capability: int | None) -> tuple[str, ...]:
        """Why a GPU runs code for an earlier one, as sentences; none where it does not."""
        taken = self.target_on(compute_capability)
        if taken is None or compute_capability is None or not taken.is_cuda:
            return ()
        found = [
            f"{listed(names)} could run code for {target} here, which was not built: compile with "
            f"that target, too."
            for target, names in self.left_out.items()
            if target.arch and target.arch.runs_on(compute_capability)
        ]
        # Nor does what is here for one GPU alone run on a later one.
        found += [
            f"The code for {target} runs on sm_{target.cuda_arch.compute_capability} alone; this "
            f"GPU, sm_{compute_capability}, runs that for {taken}."
            for target in self.cuda_targets
            if taken.cuda_arch < target.cuda_arch
            and target.cuda_arch.compute_capability < compute_capability
        ]
        return tuple(found)

    def use_of(self, function: str) -> FunctionUse | None:
        """What a public function calls; None where the module does not say."""
        return next((use for use in self.functions if use.function == function), None)

    def declaration(self, kernel: str) -> Kernel | None:
        """A kernel as it was declared, but for its source; None where the module does not say."""
        from custom_dispatch.kernel.description import read_description  # most programs need none

        try:
            described = next(item for item in self.declarations if item.get("name") == kernel)
            return read_description(described)
        except (StopIteration, *UNREADABLE, DeclarationError):
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


def parse_manifest(text: str | None) -> Manifest | None:
    """Read a manifest of this version or an earlier one; None for a later or a damaged one."""
    if text is None:
        return None
    try:
        content = json.loads(text)
        if not 1 <= _leaf(int, content["version"]) <= VERSION:
            return None
        described = content["kernels"]
        names = [kernel["name"] for kernel in described]
        objects = [_as_object(item) for item in content["objects"]]
        changed = {"kernels": names, "declarations": described, "objects": objects}
        found: Manifest = read(Manifest, content | changed, _leaf)
    except (*UNREADABLE, DeclarationError):
        return None
    return found


def _as_object(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a `ModuleObject`, from what `as_data` made of them."""
    version = data["ptx"].split(".") if "ptx" in data else None
    numbers = version and [int(number) for number in version]
    return {"resources": [], **data, "ptx": numbers, "size_bytes": data.get("bytes")}


_LONGEST_WORD = 4096


def _leaf(kind: Any, value: Any) -> Any:
    """As `plain_data.read` has it. Texts may be shown on a terminal."""
    is_word = isinstance(value, str) and value.isprintable() and len(value) <= _LONGEST_WORD
    if kind is Target and is_word:
        return Target.parse(value)
    is_whole = type(value) is int and 0 <= value < 2**63
    if {str: is_word, int: is_whole, bool: type(value) is bool, Any: True}.get(kind, False):
        return value
    raise ValueError(f"{value!r:.80} is no {kind}")


def why_no_manifest(text: str | None) -> str:
    """Why a module has no manifest that can be read, as a sentence; None where it has no text."""
    if text is None:
        return "It does not say which kernels were built in: custom-dispatch did not link it."
    try:
        version = _leaf(int, json.loads(text)["version"])
    except UNREADABLE:
        version = 0
    if version > VERSION:
        return (
            "A later custom-dispatch linked it, and says what was built in in a form that this one "
            "does not read; update custom-dispatch to see it."
        )
    return "What it says of the kernels that were built in is damaged."
