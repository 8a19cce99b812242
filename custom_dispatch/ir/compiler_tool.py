"""Running `iree-compile` of the installed compiler package, and what it says of CPUs.

The compiler runs in a process of its own: flags that are global to a process can be given, and a
crash of the compiler is an error here and not the end of the user's Python.
"""

from __future__ import annotations

import functools
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from custom_dispatch.cpu.cpu_kernel import Processor
from custom_dispatch.errors import DeclarationError, ModelError, OutputError, excerpt
from custom_dispatch.files import no_room, temporary_directory
from custom_dispatch.ir.stored import LINKER, compiler_identity, find_compiler_tool
from custom_dispatch.kernel.target import AARCH64, GENERATED, Target, host_architecture
from custom_dispatch.meanings import meaning_of
from custom_dispatch.phases import say
from custom_dispatch.process import Completed, run
from custom_dispatch.store import key_of, open_store, package_identity, remember

if TYPE_CHECKING:
    from iree.compiler import ir

    from custom_dispatch.toolchain.library import Library

_SUBSTITUTED = ("NOTE: hal.executable", "WARNING: iree-hal-substitute-executables")
_NO_ROOM = re.compile("No space left on device|Disk quota exceeded|File too large")
_UNKNOWN_FLAG = re.compile(r"Unknown command line argument '([^']*)'|for the (--\S+) option: ")

_KEEP_F64 = "--iree-input-demote-f64-to-f32=false"
_CONVERTING = ("--compile-to=input", _KEEP_F64, "--emit-mlir-bytecode")
_MOST_SECONDS = 3600.0
"""An hour: large models take many minutes."""
# The architectures IREE 3.13 generates code for; any other leaves it without a target
# ("missing GPU target"). Code for one of them also runs on every later GPU.
_CODEGEN_ARCHS = (60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 120, 121)
_LOWEST_CODEGEN = 60


def run_compiler(arguments: Sequence[str], source: bytes, *, cwd: Path | None = None) -> Completed:
    """Run `iree-compile` with a source on its standard input.

    `cwd`: the directory that the arguments' paths are relative to; the current one by default.
    """
    return run(
        [find_compiler_tool(), *arguments], stdin=source, cwd=cwd, timeout_seconds=_MOST_SECONDS
    )


def convert_input(module: ir.Module) -> Completed:
    """Have IREE convert a model; its output is the converted one as MLIR bytecode."""
    source = io.BytesIO()
    module.operation.write_bytecode(source)
    return run_compiler(["-", "-o", "-", *_CONVERTING], source.getvalue())


def refusal_of(done: Completed) -> DeclarationError | ModelError | OutputError:
    """What it means that the compiler gave nothing."""
    if _NO_ROOM.search(done.stderr) is not None:
        return no_room(_NO_ROOM.findall(done.stderr)[0])
    unknown = _UNKNOWN_FLAG.search(done.stderr)
    if unknown is not None:
        return DeclarationError(
            f"iree-compile does not take the flag {unknown[1] or unknown[2]}.",
            expected="a flag that `iree-compile --help` lists",
            next_step="correct the flag.",
        )
    text = ("crashed\n" if done.returncode < 0 else "") + done.stderr
    table = Path(__file__).with_name("compiler_failures.toml")
    return meaning_of(table, text, ModelError, _first_lines(done.stderr))


def _first_lines(log: str) -> str:
    lines = [line for line in log.splitlines() if not line.startswith(_SUBSTITUTED)]
    return excerpt("\n".join(lines))


CPU_DEVICE_FLAGS = ("--iree-hal-local-target-device-backends=llvm-cpu",)

_TARGET = re.compile(r'#hal\.executable\.target<"llvm-cpu".*?>(?=\]>)', re.DOTALL)
_ARCHITECTURE = re.compile(r'"llvm-cpu", "(?:embedded|system)-elf-(\w+)"')
_FEATURES = re.compile(r'cpu_features = "([^"]*)"')
_PROBE = b"module { util.func public @probe() { util.return } }"


def device_flags(library: Library) -> tuple[str, ...]:
    """The `iree-compile` flags that a library's targets need.

    - `cuda,local` makes one device of both: the first that is present when the file is loaded.
    - The architecture is that of the code IREE generates itself: the latest it knows that runs
      on every CUDA target asked for.
    - Linking executables crashes the compiler on external variants beside CPU code, and drops the
      CPU half of generated code, so it is off as soon as there is a CPU target.
    - Without the last flag the compiler turns every f64 into f32.
    """
    cuda, cpu = library.cuda_targets, library.cpu_target
    flags = []
    if library.targets[0].backend in GENERATED:
        return (*_other_flags(library.targets[0]), _KEEP_F64)
    devices = (["cuda"] if cuda else []) + (["local"] if cpu else [])
    flags.append(f"--iree-hal-target-device={','.join(devices)}")
    if cuda:
        lowest = min(target.cuda_arch.compute_capability for target in cuda)
        fitting = [arch for arch in _CODEGEN_ARCHS if arch <= lowest]
        flags.append(f"--iree-cuda-target=sm_{max(fitting, default=_LOWEST_CODEGEN)}")
    if cpu is not None:
        flags += [*cpu_flags(cpu), "--iree-hal-link-executables=false"]
    return (*flags, _KEEP_F64)


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


def _other_flags(target: Target) -> tuple[str, ...]:
    """The compiler flags that choose a GPU of another vendor's, or another way to one."""
    device = "hip" if target.backend == "rocm" else target.backend
    flags = [f"--iree-hal-target-device={device}"]
    if target.backend == "metal":
        # Only Apple's own compiler goes further than the source.
        flags.append("--iree-metal-compile-to-metallib=false")
    elif target.cpu:
        flags.append(f"--iree-{target.backend}-target={target.cpu}")
    return tuple(flags)


@functools.cache
def cpu_executable_target(target: Target) -> str:
    """The `#hal.executable.target` attribute of a CPU.

    The compiler is asked for it (it resolves features, data layout and triple), and the answer is
    kept in the store.
    """

    def key() -> bytes | None:
        compiler = compiler_identity(target.cpu)
        return compiler and key_of("CPU", package_identity(), compiler, str(target))

    return remember(open_store(), str, key, lambda: _ask(target), counted=False)


def _ask(target: Target) -> str:
    flags = ("--compile-to=preprocessing", "--iree-hal-target-device=local", *cpu_flags(target))
    done = run_compiler(["-", "-o", "-", *flags], _PROBE)
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


def compile_mlir(
    source: bytes, flags: Sequence[str], apart: Mapping[str, str] | None = None
) -> bytes:
    """Compile MLIR text or bytecode with `iree-compile`.

    `apart`: executables, as modules, that take the places of those with the same symbols in the
    source once the host's code is done. The compiler then runs in a directory of its own, so paths
    in the source and in flags are to be absolute.
    """
    arguments = ["-", "-o", "-", *flags]
    with temporary_directory() as directory:
        for number, (symbol, text) in enumerate((apart or {}).items()):
            # The file's name is in what is compiled: the same each time, and no directory in it.
            name = f"code{number}.mlir"
            (directory / name).write_text(text)
            arguments.append(f"--iree-hal-substitute-executable-source={symbol}={name}")
        say("waiting for iree-compile")
        done = run_compiler(arguments, source, cwd=directory if apart else None)
        if done.returncode == 0 and done.stdout:
            return done.stdout
        raise refusal_of(done)
