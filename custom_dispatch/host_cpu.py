"""The CPU of this machine: what it is called, and what code it runs."""

import functools
import os
import platform
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from custom_dispatch.dataclass import dataclass


@functools.cache
def _features() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


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
        linux = {name: name for name in _features()["same_names"]} | _features()["linux_names"]
        return tuple(each for each in features if linux.get(each, "") not in {"", *self.flags})

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
    for name, needed in _features()["levels"].items():
        if not here.issuperset(needed):
            break
        level = name
    return level
