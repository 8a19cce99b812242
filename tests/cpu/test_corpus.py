"""The corpus: kernels as they are written for GPUs, on both CPU drivers against numpy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from corpus_cases import CORPUS, FILES
from cpu_harness import Runner, compile_cuda, compile_model, model_text, run_launches
from expected import check

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest

# Of the others, NVRTC makes the same PTX for both.
OTHER_ON_SM_90 = ("atomics", "cub_blocks", "tensor_cores")
BUILDS = [
    *(
        # Tests of shipped kernels run such kernels, too.
        pytest.param(name, "sm_80", marks=[pytest.mark.thorough] * (name == "models"))
        for name in FILES
    ),
    *(pytest.param(name, "sm_90", marks=pytest.mark.thorough) for name in OTHER_ON_SM_90),
]
# Of the others few words are new to checked mode.
CHECKED = [
    name
    if name in ("atomics", "barriers", "warps")
    else pytest.param(name, marks=pytest.mark.thorough)
    for name in FILES
]


@pytest.mark.parametrize(("name", "arch"), BUILDS)
def test_every_kernel_of_the_corpus_gives_what_numpy_gives(
    run_ptx: Runner, name: str, arch: str
) -> None:
    ptx = compile_cuda((CORPUS / f"{name}.cu").read_text(), arch, include_paths())
    cases = FILES[name]()
    results = run_ptx(ptx, [case.launch for case in cases], "x86-64-v3")
    for case, got in zip(cases, results, strict=True):
        check(case, got)


@pytest.mark.parametrize("name", CHECKED)
def test_checked_mode_finds_nothing_in_the_corpus(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ptx = compile_cuda((CORPUS / f"{name}.cu").read_text(), "sm_80", include_paths())
    cases = FILES[name]()
    launches = [case.launch for case in cases]
    results = run_launches(
        compile_model(model_text(ptx, launches, "checked")), launches, "local-task"
    )
    for case, got in zip(cases, results, strict=True):
        check(case, got)
    assert capfd.readouterr().err == ""


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("gcc") is None, reason="nvcc preprocesses with gcc")
def test_what_nvcc_makes_of_the_corpus_runs_too(run_ptx: Runner) -> None:
    request = CompileRequest(CORPUS / "warps.cu", Arch(90), ("-lineinfo",))
    ptx = find_compiler("nvcc").compile(request).ptx.decode()
    cases = FILES["warps"]()
    results = run_ptx(ptx, [case.launch for case in cases])
    for case, got in zip(cases, results, strict=True):
        check(case, got)


def test_dynamic_shared_memory_comes_from_the_declaration() -> None:
    rows, n = cd.dim("rows"), cd.dim("n")
    kernel = cd.Kernel(
        "reverse_dynamic",
        source=CORPUS / "barriers.cu",
        operands=[
            cd.In("x", "f32", [rows, n]),
            cd.Out("y", "f32", [rows, n]),
            cd.Scalar("count", "i32", n),
        ],
        block=1024,
        grid=rows,
        dynamic_shared_memory=4096,
    )
    x = np.random.default_rng(0).standard_normal((5, 1024), np.float32)
    module = cd.load(cd.compile(None, [kernel], ["cpu"]), "cpu")
    np.testing.assert_array_equal(np.asarray(module.reverse_dynamic(x)), x[:, ::-1])


def test_subnormal_numbers_are_kept_as_on_a_gpu() -> None:
    module = cd.load(cd.compile(None, [simple_mul], ["cpu"]), "cpu")
    x, half = np.full(70, 1e-38, np.float32), np.full(70, 0.5, np.float32)
    np.testing.assert_array_equal(np.asarray(module.simple_mul(x, half)), x * half)


def include_paths() -> list[str]:
    """Where the headers that come with the compiler are."""
    import nvidia.cu13

    root = f"{next(iter(nvidia.cu13.__path__))}/include"
    return ["--std=c++17", "-default-device", f"-I{root}", f"-I{root}/cccl"]


def test_the_same_kernel_gives_the_same_text_in_every_process() -> None:
    """Python orders sets of names anew in each."""
    ptx = compile_cuda((CORPUS / "barriers.cu").read_text(), "sm_80", include_paths())
    program = (
        "import sys; from corpus_cases import FILES; from cpu_harness import model_text; "
        "print(model_text(sys.stdin.read(), [FILES['barriers']()[0].launch], 'checked'))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=ptx,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(texts) == 1
