"""A table is for one target, and others with the same code; elsewhere another kernel of the choice
runs, from the same file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.frontends.mlir import link
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.ir.executable import embedded
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel, predicted
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import TuningTable
from custom_dispatch.toolchain.tuned import digest_of

SM_90A, SM_80, HOST = (
    Target.parse("cuda:sm_90a"),
    Target.parse("cuda:sm_80"),
    Target("cpu", cpu="host"),
)
n = cd.dim("n")
# What each kernel multiplies by says which one it was.
NAMES = {"twofold": 2, "threefold": 3, "fourfold": 4}
SOURCE = """
extern "C" __global__ void scaled({parameters}) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * {factor};
}}
"""


def kernel(directory: Path, name: str, *, reversed_signature: bool = False) -> cd.Kernel:
    parameters = ["const float* x", "float* y", "int n"]
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)]
    if reversed_signature:
        operands[0], operands[1] = operands[1], operands[0]
        parameters[0], parameters[1] = parameters[1], parameters[0]
        operands.append(cd.Scalar("m", "i32", n + 1))
        parameters.append("int")
    # Sources of their own, as tiles and warpgroups have: so are their executables.
    source = directory / f"{name}_{reversed_signature}.cu"
    source.write_text(SOURCE.format(parameters=", ".join(parameters), factor=NAMES[name]))
    return cd.Kernel(
        name,
        source=source,
        entry="scaled",
        operands=operands,
        block=64,
        grid=cd.ceildiv(n, 64),
        implementations={"cuda:sm_80": cd.Implementation(block=64)},  # so other code
    )


def choice(directory: Path, *best: tuple[Target, dict[int, str]], reverse: str = "") -> cd.Choice:
    """Three kernels, and a table that says which is the best for which sizes on a target."""
    kernels = [kernel(directory, name, reversed_signature=name == reverse) for name in NAMES]
    found = cd.Choice("scaled", kernels, tuning=directory / "scaled.tuning.json")
    measured = []
    for target, sizes in best:
        few, *many = dict.fromkeys(sizes.values())
        # The second is the best from 129 elements on.
        models = {name: TimeModel(1, {"launch": 1e-4}) for name in NAMES}
        models[few] = TimeModel(1, {"launch": 1e-6, "byte": 1e-8})
        models |= {name: TimeModel(1, {"launch": 1e-6 + 128.5 * 8e-8}) for name in many}
        rows = tuple(
            MeasuredSizes(
                {"n": size},
                tuple(
                    Result(each.name, predicted(each, target, models[each.name], {"n": size}))
                    for each in kernels
                ),
            )
            for size in sizes
        )
        digests = {item.name: digest_of(item, target) for item in kernels}
        about = target, str(host_cpu()), "NVRTC", "2026-11-21"
        measured.append(Measured(*about, digests, rows, models=models))
    (directory / "scaled.tuning.json").write_text(TuningTable("scaled", tuple(measured)).text())
    return found


def model(size: str) -> str:
    kind = f"tensor<{size}xf32>"
    return f"""
      func.func private @scaled({kind}) -> {kind}
      func.func @main(%x: {kind}) -> {kind} {{
        %0 = call @scaled(%x) : ({kind}) -> {kind}
        return %0 : {kind}
      }}"""


def dispatches(made: cd.Choice, size: str, *targets: Target) -> list[str]:
    """The dispatches of a call without checks."""
    text = link(model(size), cd.build(made, targets), embedded).text
    symbol = "custom_dispatch_unchecked_scaled" if size == "?" else "scaled"
    start = text.index(f"func.func private @{symbol}(")
    return re.findall(
        r"flow\.dispatch (\{?@.*?\}?)[\[(]", text[start : text.index("return", start)]
    )


def run(made: cd.Choice, size: str, *targets: Target, of: int) -> float:
    program = cd.load(cd.compile(model(size), made, targets), "cpu")
    result: Any = program.main(np.ones(of, np.float32))
    assert (result == result[0]).all()
    return float(result[0])


def named(points: str, target: str) -> list[str]:
    """The kernels that a dispatch names for a target, the one that runs first."""
    return re.findall(rf"@custom_dispatch_(\w+?)_False::@{target}::", points)


def test_each_target_has_its_own_kernel_in_one_dispatch(tmp_path: Path) -> None:
    made = choice(tmp_path, (SM_90A, {64: "threefold"}), (HOST, {64: "fourfold"}))
    (points,) = dispatches(made, "64", SM_90A, SM_80, HOST)
    assert named(points, "sm_90a")[0] == "threefold"
    assert named(points, "sm_80")[0] == "twofold"  # no table: the declared order
    assert named(points, "cpu_host" if "@cpu_host" in points else "cpu")[0] == "fourfold"
    assert run(made, "64", SM_90A, SM_80, HOST, of=64) == 4
    with pytest.warns(cd.errors.TuningWarning, match="cpu:host"):  # the same hardware
        assert run(made, "64", SM_90A, SM_80, Target.parse("cpu"), of=64) == 4


def test_open_sizes_are_compared_with_each_targets_own_table(tmp_path: Path) -> None:
    made = choice(
        tmp_path,
        (SM_90A, {16: "twofold", 1024: "threefold"}),
        (HOST, {64: "fourfold", 256: "threefold"}),
    )
    found = dispatches(made, "?", SM_90A, SM_80, HOST)
    assert len(found) == 2  # as many as one target has to choose from
    assert [run(made, "?", SM_90A, SM_80, HOST, of=size) for size in (128, 129)] == [4, 3]
    assert [run(made, "?", SM_90A, SM_80, Target.parse("cpu"), of=size) for size in (8, 2048)] == [
        4,
        3,
    ]


def test_for_one_target_nothing_is_added(tmp_path: Path) -> None:
    made = choice(tmp_path, (SM_90A, {16: "twofold", 1024: "threefold"}), (HOST, {64: "fourfold"}))
    assert len(dispatches(made, "64", SM_90A)) == 1
    assert len(dispatches(made, "64", SM_80)) == 1
    open_sizes = dispatches(made, "?", SM_90A)
    assert [named(points, "sm_90a") for points in open_sizes] == [["twofold"], ["threefold"]]
    assert len(dispatches(made, "?", SM_80)) == 1
    text = link(model("64"), cd.build(made, [SM_90A]), embedded).text
    assert "shrui" not in text  # a number that says for which targets needs several


def test_kernels_that_take_other_operands_have_dispatches_of_their_own(tmp_path: Path) -> None:
    made = choice(tmp_path, (HOST, {64: "fourfold"}), reverse="fourfold")
    assert len(dispatches(made, "64", SM_80, HOST)) == 2
    assert len(dispatches(made, "64", HOST)) == 1
    assert run(made, "64", SM_80, HOST, of=64) == 4
    assert run(made, "?", SM_80, HOST, of=7) == 4
    assert run(made, "64", SM_80, Target.parse("cpu"), of=64) == 4


def test_only_what_some_target_takes_is_built(tmp_path: Path) -> None:
    made = choice(tmp_path, (SM_90A, {64: "threefold"}))
    names = {
        targets: [item.name for item in cd.build(made, targets).kernels]
        for targets in ((SM_90A,), (SM_80,), (SM_90A, SM_80))
    }
    assert names == {
        (SM_90A,): ["threefold"],
        (SM_80,): ["twofold", "threefold", "fourfold"],
        (SM_90A, SM_80): ["twofold", "threefold"],
    }


def test_kernels_of_a_module_may_differ_on_one_target_alone(tmp_path: Path) -> None:
    whole = kernel(tmp_path, "twofold")
    kernels = [
        cd.Kernel(
            f"by_{block}",
            source=whole.source,
            entry="scaled",
            operands=whole.operands,
            block=64,
            grid=whole.grid,
            requires=[n % 128 == 0] if block == 128 else [],
            implementations={
                "cuda:sm_80": cd.Implementation(block=block, grid=cd.ceildiv(n, block))
            },
        )
        for block in (128, 256)
    ]
    made = cd.Choice("scaled", kernels)
    program = cd.load(cd.compile(None, made, [SM_80, SM_90A, HOST]), "cpu")
    assert program.scaled(np.ones(9, np.float32))[0] == 2


@pytest.mark.parametrize("asynchronous", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_module_of_kernels_alone_chooses_for_its_target_too(
    tmp_path: Path, asynchronous: bool
) -> None:
    made = choice(tmp_path, (SM_90A, {64: "threefold"}), (HOST, {64: "fourfold"}))
    module = cd.compile(None, made, [SM_90A, SM_80, HOST], asynchronous=asynchronous)
    assert cd.load(module, "cpu").scaled(np.ones(9, np.float32))[0] == 4
