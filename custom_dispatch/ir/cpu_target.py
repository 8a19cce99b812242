"""The executable target of a CPU, as the IREE compiler itself describes it."""

from __future__ import annotations

import functools
import re
import shlex
from dataclasses import dataclass

from custom_dispatch.cpu.cpu_kernel import Processor
from custom_dispatch.ir.compiler_tool import refusal_of, run_compiler
from custom_dispatch.ir.installed_compiler import LINKER, compiler_identity, find_compiler_tool
from custom_dispatch.kernel.target import AARCH64, Target, host_architecture
from custom_dispatch.store import key_of, open_store, package_identity

CPU_DEVICE_FLAGS = ("--iree-hal-local-target-device-backends=llvm-cpu",)

_TARGET = re.compile(r'#hal\.executable\.target<"llvm-cpu".*?>(?=\]>)', re.DOTALL)
_ARCHITECTURE = re.compile(r'"llvm-cpu", "(?:embedded|system)-elf-(\w+)"')
_FEATURES = re.compile(r'cpu_features = "([^"]*)"')
_PROBE = b"module { util.func public @probe() { util.return } }"


def cpu_flags(target: Target) -> tuple[str, ...]:
    """The compiler flags that choose a CPU for the code that IREE generates itself."""
    cpu = "generic" if target.cpu == AARCH64 else target.cpu
    architecture = target.cpu_architecture
    flags = [*CPU_DEVICE_FLAGS, f"--iree-llvmcpu-target-cpu={cpu}"]
    if architecture != host_architecture():
        flags.append(f"--iree-llvmcpu-target-triple={architecture}-unknown-linux-gnu")
    if not target.checked:
        return tuple(flags)
    # A system library, which uses the C library of the process that loads it.
    linker = shlex.quote(str(find_compiler_tool(LINKER)))
    return (
        *flags,
        "--iree-llvmcpu-link-embedded=false",
        f"--iree-llvmcpu-system-linker-path={linker} -flavor gnu",
    )


@functools.cache
def cpu_executable_target(target: Target) -> str:
    """The `#hal.executable.target` attribute of a CPU.

    The compiler is asked for it (it resolves features, data layout and triple), and the answer is
    kept in the store.

    Raises
    ------
    ModelError, OutputError
        The compiler fails.
    """
    store = open_store()
    compiler = compiler_identity(target.cpu)
    if store is None or compiler is None:
        return _ask(target)
    key = key_of("CPU", package_identity(), compiler, str(target))
    return store.remember(_Attribute, key, lambda: _Attribute(_ask(target)), counted=False).text


@dataclass(frozen=True, slots=True)
class _Attribute:
    text: str


def _ask(target: Target) -> str:
    done = run_compiler(
        [
            "-",
            "-o",
            "-",
            "--compile-to=preprocessing",
            "--iree-hal-target-device=local",
            *cpu_flags(target),
        ],
        _PROBE,
    )
    found = _TARGET.search(done.stdout.decode("utf-8", "replace"))
    if done.returncode != 0 or found is None:
        raise refusal_of(done)
    return found[0]


def processor_of(executable_target: str) -> Processor:
    """What an executable target says of its CPU."""
    found = _ARCHITECTURE.search(executable_target)
    architecture = found[1] if found else ""
    if architecture == "arm_64":
        return Processor(architecture, fused=True, wide_atomics=True, halves=True)
    features = features_of(executable_target)
    return Processor(
        architecture,
        fused="fma" in features,
        wide_atomics="cx16" in features,
        halves="f16c" in features,
    )


def features_of(executable_target: str) -> tuple[str, ...]:
    """The features that an executable target's code may use beyond its architecture's, in LLVM's
    names. One that is listed twice is as the last says.
    """
    listed = _FEATURES.search(executable_target)
    said = listed[1].split(",") if listed else []
    used = {item[1:]: item[0] == "+" for item in said if item}
    return tuple(sorted(name for name, on in used.items() if on))
