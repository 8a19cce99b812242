"""The CPU of this machine: what it is called, and what code it runs."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# What each level needs beyond the one before, as Linux names it (x86-64 psABI, "Micro-Architecture
# Levels"; Linux, arch/x86/include/asm/cpufeatures.h).
_LEVELS = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}


@dataclass(frozen=True, slots=True)
class HostCpu:
    """A machine's CPU."""

    name: str
    cores: int
    """Logical ones that this process may use."""
    level: str
    """The highest target for a whole class of CPUs whose code runs on it: "x86-64-v3", "aarch64".
    The target cpu:host may use more."""

    def __str__(self) -> str:
        return f"{self.name}, {self.cores} core{'s' if self.cores > 1 else ''}, {self.level}"


@functools.cache
def host_cpu() -> HostCpu:
    """The CPU, from what Linux says of it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    machine = platform.machine()
    name = fields.get("model name") or platform.processor() or machine
    level = _level(machine, fields.get("flags", "").split())
    return HostCpu(name, len(os.sched_getaffinity(0)), level)


def _level(machine: str, features: Iterable[str]) -> str:
    if machine != "x86_64":
        return machine
    level, here = "x86-64", set(features)
    for name, needed in _LEVELS.items():
        if not needed <= here:
            break
        level = name
    return level
