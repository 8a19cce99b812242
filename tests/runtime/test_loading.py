"""Loading modules: which device, and what is said when none will do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.cli import main
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import CallError, DeviceError, ModuleFileError
from custom_dispatch.ir.compiler_tool import compile_mlir
from custom_dispatch.runtime import device, device_choice, program
from custom_dispatch.runtime.device_choice import choose_device
from custom_dispatch.runtime.driver import Device, DriverState
from custom_dispatch.runtime.module_file import ModuleFile

H200 = DriverState((Device("cuda", "NVIDIA H200", 90, 141 << 30),), (13, 0), "")
NO_DRIVER = DriverState((), None, "No NVIDIA driver is installed: libcuda.so.1 was not found.")


@pytest.fixture
def driver_answers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the driver answer something else; nothing is run on the device it shows."""

    def answer(state: DriverState) -> None:
        for room in (device, device_choice):
            monkeypatch.setattr(room, "driver_state", lambda: state)

    return answer


def file_for(*targets: str) -> ModuleFile:
    return ModuleFile(cd.compile(None, [simple_mul], targets).bytes, label="`model.vmfb`")


def chosen(file: ModuleFile, wanted: str = "auto") -> tuple[str, str]:
    found = choose_device(wanted, file.label, file.manifest)
    return found.device.kind, found.reason


def test_auto_takes_the_gpu_when_the_module_holds_something_for_it(driver_answers: Any) -> None:
    driver_answers(H200)
    assert chosen(file_for("cuda:sm_80", "cuda:sm_90", "cpu")) == ("cuda", "objects for cuda:sm_90")
    assert chosen(file_for("cuda:sm_80", "cpu")) == ("cuda", "objects for cuda:sm_80")


def test_auto_takes_the_cpu_otherwise_and_says_why(driver_answers: Any) -> None:
    driver_answers(H200)
    kind, reason = chosen(file_for("cuda:sm_100", "cpu"))
    assert kind == "cpu"
    assert "holds objects for sm_100, and this GPU (NVIDIA H200) is sm_90" in reason
    kind, reason = chosen(file_for("cpu"))
    assert kind == "cpu"
    assert "holds no object for a GPU" in reason
    driver_answers(NO_DRIVER)
    assert chosen(file_for("cuda:sm_80", "cpu")) == ("cpu", NO_DRIVER.problem)


def test_a_gpu_without_an_object_is_named_with_both_architectures(driver_answers: Any) -> None:
    driver_answers(H200)
    with pytest.raises(DeviceError) as caught:
        chosen(file_for("cuda:sm_100"), "cuda")
    assert str(caught.value) == (
        "`model.vmfb` holds objects for sm_100, and this GPU (NVIDIA H200) is sm_90. Compile it "
        "with the target cuda:sm_90 or an earlier one."
    )


def test_code_for_a_cpu_of_another_architecture_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = file_for("cpu:aarch64")
    assert file.manifest is not None
    assert file.manifest.cpu_architecture == "aarch64"
    monkeypatch.setattr(device_choice, "host_architecture", lambda: "x86_64")
    with pytest.raises(DeviceError) as caught:
        chosen(file, "cpu")
    assert str(caught.value) == (
        "`model.vmfb` holds code for aarch64 CPUs, and this machine's is x86_64. Compile it on "
        "such a machine, or with the target cpu:x86-64."
    )
    file = file_for("cpu:x86-64-v3")
    assert chosen(file, "cpu") == ("cpu", "asked for")
    monkeypatch.setattr(device_choice, "host_architecture", lambda: "aarch64")
    with pytest.raises(DeviceError, match=r"holds code for x86_64 CPUs.*the target cpu:aarch64"):
        chosen(file, "auto")


def test_code_for_one_chip_is_not_taken_for_another(driver_answers: Any) -> None:
    driver_answers(DriverState((Device("cuda", "NVIDIA B200", 100, 1 << 37),), (13, 0), ""))
    with pytest.raises(DeviceError, match="holds objects for sm_90a, and this GPU"):
        chosen(file_for("cuda:sm_90a"), "cuda")


def test_a_driver_too_old_for_the_ptx_is_named_with_both_versions(driver_answers: Any) -> None:
    driver_answers(DriverState(H200.gpus, (12, 4), "", "550.54.15"))
    with pytest.raises(DeviceError) as caught:
        chosen(file_for("cuda:sm_80"), "cuda")
    assert str(caught.value) == (
        "`model.vmfb` holds PTX 9.0, and this driver (550.54.15, CUDA 12.4) reads PTX up to 8.4. "
        "Update it to CUDA 13.0, or build with --ptx-version 8.4 or --image cubin."
    )


def test_ptx_that_a_driver_refuses_is_explained_though_the_module_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = DriverState(H200.gpus, (12, 4), "", "550.54.15")
    monkeypatch.setattr(program, "driver_state", lambda: state)
    text = "INTERNAL; CUDA driver error 'CUDA_ERROR_UNSUPPORTED_PTX_VERSION' (222): ..."
    error = program._cannot_load("the module", device.devices()[-1], RuntimeError(text))
    assert error.found == (
        "The module holds PTX that is newer than this driver (550.54.15, CUDA 12.4), which reads "
        "PTX up to 8.4."
    )
    assert error.next_step.startswith("update the driver, or build with --ptx-version")
    assert error.log == text


def test_a_driver_newer_than_this_package_is_trusted(driver_answers: Any) -> None:
    driver_answers(DriverState(H200.gpus, (14, 2), ""))
    assert chosen(file_for("cuda:sm_80"), "cuda")[0] == "cuda"


def test_a_file_for_gpus_alone_says_what_it_holds_and_what_is_missing(driver_answers: Any) -> None:
    driver_answers(NO_DRIVER)
    file = file_for("cuda:sm_90")
    with pytest.raises(DeviceError, match="compile it with the target cpu as well"):
        chosen(file, "cpu")
    with pytest.raises(DeviceError) as caught:
        chosen(file)
    assert "`model.vmfb` runs on no device here." in str(caught.value)
    assert NO_DRIVER.problem in str(caught.value)


def test_the_cpu_is_always_there() -> None:
    assert cd.devices()[-1].kind == "cpu"
    assert cd.why_not("cpu") is None
    with pytest.raises(DeviceError, match="'tpu' is not a device"):
        cd.why_not("tpu")


def test_a_module_knows_what_was_built_in(mixed: CompiledModule) -> None:
    manifest = cd.load(mixed, "cpu").manifest
    assert manifest is not None
    assert manifest.kernels == ("simple_mul", "simple_mul_inplace")
    assert [str(target) for target in manifest.targets] == ["cuda:sm_90", "cuda:sm_80", "cpu"]
    assert [item.file for item in manifest.objects] == [
        "simple_mul_sm_90.ptx",
        "simple_mul_sm_80.ptx",
    ]


def test_one_file_holds_the_code_for_every_target(mixed: CompiledModule) -> None:
    content = mixed.bytes
    assert content.count(b".entry simple_mul(") == 2
    assert b".target sm_90" in content
    assert b".target sm_80" in content
    assert content.count(b"\x7fELF") == 2  # the kernels' CPU half, and that of the compiler's addf


@pytest.fixture(scope="module")
def foreign() -> bytes:
    """What plain iree-compile makes for the CPU, without this package."""
    source = b"""func.func @twice(%a: tensor<?xf32>) -> tensor<?xf32> {
      %0 = arith.addf %a, %a : tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
    ]
    return compile_mlir(source, flags)


def test_a_foreign_module_loads_too(foreign: bytes) -> None:
    program = cd.load(foreign, "cpu")
    assert program.manifest is None
    np.testing.assert_array_equal(program.twice(np.ones(3, np.float32)), np.full(3, 2))


def test_auto_takes_the_cpu_for_a_foreign_module_that_a_gpu_does_not_run(
    driver_answers: Any, foreign: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver_answers(H200)
    assert chosen(ModuleFile(foreign)) == ("cuda", "the module does not say what it holds")
    here = device.hal_device("cpu")

    def open_device(kind: str, *, graphs: bool) -> Any:
        assert not graphs
        if kind == "cuda":  # as IREE's answer to a module for the CPU is
            raise DeviceError("The module was compiled for other kinds of device than cuda.")
        return here

    monkeypatch.setattr(program, "hal_device", open_device)
    loaded = cd.load(foreign)
    assert loaded.device.kind == "cpu"
    assert loaded.device_reason == "The module was compiled for other kinds of device than cuda."
    with pytest.raises(DeviceError, match="other kinds of device than cuda"):
        cd.load(foreign, "cuda")


def test_auto_does_not_hide_that_a_module_for_this_gpu_fails_to_load(
    driver_answers: Any, mixed: CompiledModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver_answers(H200)

    def open_device(kind: str, *, graphs: bool) -> Any:
        assert not graphs
        raise DeviceError(f"IREE could not open the device {kind}.")

    monkeypatch.setattr(program, "hal_device", open_device)
    with pytest.raises(DeviceError, match="could not open the device cuda"):
        cd.load(mixed)


def test_the_reason_for_a_device_that_was_asked_for(
    driver_answers: Any, mixed: CompiledModule
) -> None:
    assert cd.load(mixed, "cpu").device_reason == "asked for"
    driver_answers(H200)
    assert chosen(ModuleFile(mixed.bytes), "cpu") == ("cpu", "asked for")
    assert chosen(ModuleFile(mixed.bytes), "cuda") == ("cuda", "objects for cuda:sm_90")


def test_of_several_gpus_the_first_is_used_and_others_where_they_are_named(
    driver_answers: Any,
) -> None:
    first = Device("cuda", "NVIDIA A100", 80, 80 << 30)
    gpus = (first, Device("cuda", "NVIDIA H200", 90, 141 << 30, 1))
    driver_answers(DriverState(gpus, (13, 0), ""))
    assert [(item.kind, item.index) for item in cd.devices()] == [
        ("cuda", 0),
        ("cuda", 1),
        ("cpu", 0),
    ]
    with pytest.raises(DeviceError, match=r"this GPU \(NVIDIA A100\) is sm_80"):
        chosen(file_for("cuda:sm_90"), "cuda")
    assert chosen(file_for("cuda:sm_90"), "cuda:1") == ("cuda", "objects for cuda:sm_90")
    assert chosen(file_for("cuda:sm_80"), "cuda:0") == ("cuda", "objects for cuda:sm_80")
    file = file_for("cuda:sm_80", "cuda:sm_90", "cpu")
    assert [chosen(file, name)[1][-5:] for name in ("auto", "cuda", "cuda:1")] == [
        "sm_80",
        "sm_80",
        "sm_90",
    ]
    assert cd.why_not("cuda:1") is None
    said = (
        "There is no cuda:2: this process is shown 2 GPUs (NVIDIA A100, NVIDIA H200), from cuda:0 "
        "on. Choose one of these, or change CUDA_VISIBLE_DEVICES."
    )
    assert cd.why_not("cuda:2") == said
    with pytest.raises(DeviceError) as caught:
        chosen(file, "cuda:2")
    assert str(caught.value) == said
    driver_answers(NO_DRIVER)
    assert cd.why_not("cuda:2") == NO_DRIVER.problem


@pytest.mark.parametrize(
    "name",
    ["cuda:", "cuda:-1", "cuda:x", "cuda:01", "cuda:99999999999", "cuda:1\n", "CUDA:1", "gpu"],
)
def test_a_name_of_a_device_is_read_in_one_way(name: str, mixed: CompiledModule) -> None:
    said = (
        f"{name!r} is not a device.\n"
        "  expected: auto or cuda or cuda:N (GPUs count from 0) or cpu\n"
        "  next step: choose one of these; cd.devices() lists what is here."
    )
    for ask in (cd.why_not, lambda name: cd.load(mixed, name)):
        with pytest.raises(DeviceError) as caught:
            ask(name)
        assert str(caught.value) == said
    with pytest.raises(DeviceError, match="is not a device"):
        simple_mul.on(name)(1, 2)
    for command in ("run", "bench", "check", "tune"):
        assert main([command, "nothing.py", "--device", name]) == 2


def test_a_target_is_no_device_and_is_told_so() -> None:
    with pytest.raises(DeviceError) as caught:
        cd.why_not("cuda:sm_90a")
    assert str(caught.value) == (
        "'cuda:sm_90a' is a target, for which code is built, and not a device.\n"
        "  expected: auto or cuda or cuda:N (GPUs count from 0) or cpu\n"
        '  next step: choose "cuda"; targets are given as targets=["cuda:sm_90a"].'
    )
    with pytest.raises(DeviceError, match='choose "cpu"; targets are given'):
        cd.why_not("cpu:x86-64-v3")


def test_devices_of_pytorch_are_names_too(driver_answers: Any, mixed: CompiledModule) -> None:
    import torch

    driver_answers(NO_DRIVER)
    assert cd.load(mixed, torch.device("cpu")).device.kind == "cpu"  # type: ignore[arg-type]
    for name in ("cuda", "cuda:1"):
        assert cd.why_not(torch.device(name)) == NO_DRIVER.problem  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match=r"device\(type='meta'\) is not a device"):
        cd.why_not(torch.device("meta"))  # type: ignore[arg-type]


def test_an_unknown_function_is_answered_with_those_there_are(mixed: CompiledModule) -> None:
    program = cd.load(mixed, "cpu")
    with pytest.raises(CallError, match="expected: one of mixed_invocation"):
        program.function("main")
    with pytest.raises(AttributeError, match="it has: mixed_invocation"):
        program.main  # noqa: B018


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is not a module that this IREE runtime reads"),
        (b"not a module", "is not a module that this IREE runtime reads"),
        (b"PK\x03\x04 and then nothing", "is damaged"),
    ],
)
def test_a_file_that_is_no_module_is_refused(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "model.vmfb"
    path.write_bytes(content)
    with pytest.raises(ModuleFileError) as caught:
        cd.load(path)
    assert f"`model.vmfb` {part}" in str(caught.value)
    assert "next step: " in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModuleFileError, match=r"nothing\.vmfb` does not exist"):
        cd.load(tmp_path / "nothing.vmfb")


_DAMAGE = """
import random, sys
import numpy as np
import custom_dispatch as cd
content = open(sys.argv[1], "rb").read()
random.seed(int(sys.argv[2]))
two, four = np.full(8, 2, np.float32), np.full(8, 4, np.float32)
refused = 0
for _ in range(400):
    damaged = bytearray(content)
    for _ in range(random.choice([1, 1, 3])):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    try:
        result = cd.load(bytes(damaged), "cpu").mixed_invocation(two, four)
        assert (result == 96).all(), result
    except cd.CustomDispatchError:
        refused += 1
print(refused)
"""


@pytest.mark.parametrize("seed", [0, 1182487974])  # the second once ended in an OverflowError
def test_a_damaged_file_is_refused_or_runs_as_it_should(
    mixed: CompiledModule, tmp_path: Path, seed: int
) -> None:
    """In a process of its own: without the check IREE crashes on such files."""
    path = mixed.save(tmp_path / "model.vmfb")
    command = [sys.executable, "-c", _DAMAGE, str(path), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command[-1], done.stderr[-2000:])
    assert int(done.stdout) > 300


def test_a_truncated_file_is_refused(mixed: CompiledModule) -> None:
    for length in range(0, len(mixed.bytes) - 1, 997):
        with pytest.raises(ModuleFileError):
            cd.load(mixed.bytes[:length])


def test_what_runs_a_module_loads_nothing_that_makes_one(
    mixed: CompiledModule, tmp_path: Path
) -> None:
    path = mixed.save(tmp_path / "model.vmfb")
    code = (
        "import sys, numpy as np, custom_dispatch as cd\n"
        "program = cd.load(sys.argv[1], 'cpu')\n"
        "program.mixed_invocation(np.ones(4, np.float32), np.ones(4, np.float32))\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    rooms = ("compilation", "cpu", "eager", "frontends", "ir", "ptx", "store", "toolchain")
    assert not loaded & {"iree.compiler", "cuda", "asyncio", "numpy.ma", "importlib.metadata"}
    assert not loaded & {f"custom_dispatch.{room}" for room in rooms}
    assert sum(name.startswith("custom_dispatch") for name in loaded) <= 33
