"""Profiles of calls on a GPU, by CUPTI: of a stream, of a CUDA graph, and beside other profilers.

Two halves: `build` needs this package's compilers, and no GPU; then, where there are a GPU and
`cupti-python`,

    python tests/gpu/profiles.py run DIRECTORY
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from custom_dispatch.errors import CallError
from gpu.halves import build_or_run

N = 1 << 22
MODEL = """
func.func private @simple_mul(T, T) -> T
func.func @step(%a: T, %b: T) -> T {
  %0 = call @simple_mul(%a, %b) : (T, T) -> T
  %2 = arith.addf %0, %b : T
  %3 = call @simple_mul(%2, %b) : (T, T) -> T
  return %3 : T
}
""".replace("T", f"tensor<{N}xf32>")


def build(directory: Path) -> None:
    """Compile the model, and the same as a graph."""
    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    for name, graph in (("stream", False), ("graph", True)):
        module = cd.compile(MODEL, [simple_mul], ["cuda:sm_80", "cuda:sm_90"], graph=graph)
        module.save(directory / f"{name}.vmfb")
    cd.compile(None, [simple_mul], ["cuda:sm_80", "cuda:sm_90"]).save(directory / "kernel.vmfb")


def _arrays() -> list[Any]:
    return [np.random.default_rng().random(N, np.float32) for _ in range(2)]


def _check(program: cd.Program) -> None:
    found = program.profile(*_arrays(), calls=5)
    order = ("hand-written", "generated", "copy")
    ours, theirs, *marks = sorted(found.kernels, key=lambda item: order.index(item.origin))
    assert all(mark.origin == "copy" for mark in marks), found  # of a graph: that it is done
    assert (ours.name, ours.origin, ours.launches) == ("simple_mul", "hand-written", 10), found
    assert (theirs.origin, theirs.launches) == ("generated", 5), found
    assert ours.floor.bytes == 3 * 4 * N, ours
    assert 0.1 < ours.floor_share < 2, ours  # 50 MB may be in a cache
    assert found.undisturbed_s > found.busy_s > 0, found
    parts = found.before_s + found.busy_s + found.idle_s + found.after_s
    assert abs(parts - found.recorded_s) < 1e-8, found
    print("\n".join(str(found).splitlines()[2:4]))


def a_stream_is_profiled(directory: Path) -> None:
    _check(cd.load(directory / "stream.vmfb", "cuda"))


def a_graph_is_profiled_again_and_again(directory: Path) -> None:
    program = cd.load(directory / "graph.vmfb", "cuda")
    for _ in range(2):
        _check(program)
    a, b = _arrays()
    np.testing.assert_allclose(program.step(a, b), (a * b + b) * b, rtol=1e-6)


def sizes_of_a_kernel_alone_are_those_of_the_call(directory: Path) -> None:
    found = cd.load(directory / "kernel.vmfb", "cuda").profile(
        *_arrays(), function="simple_mul", calls=2
    )
    assert found.kernels[0].floor.bytes == 3 * 4 * N, found


def a_call_that_is_refused_ends_the_recording(directory: Path) -> None:
    program = cd.load(directory / "stream.vmfb", "cuda")
    refusal = ""
    try:
        program.profile(_arrays()[0][:5], _arrays()[0])
    except CallError as error:
        refusal = str(error)
    assert "has size 5" in refusal, refusal
    _check(program)


def _command(directory: Path, *before: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path[:0] = sys.argv.pop().split(':'); "
    code += "from custom_dispatch.cli import main; sys.exit(main())"
    words = ["profile", str(directory / "graph.vmfb"), "--calls", "3", "--device", "cuda"]
    files = ["--html", str(directory / "p.html"), "--trace", str(directory / "t.json")]
    words += [*files, "--json", str(directory / "p.json")]
    command = [*before, sys.executable, "-c", code, *words, ":".join(sys.path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def the_command_writes_its_files(directory: Path) -> None:
    done = _command(directory)
    assert done.returncode == 0, done.stderr
    assert "simple_mul" in done.stdout, done.stdout
    events = json.loads((directory / "t.json").read_text())["traceEvents"]
    assert sum(event["name"] == "simple_mul" for event in events) == 6, events
    assert len(json.loads((directory / "p.json").read_text())["kernels"]) == 3
    assert "</html>" in (directory / "p.html").read_text()


def other_profilers_have_it_to_themselves(directory: Path) -> None:
    for tool in ("ncu", "compute-sanitizer"):
        if shutil.which(tool) is None:
            print(f"no {tool} here")
            continue
        done = _command(directory, tool, *(["--kernel-name", "none"] if tool == "ncu" else []))
        assert "CUPTI does not record" in done.stdout + done.stderr, done


CASES = [
    a_stream_is_profiled,
    a_graph_is_profiled_again_and_again,
    sizes_of_a_kernel_alone_are_those_of_the_call,
    a_call_that_is_refused_ends_the_recording,
    the_command_writes_its_files,
    other_profilers_have_it_to_themselves,
]


if __name__ == "__main__":
    sys.exit(build_or_run(__doc__, build, CASES))
