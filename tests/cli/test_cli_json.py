"""`--json`, and results of `run` in files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
from cli_harness import CommandLine, Outcome

from custom_dispatch.cli.run import check_result_files, save, show
from custom_dispatch.errors import OutputError

TWO = ("-i", "3xf32=2", "-i", "3xf32=4")


def _json(outcome: Outcome, command: str) -> Any:
    found = json.loads(outcome.out, parse_constant=lambda word: pytest.fail(word))
    assert (found["version"], found["command"]) == (1, command)
    return found


def test_what_is_in_a_module_as_json(vmfb: Path, cli: CommandLine) -> None:
    for words in (("--json", vmfb), (vmfb, "--json")):
        found = _json(cli("inspect", *words), "inspect")
    (function,) = found["functions"]
    assert function["name"] == "mixed_invocation"
    assert {use["kernel"] for use in function["kernels"]} == {"simple_mul", "simple_mul_inplace"}
    assert found["manifest"]["targets"] == ["cuda:sm_90", "cuda:sm_80", "cpu"]
    outcome = cli("inspect", vmfb, "--json", "found.json")
    outcome.succeeded("module module", "found.json")
    assert json.loads(Path("found.json").read_text()) == found


def test_what_is_in_objects_and_models_as_json(work: Path, cli: CommandLine) -> None:
    cli("build", "simple_mul.py", "-t", "cuda:sm_80", "-o", ".").succeeded()
    found = _json(cli("inspect", "simple_mul_sm_80.ptx", "--json"), "inspect")
    assert found["members"] == [{"kind": "ptx", "arch": "sm_80"}]
    assert found["notes"] == ["ptx for sm_80: PTX ISA 9.0"]
    kernels = {item["kernel"]: item for item in found["kernels"]}
    assert kernels["simple_mul"]["parameters"] == ["u64", "u64", "u64", "u32"]
    assert kernels["simple_mul"]["resources"]["registers"] > 0
    found = _json(cli("inspect", "model.mlir", "--json"), "inspect")
    assert "mixed_invocation" in {item["name"] for item in found["functions"]}


def test_comparisons_as_json_whatever_a_file_prints(work: Path, cli: CommandLine) -> None:
    path = work / "simple_mul.py"
    path.write_text(path.read_text() + "import os\nprint('noise')\nos.system('echo noise')\n")
    done = subprocess.run(
        [sys.executable, "-m", "custom_dispatch", "check", path, "-t", "cpu", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {item["kernel"] for item in found["results"]} >= {"simple_mul"}
    assert all(item["problem"] == "" for item in found["results"])
    assert "noise" in done.stderr
    failed = cli("check", "none.py", "--json")
    failed.refused("`none.py` does not exist")
    assert failed.out == ""  # no half of it


def test_what_is_here_as_json(cli: CommandLine) -> None:
    outcome = cli("doctor", "--json")
    parts = {item["what"]: item for item in _json(outcome, "doctor")["parts"]}
    assert parts["Python"]["found"].startswith("3.")
    assert outcome.status == int(any(item["fails"] for item in parts.values()))


def test_results_as_json_have_numbers_that_are_not_finite(vmfb: Path, cli: CommandLine) -> None:
    words = ("run", vmfb, "-i", "3xf32=nan 2 -inf", "-i", "3xf32=4", "--json")
    outcome = cli(*words)
    (result,) = _json(outcome, "run")["results"]
    assert (result["dtype"], result["shape"]) == ("f32", [3])
    assert result["values"][:2] == ["NaN", 96.0]
    found = _json(cli(*words, "-o", "y.npy"), "run")
    assert (found["results"], found["files"]) == ([{"dtype": "f32", "shape": [3]}], ["y.npy"])


def test_results_are_saved(vmfb: Path, cli: CommandLine) -> None:
    cli("run", vmfb, *TWO, "-o", "y.npy").succeeded("3xf32=[96. 96. 96.]")
    cli("run", vmfb, "-i", "@y.npy", "-i", "3xf32=4", "-o", "all.npz").succeeded()
    assert numpy.load("y.npy").tolist() == [96] * 3
    assert list(numpy.load("all.npz")) == ["result_0"]
    again = ("run", vmfb, "-i", "@y.npy", "-i", "3xf32=4", "-o")
    os.link("y.npy", "same.npy")
    cli(*again, "same.npy").refused("`same.npy` would be written over, and it is what is read")
    cli(*again, "no/y.npy", "-o", "z.npy").refused("has 1 results, and 2 files are given")


@pytest.mark.parametrize(
    ("files", "count", "found", "next_step"),
    [
        (["y.txt"], 1, "Results cannot be saved as `y.txt`.", "write -o f_0.npy."),
        (["y"], 2, "Results cannot be saved as `y`.", "write -o f_0.npy -o f_1.npy."),
        (["y.npy", "y.npy"], 2, "`y.npy` is given twice.", "write -o f_0.npy -o f_1.npy."),
        (["y.npy", "y.npz"], 2, "Results cannot be saved as `y.npz`.", "write -o f_0.npy"),
        (["y.npy"], 9, "`f` has 9 results, and 1 files are given.", "write -o results.npz."),
    ],
)
def test_files_that_do_not_fit_are_refused(
    files: list[str], count: int, found: str, next_step: str
) -> None:
    with pytest.raises(OutputError) as caught:
        check_result_files([*map(Path, files)], "f", count)
    assert caught.value.found == found
    assert caught.value.next_step.startswith(next_step)


def test_types_that_numpy_lacks_are_saved_as_bits(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = numpy.array([1.5, -2], ml_dtypes.bfloat16)
    save([Path("y.npy"), Path("z.npy")], [result, numpy.float32(7)[None]])
    assert numpy.load("y.npy").view(ml_dtypes.bfloat16).tolist() == [1.5, -2]
    assert numpy.load("z.npy").tolist() == [7]
    said = "numpy has no bf16: numpy.load(FILE).view(ml_dtypes.bfloat16), or --input @FILE\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("shape", [(1000, 1), (5, 6, 7, 8), (2000,)])
def test_of_large_results_the_first_values_are_shown(
    shape: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    result = numpy.arange(numpy.prod(shape), dtype=numpy.int32).reshape(shape)
    show([result, numpy.ones(2, numpy.float32)], saved=False)
    printed = capsys.readouterr()
    sizes = "x".join(map(str, shape))
    assert printed.out == f"{sizes}xi32=[0 1 2 3 4 5 6 7 ...]\n2xf32=[1. 1.]\n"
    assert printed.err == f"the first 8 of {result.size} values are shown; -o FILE.npy saves all\n"
