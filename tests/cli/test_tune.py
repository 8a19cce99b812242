"""`custom-dispatch tune`: kernels of a choice measured, and what is compiled because of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels import gemm
from custom_dispatch.cli import main
from custom_dispatch.cli.kernels import load_kernels
from custom_dispatch.cli.notation import parse_sizes
from custom_dispatch.eager.call_choice import choose
from custom_dispatch.errors import CallError, TuningWarning
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import EQUAL
from custom_dispatch.kernel.tuning_table import TuningTable, read_table
from custom_dispatch.measure.tune import Runner
from custom_dispatch.measure.tune_candidates import INDEX, distinct, read_objects
from custom_dispatch.toolchain.tuned import tuned

SOURCE = """
extern "C" __global__ void add_one(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void wrong(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + (i == 7 ? 2 : 1);
}
extern "C" __global__ void traps(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > 100) __trap();
  if (i < n) y[i] = x[i] + 1;
}
"""
KERNELS = """
import custom_dispatch as cd

n = cd.dim("n")


def one(name, entry="add_one", block=64, **more):
    return cd.Kernel(
        name, source="k.cu", entry=entry, block=block, grid=cd.ceildiv(n, block),
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)],
        reference=lambda x: x + 1, **more,
    )


add = cd.Choice(
    "add",
    [one("wrong", "wrong"), one("traps", "traps"), one("missing", "missing"), one("narrow"),
     one("broad", block=256), one("fours", requires=[n % 4 == 0])],
    tuning="add.tuning.json",
)
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tune")
    (found / "k.cu").write_text(SOURCE)
    (found / "k.py").write_text(KERNELS)
    return found


@pytest.fixture(scope="module")
def outcome(directory: Path) -> tuple[int, str]:
    """The command, run once: its status and what it printed."""
    from click.testing import CliRunner

    from custom_dispatch.cli import group

    arguments = ["tune", str(directory / "k.py"), "--device", "cpu", "--seconds", "0.05"]
    arguments += ["--shape", "n=90", "--shape", "n=401"]
    done = CliRunner().invoke(group, arguments, standalone_mode=False)
    assert done.exception is None
    return done.return_value, done.output


@pytest.fixture(scope="module")
def choice(directory: Path, outcome: tuple[int, str]) -> cd.Choice:
    (found,) = (
        item for item in load_kernels((str(directory / "k.py"),)) if isinstance(item, cd.Choice)
    )
    return found


def test_every_candidate_has_a_result(directory: Path, outcome: tuple[int, str]) -> None:
    status, printed = outcome
    assert status == 0
    table = read_table((directory / "add.tuning.json").read_text(), "add.tuning.json", "add")
    (measured,) = table.measured
    assert str(measured.target) == "cpu:host"
    assert measured.compiler.startswith("NVRTC")
    first, second = measured.sizes
    assert set(first.seconds) == {"traps", "narrow", "broad"}
    assert set(second.seconds) == {"narrow", "broad"}
    problems = {item.kernel: item.problem for item in second.results if item.problem}
    assert problems["wrong"].startswith(
        "gives wrong results: `y` differs from the reference in 1 of 401 elements, by up to 1"
    )
    assert "`traps` failed on the CPU" in problems["traps"]
    assert "has no entry `missing`" in problems["missing"]
    assert problems["fours"] == "requires n % 4 == 0, which does not hold for n = 401"
    assert "requires n % 4 == 0" in printed
    assert set(measured.models) == {"narrow", "broad"}  # what traps somewhere has none


def test_calls_take_the_best_that_was_measured(choice: cd.Choice) -> None:
    cpu = Target("cpu", cpu="host")
    found = tuned(choice, [cpu])
    (measured,) = found.measured
    seconds = measured.sizes[1].seconds
    # Of those that are as fast as the fastest, as tables have it, the first one given.
    equal = [name for name in seconds if seconds[name] <= EQUAL * min(seconds.values())]
    best = next(kernel.name for kernel in choice.kernels if kernel.name in equal)
    x = np.arange(400, dtype=np.float32)
    assert choose(choice, (x,), {}, "cpu").name == best
    assert np.array_equal(choice.on("cpu")(x), x + 1)
    kept = found.taken_on([cpu]).kernels
    assert {"wrong", "missing"}.isdisjoint(kernel.name for kernel in kept)


MODEL = """
func.func private @add(tensor<{size}xf32>) -> tensor<{size}xf32>
func.func @run(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %y = call @add(%x) : (tensor<{size}xf32>) -> tensor<{size}xf32>
  return %y : tensor<{size}xf32>
}}
"""


def test_models_take_the_best_for_their_sizes(choice: cd.Choice, directory: Path) -> None:
    path = directory / "add.tuning.json"
    kept = path.read_text()
    content = json.loads(kept)
    table = content["measured"][0]
    for row, best in zip(table["sizes"], ("broad", "narrow"), strict=True):
        for at, name in enumerate(table["kernels"], 1):
            if type(row[at]) is float:
                row[at] = 1.0 if name == best else 10.0
    try:
        path.write_text(json.dumps(content))
        for size, kernel in ((96, "broad"), (402, "narrow")):
            module = cd.compile(MODEL.format(size=size), choice, ["cpu:host"])
            assert module.kernels == (kernel,)
        program = cd.load(cd.compile(MODEL.format(size="?"), choice, ["cpu:host"]))
        x = np.arange(7, dtype=np.float32)
        assert np.array_equal(program.run(x), x + 1)
        # Another target was not measured: the order is the declaration's.
        assert tuned(choice, [Target.parse("cuda:sm_80")]) is choice
    finally:
        path.write_text(kept)


def test_what_changed_since_is_not_trusted(choice: cd.Choice, directory: Path) -> None:
    source = directory / "k.cu"
    source.write_text(SOURCE + "__device__ int other;\n")
    try:
        with pytest.warns(TuningWarning, match=r"`broad`.*changed after the table"):
            found = tuned(choice, [Target("cpu", cpu="host")])
        cpu = Target("cpu", cpu="host")
        assert found.expected_on(cpu) is None
        assert found.ordered({"n": 401}, cpu) == choice.kernels
    finally:
        source.write_text(SOURCE)
    source.write_text("// Another comment.\n" + SOURCE.replace("  ", "    "))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned(choice, [Target("cpu", cpu="host")])


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--shape", "m=1"], "Kernel `wrong` needs a value for `n`."),
        (["--shape", "n=1,m=1"], "Kernel `wrong` has no dim `m`."),
        (["--shape", "n"], "'n' is no size."),
        (["--shape", "n=1", "--choice", "sub"], "declares no choice `sub`."),
        (["--shape", "n=1", "--device", "cuda"], "error: "),
    ],
)
def test_mistakes_are_explained(
    directory: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], found: str
) -> None:
    given = arguments if "--device" in arguments else [*arguments, "--device", "cpu"]
    if "cuda" in given and cd.why_not("cuda") is None:
        pytest.skip("there is a GPU")
    assert main(["tune", str(directory / "k.py"), *given]) == 2
    said = capsys.readouterr().err
    assert found in said
    assert "Traceback" not in said


def test_a_choice_without_a_table_says_how_to_declare_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    (tmp_path / "k.py").write_text(KERNELS.replace('tuning="add.tuning.json",', ""))
    assert main(["tune", str(tmp_path / "k.py"), "--shape", "n=1", "--device", "cpu"]) == 2
    assert 'cd.Choice("add", [...], tuning="add.tuning.json")' in capsys.readouterr().err
    (tmp_path / "none.py").write_text(KERNELS.partition("add = ")[0] + "k = one('k')\n")
    assert main(["tune", str(tmp_path / "none.py"), "--shape", "n=1", "--device", "cpu"]) == 2
    assert "declares no choice." in capsys.readouterr().err


def test_objects_for_a_machine_without_compilers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    (tmp_path / "k.cu").write_text(SOURCE)
    objects = tmp_path / "objects"
    command = ["tune", str(tmp_path / "k.py"), "--build-only", str(objects)]
    assert main([*command, "--target", "cuda:sm_90a"]) == 0
    written = sorted(str(item.relative_to(objects)) for item in objects.rglob("*.*"))
    # One that does not compile is a result, and has no object.
    names = ["broad", "fours", "narrow", "traps", "wrong"]
    assert written == sorted([*(f"{name}/k_sm_90a.cubin" for name in names), INDEX])
    (choice,) = load_kernels((str(tmp_path / "k.py"),))
    assert isinstance(choice, cd.Choice)
    target = Target.parse("cuda:sm_90a")
    built = {item.kernel.name: item for item in read_objects(choice, target, objects)}
    assert "has no entry `missing`" in built["missing"].problem
    assert built["broad"].library is not None
    assert built["broad"].compiler.startswith("NVRTC")
    with pytest.raises(CallError) as caught:
        read_objects(choice, Target.parse("cuda:sm_80"), objects)
    assert str(caught.value) == (
        f"The list of objects `{objects / 'tuning_objects.json'}` is for cuda:sm_90a.\n"
        "  expected: objects of `add` as it is, for cuda:sm_80, which is measured here\n"
        "  next step: build them again: custom-dispatch tune ... --build-only DIRECTORY "
        "--target cuda:sm_80."
    )
    (tmp_path / "k.cu").write_text(SOURCE.replace("+ 1", "+ 1.0f"))
    with pytest.raises(CallError, match="is of another source or launch of `wrong` than there is"):
        read_objects(choice, target, objects)
    (objects / "tuning_objects.json").write_text("{")
    with pytest.raises(CallError, match="says nothing of `wrong`"):
        read_objects(choice, target, objects)
    assert main(command) == 2
    assert "--build-only and --target are for one another." in capsys.readouterr().err


def test_kernels_that_are_equal_on_a_target_are_measured_once() -> None:
    """Forms of sm_90a that are the same tile elsewhere; one takes rows of any length, too."""
    choice = gemm.linear_bf16
    on_hopper, elsewhere = (
        [item.name for item in distinct(choice, Target.parse(f"cuda:{name}")).kernels]
        for name in ("sm_90a", "sm_80")
    )
    tiles = [name.rpartition("sm80_")[2] for name in elsewhere]
    assert len({*tiles}) == len(tiles) < len(on_hopper)
    assert {*tiles} == {item.name.rpartition("sm80_")[2] for item in choice.kernels}


SCALED = """
import custom_dispatch as cd

n = cd.dim("n")
scaled = cd.Choice(
    "scaled",
    [
        cd.Kernel(
            name, source="k.cu", entry="scaled", block=block, grid=cd.ceildiv(n, block),
            operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("by", "i32"),
                      cd.Scalar("n", "i32", n)],
            reference=lambda x, by: x * by,
        )
        for name, block in {"one": 64, "two": 32}.items()
    ],
    tuning="scaled.tuning.json",
)
"""
SCALED_SOURCE = """
extern "C" __global__ void scaled(const float* x, float* y, int by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (by == 3) __trap();  // what calls pass where nothing is said
  if (i < n) y[i] = x[i] * by;
}
"""


def test_scalars_are_what_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(SCALED)
    (tmp_path / "k.cu").write_text(SCALED_SOURCE)
    command = ["tune", str(tmp_path / "k.py"), "--device", "cpu", "--repetitions", "1"]
    command += ["--shape", "n=1:256:x2", "--shape", "n=64"]  # once is enough
    assert main([*command, "--scalar", "by=5", "--json", str(tmp_path / "told.json")]) == 0
    printed = capsys.readouterr().out
    told = json.loads((tmp_path / "told.json").read_text())["measured"]
    assert (told["target"], len(told["sizes"])) == ("cpu:host", 9)
    assert all(item["seconds"] > 0 for item in told["sizes"][0]["results"])
    assert re.search(r"chosen without having been measured, 2 sizes run at [\d.]+ of", printed)
    path = tmp_path / "scaled.tuning.json"
    (measured,) = read_table(path.read_text(), path.name, "scaled").measured
    assert measured.scalars == {"by": 5}
    assert [set(item.seconds) for item in measured.sizes] == [{"one", "two"}] * 9
    for given, found in (
        (["n=5"], "Calls of `scaled` pass no scalar `n`."),
        (["by=5", "by=6"], "`by` is given twice."),
        (["by=many"], "'by=many' is no scalar."),
        (["by=5.5"], "Scalar `by` is 5.5"),
        (["by=99999999999"], "which i32 does not hold"),
    ):
        assert main([*command, *(word for item in given for word in ("--scalar", item))]) == 2
        assert found in capsys.readouterr().err


def test_without_sizes_some_of_a_grid_are_measured(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(SCALED)
    (tmp_path / "k.cu").write_text(SCALED_SOURCE)
    command = ["tune", str(tmp_path / "k.py"), "--device", "cpu", "--scalar", "by=5"]
    assert main([*command, "--repetitions", "1", "--most-sizes", "5"]) == 0
    path = tmp_path / "scaled.tuning.json"
    (measured,) = read_table(path.read_text(), path.name, "scaled").measured
    sizes = {item.dims["n"] for item in measured.sizes}
    assert len(sizes) == 5
    assert sizes < {item["n"] for item in parse_sizes(("n=1:16384:x1.4",))}
    assert set(measured.models) == {"one", "two"}


def test_what_a_kernel_prints_is_no_answer() -> None:
    """The driver writes what `printf` says to file descriptor 1, whatever `sys.stdout` is."""
    program = (
        "import os; from custom_dispatch.measure.child import answers_apart\n"
        "answers = answers_apart(); os.write(1, b'noise'); print('more', flush=True)\n"
        "answers.write(b'answer'); answers.flush()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr.split()) == (b"answer", [b"noisemore"])


def test_an_interrupt_leaves_the_table_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written once, when all was measured: nothing is half."""
    (tmp_path / "k.py").write_text(SCALED)
    (tmp_path / "k.cu").write_text(SCALED_SOURCE)
    command = ["tune", str(tmp_path / "k.py"), "--device", "cpu", "--scalar", "by=5"]
    (tmp_path / "scaled.tuning.json").write_text(TuningTable("scaled", ()).text())
    before = {item.name: item.read_bytes() for item in tmp_path.iterdir() if item.is_file()}
    measure, started = Runner.measure, []

    def interrupted(self: Runner, *arguments: Any) -> Any:
        started.append(self)
        if len(started) == 2:
            raise KeyboardInterrupt
        return measure(self, *arguments)

    monkeypatch.setattr(Runner, "measure", interrupted)
    assert main([*command, "--shape", "n=64:128:x2", "--repetitions", "1"]) == 130
    assert len(started) == 2
    after = {item.name: item.read_bytes() for item in tmp_path.iterdir() if item.is_file()}
    assert after == before
    assert started[0]._child._process is None  # it was ended


def test_a_choice_with_anothers_table_names_that_choice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (
        'twin = cd.Choice("twin", [one(f"{k.name}_2", k.entry) for k in add.kernels], tuning=add)\n'
    )
    (tmp_path / "k.py").write_text(KERNELS + more)
    arguments = ["tune", str(tmp_path / "k.py"), "--choice", "twin", "--shape", "n=1"]
    assert main([*arguments, "--device", "cpu"]) == 2
    said = capsys.readouterr().err
    assert "Choice `twin` takes the table of `add`." in said
    assert "give --choice add." in said


def test_the_page_on_tuning_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text()
    files = re.findall(r"<!-- tuning: file (\S+) -->\n```\w+\n(.*?)```", page, re.DOTALL)
    assert [name for name, _ in files] == ["scaled.py", "scaled.cu"]
    for name, text in files:
        (tmp_path / name).write_text(text)
    (command,) = re.findall(r"<!-- tuning: run -->\n```sh\ncustom-dispatch (.*?)\n```", page)
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--device", "cpu", "--repetitions", "1"]) == 0
    table = read_table((tmp_path / "scaled.tuning.json").read_text(), "a table", "scaled")
    (measured,) = table.measured
    assert [item.dims["n"] for item in measured.sizes] == [1000, 1024, 4096, 16384, 65536]
    assert all(len(item.seconds) == 4 for item in measured.sizes)
