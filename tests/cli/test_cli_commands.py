"""Each command does what its help says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from cli_harness import CommandLine

import custom_dispatch as cd
from custom_dispatch import __version__
from custom_dispatch.cli import group, main
from custom_dispatch.cli.kernels import load_kernels

SM_90 = ("-t", "cuda:sm_90")


@pytest.mark.parametrize("command", sorted(group.commands))
def test_help(command: str, cli: CommandLine) -> None:
    outcome = cli(command, "--help")
    outcome.succeeded(f"Usage: custom-dispatch {command}", "--verbose")
    assert not outcome.err


def test_version(cli: CommandLine) -> None:
    cli("--version").succeeded(__version__)


def test_without_a_command_it_shows_the_commands_and_fails(cli: CommandLine) -> None:
    outcome = cli()
    assert outcome.status == 2
    assert all(name in outcome.err for name in group.commands)


def test_build_writes_an_object_for_each_target(cli: CommandLine, work: Path) -> None:
    outcome = cli("build", "simple_mul.py", "-t", "cuda:sm_80,cuda:sm_90", "-t", "cpu", "--out=o")
    outcome.succeeded("o/simple_mul_sm_90.ptx", "o/simple_mul_sm_80.ptx")
    assert outcome.appeared == {"o", "o/simple_mul_sm_80.ptx", "o/simple_mul_sm_90.ptx"}
    assert ".target sm_90" in (work / "o/simple_mul_sm_90.ptx").read_text()


def test_build_report_shows_registers(cli: CommandLine) -> None:
    outcome = cli("build", "simple_mul.py", *SM_90, "--out", "o", "--report")
    outcome.succeeded("registers", "occupancy", "% (")
    row = next(line for line in outcome.out.splitlines() if line.startswith("simple_mul_inplace"))
    assert row.split()[1] == "sm_90"
    assert int(row.split()[2]) > 0
    last = outcome.out.splitlines()[-1].split()
    assert last[:2] == ["simple_mul_sm_90.ptx", "ptx"]
    assert (float(last[2]), last[3]) > (1.0, "KiB")


def test_build_for_the_cpu_alone_says_that_there_is_no_file(cli: CommandLine) -> None:
    outcome = cli("build", "simple_mul.py", "-t", "cpu", "--out", "o")
    outcome.succeeded()
    assert "no file is written for the CPU" in outcome.err
    assert not outcome.appeared


def test_build_takes_a_module_by_its_name(cli: CommandLine) -> None:
    outcome = cli("build", "cuda_kernels.simple_mul", *SM_90, "--out", "o")
    assert outcome.appeared == {"o", "o/simple_mul_sm_90.ptx"}


def test_emit_prints_the_command_and_nothing_else(cli: CommandLine) -> None:
    outcome = cli("emit", "simple_mul.py", *SM_90, "-t", "cpu", "-o", "o/k.mlir")
    outcome.succeeded()
    assert outcome.out.startswith("iree-compile o/k.mlir -o o/k.vmfb ")
    assert outcome.out.count("\n") == 1
    assert outcome.appeared == {"o", "o/k.mlir", "o/simple_mul_sm_90.ptx"}


def test_emit_embeds_objects(cli: CommandLine) -> None:
    outcome = cli("emit", "simple_mul.py", *SM_90, "--embed", "-o", "k.mlir")
    assert outcome.appeared == {"k.mlir"}
    assert "search-path" not in outcome.out


def test_emit_takes_objects_built_elsewhere(cli: CommandLine, work: Path) -> None:
    cli("build", "simple_mul.py", *SM_90, "--out", "elsewhere")
    (work / "simple_mul.cu").unlink()
    outcome = cli("emit", "simple_mul.py", *SM_90, "--objects=elsewhere", "-o", "k.mlir")
    outcome.succeeded("iree-compile")


@pytest.mark.parametrize("graph", [(), ("--graph",)])
def test_compile_then_run(graph: tuple[str, ...], cli: CommandLine, work: Path) -> None:
    model = work / "model.mlir"
    if graph:  # which needs known sizes
        model.write_text(model.read_text().replace("?", "8"))
    to = (*SM_90, "-t", "cpu", "-o", "m.vmfb")
    outcome = cli("compile", "model.mlir", "-k", "simple_mul.py", *graph, *to)
    outcome.succeeded("m.vmfb: simple_mul, simple_mul_inplace for cuda:sm_90, cpu")
    assert outcome.appeared == {"m.vmfb"}
    words = ("-f", "mixed_invocation", "-i", "8xf32=2", "-i", "8xf32=4", "--device", "cpu")
    outcome = cli("run", "m.vmfb", *words)
    outcome.succeeded()
    assert outcome.out == "8xf32=[96. 96. 96. 96. 96. 96. 96. 96.]\n"
    assert outcome.err == f"mixed_invocation on {outcome.err.split(' on ')[1]}"


OVERRUN = """
extern "C" __global__ void add_one(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;
}
"""
OVERRUN_DECLARATION = """
import custom_dispatch as cd
n = cd.dim("n")
operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]
add_one = cd.Kernel("add_one", source="add_one.cu", operands=operands, block=32, grid=1)
"""


def test_what_is_compiled_for_cpu_checked_fails_and_says_where(
    cli: CommandLine, work: Path
) -> None:
    (work / "add_one.cu").write_text(OVERRUN)
    (work / "add_one.py").write_text(OVERRUN_DECLARATION)
    outcome = cli("emit", "add_one.py", "-t", "cpu:checked", "-o", "k.mlir")
    outcome.succeeded("--iree-llvmcpu-link-embedded=false")
    programs = Path(sys.executable).parent  # the printed command, as a shell takes it
    subprocess.run(["sh", "-c", f"{programs}/{outcome.out}"], check=True, timeout=60)
    cli("run", "k.vmfb", "-i", "32xf32=1").succeeded("32xf32=[2. 2.")
    outcome = cli("run", "k.vmfb", "-i", "31xf32=1")
    outcome.refused(
        "Kernel `add_one` reads 4 bytes at byte 124 of operand `x`, which has 124 bytes, at "
        "add_one.cu:3 (`ld.global.f32`), thread (31, 0, 0), block (0, 0, 0)."
    )


def test_run_takes_the_only_function_and_files(cli: CommandLine, vmfb: Path) -> None:
    numpy.save("lhs.npy", numpy.arange(3, dtype=numpy.float32))
    outcome = cli("run", vmfb, "-i", "@lhs.npy", "-i", "3xf32=1 2 3", "--device=cpu")
    assert outcome.out == "3xf32=[ 0.  8. 54.]\n"


def test_run_on_empty_arrays(cli: CommandLine, vmfb: Path) -> None:
    outcome = cli("run", vmfb, "-i", "0xf32", "-i", "0xf32", "--device=cpu")
    assert outcome.out == "0xf32=[]\n"


def test_inspect_a_module(cli: CommandLine, vmfb: Path) -> None:
    cli("inspect", vmfb).succeeded(
        "mixed_invocation",
        "(tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>)",
        "kernels: simple_mul, simple_mul_inplace",
        "targets: cuda:sm_90, cuda:sm_80, cpu",
        "simple_mul_sm_80.ptx",
    )


def test_inspect_a_model(cli: CommandLine) -> None:
    outcome = cli("inspect", "model.mlir")
    outcome.succeeded("mixed_invocation", "public", "simple_mul_inplace", "to be linked")


def test_inspect_ptx_cubin_and_fatbin(cli: CommandLine, work: Path) -> None:
    from custom_dispatch.kernel.target import Arch
    from custom_dispatch.toolchain.ptxas import assemble, make_fatbin

    cli("build", "simple_mul.py", "-t", "cuda:sm_80,cuda:sm_90", "--out", "o")
    outcome = cli("inspect", "o/simple_mul_sm_90.ptx")
    outcome.succeeded("ptx: ptx for sm_90", "PTX ISA 9.0", "spills st/ld", ".u64 .u64 .u64 .u32")
    images = [(Arch(cc), (work / f"o/simple_mul_sm_{cc}.ptx").read_bytes()) for cc in (80, 90)]
    (work / "k.fatbin").write_bytes(make_fatbin(images))
    cli("inspect", "k.fatbin").succeeded("fatbin: ", "ptx for sm_80", "ptx for sm_90")
    (work / "k.cubin").write_bytes(assemble(images[1][1], Arch(90)).cubin)
    outcome = cli("inspect", "k.cubin")
    outcome.succeeded("cubin: cubin for sm_90", "simple_mul_inplace", "8 8 8 4")


def test_check_compares_with_the_reference(cli: CommandLine) -> None:
    outcome = cli("check", "simple_mul.py")
    outcome.succeeded("simple_mul_inplace", "sm_80", "sm_90", "n=0, n=1, n=7, n=64, n=1000")
    assert outcome.out.count("agrees") >= 2
    assert not outcome.appeared


@pytest.mark.parametrize(
    ("reference", "verdict"),
    [
        ("lambda lhs, rhs: lhs + rhs", "`product` differs in 1 of 1 elements"),
        pytest.param(
            "lambda lhs, rhs: lhs.missing",
            "the reference fails: AttributeError",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "lambda lhs, rhs: (lhs, rhs)",
            "the reference returns 2 results, and the kernel 1",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_check_fails_for_a_wrong_reference(
    reference: str, verdict: str, cli: CommandLine, work: Path
) -> None:
    text = (work / "simple_mul.py").read_text()
    (work / "wrong.py").write_text(text.replace("reference=_product", f"reference={reference}", 1))
    outcome = cli("check", "wrong.py", "-t", "cpu")
    outcome.refused("comparisons failed")
    assert verdict in outcome.out
    assert "agrees" in outcome.out  # the other kernel of the file still does


def test_check_without_any_reference_compares_nothing_and_says_so(
    cli: CommandLine, work: Path
) -> None:
    text = (work / "simple_mul.py").read_text()
    (work / "none.py").write_text(text.replace("reference=_product,", ""))
    cli("check", "none.py", "-t", "cpu").refused("nothing was compared")


def test_doctor(cli: CommandLine) -> None:
    outcome = cli("doctor")
    outcome.succeeded("iree-base-compiler", "nvrtc", "nvcc", "ptxas", "cuda", "cpu", "CMake")


def test_demo(cli: CommandLine) -> None:
    outcome = cli("demo")
    outcome.succeeded("[96. 96. 96. 96. 96. 96. 96. 96.]", "runs on", "runs here")
    for target in ("cuda:sm_90a", "cuda:sm_80", "cpu"):
        assert f"\n{target} " in outcome.out
    assert outcome.appeared == {"mixed_invocation.vmfb"}


def test_cmake_dir_holds_the_cmake_function(cli: CommandLine) -> None:
    outcome = cli("cmake-dir")
    assert (Path(outcome.out.strip()) / "CustomDispatch.cmake").is_file()


def test_a_file_may_have_any_name_and_import_its_neighbours(cli: CommandLine, work: Path) -> None:
    (work / "kernels").mkdir()
    (work / "kernels/sizes.py").write_text("import cuda_kernels.simple_mul as kernels\n")
    (work / "kernels/json.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass, field\n"
        "from sizes import kernels\n"
        "@dataclass\nclass Settings:\n    size: int = field(default=1)\n"
        "mine = kernels.simple_mul\n"
    )
    outcome = cli("build", "kernels/json.py", *SM_90, "--out", "o")
    outcome.succeeded("o/simple_mul_sm_90.ptx")
    import json

    assert json.loads("1") == 1


def test_files_of_two_directories_have_neighbours_of_one_name(work: Path) -> None:
    for place, width in (("one", 64), ("two", 128)):
        (work / place / "parts").mkdir(parents=True)
        (work / place / "shared.py").write_text("from parts.block import BLOCK\n")
        (work / place / "parts/__init__.py").touch()
        (work / place / "parts/block.py").write_text(f"BLOCK = {width}\n")
        text = (work / "simple_mul.py").read_text().replace("block=(64", "block=(BLOCK")
        text = text.replace("import numpy\n", "import numpy\nfrom shared import BLOCK\n")
        (work / place / f"{place}.py").write_text(text)
        shutil.copy("simple_mul.cu", place)
    first, *_, second = load_kernels(("one/one.py", "two/two.py"))
    assert isinstance(first, cd.Kernel)
    assert isinstance(second, cd.Kernel)
    assert (first.block[0], second.block[0]) == (64, 128)


def test_kernels_in_lists_tuples_and_dicts(cli: CommandLine, work: Path) -> None:
    with (work / "simple_mul.py").open("a") as file:
        file.write(
            "def of(width): return simple_mul.with_launch(name=f'mul_w{width}', block=width)\n"
            "kernels = [of(32), (of(64), {'wide': of(128)}), simple_mul, 'other']\n"
            "kernels.append(kernels)\n"
        )
    names = [item.name for item in load_kernels(("simple_mul.py",))]
    assert names == ["simple_mul", "simple_mul_inplace", "mul_w32", "mul_w64", "mul_w128"]
    cli("build", "simple_mul.py", *SM_90, "--out", "o", "--report").succeeded("mul_w32", "mul_w128")


def test_main_returns_130_when_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("custom_dispatch.cli.build.load_kernels", interrupt)
    assert main(["build", "simple_mul.py", *SM_90, "--out", "o"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_inspect_shows_every_part_of_a_fatbin(cli: CommandLine, work: Path) -> None:
    cli("build", "simple_mul.py", *SM_90, "--image", "fatbin", "--out", "o").succeeded("o/")
    (path,) = (work / "o").iterdir()
    outcome = cli("inspect", f"o/{path.name}")
    outcome.succeeded("fatbin: ", "cubin for sm_90", "ptx for sm_90", "registers", "PTX ISA 9.0")
    assert sum(line.startswith("simple_mul_inplace") for line in outcome.out.splitlines()) == 2


def test_emit_writes_anew_what_iree_computes_wrongly(cli: CommandLine, work: Path) -> None:
    kind = "tensor<2x5x192xf32>"
    (work / "wrong.mlir").write_text(f"""
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @product(%x: tensor<?xf32>) -> tensor<?xf32> {{
  %0 = call @simple_mul(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = math.sin %0 : tensor<?xf32>
  return %1 : tensor<?xf32>
}}
func.func @mix(%x: {kind}) -> {kind} {{
  %empty = tensor.empty() : {kind}
  %0 = tm_tensor.attention ins(%x, %x, %x : {kind}, {kind}, {kind}) outs(%empty : {kind}) -> {kind}
  return %0 : {kind}
}}""")
    cli("emit", "simple_mul.py", "-t", "cpu", "--into", "wrong.mlir", "-o", "o.mlir").succeeded()
    emitted = (work / "o.mlir").read_text()
    assert "math.exp" in emitted
    assert "math.sin" not in emitted
    assert "attention" not in emitted
