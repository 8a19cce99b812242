"""Targets that nobody names, and those that leave out what kernels have for a GPU."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import custom_dispatch as cd
from custom_dispatch.cli import main
from custom_dispatch.errors import TargetWarning
from custom_dispatch.format.manifest import Manifest, parse_manifest
from custom_dispatch.ir.library_ir import manifest
from custom_dispatch.toolchain import plan

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.implementations import ALL

KERNELS = "kernels.py"
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks/results"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file of kernels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / KERNELS).write_text(
        "from sample_kernels.implementations import ALL\n\ngeometry, doubled = ALL\n"
    )
    return tmp_path


def held(*targets: str) -> Manifest:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TargetWarning)
        library = cd.build(ALL, list(targets))
    found = parse_manifest(manifest(library, library.kernels, []).as_text())
    assert found is not None
    return found


def test_targets_left_out_are_every_gpu_from_ampere_on_hoppers_own_code_and_the_cpu() -> None:
    assert cd.DEFAULT_TARGETS == ("cuda:sm_80", "cuda:sm_90a", "cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error", TargetWarning)
        (unit,) = cd.build(ALL).units
    sm_90a, sm_80 = unit.objects
    assert b".entry geometry_persistent(" in sm_90a.data
    assert b".entry geometry(" in sm_80.data
    assert unit.cpu_ptx is sm_80
    found = held(*cd.DEFAULT_TARGETS)
    chosen = {gpu: str(found.target_on(gpu)) for gpu in (75, 80, 86, 89, 90, 100, 103, 120)}
    assert chosen.pop(75) == "None"
    assert chosen.pop(90) == "cuda:sm_90a"
    assert set(chosen.values()) == {"cuda:sm_80"}


def test_a_module_and_its_text_take_them_too(tmp_path: Path) -> None:
    kernel = ALL[1]
    assert tuple(map(str, cd.compile(None, kernel).targets)) == (
        "cuda:sm_90a",
        "cuda:sm_80",
        "cpu",
    )
    emitted = cd.emit(kernel, output=tmp_path / "kernel.mlir")
    assert "--iree-hal-target-device=cuda,local" in emitted.command
    assert "@sm_90a::@doubled" in emitted.text


@pytest.mark.parametrize(
    ("targets", "named"),
    [
        (["cuda:sm_90"], "cuda:sm_90"),
        (["cuda:sm_80", "cuda:sm_90", "cpu"], "cuda:sm_90"),
        (["cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"], ""),
        (["cuda:sm_80", "cpu"], ""),  # who has no Hopper
        (["cuda:sm_80", "cuda:sm_100"], ""),
        (["cpu"], ""),
    ],
)
def test_a_gpu_named_without_the_code_for_it_is_a_warning(targets: list[str], named: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cd.build(ALL, targets)
    found = [str(item.message) for item in caught if item.category is TargetWarning]
    assert len(found) == bool(named)
    for message in found:
        assert message.startswith(
            f"`geometry` and `doubled` have code of their own for cuda:sm_90a, which {named} "
            "leaves out: on such a GPU slower code runs"
        )
        assert message.endswith("Name cuda:sm_90a as well, or leave targets out.")


def test_the_same_code_under_two_names_is_none() -> None:
    own = cd.Implementation(options=["-DNOTHING"])
    kernel = cd.Kernel(
        "doubled",
        source="../sample_kernels/implementations.cu",
        operands=ALL[1].operands,
        block=64,
        grid=ALL[1].grid,
        implementations={"cuda:sm_90": own, "cuda:sm_90a": own},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", TargetWarning)
        library = cd.build(kernel, ["cuda:sm_90"])
    assert "left_out" not in json.loads(manifest(library, library.kernels, []).as_text())


def test_the_ratio_is_the_one_that_was_measured() -> None:
    ours, without = (
        {
            (row["kernel"].split("_")[1], row["m"], row["n"], row["k"]): row["us"]
            for row in json.loads((RESULTS / name).read_text())["rows"]
            if "f32" not in row["kernel"].split("_")[1] and row["m"] >= 512 and row.get("us")
        }
        for name in ("gemm_h200.json", "gemm_sm80_h200.json")
    )
    ratios = [ours[sizes] / without[sizes] for sizes in ours.keys() & without.keys()]
    assert len(ratios) > 10
    assert f"at {min(ratios):.2f} to {max(ratios):.2f} of their speed" in plan._MEASURED


def test_a_module_says_what_a_gpu_could_run() -> None:
    assert held(*cd.DEFAULT_TARGETS).slower_on(90) == ()
    (reason,) = held("cuda:sm_80", "cpu").slower_on(90)
    assert reason == (
        "`geometry` and `doubled` could run code for cuda:sm_90a here, which was not built: "
        "compile with that target, too."
    )
    assert held("cuda:sm_80", "cpu").slower_on(86) == ()
    assert held("cuda:sm_80", "cpu").slower_on(None) == ()
    (reason,) = held(*cd.DEFAULT_TARGETS).slower_on(100)
    assert reason == (
        "The code for cuda:sm_90a runs on sm_90 alone; this GPU, sm_100, runs that for cuda:sm_80."
    )
    assert held(*cd.DEFAULT_TARGETS).slower_on(80) == ()
    assert replace(held("cuda:sm_80"), left_out={}).slower_on(90) == ()


def test_names_in_a_message_are_few() -> None:
    assert plan.listed(["a"]) == "`a`"
    assert plan.listed(["a", "b", "c", "d"]) == "`a`, `b`, `c` and `d`"
    assert plan.listed(list("abcdef")) == "`a`, `b`, `c` and 3 more"


def test_the_command_line_takes_them_and_warns(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", KERNELS, "-o", "objects"]) == 0
    assert {path.name for path in (work / "objects").iterdir()} == {
        "implementations_sm_80.ptx",
        "implementations_sm_90a.ptx",
    }
    assert "warning" not in capsys.readouterr().err
    assert main(["build", KERNELS, "-o", "objects", "-t", "cuda:sm_90"]) == 0
    assert "warning: `geometry` and `doubled` have code" in capsys.readouterr().err
    (work / "model.mlir").write_text(
        "func.func private @doubled(tensor<?xf32>) -> tensor<?xf32>\n"
        "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = call @doubled(%x) : (tensor<?xf32>) -> tensor<?xf32>\n"
        "  return %y : tensor<?xf32>\n}\n"
    )
    words = ["compile", "model.mlir", "-k", KERNELS, "-o", "model.vmfb"]
    assert main(words) == 0
    assert "for cuda:sm_90a, cuda:sm_80, cpu," in capsys.readouterr().out
    assert main([*words, "-t", "cuda:sm_80"]) == 0
    assert main(["inspect", "model.vmfb"]) == 0
    note = "not built: the code for cuda:sm_90a that `doubled` could run there"
    assert note in capsys.readouterr().out.splitlines()
    assert main(["inspect", "model.vmfb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [note]


@pytest.mark.usefixtures("work")
def test_no_target_is_still_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", KERNELS, "-o", "objects", "-t", ","]) == 2
    assert (
        "next step: leave targets out for cuda:sm_80, cuda:sm_90a, cpu, or name some of these."
        in capsys.readouterr().err
    )
