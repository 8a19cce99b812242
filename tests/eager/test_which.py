"""`Choice.which`: it tells what calls and modules take, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels import gemm
from custom_dispatch.eager import call_choice
from custom_dispatch.eager.call_choice import choose
from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.ir.choice_dispatch import candidates, orders_of
from custom_dispatch.ir.tensor_types import Signature
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes, Result
from custom_dispatch.kernel.tuning_table import TuningTable
from custom_dispatch.runtime.driver import Device
from custom_dispatch.toolchain.tuned import digest_of, tuned

n = cd.dim("n")
SOURCE = "".join(
    f"""
extern "C" __global__ void k{value}(float* y, const float* x, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = {value};
}}
"""
    for value in (1, 2, 3)
)
SIZES = (1, 7, 8, 12, 64, 65, 100, 128, 1000, 1024)


def kernel(directory: Path, value: int, *, from_source: bool = True, **more: Any) -> cd.Kernel:
    return cd.Kernel(
        f"k{value}",
        source=directory / "k.cu" if from_source else None,
        operands=[cd.Out("y", "f32", [n]), cd.In("x", "f32", [n]), cd.Scalar("n", "i32", n)],
        block=64,
        grid=cd.ceildiv(n, 64),
        **more,
    )


@pytest.fixture
def required(tmp_path: Path) -> cd.Choice:
    (tmp_path / "k.cu").write_text(SOURCE)
    first = kernel(tmp_path, 1, requires=[n % 4 == 0, n <= 100])
    second = kernel(tmp_path, 2, requires=[n % 8 == 0])
    return cd.Choice("required", [first, second, kernel(tmp_path, 3)])


@pytest.fixture
def tabled(tmp_path: Path) -> cd.Choice:
    """Measured for this CPU and a GPU, where another is the fastest; on sm_80 one is other code."""
    (tmp_path / "k.cu").write_text(SOURCE)
    on_sm80 = {"cuda:sm_80": cd.Implementation(block=64)}
    kernels = [kernel(tmp_path, 1), kernel(tmp_path, 2, requires=[n % 4 == 0])]
    kernels.append(kernel(tmp_path, 3, implementations=on_sm80))
    choice = cd.Choice("tabled", kernels, tuning=tmp_path / "t.json", rules={"k1": [n >= 100]})
    results = {
        8: (Result("k1", 3e-6), Result("k2", 1e-6), Result("k3", 2e-6)),
        512: (Result("k1", 1e-6), Result("k2", None, "spills"), Result("k3", 1.5e-6)),
    }
    found = []
    for name, device in (("cpu:host", str(host_cpu())), ("cuda:sm_90a", "NVIDIA H200")):
        target = Target.parse(name)
        sizes = tuple(MeasuredSizes({"n": size}, items) for size, items in results.items())
        if target.is_cuda:  # the other way round
            sizes = tuple(
                replace(item, dims={"n": 4096 // item.dims["n"]}) for item in reversed(sizes)
            )
        digests = {item.name: digest_of(item, target) for item in kernels}
        found.append(Measured(target, device, "NVRTC", "2026-11-21", digests, sizes))
    (tmp_path / "t.json").write_text(TuningTable("tabled", tuple(found)).text())
    return choice


def in_model(choice: cd.Choice, target: Target, dims: dict[str, int]) -> str:
    """What linking takes for a function whose sizes are known."""
    first = choice.kernels[0]
    sizes = [
        tuple(evaluate(size, dims) for size in item.shape) if isinstance(item, Buffer) else ()
        for item in (*first.arguments, *first.outputs)
    ]
    count = len(first.arguments)
    signature = Signature(tuple(sizes[:count]), tuple(sizes[count:]))
    orders = orders_of(tuned(choice, [target]), dims, [target])
    ((found,),) = (order.kernels for order in candidates(choice.name, orders, signature))
    return found.name


def test_what_counts_was_measured_on_the_gpu_that_a_call_runs_on(
    tabled: cd.Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the call leaves it open which device that is."""
    here = {"cuda": Device("cuda", "NVIDIA H200", 90)}
    asked = []

    def tuned(choice: cd.Choice, _: object, device: str) -> cd.Choice:
        asked.append(device)
        return choice

    monkeypatch.setattr(call_choice, "kind_of_device", lambda *_: "cuda")
    monkeypatch.setattr(call_choice, "device_of", here.__getitem__)
    monkeypatch.setattr(call_choice, "targets_here", lambda *_: [Target.parse("cuda:sm_90a")])
    monkeypatch.setattr(call_choice, "tuned", tuned)
    choose(tabled, (numpy.zeros(8, numpy.float32),), {}, "auto")
    assert asked == ["NVIDIA H200"]


@pytest.mark.parametrize("name", ["required", "tabled"])
def test_it_tells_what_calls_and_modules_run(name: str, request: Any) -> None:
    choice: cd.Choice = request.getfixturevalue(name)
    taken = {}
    for size in SIZES:
        x = numpy.zeros(size, "f4")
        told = choice.which(n=size, target="cpu:host")
        taken[size] = told.kernel
        assert choose(choice, (x,), {}, "cpu").name == told.kernel
        assert f"k{int(choice.on('cpu')(x)[0])}" == told.kernel
        for target in ("cpu", "cpu:host", "cuda:sm_80", "cuda:sm_90a"):
            expected = in_model(choice, Target.parse(target), {"n": size})
            assert choice.which(n=size, target=target).kernel == expected
        assert told.dims == {"n": size}
        assert {told.kernel, *told.others} == {"k1", "k2", "k3"}
    assert len({*taken.values()}) == 3
    for size in (1, 12, 1000):
        kind = f"tensor<{size}xf32>"
        model = f"""
func.func private @{name}(%x: {kind}) -> {kind}
func.func @f(%x: {kind}) -> {kind} {{
  %y = call @{name}(%x) : ({kind}) -> {kind}
  return %y : {kind}
}}
"""
        program = cd.load(cd.compile(model, choice, "cpu:host"), device="cpu")
        assert f"k{int(program.f(numpy.zeros(size, 'f4'))[0])}" == taken[size]


@pytest.mark.filterwarnings("ignore::custom_dispatch.errors.TuningWarning")
@pytest.mark.parametrize(
    "choice",
    [
        gemm.linear_bf16,
        pytest.param(gemm.matmul_f16, marks=pytest.mark.thorough),
        pytest.param(gemm.batch_matmul_f32, marks=pytest.mark.thorough),
    ],
)
def test_it_tells_what_models_take_of_shipped_products(choice: cd.Choice) -> None:
    found = set()
    for target in ("cpu", "cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"):
        for size in ((1, 4096, 4096), (17, 4096, 4096), (4096, 28672, 4096), (33, 7, 5), (1, 1, 1)):
            dims = dict(zip(("batch", "n", "k"), size, strict=True))
            if any(dim.name == "m" for dim in choice.kernels[0].dims):
                dims |= {"batch": 3, "m": size[0]}
            expected = in_model(choice, Target.parse(target), dims)
            told = choice.which(target=target, **dims)
            assert told.kernel == expected
            assert {told.kernel, *told.others} == {item.name for item in choice.kernels}
            found.add(expected)
    assert len(found) > 2


def test_it_says_why(required: cd.Choice, tabled: cd.Choice) -> None:
    assert str(required.which(n=12, target="cpu")) == (
        "`required` for n=12 on cpu: `k1` is the first declared that takes them.\n"
        "  `k2` requires n % 8 == 0, which does not hold for n = 12.\n"
        "  `k3` takes them, too, and is declared later."
    )
    told = tabled.which(n=8, target="cpu:host")
    assert told.reason.startswith("was measured to be the best that takes them, on ")
    assert told.others == {
        "k1": "is expected to take 3.00 times as long",
        "k3": "is expected to take 2.00 times as long",
    }
    told = tabled.which(n=16, target="cuda:sm_90a")
    assert told.reason.startswith("is expected to be the best that takes them, with ")
    assert told.reason.endswith(" us, by what was measured on NVIDIA H200")
    assert told.others["k2"] == "has no time in the table: spills"
    told = tabled.which(n=8, target="cuda:sm_80")
    assert told.kernel == "k2"
    assert told.reason == (
        "is the first declared that takes them; nothing that counts was measured for cuda:sm_80"
    )
    rule = "takes them, but for its rule n >= 100, which does not hold for n = 8"
    assert told.others == {"k1": rule, "k3": "takes them, too, and is declared later"}
    told = tabled.which(n=100, target="cuda:sm_80")
    assert told.reason.startswith("is the first declared whose rule holds: n >= 100; nothing")


def test_types_and_objects_are_told_of(required: cd.Choice, tmp_path: Path) -> None:
    half = cd.Kernel(
        "half",
        source=tmp_path / "k.cu",
        operands=[cd.Out("y", "f16", [n]), cd.In("x", "f16", [n]), cd.Scalar("n", "i32", n)],
        block=64,
        grid=n,
    )
    built = kernel(tmp_path, 4, objects={"cuda:sm_80": tmp_path / "k.ptx"}, from_source=False)
    choice = cd.Choice("several", [built, half])
    told = choice.which(n=8, target="cuda:sm_80")
    assert told.reason == "is the first declared that takes them"
    assert told.others == {"half": "takes f16 for `x`, and `k4`, as which types are taken, f32"}
    told = choice.which(n=8, target="cuda:sm_90")
    assert told.reason.endswith("; it has no object for cuda:sm_90, so a build for that fails")


def test_without_a_target_it_tells_what_calls_here_take(tabled: cd.Choice) -> None:
    for size in SIZES:
        x = numpy.zeros(size, "f4")
        assert tabled.which(n=size).kernel == choose(tabled, (x,), {}, "auto").name


def test_questions_without_an_answer_are_explained(required: cd.Choice, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"n": 8, "m": 1}, "Choice `required` has no dim `m`."),
        ({}, "Choice `required` needs `n`."),
        ({"n": -1}, "Choice `required`: n is given as -1."),
        ({"n": 8.0}, "Choice `required`: n is given as 8.0."),
        ({"n": True}, "Choice `required`: n is given as True."),
    ]
    for dims, text in wrong:
        with pytest.raises(CallError) as caught:
            required.which(**dims)
        assert caught.value.found == text
        assert "n" in caught.value.expected
    with pytest.raises(DeclarationError, match="did you mean 'cuda:sm_90a'"):
        required.which(n=8, target="sm_90a")
    narrow = cd.Choice("narrow", list(required.kernels[:2]))
    with pytest.raises(CallError) as caught:
        narrow.which(n=7, target="cpu")
    assert caught.value.found == "No kernel of choice `narrow` takes these sizes."
    log = caught.value.log.splitlines()
    assert [line.partition(",")[0] for line in log] == [
        "Kernel `k1` requires n % 4 == 0",
        "Kernel `k2` requires n % 8 == 0",
    ]
