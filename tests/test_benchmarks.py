"""One way to run every benchmark, and a page that lists them all."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import HERE, names
from benchmarks.cases.language_functions import FACTOR, TESTS, passed
from benchmarks.cases.launches import cases, chosen
from benchmarks.cases.product_sizes import WIDTHS, drawn
from benchmarks.cpu.triton_tests import RULES, counted
from benchmarks.gpu.odd_inputs import SIZES, dims_of
from benchmarks.lib.drawn_tests import reason
from benchmarks.lib.size_rows import RANGES

PAGE = (HERE / "README.md").read_text(encoding="utf-8")


NAMES = names()


@pytest.mark.parametrize("name", NAMES)
def test_each_benchmark_can_be_run_by_its_name(name: str) -> None:
    tree = ast.parse((HERE / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))
    functions = [item.name for item in tree.body if isinstance(item, ast.FunctionDef)]
    assert "main" in functions
    assert NAMES[name].endswith(".")


def test_the_page_has_each_with_what_it_shows() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = {row.split("`")[1]: row for row in rows}
    assert list(listed) == list(NAMES)
    for name, shows in NAMES.items():
        assert shows in listed[name]
    results = {word for row in rows for word in row.split("`") if word.endswith((".json", ".txt"))}
    assert not [item for item in results if not (HERE / "results" / item).exists()]


def test_sizes_are_drawn_of_every_kind_and_none_that_a_table_has() -> None:
    sizes = drawn(3, 200)
    assert sizes == drawn(3, 200) != drawn(4, 200)
    assert len(sizes) == 250
    some = {(size.m, size.n, size.k) for size in sizes[:100]}
    assert not some & {(size.m, size.n, size.k) for size in drawn(3, 200, some)}
    for first, last in RANGES:
        assert sum(first <= size.m <= last for size in sizes) >= 15
    of = {size.of.rpartition(" ")[0] for size in sizes if size.of != "odd"}
    assert of == set(WIDTHS)
    assert all(size.n % 8 or size.k % 8 for size in sizes if size.of == "odd")


def test_tests_are_left_out_by_their_source_and_failures_have_reasons() -> None:
    assert not reason(RULES, "test_core.py", "def test(device): torch.empty(3, device=device)")
    assert not reason(RULES, "test_core.py", "torch.cuda.get_device_capability()")
    assert "makes tensors on a GPU" in reason(RULES, "test_core.py", 'torch.ones(2, device="cuda")')
    assert "needs more of PyTorch's GPU" in reason(RULES, "test_core.py", "torch.cuda.Stream()")
    assert "another compiler" in reason(RULES, "test_cutedsl_rope.py", "def test(): pass")
    told = (
        "E   custom_dispatch.errors.PtxError: Kernel `k` has 7 bytes.",
        "worker 'gw0' crashed while running 'a.py::test[3]'",
        "E   Mismatched elements: 1 / 7",
        "worker 'gw0' crashed while running 'a.py::test[3]'",
        "E   triton.CompilationError: at 3:4",
    )
    notes = [
        {"case": f"d/a.py::test[{i}]", "outcome": "failed", "told": t, "s": 100 * i}
        for i, t in enumerate(told)
    ]
    notes.append({"case": "d/a.py::test[9]", "outcome": "passed", "told": "", "s": 1})
    found = counted(notes, [{"test": "a.py::test", "cases": 12, "reason": ""}])
    assert found["passed of those that ran"] == 0.1667
    assert list(found["failures by reason"]) == [
        "PtxError: ... has ... bytes.",
        "the process ended",
        "other numbers than expected",
        "takes over 240 s",
        "CompilationError: triton.CompilationError: at 3:4",
    ]


@pytest.mark.thorough
def test_every_kernel_that_is_launched_has_odd_sizes() -> None:
    first = {subject.module: subject for subject in reversed(chosen()) if cases(subject)}
    assert len(first) >= 20
    for module, subject in first.items():
        found = {size for dims in dims_of(subject) for size in dims.values()}
        assert len(found & {*SIZES}) >= 3, module


def test_without_a_name_all_are_listed_and_a_wrong_one_is_refused() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=Path(HERE).parent)

    listed = run()
    assert listed.returncode == 0
    assert all(name in listed.stdout for name in names())
    refused = run("gpu.gem")
    assert refused.returncode == 2
    assert refused.stderr.startswith("There is no benchmark gpu.gem; one of: host.compile_time, ")
    usage = run("gpu.dispatch_chain", "--help")
    assert usage.stdout.startswith("usage: python -m benchmarks gpu.dispatch_chain ")


@pytest.mark.parametrize("language", ["numba", "warp", "cute", "tile"])
def test_own_launches_pass_what_the_languages_code_takes(language: str) -> None:
    array, row = (256, (3, 5)), (256, (3,))
    taken = {"scale_rows": (array, row, array), "row_sum": (array, row)}
    taken["saxpy"] = ((256, (7,)), (256, (7,)), (256, (7,)), FACTOR)
    for name, arguments in taken.items():
        file = "kernels" if language == "warp" else name
        text = (TESTS / "producers/ptx" / f"{language}_{file}.ptx").read_text(encoding="utf-8")
        text = text[re.search(rf"\.entry \w*{name}", text).start() :].partition("{")[0]
        declared = re.findall(r"\.param (?:\.align \d+ \.b8 \S+\[(\d+)\]|\.[usbf](\d+))", text)
        sizes = [int(array) if array else int(bits) // 8 for array, bits in declared]
        assert [len(each) for each in passed(language, arguments)] == sizes


def test_what_lies_between_kernels_is_a_program_of_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from benchmarks.gpu.between import Between

    lines = [
        ["v2", "torch.aten.mul.Scalar", ["v1", ["=", 2.0]]],  # of weights alone
        ["v3", "torch.aten.add.Tensor", ["v0", "v2", ["=", 1]]],
        [["v4", "v5"], "kernel", [["=", 0], "v3", ["=", None]]],
        ["v6", "torch.aten.reshape", ["v3", ["list", [["=", 6]]]]],
        ["v7", "torch.aten.to.dtype", ["v6", ["=", 4], *[["=", False]] * 2, ["=", None]]],
    ]
    said = {"arguments": ["v0"], "weights": {"v1": ["w", [3], "si64"]}, "lines": lines}
    said |= {"constant": ["v1", "v2"], "results": ["v4", "v5", "v7"]}
    said["kernels"] = [{"name": "k", "results": [[[2, 3], "f16"], [[4], "si64"]]}]
    (tmp_path / "m_between.json").write_text(json.dumps(said))
    np.savez(tmp_path / "m_between.npz", v1=np.arange(3).view(np.uint8))
    between = Between(tmp_path, "m", "cpu")
    (constant,) = between.constants
    assert constant.tolist() == [0, 2, 4]
    import torch

    first, second, third = between.main(torch.ones(2, 3), constant)
    assert (first.shape, first.dtype) == ((2, 3), torch.float16)
    assert second.tolist() == [0, 1, 2, 3]
    assert third.tolist() == [1, 3, 5, 1, 3, 5]
