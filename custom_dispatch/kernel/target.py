"""Targets, where code runs (`cuda:sm_90a`, `cpu`, `cpu:x86-64-v3`), and names of devices."""

from __future__ import annotations

import platform
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, total_ordering
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError, DeviceError
from custom_dispatch.kernel.names import is_one_of, shown

_ARCH = r"sm_([1-9][0-9]?)([0-9])([af]?)"
CHECKED = "cpu:checked"
"""The CPU with checks: a target, and what a kernel can be called on besides devices."""
_CPU_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"

GENERATED = ("rocm", "vulkan", "metal")
"""Backends for which IREE compiles models without kernels: functions are part of its own code."""
AARCH64 = "aarch64"
"""The name of the CPU target that runs on every 64-bit Arm processor, and of that architecture."""


@cache
def cpu_names() -> Mapping[str, Sequence[str]]:
    """What may stand behind `cpu:`, for CPUs of this and of other machines, by architecture."""
    read = tomllib.loads(Path(__file__).with_name("cpu_names.toml").read_text())
    return {architecture: names.split() for architecture, names in read.items()}


_OTHER_NAMES = {"arm64": AARCH64, "AMD64": "x86_64"}


def host_architecture() -> str:
    """The architecture of this machine's CPU, as Linux calls it: "x86_64", "aarch64"."""
    machine = platform.machine()
    return _OTHER_NAMES.get(machine, machine)


# Compute capabilities that the CUDA 13.0 compilers know (`nvcc --list-gpu-arch`), and with them
# the older ones that a 12.x NVRTC still builds for.
KNOWN_COMPUTE_CAPABILITIES = frozenset(
    {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}
)
# `a` (one chip) and `f` (one family) features exist from these on: PTX ISA, ".target".
_FROM = {"": 0, "f": 100, "a": 90}

EMBEDDED = frozenset({53, 62, 72, 87, 110})
"""Compute capabilities of embedded GPUs (Jetson, DRIVE), whose machine code is their own."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Arch:
    """A GPU architecture: a compute capability and its feature suffix.

    Order is preference: a later compute capability first of all; at the same one, `a` before `f`
    before plain, because each may use instructions that the next may not.
    """

    compute_capability: int
    """major * 10 + minor: 90 for Hopper."""
    suffix: str = ""
    """"" (forward compatible PTX), "a" (this chip only) or "f" (this family)."""

    @classmethod
    def parse(cls, text: str) -> Arch:
        """Read `sm_90` or `sm_90a`."""
        match = re.fullmatch(_ARCH, text)
        known = ", ".join(f"sm_{cc}" for cc in sorted(KNOWN_COMPUTE_CAPABILITIES))
        if match is None:
            raise DeclarationError(
                f"{shown(text)} is not a CUDA architecture.",
                expected="`sm_` and a compute capability, such as sm_80, sm_90 or sm_90a",
                next_step=f"choose from {known}.",
            )
        capability = int(match[1] + match[2])
        if capability not in KNOWN_COMPUTE_CAPABILITIES:
            raise DeclarationError(
                f"CUDA architecture {text!r} is unknown.",
                expected=f"one of {known}",
                next_step="correct the target, or update custom-dispatch for a newer GPU.",
            )
        suffix = match[3]
        first = _FROM[suffix]
        if capability < first:
            raise DeclarationError(
                f"CUDA architecture {text!r} does not exist: `{suffix}` features begin with "
                f"sm_{first}{suffix}.",
                expected=f"sm_{capability}",
                next_step=f"drop the `{suffix}`.",
            )
        return cls(capability, suffix)

    @classmethod
    def known(cls) -> list[Arch]:
        """Every architecture that can be a target."""
        every = sorted(KNOWN_COMPUTE_CAPABILITIES)
        return [
            cls(number, suffix) for number in every for suffix in _FROM if number >= _FROM[suffix]
        ]

    def __str__(self) -> str:
        return f"sm_{self.compute_capability}{self.suffix}"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Arch):
            return NotImplemented
        return self._rank < other._rank

    @property
    def _rank(self) -> tuple[int, int]:
        return self.compute_capability, " fa".index(self.suffix or " ")

    def runs_on(self, compute_capability: int) -> bool:
        """Whether PTX of this architecture loads on a GPU of that compute capability.

        Plain PTX runs on every later GPU, `a` on exactly its own, `f` on the later members of its
        family, which share the major number (PTX ISA, ".target").
        """
        match self.suffix:
            case "a":
                return compute_capability == self.compute_capability
            case "f":
                same_family = compute_capability // 10 == self.compute_capability // 10
                return same_family and compute_capability >= self.compute_capability
            case _:
                return compute_capability >= self.compute_capability

    def machine_code_runs_on(self, compute_capability: int) -> bool:
        """Whether machine code for this architecture runs on a GPU of that compute capability.

        It does on its own major version from its own minor on, and `a` code nowhere else; nor does
        it move between embedded GPUs and others (CUDA C++ Programming Guide, "Binary
        Compatibility").
        """
        if compute_capability == self.compute_capability:
            return True
        later = compute_capability in self.later_minors and self.suffix != "a"
        return later and not EMBEDDED.intersection((compute_capability, self.compute_capability))

    @property
    def later_minors(self) -> range:
        """The later compute capabilities of the same major version, which may not exist."""
        next_major = (self.compute_capability // 10 + 1) * 10
        return range(self.compute_capability + 1, next_major)

    def runs_on_target(self, other: Arch) -> bool:
        """Whether PTX of this architecture runs wherever code for the other one is chosen."""
        if self.suffix == "a":
            return self == other
        if self.suffix == "f" and not other.suffix:
            return False  # plain code is chosen on later families too
        return self.runs_on(other.compute_capability)


@dataclass(frozen=True, slots=True)
class Target:
    """Where code runs: a CUDA architecture, or a CPU."""

    backend: str
    """"cuda" or "cpu"; or one of `GENERATED`, where IREE's own code runs alone."""
    arch: Arch | None = None
    """The GPU architecture of a CUDA target."""
    cpu: str = ""
    """Of a CPU target "generic", "host", "aarch64" or LLVM's name: "x86-64-v3", "znver4". Of one of
    `GENERATED` what IREE calls the GPU, if that is said: "gfx942"."""
    checked: bool = False
    """Whether the CPU's code checks what its kernels do. It is for the machine that compiles it."""

    def __post_init__(self) -> None:
        cuda = is_one_of(self.backend, ("cuda",)) and isinstance(self.arch, Arch)
        if cuda and not self.cpu and not self.checked:
            return
        named = isinstance(self.cpu, str) and re.fullmatch(_CPU_NAME, self.cpu) is not None
        if is_one_of(self.backend, GENERATED) and (named or not self.cpu) and not self.checked:
            return
        cpu = is_one_of(self.backend, ("cpu",)) and self.arch is None and named
        if cpu and (self.cpu == "host" or not self.checked):
            self._check_cpu()
            return
        raise DeclarationError(
            f"Target({shown(self.backend)}, ...) is not a target.",
            expected='"cuda" with an Arch, or "cpu" with the name of a CPU',
            next_step="read it from text: cd.Target.parse('cuda:sm_90').",
        )

    def _check_cpu(self) -> None:
        known = ["host", AARCH64, *(name for names in cpu_names().values() for name in names)]
        if self.cpu in ("generic", *known):
            return
        from difflib import get_close_matches  # only errors need it

        near = get_close_matches(self.cpu.lower(), [*known, "checked"], 1)
        near = ["host"] if self.cpu == "native" else near
        raise DeclarationError(
            f"CPU {self.cpu!r} is unknown.",
            expected="the name that LLVM has for a CPU, such as x86-64-v3, znver4 or neoverse-v2; "
            "aarch64, host or checked",
            next_step=(f"did you mean 'cpu:{near[0]}'? " if near else "")
            + "`cpu` is for every CPU of this architecture, `cpu:host` for the one here.",
        )

    @classmethod
    def parse(cls, text: str | Target) -> Target:
        """Read `cuda:sm_90a`, `cpu`, `cpu:host`, `cpu:x86-64-v3`, `cpu:aarch64` or `cpu:checked`.

        Raises `DeclarationError`: the text names no target.
        """
        if isinstance(text, Target):
            return text
        if not isinstance(text, str):
            raise DeclarationError(
                f"A target is given as {shown(text)}.",
                expected="text such as 'cuda:sm_90' or 'cpu'",
                next_step="quote the target's name.",
            )
        backend, colon, rest = text.partition(":")
        if backend == "cuda" and rest:
            return cls("cuda", Arch.parse(rest))
        if text == CHECKED:
            return cls("cpu", cpu="host", checked=True)
        if backend == "cpu" and (not colon or re.fullmatch(_CPU_NAME, rest)):
            return cls("cpu", cpu=rest or "generic")
        if backend in GENERATED and (not colon or re.fullmatch(_CPU_NAME, rest)):
            return cls(backend, cpu=rest)
        hint = "correct the target's name."
        if re.fullmatch(_ARCH, text):
            hint = f"did you mean 'cuda:{text}'?"
        elif text in ("cuda", "gpu"):
            hint = "name the GPU's architecture: `custom-dispatch doctor` shows that of one here."
        raise DeclarationError(
            f"{shown(text)} is not a target.",
            expected="cuda:sm_XX (cuda:sm_80, cuda:sm_90a, ...), cpu, cpu:NAME "
            "(cpu:host, cpu:x86-64-v3, cpu:aarch64), or cpu:checked; without kernels rocm:gfx942, "
            "vulkan or metal",
            next_step=hint,
        )

    def __str__(self) -> str:
        if self.arch is not None:
            return f"cuda:{self.arch}"
        if self.checked:
            return CHECKED
        if self.backend in GENERATED:
            return f"{self.backend}:{self.cpu}" if self.cpu else self.backend
        return "cpu" if self.cpu == "generic" else f"cpu:{self.cpu}"

    @property
    def is_cuda(self) -> bool:
        """Whether this is a GPU."""
        return self.backend == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether this is a CPU."""
        return self.backend == "cpu"

    @property
    def cuda_arch(self) -> Arch:
        """The architecture of a target that is known to be CUDA's."""
        if self.arch is None:
            raise TypeError(f"target {self} has no GPU architecture")
        return self.arch

    @property
    def cpu_architecture(self) -> str:
        """The architecture of a CPU target: its name's, else this machine's."""
        if self.cpu in cpu_names()["x86_64"]:
            return "x86_64"
        return AARCH64 if self.cpu in (AARCH64, *cpu_names()[AARCH64]) else host_architecture()

    @property
    def implemented(self) -> Target:
        """The target by whose name a kernel may have an implementation for this one.

        `cpu` for every CPU, except for `cpu:checked`, which looks for mistakes in the code for
        GPUs.
        """
        return self if self.is_cuda or self.checked else EVERY_CPU

    @property
    def symbol(self) -> str:
        """A name for this target that is safe in IR and in file names: `sm_90a`, `cpu`."""
        if self.arch is not None:
            return str(self.arch)
        if self.checked:
            return "cpu_checked"
        return "cpu" if self.cpu == "generic" else "cpu_" + re.sub(r"\W", "_", self.cpu)


EVERY_CPU = Target("cpu", cpu="generic")
"""`cpu`: code for every CPU of an architecture, and the name of implementations for all of them."""

DEFAULT_TARGETS = ("cuda:sm_80", "cuda:sm_90a", "cpu")
"""What is built where nobody asks for targets. Every GPU from Ampere on runs the PTX for sm_80, but
for Hopper (H100, H200), which runs that for sm_90a: it alone has Hopper's own instructions, and
runs nowhere else."""


def naming(targets: Iterable[Target | str]) -> str:
    """How to ask for some targets by name, in Python and on the command line."""
    names = list(map(str, targets))
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"targets=[{quoted}] (--target {','.join(names)})"


_GPU = r"cuda:(0|[1-9][0-9]{0,5})"


def read_device(device: object, *, of_kernel: bool = False) -> str:
    """The name of a device, from text or a `torch.device`.

    `of_kernel`: whether a kernel is called, which also runs on `CHECKED`.
    """
    name = str(device) if str(type(device)) == "<class 'torch.device'>" else device
    names = ("auto", "cuda", "cpu", CHECKED) if of_kernel else ("auto", "cuda", "cpu")
    if isinstance(name, str) and (name in names or re.fullmatch(_GPU, name)):
        return name
    what, next_step = "not a device", "choose one of these; cd.devices() lists what is here."
    try:
        target = Target.parse(name)  # type: ignore[arg-type]
    except DeclarationError:
        pass
    else:
        what = "a target, for which code is built, and not a device"
        next_step = f'choose "{target.backend}"; targets are given as targets=["{target}"].'
    raise DeviceError(
        f"{shown(device)} is {what}.",
        expected=" or ".join((*names[:2], "cuda:N (GPUs count from 0)", *names[2:])),
        next_step=next_step,
    )


def gpu_index(name: str) -> int | None:
    """The number of the GPU that a device's name means, the first for "cuda"; else None."""
    if name == "cuda":
        return 0
    found = re.fullmatch(_GPU, name)
    return None if found is None else int(found[1])


def gpu_name(index: int) -> str:
    """The name of a GPU: "cuda" for the first, then "cuda:1"."""
    return f"cuda:{index}" if index else "cuda"
