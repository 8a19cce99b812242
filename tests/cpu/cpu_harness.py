"""Compiling CUDA text to PTX, and running kernels that were lowered for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import iree.runtime as iree_runtime
import numpy as np
from cuda.bindings import nvrtc

from custom_dispatch.cpu.cpu_kernel import CpuKernel, Processor
from custom_dispatch.cpu.lower import lower
from custom_dispatch.ir.compiler_tool import (
    compile_mlir,
    cpu_executable_target,
    cpu_flags,
    processor_of,
)
from custom_dispatch.kernel.target import Target
from custom_dispatch.ptx import read_module
from custom_dispatch.store import key_of, open_store

CHECKED = Target.parse("cpu:checked")

_FEATURES = {
    "generic": "",
    "x86-64-v3": "+avx,+avx2,+bmi,+bmi2,+cmov,+crc32,+cx16,+cx8,+f16c,+fma,+fxsr,+lzcnt,+mmx,"
    "+movbe,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave",
}
_PROCESSORS = {
    "generic": Processor("x86_64"),
    "x86-64-v3": Processor("x86_64", fused=True, wide_atomics=True, halves=True),
}
_ELEMENTS = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
}


class CudaError(Exception):
    """What NVRTC says of a source that does not compile."""


def compile_cuda(source: str, arch: str = "sm_80", options: Sequence[str] = ()) -> str:
    """PTX of CUDA C++ text."""
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    assert error == nvrtc.nvrtcResult.NVRTC_SUCCESS, error
    arguments = [f"--gpu-architecture={arch}".encode(), *(o.encode() for o in options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)  # `b" " * 1` is Python's own blank, which NVRTC would overwrite
    nvrtc.nvrtcGetProgramLog(program, log)
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CudaError(log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = bytearray(size)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.decode()


@dataclass
class Launch:
    """One launch of a kernel: every array is a binding, every constant an i32.

    `outputs` are the arrays' indices that are updated in place and compared. `rounding` is by how
    much they may differ from run to run: not at all, but where blocks add floats to one place by
    atomics, in whatever order they happen to run.
    """

    entry: str
    arrays: list[np.ndarray]
    outputs: list[int]
    constants: list[int] = field(default_factory=list)
    block: tuple[int, int, int] = (64, 1, 1)
    grid: tuple[int, int, int] = (1, 1, 1)
    dynamic_shared_memory: int = 0
    rounding: float = 0.0


def model_text(ptx: str, launches: Sequence[Launch], cpu: str = "generic") -> str:
    """MLIR with one function `f<index>` a launch, all in one executable.

    `cpu` is a key of `_FEATURES`, or another CPU target's name: "checked", "aarch64", "host".
    """
    checked = cpu == "checked"
    if cpu in _FEATURES:
        target, processor = _target(cpu), _PROCESSORS[cpu]
    else:
        target = cpu_executable_target(Target.parse(f"cpu:{cpu}"))
        processor = processor_of(target)
    kernels = [
        CpuKernel(
            entry=launch.entry,
            symbol=f"k{index}",
            block=launch.block,
            bindings=len(launch.arrays),
            constants=len(launch.constants),
            dynamic_shared_memory=launch.dynamic_shared_memory,
            processor=processor,
        )
        for index, launch in enumerate(launches)
    ]
    code = lower(read_module(ptx), kernels, checked=checked)
    exports = "\n".join(
        f"hal.executable.export public @k{index} ordinal({index}) layout({_layout(launch)}) "
        "count(%d: !hal.device) -> (index, index, index) {\n"
        + "".join(
            f"%{axis} = arith.constant {size} : index\n"
            for axis, size in zip("xyz", launch.grid, strict=True)
        )
        + "hal.return %x, %y, %z : index, index, index\n}"
        f" <workgroup_local_memory = {code.local_memory[f'k{index}']}>"
        for index, launch in enumerate(launches)
    )
    functions = "\n".join(_function(index, launch) for index, launch in enumerate(launches))
    return f"""
#t = {target}
#dev = #hal.device.target<"local", [#t]> : !hal.device
module @m attributes {{hal.device.targets = [#dev]}} {{
  hal.executable private @exe {{
    hal.executable.variant public @cpu target(#t) {{
{exports}
      builtin.module {{
{code.text}
      }}
    }}
  }}
{functions}
}}
"""


def _target(cpu: str) -> str:
    vector = 16 if cpu == "generic" else 32
    return f"""#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {{
  cpu = "{cpu}", cpu_features = "{_FEATURES[cpu]}",
  data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
  max_stack_allocation_size = 32768 : i64, native_vector_size = {vector} : i64,
  target_triple = "x86_64-unknown-unknown-eabi-elf"}}>"""


def _layout(launch: Launch) -> str:
    bindings = ", ".join(["#hal.pipeline.binding<storage_buffer>"] * len(launch.arrays))
    constants = len(launch.constants) + 1
    return f"#hal.pipeline.layout<constants = {constants}, bindings = [{bindings}]>"


def _tensor(array: np.ndarray) -> str:
    return f"tensor<{'x'.join(map(str, array.shape))}x{_ELEMENTS[array.dtype.name]}>"


def _function(index: int, launch: Launch) -> str:
    arguments = [f"%a{i}: {_tensor(a)}" for i, a in enumerate(launch.arrays)]
    constants = "\n".join(
        f"%c{i} = arith.constant {np.int32(np.uint32(c & 0xFFFFFFFF).view(np.int32))} : i32"
        for i, c in enumerate([*launch.constants, launch.grid[0]])
    )
    operands = [f"%c{i}" for i in range(len(launch.constants) + 1)]
    operands += [f"%a{i}" for i in range(len(launch.arrays))]
    types = ["i32"] * (len(launch.constants) + 1) + [_tensor(a) for a in launch.arrays]
    tied = ", ".join(f"%a{i}" for i in launch.outputs)
    results = ", ".join(_tensor(launch.arrays[i]) for i in launch.outputs)
    names = ", ".join(f"%r{k}" for k in range(len(launch.outputs)))
    return f"""
  func.func @f{index}({", ".join(arguments)}) -> ({results}) {{
    {constants}
    {names} = flow.dispatch @exe::@cpu::@k{index}({", ".join(operands)})
        : ({", ".join(types)}) -> ({tied})
    return {names} : {results}
  }}"""


def set_apart(text: str) -> tuple[str, dict[str, str]]:
    """A model of `model_text` without its kernels' code, and its executable, for `compile_mlir`."""
    opening, closing = "      builtin.module {\n", "      }\n    }\n  }\n"
    head, _, rest = text.partition(opening)
    code, _, tail = rest.partition("\n" + closing)
    aliases, module, executable = head.partition("module @m ")
    _, start, executable = executable.partition("  hal.executable ")
    apart = f"{aliases}module {{\n{start}{executable}{opening}{code}\n{closing}}}\n"
    return f"{aliases}{module}{head.partition(module)[2]}{opening}{closing}{tail}", {"exe": apart}


def compile_model(text: str) -> bytes:
    """A `.vmfb`; compiled once in a run, as PTX for two architectures is often lowered alike."""
    store, key = open_store(), key_of("model of a test", text)
    kept = store.get(key) if store else None
    if kept is None:
        kept = _compile(text)
        if store:
            store.put(key, kept)
    return kept


def _compile(text: str) -> bytes:
    flags = ["--iree-input-demote-f64-to-f32=false", "--iree-opt-const-eval=false"]
    flags += cpu_flags(CHECKED) if "link_embedded = false" in text else ()
    source, apart = set_apart(text)
    return compile_mlir(source.encode(), flags, apart)


def load_functions(vmfb: bytes, driver: str) -> Callable[[int, Launch], list[np.ndarray]]:
    """What runs one launch of a module, by its index, and returns its outputs."""
    config = iree_runtime.Config(driver)
    module = iree_runtime.VmModule.copy_buffer(config.vm_instance, vmfb)
    context = iree_runtime.SystemContext(config=config)
    context.add_vm_module(module)
    functions = context.modules[module.name]

    def call(index: int, launch: Launch) -> list[np.ndarray]:
        arrays = [iree_runtime.asdevicearray(config.device, a) for a in launch.arrays]
        out = functions[f"f{index}"](*arrays)
        listed = out if isinstance(out, (list, tuple)) else [out]
        return [
            r.to_host().view(launch.arrays[i].dtype).copy()
            for i, r in zip(launch.outputs, listed, strict=True)
        ]

    return call


def run_launches(vmfb: bytes, launches: Sequence[Launch], driver: str) -> list[list[np.ndarray]]:
    """The outputs of every launch."""
    call = load_functions(vmfb, driver)
    return [call(index, launch) for index, launch in enumerate(launches)]


Runner = Callable[..., list[list[np.ndarray]]]
