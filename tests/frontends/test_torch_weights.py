"""Weights outside of the module: written, found, compared, mapped, and refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from iree import runtime as rt

import custom_dispatch as cd
from custom_dispatch.cli import main
from custom_dispatch.errors import DeviceError, ModuleFileError, OutputError
from tests.sample_kernels.rows import row_norm

TOOLS = Path(rt.__file__).parents[1] / "_runtime_libs"


class Model(torch.nn.Module):
    """Weights of every kind: tied, of 16 and 8 bits, buffers that no state_dict has, a constant."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)

        def random(*shape: int) -> torch.Tensor:
            return torch.rand(shape, generator=generator)

        self.words = torch.nn.Parameter(random(40, 64))
        self.out = torch.nn.Linear(64, 40, bias=False)
        self.out.weight = self.words
        self.scale = torch.nn.Parameter(random(64))
        self.narrow = torch.nn.Parameter(random(64, 64).half())
        self.register_buffer("brain", random(64, 64).bfloat16(), persistent=False)
        self.register_buffer("small", random(64).bfloat16())
        self.register_buffer("mask", random(80, 64) > 0.5, persistent=False)
        self.register_buffer("levels", (random(80, 64) * 255).to(torch.uint8))
        self.register_buffer("signed", (random(80, 64) * 255 - 128).to(torch.int8))
        self.gaps = torch.nn.Parameter(random(64, 128)[:, ::2])
        self.constant = random(64, 64)
        self.norm = cd.torch.register(row_norm)

    def forward(self, indices: torch.Tensor) -> Any:
        x = self.norm(torch.nn.functional.embedding(indices, self.words), self.scale, 1e-5)
        x = x @ self.narrow.float() + self.brain.float().sum(0) * self.mask[:1]
        x = x @ self.gaps @ self.constant
        x = x + self.small
        return self.out(x), self.levels.float().mean(0) + self.signed.float().mean(0)


INDICES = torch.tensor([3, 0, 39])
TARGETS = ["cuda:sm_80", "cpu"]
"""The same wherever targets do not matter: code for the same model is in the store then."""


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def module(model: Model) -> cd.CompiledModule:
    return cd.torch.compile(model, (INDICES,), TARGETS)


@pytest.fixture(scope="module")
def saved(module: cd.CompiledModule, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return module.save(tmp_path_factory.mktemp("saved") / "model.vmfb")


@torch.no_grad()
def agrees(program: cd.Program, model: Model) -> None:
    for result, wanted in zip(program.main(INDICES), model(INDICES), strict=True):
        torch.testing.assert_close(torch.from_dlpack(result), wanted, rtol=1e-4, atol=1e-3)


def refusal(kind: type[Exception], call: Any) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_weights_are_written_beside_the_module_once(module: cd.CompiledModule, saved: Path) -> None:
    assert sorted(path.name for path in saved.parent.iterdir()) == ["model.irpa", "model.vmfb"]
    held = {item.name: (item.dtype, item.shape) for item in module.parameters.entries}
    assert held == {
        "out.weight": ("float32", (40, 64)),  # and `words`
        "narrow": ("float16", (64, 64)),
        "brain": ("bfloat16", (64, 64)),
        "mask": ("uint8", (80, 64)),
        "levels": ("uint8", (80, 64)),
        "signed": ("int8", (80, 64)),
        "gaps": ("float32", (64, 64)),
        "constant": ("float32", (64, 64)),
    }  # `scale` has 256 bytes and is in the module
    size = saved.with_suffix(".irpa").stat().st_size
    assert module.parameters.size_bytes < size < module.parameters.size_bytes + 3 * 4096


def test_a_module_runs_with_its_weights(
    model: Model, module: cd.CompiledModule, saved: Path, tmp_path: Path
) -> None:
    agrees(cd.load(saved, device="cpu"), model)
    agrees(cd.load(module, device="cpu"), model)
    moved = tmp_path / "elsewhere.bin"
    shutil.copy(saved.with_suffix(".irpa"), moved.with_suffix(".irpa"))
    agrees(cd.load(saved, device="cpu", parameters=moved.with_suffix(".irpa")), model)
    agrees(cd.load(saved.read_bytes(), device="cpu", parameters=moved.with_suffix(".irpa")), model)
    agrees(cd.load(saved, device="cpu", parameters={"model": saved.with_suffix(".irpa")}), model)


def test_the_stock_tools_run_it(model: Model, saved: Path, tmp_path: Path) -> None:
    archive = saved.with_suffix(".irpa")
    command = [TOOLS / "iree-run-module", f"--module={saved}", "--device=local-task"]
    command += ["--function=main", "--input=3xi64=3 0 39", f"--output=@{tmp_path / 'out.npy'}"]
    command += [f"--output=@{tmp_path / 'sum.npy'}", f"--parameters=model={archive}"]
    subprocess.run(command, check=True, timeout=120)
    found = torch.from_numpy(numpy.load(tmp_path / "out.npy"))
    torch.testing.assert_close(found, model(INDICES)[0].detach(), rtol=1e-4, atol=1e-3)
    dumped = subprocess.run(
        [TOOLS / "iree-dump-parameters", f"--parameters=model={archive}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "`out.weight`" in dumped.stdout


def test_irees_python_reads_the_archive(model: Model, saved: Path) -> None:
    index = rt.ParameterIndex()
    index.load(str(saved.with_suffix(".irpa")))
    entries = dict(index.items())
    found = rt.parameter_index_entry_as_numpy_ndarray(entries["gaps"])
    assert (found == model.gaps.detach().numpy()).all()


def test_small_models_and_those_that_ask_are_one_file(model: Model, tmp_path: Path) -> None:
    module = cd.torch.compile(model, (INDICES,), ["cpu"], inline_bytes=None)
    assert module.parameters is None
    path = module.save(tmp_path / "model.vmfb")
    assert [item.name for item in tmp_path.iterdir()] == ["model.vmfb"]
    agrees(cd.load(path, device="cpu"), model)
    every = cd.torch.compile(model, (INDICES,), ["cpu"], inline_bytes=0)
    assert "scale" in {item.name for item in every.parameters.entries}
    agrees(cd.load(every, device="cpu"), model)


def test_missing_wrong_and_damaged_weights_are_refused(saved: Path, tmp_path: Path) -> None:
    alone = tmp_path / "model.vmfb"
    shutil.copy(saved, alone)
    assert refusal(ModuleFileError, lambda: cd.load(alone)) == (
        "`model.vmfb` needs its weights, 8 weights of 74752 bytes, and "
        f"`{tmp_path / 'model.irpa'}` does not exist.\n"
        "  expected: the file that was saved beside it\n"
        '  next step: copy it there, or say where it is: cd.load(..., parameters="...").'
    )
    assert refusal(ModuleFileError, lambda: cd.load(saved.read_bytes())) == (
        "The module needs its weights, 8 weights of 74752 bytes, which are in a file of their "
        'own.\n  next step: give it: cd.load(..., parameters="model.irpa").'
    )
    archive = saved.with_suffix(".irpa").read_bytes()
    for size in (0, 50, 500, 9000, len(archive) // 2):
        (tmp_path / "model.irpa").write_bytes(archive[:size])
        assert refusal(ModuleFileError, lambda: cd.load(alone)).startswith(
            f"`{tmp_path / 'model.irpa'}` is no archive of weights, or it was cut short.\n"
            "  expected: the .irpa file as it was saved\n"
        )
    changed = Model()
    with torch.no_grad():
        changed.narrow[1, 1] += 1
    other = cd.torch.compile(changed, (INDICES,), TARGETS[:1])
    other.save(tmp_path / "other.vmfb")
    shutil.copy(tmp_path / "other.irpa", tmp_path / "model.irpa")
    assert refusal(ModuleFileError, lambda: cd.load(alone)) == (
        f"`{tmp_path / 'model.irpa'}` does not hold the weights that `model.vmfb` was compiled "
        "with: it has 8 weights of 74752 bytes.\n"
        "  expected: 8 weights of 74752 bytes, saved with the module\n"
        "  next step: copy both files from where they were saved together, or save the module "
        "again."
    )
    assert refusal(ModuleFileError, lambda: cd.load(saved, parameters=tmp_path)) == (
        f"The weights `{tmp_path}` are a directory.\n"
        "  expected: an .irpa file\n"
        "  next step: correct the path."
    )
    assert refusal(ModuleFileError, lambda: cd.load(saved, parameters=3)) == (
        "The parameters are given as 3.\n"
        "  expected: the path of an .irpa file, or a mapping from scopes to paths\n"
        "  next step: give the file that was saved with the module."
    )
    for scopes in ({}, {"another": saved.with_suffix(".irpa")}):
        assert refusal(
            DeviceError, lambda scopes=scopes: cd.load(saved, device="cpu", parameters=scopes)
        ).startswith(
            "`model.vmfb` needs weights (IREE's parameters) that it was not given.\n"
            "  expected: a file for each scope that it names\n"
        )


def test_both_files_are_written_or_none(
    module: cd.CompiledModule, model: Model, tmp_path: Path
) -> None:
    module.save(tmp_path / "model.vmfb")
    before = {path: path.stat().st_ino for path in tmp_path.iterdir()}
    (tmp_path / "taken.vmfb").mkdir()
    assert "it is a directory" in refusal(OutputError, lambda: module.save(tmp_path / "taken.vmfb"))
    assert refusal(OutputError, lambda: module.save(tmp_path / "model.irpa")) == (
        "The module cannot be named `model.irpa`.\n"
        "  expected: another ending than .irpa: that is the name of the weights beside it\n"
        "  next step: name it `model.vmfb`."
    )
    os.mkfifo(tmp_path / "pipe.vmfb")
    assert "it is no file, and others belong beside it" in refusal(
        OutputError, lambda: module.save(tmp_path / "pipe.vmfb")
    )
    assert {path: path.stat().st_ino for path in tmp_path.glob("model.*")} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.irpa", "model.vmfb", "pipe.vmfb", "taken.vmfb",
    ]  # fmt: skip
    program = cd.load(tmp_path / "model.vmfb", device="cpu")
    module.save(tmp_path / "model.vmfb")  # while the program reads the old ones
    agrees(program, model)


def test_weights_that_were_changed_since_are_refused(tmp_path: Path) -> None:
    model = Model()
    module = cd.torch.compile(model, (INDICES,), TARGETS)
    program = cd.load(module, device="cpu")
    with torch.no_grad():
        model.narrow[1, 1] += 1
    message = (
        "The weight `narrow` was changed after the model was compiled.\n"
        "  expected: the weights that it was compiled with\n"
        "  next step: save the module before the model is trained further, or compile it again."
    )
    assert refusal(OutputError, lambda: module.save(tmp_path / "model.vmfb")) == message
    assert list(tmp_path.iterdir()) == []
    assert refusal(OutputError, lambda: cd.load(module, device="cpu")) == message
    with torch.no_grad():
        model.narrow[1, 1] = Model().narrow[1, 1]
    agrees(program, model)  # it has a copy of its own


def test_the_command_line_finds_the_weights(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", "3xi64=3 0 39", "--device", "cpu"]
    assert main(["run", str(saved), *arguments]) == 0
    alone = tmp_path / "model.vmfb"
    shutil.copy(saved, alone)
    archive = str(saved.with_suffix(".irpa"))
    assert main(["run", str(alone), *arguments, "--parameters", archive]) == 0
    assert main(["inspect", str(alone)]) == 0
    printed = capsys.readouterr().out
    assert "weights in a file of their own: 8 weights of 74752 bytes\n" in printed
    assert main(["run", str(alone), *arguments]) == 2
