"""Emitting and compiling: what stock tools take, and the flags they need."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import DeclarationError, ModelError, OutputError
from custom_dispatch.ir.compiler_tool import (
    CPU_DEVICE_FLAGS,
    compile_mlir,
    cpu_executable_target,
    device_flags,
    refusal_of,
    run_compiler,
)
from custom_dispatch.ir.executable import embedded
from custom_dispatch.ir.library_module import write_module_apart
from custom_dispatch.kernel.target import cpu_names
from custom_dispatch.process import Completed
from custom_dispatch.runtime.module_file import ModuleFile

KERNELS = [simple_mul, simple_mul_inplace]
MODELS = Path(__file__).resolve().parents[1] / "mlir"
TOOLS = Path(sys.executable).parent


def run_stock(*arguments: str | Path) -> str:
    tool, *rest = map(str, arguments)
    done = subprocess.run([TOOLS / tool, *rest], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("embed", [False, True])
def test_stock_tools_take_what_emit_writes(tmp_path: Path, embed: bool) -> None:
    emitted = cd.emit(
        KERNELS,
        ["cuda:sm_80", "cuda:sm_90", "cpu"],
        output=tmp_path / "out" / "model.mlir",
        into=MODELS / "mixed_invocation.mlir",
        embed=embed,
    )
    names = [] if embed else ["simple_mul_sm_90.ptx", "simple_mul_sm_80.ptx"]
    assert [path.name for path in emitted.objects] == names
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(["model.mlir", *names])
    run_stock(*emitted.command)
    printed = run_stock(
        "iree-run-module",
        "--device=local-task",
        f"--module={tmp_path / 'out' / 'model.vmfb'}",
        "--function=mixed_invocation",
        "--input=8xf32=2",
        "--input=8xf32=4",
    )
    assert "8xf32=96 96 96 96 96 96 96 96" in printed


@pytest.mark.parametrize("targets", [["cuda:sm_90"], ["cuda:sm_80", "cuda:sm_90"]])
def test_stock_iree_compile_takes_the_source_form(tmp_path: Path, targets: list[str]) -> None:
    emitted = cd.emit(KERNELS, targets, output=tmp_path / "model.mlir", form="source")
    (item,) = emitted.objects
    assert item.suffix == (".ptx" if len(targets) == 1 else ".fatbin")
    run_stock(*emitted.command)
    assert item.read_bytes()[:64] in (tmp_path / "model.vmfb").read_bytes()


def test_objects_that_were_built_elsewhere_are_taken(tmp_path: Path) -> None:
    cd.build(KERNELS, ["cuda:sm_80", "cuda:sm_90"]).write(tmp_path / "objects")
    module = cd.compile(
        MODELS / "mixed_invocation.mlir",
        KERNELS,
        ["cuda:sm_80", "cuda:sm_90", "cpu"],
        objects=tmp_path / "objects",
    )
    assert b".target sm_90" in module.bytes
    with pytest.raises(DeclarationError) as caught:
        cd.compile(None, KERNELS, ["cuda:sm_100"], objects=tmp_path / "objects")
    message = str(caught.value)
    assert "holds no object" in message
    assert "cuda:sm_100" in message
    assert "simple_mul_sm_80.ptx for cuda:sm_80, simple_mul_sm_90.ptx for cuda:sm_90" in message


def test_a_failed_emit_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError):
        cd.emit(KERNELS, ["cuda:sm_80", "cpu"], output=tmp_path / "a.mlir", form="source")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        cd.emit(KERNELS, ["cuda:sm_80"], output=tmp_path / "file" / "a.mlir")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("targets", "flags"),
    [
        (["cuda:sm_90"], ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_89"]),
        (["cuda:sm_80", "cuda:sm_90"], ["--iree-cuda-target=sm_80"]),
        (["cuda:sm_100"], ["--iree-cuda-target=sm_89"]),
        (["cpu"], ["--iree-hal-target-device=local", "--iree-llvmcpu-target-cpu=generic"]),
        (
            ["cpu:x86-64-v3", "cuda:sm_86"],
            [
                "--iree-hal-target-device=cuda,local",
                "--iree-cuda-target=sm_86",
                "--iree-llvmcpu-target-cpu=x86-64-v3",
                "--iree-hal-link-executables=false",
            ],
        ),
    ],
)
def test_flags_follow_from_the_targets(targets: list[str], flags: list[str]) -> None:
    found = device_flags(cd.build([simple_mul], targets))
    for flag in [*flags, "--iree-input-demote-f64-to-f32=false"]:
        assert flag in found


@pytest.mark.parametrize(
    ("names", "triple"),
    [
        (cpu_names()["x86_64"], "x86_64-unknown-linux-gnu"),
        (cpu_names()["aarch64"], "aarch64-unknown-linux-gnu"),
    ],
)
def test_the_names_of_cpus_are_those_of_the_compiler(names: tuple[str, ...], triple: str) -> None:
    flags = [f"--iree-llvmcpu-target-triple={triple}", "--iree-llvmcpu-target-cpu=pentium9"]
    device = ["--iree-hal-target-device=local", *CPU_DEVICE_FLAGS]
    done = run_compiler(["-", "-o", "-", *device, *flags], b"module {}")
    listed = done.stderr.partition("List of accepted CPUs: ")[2].partition("\n")[0]
    assert set(listed.split(", ")) - {"generic"} == set(names)


def test_code_is_made_for_a_cpu_of_another_architecture() -> None:
    target = cd.Target.parse("cpu:neoverse-v2")
    assert 'cpu = "neoverse-v2"' in cpu_executable_target(target)
    assert '"embedded-elf-arm_64"' in cpu_executable_target(target)
    module = cd.compile(None, [simple_mul], [target])
    assert ModuleFile(module.bytes).manifest.cpu_architecture == "aarch64"


def test_what_the_compiler_refuses_is_shown_with_its_message() -> None:
    with pytest.raises(ModelError) as caught:
        compile_mlir(b"func.func @f() -> i32 { return }", ["--iree-hal-target-device=local"])
    message = str(caught.value)
    assert message.startswith("IREE's compiler refused the model.")
    assert "has 0 operands, but enclosing function (@f) returns 1" in message
    assert "Traceback" not in message


def test_a_kernel_that_the_compiler_would_run_itself_is_explained() -> None:
    """Constants are hidden; but what is chosen of them here, only folding tells."""
    kind = "tensor<8xf32>"
    model = f"""
      func.func private @simple_mul({kind}, {kind}) -> {kind}
      func.func @main(%x: {kind}) -> {kind} {{
        %true = arith.constant true
        %ones = arith.constant dense<1.0> : {kind}
        %y = arith.select %true, %ones, %x : {kind}
        %0 = call @simple_mul(%y, %y) : ({kind}, {kind}) -> {kind}
        return %0 : {kind}
      }}"""
    with pytest.raises(ModelError) as caught:
        cd.compile(model, simple_mul, ["cuda:sm_80"])
    assert str(caught.value).startswith(
        "IREE's compiler evaluates the call of a kernel itself: what it is called with is constant "
        "once the model is folded.\n"
        "  expected: a tensor that only a call of the model tells, for each call of a kernel\n"
        "  next step: make one an argument of the model's function; or compile with "
        "--iree-opt-const-eval=false among the flags:\n"
    )
    assert cd.compile(model, simple_mul, ["cuda:sm_80"], flags=["--iree-opt-const-eval=false"])


def test_code_that_is_kept_apart_leaves_no_path_in_the_file() -> None:
    library = cd.build(KERNELS, ["cuda:sm_80", "cpu"])
    text, apart = write_module_apart(library, embedded)
    assert "llvm.func" not in text
    assert [*apart] == ["custom_dispatch_simple_mul"]
    assert "llvm.func" in apart["custom_dispatch_simple_mul"]
    first, second = (cd.compile(None, library, store=False).bytes for _ in range(2))
    assert first == second
    assert b"code0.mlir" in first
    assert tempfile.gettempdir().encode() + b"/" not in first


@pytest.mark.parametrize("model", [None, "pair"])
def test_kernels_that_differ_in_nothing_but_code_stay_two(
    tmp_path: Path, model: str | None
) -> None:
    """IREE makes one of executables that look the same, as they do without their code."""
    kernels = []
    for name, sign in (("plus", "+"), ("minus", "-")):
        source = tmp_path / f"{name}.cu"
        source.write_text(
            'extern "C" __global__ void same(const float* x, float* y, int n) {\n'
            "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"  if (i < n) y[i] = x[i] {sign} 1.0f;\n}}\n"
        )
        n = cd.dim("n")
        kernels.append(
            cd.Kernel(
                name,
                source=source,
                entry="same",
                operands=[
                    cd.In("x", "f32", [n]),
                    cd.Out("y", "f32", [n]),
                    cd.Scalar("n", "i32", n),
                ],
                grid=(cd.ceildiv(n, 64), 1, 1),
                block=(64, 1, 1),
            )
        )
    if model is not None:
        kind = "(tensor<?xf32>) -> tensor<?xf32>"
        model = f"""
func.func private @plus{kind}
func.func private @minus{kind}
func.func @pair(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {{
  %0 = call @plus(%x) : {kind}
  %1 = call @minus(%x) : {kind}
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}}"""
    program = cd.load(cd.compile(model, kernels, ["cpu"], store=False), "cpu")
    x = np.arange(100, dtype=np.float32)
    results = (program.plus(x), program.minus(x)) if model is None else program.pair(x)
    np.testing.assert_array_equal(results, (x + 1, x - 1))


def test_what_the_compiler_says_after_code_came_in_is_shown() -> None:
    library = cd.build([simple_mul], ["cpu:checked"])
    source, apart = write_module_apart(library, embedded)
    flags = [*device_flags(library), "--iree-llvmcpu-system-linker-path=/no/such/linker"]
    with pytest.raises(ModelError) as caught:
        compile_mlir(source.encode(), flags, apart)
    message = str(caught.value)
    assert message.startswith("IREE's compiler failed on the CPU code")
    assert "/no/such/linker" in message
    assert "NOTE: hal.executable" not in message


def test_code_that_never_came_in_does_not_hide_why_the_model_is_refused() -> None:
    log = "WARNING: iree-hal-substitute-executables could not perform it\n-:5:13: error: wrong"
    assert str(refusal_of(Completed(1, b"", log))).splitlines()[-1] == "-:5:13: error: wrong"
    assert "WARNING" not in str(refusal_of(Completed(1, b"", log)))


def test_code_of_ours_that_the_compiler_refuses_is_not_said_to_be_the_model_s() -> None:
    library = cd.build([simple_mul], ["cpu"])
    source, apart = write_module_apart(library, embedded)
    broken = {name: text.replace("llvm.return", "llvm.retrun", 1) for name, text in apart.items()}
    with pytest.raises(ModelError) as caught:
        compile_mlir(source.encode(), device_flags(library), broken)
    assert caught.value.found == (
        "IREE's compiler failed on the CPU code that this package made of a kernel."
    )
    assert caught.value.next_step.startswith("report it with the kernel's source, unless")
    assert "llvm.retrun" in caught.value.log


def test_an_f64_kernel_is_not_compiled_without_the_flag_that_keeps_f64(tmp_path: Path) -> None:
    """IREE's default turns f64 into f32; the kernel would read garbage."""
    emitted = cd.emit([samples.doubling["f64"]], ["cuda:sm_80"], output=tmp_path / "model.mlir")
    flag = "--iree-input-demote-f64-to-f32=false"
    tool, *rest = emitted.command
    command = [TOOLS / tool, *rest]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    command.remove(flag)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "tensor.bitcast" in done.stderr


@pytest.mark.parametrize("flag", ["--iree-no-such-flag", "--iree-opt-level=O99"])
def test_a_flag_that_the_compiler_does_not_take_is_named(flag: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.compile(None, [simple_mul], ["cuda:sm_80"], flags=[flag])
    assert f"iree-compile does not take the flag {flag.partition('=')[0]}" in str(caught.value)


def test_a_library_is_compiled_for_what_it_was_built_for() -> None:
    library = cd.build([simple_mul], ["cuda:sm_80"])
    assert [str(target) for target in cd.compile(None, library).targets] == ["cuda:sm_80"]
    with pytest.raises(DeclarationError, match=r"the library is built for cuda:sm_80"):
        cd.compile(None, library, ["cpu"])


WITHOUT_GPU = """
import sys, tempfile
import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
targets = ["cuda:sm_90a", "cuda:sm_100", "cpu"]
library = cd.build(simple_mul, targets)
print({str(item.target): len(item.data) > 500 for item in library.objects})
with tempfile.TemporaryDirectory() as directory:
    emitted = cd.emit(library, output=f"{directory}/model.mlir")
    print(emitted.text == emitted.path.read_text(), "hal.executable" in emitted.text)
print(len(cd.compile(None, library).bytes) > 5000)
with open("/proc/self/maps") as maps:
    print("libcuda.so" in maps.read())
"""


def test_compiling_gives_objects_ir_and_sizes_and_asks_no_driver() -> None:
    command = [sys.executable, "-c", WITHOUT_GPU]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    sizes = "{'cuda:sm_100': True, 'cuda:sm_90a': True}"
    assert done.stdout.splitlines() == [sizes, "True True", "True", "False"]


def test_a_full_disk_is_not_blamed_on_the_kernel() -> None:
    """Room is there again when the compiler, which removes its files, has failed."""
    said = "code0.mlir:1:1: error: failed to write library: No space left on device\n"
    error = refusal_of(Completed(1, b"", said))
    assert error.found.endswith("cannot be written: No space left on device.")
    assert "make room there, or set TMPDIR to a directory that has some" in error.next_step
