"""Nothing is written over what a command reads, by whatever name it is called."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_harness import CommandLine

import custom_dispatch as cd

READ = "would be written over, and it is what is read"
CODE = "would be written over, and it is source code"
EMIT = ("emit", "simple_mul.py", "-t", "cuda:sm_80")
COMPILE = ("compile", "model.mlir", "-k", "simple_mul.py", "-t", "cuda:sm_80")
TUNED = """
import custom_dispatch as cd
from simple_mul import simple_mul
first = cd.Choice("first", [simple_mul], tuning="first.tuning.json")
"""


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((*COMPILE, "-o", "model.mlir"), READ),
        ((*COMPILE, "-o", "./link.vmfb"), f"{READ}: `model.mlir`"),
        ((*COMPILE, "-o", "hard.vmfb"), f"{READ}: `model.mlir`"),
        ((*COMPILE, "-o", "simple_mul.py"), READ),
        ((*COMPILE, "-o", "notes.txt"), "would be written over, and it is no module."),
        ((*COMPILE, "-o", "helper"), READ),
        ((*EMIT, "-o", "simple_mul.cu"), READ),
        ((*EMIT, "-o", "simple_mul.py"), READ),
        ((*EMIT, "-o", "other.cuh"), CODE),
        ((*EMIT, "-o", "to_header.mlir"), CODE),
        ((*EMIT, "--into", "model.mlir", "-o", "model.mlir"), READ),
        (("emit", "made.py", "-t", "cuda:sm_80", "-o", "simple_mul_sm_80.ptx"), READ),
        (("build", "made.py", "-t", "cuda:sm_80", "--out", "."), READ),
        (("bench", "simple_mul.py", "--kernel", "simple_mul", "--json=simple_mul.cu"), CODE),
        (("bench", "a.vmfb", "-i", "@x.npy", "--json=x.npy"), READ),
        (("tune", "tuned.py", "-s", "n=8", "--table", "simple_mul.cu"), READ),
        (("tune", "tuned.py", "-s", "n=8", "--table", "tuned.py"), READ),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_an_input_is_never_written_over(
    words: tuple[str, ...], found: str, work: Path, cli: CommandLine
) -> None:
    (work / "link.vmfb").symlink_to("model.mlir")
    (work / "hard.vmfb").hardlink_to(work / "model.mlir")
    (work / "notes.txt").write_text("my notes")
    (work / "other.cuh").write_text("// a header")
    (work / "to_header.mlir").symlink_to("other.cuh")
    (work / "helper").hardlink_to(work / "simple_mul.py")
    (work / "tuned.py").write_text(TUNED)
    (work / "x.npy").write_bytes(b"")
    shutil.copy(work / "x.npy", work / "a.vmfb")
    if "made.py" in words:
        assert cli("build", "simple_mul.py", "-t", "cuda:sm_80", "--out", ".").status == 0
        objects = 'objects={"cuda:sm_80": "simple_mul_sm_80.ptx"}'
        text = (work / "simple_mul.py").read_text()
        (work / "made.py").write_text(text.replace('source="simple_mul.cu"', objects))
    before = contents(work)
    cli(*words).refused(found, "next step: ")
    assert contents(work) == before


def test_an_output_is_written_over(work: Path, cli: CommandLine) -> None:
    for _ in range(2):
        assert cli(*EMIT, "-o", "o/kernels.mlir").status == 0
        assert cli(*COMPILE, "-o", "module.bin").status == 0


def test_a_module_is_saved_over_modules_alone(work: Path) -> None:
    module = cd.CompiledModule(b"PK\x03\x04 a module", (), ())
    for name in ("model.mlir", "simple_mul.cu"):
        before = (work / name).read_bytes()
        with pytest.raises(cd.CustomDispatchError, match="would be written over"):
            module.save(work / name)
        assert (work / name).read_bytes() == before
    for _ in range(2):
        module.save(work / "module.bin")
    (work / "damaged.vmfb").write_text("no module any more")
    module.save(work / "damaged.vmfb")
