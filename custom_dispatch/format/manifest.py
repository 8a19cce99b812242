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

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel

VERSION = 2
"""Version 1 has neither "made_by", "sources" nor "cpu_features". "flags" may be missing."""


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel, as one function calls it."""

    kernel: str
    calls: int
    """Places that call it, in the function and in those that it calls."""
    varies: bool = False
    """Whether one of them is in a loop or a branch: then data says how often it is called."""

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
        return any(not target.is_cuda for target in self.targets)

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
        return next((target for target in self.targets if not target.is_cuda), None)

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
        except (StopIteration, *_UNREADABLE, DeclarationError):
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
        content = _table(json.loads(text))
        if not 1 <= _whole(content["version"]) <= VERSION:
            return None
        return Manifest(
            tuple(Target.parse(_word(name)) for name in _list(content["targets"])),
            tuple(_word(_table(kernel)["name"]) for kernel in _list(content["kernels"])),
            tuple(_object(_table(item)) for item in _list(content["objects"])),
            _word(content.get("cpu_architecture", "")),
            tuple(_function_use(_table(use)) for use in _list(content.get("functions", []))),
            tuple(_table(kernel) for kernel in content["kernels"]),
            _words(content.get("made_by", {})),
            tuple(_source(_table(item)) for item in _list(content.get("sources", []))),
            tuple(map(_word, _list(content.get("cpu_features", [])))),
            tuple(map(_word, _list(content.get("flags", [])))),
            {
                Target.parse(_word(target)): tuple(map(_word, _list(names)))
                for target, names in _table(content.get("left_out", {})).items()
            },
        )
    # Whatever else such text leads to: a file may hold anything.
    except (*_UNREADABLE, DeclarationError):
        return None


_UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)
_LONGEST_WORD = 4096


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _word(value: object) -> str:
    """A text that may be shown on a terminal."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST_WORD:
        raise ValueError("not a word")
    return value


def _words(value: object) -> dict[str, str]:
    return {_word(key): _word(item) for key, item in _table(value).items()}


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("not a whole number")
    return value


def _function_use(data: dict[str, Any]) -> FunctionUse:
    kernels = tuple(
        KernelUse(_word(use["kernel"]), int(use["calls"]), bool(use["varies"]))
        for use in data["kernels"]
    )
    direct = data["direct"]
    return FunctionUse(_word(data["function"]), kernels, None if direct is None else _word(direct))


def _object(item: dict[str, Any]) -> ModuleObject:
    version = item.get("ptx")
    major, _, minor = _word(version).partition(".") if version else ("", "", "")
    return ModuleObject(
        _word(item["file"]),
        Target.parse(_word(item["target"])),
        _word(item["origin"]),
        _word(item["sha256"]),
        (int(major), int(minor)) if version else None,
        tuple(_resources(_table(resources)) for resources in _list(item.get("resources", []))),
        None if item.get("bytes") is None else _whole(item["bytes"]),
        _words(item.get("symbols", {})),
    )


def _resources(item: dict[str, Any]) -> KernelResources:
    numbers: dict[str, Any] = {
        key: value if value is None and key.startswith("spill") else _whole(value)
        for key, value in item.items()
        if key != "kernel"
    }
    return KernelResources(_word(item["kernel"]), **numbers)


def _source(item: dict[str, Any]) -> ModuleSource:
    return ModuleSource(
        _word(item["file"]),
        _word(item["sha256"]),
        tuple(map(_word, _list(item["options"]))),
        tuple(map(_word, _list(item["kernels"]))),
        tuple(map(_word, _list(item.get("targets", [])))),
    )


def why_no_manifest(text: str | None) -> str:
    """Why a module has no manifest that can be read, as a sentence; None where it has no text."""
    if text is None:
        return "It does not say which kernels were built in: custom-dispatch did not link it."
    try:
        version = _whole(_table(json.loads(text))["version"])
    except _UNREADABLE:
        version = 0
    if version > VERSION:
        return (
            "A later custom-dispatch linked it, and says what was built in in a form that this one "
            "does not read; update custom-dispatch to see it."
        )
    return "What it says of the kernels that were built in is damaged."
