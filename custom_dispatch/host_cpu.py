"""The CPU of this machine: what it is called, and what code it runs."""

import functools
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from custom_dispatch.dataclass import dataclass

# What each level needs beyond the one before, as Linux names it (x86-64 psABI, "Micro-Architecture
# Levels"; Linux, arch/x86/include/asm/cpufeatures.h).
_LEVELS = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}

# Features that compilers use unasked, as LLVM names them, by Linux's names where those are others
# (llvm/lib/Target/X86/X86.td; Linux, as above).
_LINUX_NAMES = {
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "sha": "sha_ni",
    "avxvnni": "avx_vnni",
    **{f"avx512{name}": f"avx512_{name}" for name in ("vbmi2", "vnni", "bitalg", "vpopcntdq")},
    **{f"avx512{name}": f"avx512_{name}" for name in ("bf16", "fp16", "vp2intersect")},
}
_SAME_NAMES = """
adx aes avx avx2 avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi avx512vl bmi2 cx16 f16c
fma fma4 gfni movbe popcnt sse4a ssse3 vaes vpclmulqdq xop
"""


@dataclass(frozen=True, slots=True)
class HostCpu:
    """A machine's CPU."""

    name: str
    cores: int
    """Logical ones that this process may use."""
    level: str
    """The highest target for a whole class of CPUs whose code runs on it: "x86-64-v3", "aarch64".
    The target cpu:host may use more."""
    flags: frozenset[str] = frozenset()
    """Its features as Linux names them; empty where it does not tell."""

    def lacks(self, features: Iterable[str]) -> tuple[str, ...]:
        """Those of LLVM's features that it does not have, as far as that is known."""
        if not self.flags:
            return ()
        linux = {name: _LINUX_NAMES.get(name, name) for name in features}
        same = _SAME_NAMES.split()
        known = {name: flag for name, flag in linux.items() if flag != name or name in same}
        return tuple(name for name, flag in known.items() if flag not in self.flags)

    def is_named(self, description: str) -> bool:
        """Whether a text that `str` gave is of a CPU of this name and level, however many cores."""
        name, _, level = (*description.rsplit(", ", 2), "", "")[:3]
        return (name, level) == (self.name, self.level)

    def __str__(self) -> str:
        return f"{self.name}, {self.cores} core{'s' if self.cores > 1 else ''}, {self.level}"


@functools.cache
def cpu_fields() -> dict[str, str]:
    """What Linux says of the first core; nothing where it does not say it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.strip().partition("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


@functools.cache
def host_cpu() -> HostCpu:
    """The CPU, from what Linux says of it."""
    fields = cpu_fields()
    machine = platform.machine()
    name = fields.get("model name") or platform.processor() or machine
    flags = frozenset(fields.get("flags", "").split())
    return HostCpu(name, len(os.sched_getaffinity(0)), _level(machine, flags), flags)


def _level(machine: str, features: Iterable[str]) -> str:
    if machine != "x86_64":
        return machine
    level, here = "x86-64", set(features)
    for name, needed in _LEVELS.items():
        if not needed <= here:
            break
        level = name
    return level
