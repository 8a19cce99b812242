"""`custom-dispatch bench`: on the CPU for real; wrong use is a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_harness import CommandLine

import custom_dispatch as cd

SHIPPED = "cuda_kernels.simple_mul"
"""Compiled once for all tests, as a copy in each test's directory would not be."""
QUICK = ("--repetitions", "5", "--seconds", "0.2", "--device", "cpu")
ADD = """
import custom_dispatch as cd
n = cd.dim("n")
def wrong(x, alpha):
    return x + alpha + (x.size > 10)
add = cd.Kernel("add", source="add.cu", operands=[cd.In("x", "f32", [n]), cd.Scalar("alpha", "f32"),
    cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)], block=64, grid=cd.ceildiv(n, 64), flops=n,
    reference=wrong)
spin, wild = (cd.Kernel(name, source="add.cu", block=32, grid=1, reference=lambda x: x + n_calls,
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]) for name in ("spin", "wild"))
n_calls = 0
only = cd.Choice("only", [wild], tuning="only.tuning.json")
copy = cd.Kernel("copy", source="add.cu", block=64, grid=cd.ceildiv(n, 64), reference=lambda x: x,
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)])
"""
ADD_CU = """
extern "C" __global__ void add(const float* x, float alpha, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + alpha;
}
extern "C" __global__ void spin(const volatile float* x, float* y) {
  while (x[0] == x[0]) y[0] = 1;
}
extern "C" __global__ void wild(const float* x, float* y) {
  y[10000000000LL * (threadIdx.x + 1)] = x[0];
}
extern "C" __global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
"""


@pytest.fixture
def adding(work: Path) -> Path:
    (work / "add.py").write_text(ADD)
    (work / "add.cu").write_text(ADD_CU)
    return work


def test_a_sweep_is_a_table_and_figures(work: Path, cli: CommandLine) -> None:
    words = ("bench", SHIPPED, "--kernel", "simple_mul", "-d", "n=64:4096:x8", *QUICK)
    outcome = cli(*words, "--json", "p.json", "--seed", "7")
    outcome.succeeded("simple_mul(tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)", "n=512 ")
    assert "equals the reference" in outcome.out
    assert "The CPU has no driver to launch kernels with" in outcome.out
    assert outcome.appeared == {"p.json"}
    content = json.loads((work / "p.json").read_text())
    assert content["about"]["seed"] == 7
    found = content["measurements"]
    assert [item["dims"] for item in found] == [{"n": 64}, {"n": 512}, {"n": 4096}]
    assert [item["bytes_moved"] for item in found] == [12 * n for n in (64, 512, 4096)]
    assert found[0]["native"] is None
    assert found[0]["invoke"]["calls"] == 5
    assert 0 < found[0]["invoke"]["median_s"] < 1
    rate = found[2]["bytes_moved"] / found[2]["invoke"]["median_s"]
    assert found[2]["bytes_per_second"] == pytest.approx(rate)
    assert all(0 < item["copy"]["median_s"] < 1 for item in found)
    assert "not compared: only the first size is, as references may take minutes" in outcome.out


def test_a_function_of_a_model_is_timed_with_inputs_of_swept_sizes(
    vmfb: Path, cli: CommandLine
) -> None:
    words = ("bench", vmfb, "-f", "mixed_invocation", "-d", "n=8:64:x8", *QUICK)
    outcome = cli(*words, "-i", "{n}xf32", "-i", "{n}xf32=4")
    outcome.succeeded(
        "8xf32 8xf32",
        "64xf32",
        "3 dispatches: ",
        "not compared: more than one kernel has no reference",
    )


def test_flops_and_a_reference_that_differs(adding: Path, cli: CommandLine) -> None:
    words = ("bench", "add.py", "--kernel", "add", *QUICK)
    outcome = cli(*words, "-d", "n=10")
    outcome.succeeded("equals the reference", "FLOP/s")
    outcome = cli(*words, "-d", "n=100")
    assert outcome.status == 2
    assert "DIFFERS from the reference: `y` differs in 100 of 100 elements" in outcome.out
    assert "error: `add` DIFFERS from the reference" in outcome.err


def test_given_inputs_of_a_kernel_bind_its_dims(adding: Path, cli: CommandLine) -> None:
    outcome = cli("bench", "add.py", "--kernel", "add", "-i", "9xf32", "-i", "2.5", *QUICK)
    outcome.succeeded("n=9", "equals the reference")


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("none.vmfb",), ("The module `none.vmfb` does not exist", "next step:")),
        (("mixed.vmfb", "-f", "g"), ("has no function `g`", "one of mixed_invocation")),
        (("mixed.vmfb", "--kernel", "simple_mul"), ("--kernel is given for the module",)),
        (("mixed.vmfb",), ("Argument 0 of `mixed_invocation`", "give --input 1024xf32")),
        (("mixed.vmfb", "-d", "n=8"), ("--dims is given, and `mixed_invocation` is no kernel",)),
        (("mixed.vmfb", "-i", "8xf32"), ("1 inputs are given", "expected: 2")),
        (("mixed.vmfb", *("-i", "8xf32") * 3), ("3 inputs are given",)),
        (("mixed.vmfb", "-i", "8xf32", "-i", "9xf32"), ("`mixed_invocation` refused the call",)),
        (("mixed.vmfb", "-i", "8xf32", "-i", "8xi32"), ("has dtype int32",)),
        (("mixed.vmfb", "-i", "8yf32", "-i", "8xf32"), ("'8yf32' is not an input",)),
        (("mixed.vmfb", "-d", "n=8", *("-i", "8xf32") * 2), ("`n`, which no --input uses",)),
        (("simple_mul.py",), ("declares 2 kernels", "give --kernel NAME")),
        (("simple_mul.py", "--kernel", "none"), ("declares no kernel `none`", "correct the name")),
        (("simple_mul.py", "--function", "simple_mul"), ("--function is given for the kernels",)),
        ((SHIPPED, "--kernel", "simple_mul"), ("needs a value for `n`", "--dims n=1024")),
        ((SHIPPED, "--kernel", "simple_mul", "-d", "n=8,m=2"), ("has no dim `m`",)),
        ((SHIPPED, "--kernel", "simple_mul", "-d", "n=0:1"), ("never comes to its end",)),
        (
            (SHIPPED, "--kernel", "simple_mul", "-d", "n=99999999999999"),
            ("grid.x = ceildiv(n, 64) is",),
        ),
        (
            (SHIPPED, "--kernel", "simple_mul", "-d", "n=100000000000"),
            ("needs 2400000000000 bytes of memory for n = 100000000000",),
        ),
        (("simple_mul.py", "--kernel", "simple_mul", "--json=."), ("it is a directory",)),
    ],
)
def test_wrong_use_is_refused(
    words: tuple[str, ...], parts: tuple[str, ...], vmfb: Path, cli: CommandLine
) -> None:
    cli("bench", *words, "--device", "cpu").refused(*parts)


@pytest.mark.skipif(cd.why_not("cuda") is None, reason="there is a GPU")
def test_without_a_gpu_cuda_is_refused_and_auto_says_why(work: Path, cli: CommandLine) -> None:
    words = ("bench", "simple_mul.py", "--kernel", "simple_mul", "-d", "n=8")
    reason = str(cd.why_not("cuda"))
    cli(*words, "--device", "cuda").refused(reason[:40])
    cli(*words, "--repetitions", "3").succeeded(reason)


def test_a_kernel_that_hangs_is_given_up(adding: Path, cli: CommandLine) -> None:
    words = ["bench", "add.py", "--kernel", "spin", "-d", "n=4", "--timeout", "3", *QUICK]
    cli(*words).refused(
        "The benchmark did not end within 3 seconds.",
        "give smaller --dims or more --timeout",
    )


def test_a_kernel_that_writes_anywhere_is_an_error(adding: Path, cli: CommandLine) -> None:
    cli("bench", "add.py", "--kernel", "wild", "-d", "n=4", *QUICK).refused(
        "The benchmark of `wild`: its process was ended by SIGSEGV.", '.on("cpu:checked")'
    )
    outcome = cli("tune", "add.py", "-s", "n=4", *QUICK)
    assert outcome.status == 2
    assert (
        "error: no kernel could be measured for n=4: wild: its process was ended by SIGSEGV"
        in outcome.err
    )
    cli("tune", "add.py", "-s", "n:4").refused("next step: write ", "n=1024 or ")
    said = " ".join(cli("tune", "--help").out.split())
    assert "On the CPU (--device cpu, or without a GPU)" in said


def test_check_goes_on_after_kernels_that_hang_or_fault(adding: Path, cli: CommandLine) -> None:
    outcome = cli("check", "add.py", "-t", "cpu", "--timeout", "2")
    outcome.refused(
        "error: Kernel `spin` on cpu for n=0: did not end within 2 seconds.",
        "error: Kernel `wild` on cpu for n=0: its process was ended by SIGSEGV.",
        "expected: a kernel that comes to its end, and accesses its operands alone",
        'next step: call it with .on("cpu:checked"), which names the line and the thread; or '
        "raise --timeout",
    )
    rows = {line.split()[0]: line for line in outcome.out.splitlines() if " cpu " in line}
    assert "its process was ended by SIGSEGV" in rows["wild"]
    assert rows["copy"].endswith("agrees")


def test_what_runs_kernels_imports_nothing_of_the_working_directory(
    work: Path, cli: CommandLine
) -> None:
    (work / "json.py").write_text("raise SystemExit(7)")
    cli("check", "simple_mul.py", "-t", "cpu").succeeded("agrees")
