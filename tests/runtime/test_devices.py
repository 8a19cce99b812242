"""What is said of devices, from what drivers answer; on a real GPU: tests/gpu/devices.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch import host_cpu
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import DeviceError, ModuleFileError
from custom_dispatch.runtime import device, device_choice, driver
from custom_dispatch.runtime.device_choice import newest_ptx
from custom_dispatch.runtime.driver import Device, DriverState, Hardware, driver_state

NOTHING = Hardware("", ())
ONE_H200 = Hardware("580.159.04", ("NVIDIA H200",))


class FakeCuda:
    """A CUDA driver's library that answers `cuInit` with an error."""

    def __init__(self, status: int, name: bytes) -> None:
        self._status, self._name = status, name

    def cuInit(self, _: int) -> int:  # noqa: N802 - the driver's name
        return self._status

    def cuDriverGetVersion(self, number: Any) -> int:  # noqa: N802
        number._obj.value = 13000
        return 0

    def cuGetErrorName(self, _: int, name: Any) -> int:  # noqa: N802
        name._obj.value = self._name
        return 0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask a driver that answers as given, on a machine with that hardware."""

    def asked(answer: FakeCuda | None, present: Hardware, visible: str | None) -> DriverState:
        def load(_: str) -> FakeCuda:
            if answer is None:
                raise OSError
            return answer

        monkeypatch.setattr(driver.ctypes, "CDLL", load)
        monkeypatch.setattr(driver, "hardware", lambda: present)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return driver_state.__wrapped__()

    return asked


NO_DEVICE = FakeCuda(100, b"CUDA_ERROR_NO_DEVICE")


@pytest.mark.parametrize(
    ("answer", "present", "visible", "problem"),
    [
        (
            None,
            NOTHING,
            None,
            "No NVIDIA driver is installed: libcuda.so.1 was not found. Install the driver (580 or "
            "later for objects of the CUDA 13.0 compilers), or use the CPU.",
        ),
        (
            None,
            ONE_H200,
            None,
            "The NVIDIA driver 580.159.04 is loaded on this machine, but its library libcuda.so.1 "
            "was not found. Start a container with `--gpus all` (NVIDIA Container Toolkit), or "
            "install the driver's libraries; or use the CPU.",
        ),
        (
            NO_DEVICE,
            ONE_H200,
            "",
            "The NVIDIA driver shows no GPU to this process, though this machine has 1 GPU (NVIDIA "
            "H200): CUDA_VISIBLE_DEVICES is ''. Unset it, or set it to the index of a GPU.",
        ),
        (
            NO_DEVICE,
            NOTHING,
            "-1",
            "The NVIDIA driver shows no GPU to this process: CUDA_VISIBLE_DEVICES is '-1'. Unset "
            "it, or set it to the index of a GPU.",
        ),
        (
            NO_DEVICE,
            Hardware("580.159.04", ("NVIDIA H200", "NVIDIA H200")),
            None,
            "The NVIDIA driver shows no GPU to this process, though this machine has 2 GPUs "
            "(NVIDIA H200, NVIDIA H200). Check that it may open /dev/nvidia*; start a container "
            "with `--gpus all`.",
        ),
        (
            NO_DEVICE,
            NOTHING,
            None,
            "An NVIDIA driver is installed, but it found no GPU. Check with nvidia-smi.",
        ),
        (
            FakeCuda(803, b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
            ONE_H200,
            None,
            "The NVIDIA driver could not be initialised: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH. The "
            "driver's library and kernel module are of different versions; restart the machine, as "
            "after every update of the driver.",
        ),
        (
            FakeCuda(999, b"CUDA_ERROR_UNKNOWN"),
            ONE_H200,
            None,
            "The NVIDIA driver could not be initialised: CUDA_ERROR_UNKNOWN. Check it with "
            "nvidia-smi; a restart is needed after the driver was updated.",
        ),
    ],
)
def test_each_reason_has_its_own_sentence(
    machine: Any, answer: FakeCuda | None, present: Hardware, visible: str | None, problem: str
) -> None:
    state = machine(answer, present, visible)
    assert state.problem == problem
    assert state.gpus == ()
    assert state.driver_version == present.driver_version


def test_the_driver_is_described_by_both_its_versions(machine: Any) -> None:
    assert machine(NO_DEVICE, ONE_H200, None).description == "580.159.04, CUDA 13.0"
    assert machine(NO_DEVICE, NOTHING, None).description == "CUDA 13.0"
    assert machine(None, NOTHING, None).description == ""


@pytest.mark.parametrize(
    ("line", "version"),
    [
        # The first is of the proprietary module, the second of the open one.
        ("NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024", "550.54.15"),
        (
            "NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder)",
            "580.159.04",
        ),
        ("something else", ""),
    ],
)
def test_the_kernel_module_tells_version_and_gpus(tmp_path: Path, line: str, version: str) -> None:
    (tmp_path / "version").write_text(f"NVRM version: {line}\nGCC version:  gcc 12.2.0\n")
    for address in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / "gpus" / address).mkdir(parents=True)
    information = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n"
    (tmp_path / "gpus" / "0000:01:00.0" / "information").write_text(information)
    (tmp_path / "gpus" / "0000:02:00.0" / "information").write_text("\xff\n", encoding="latin-1")
    found = driver._from_kernel_module(tmp_path)
    assert found == Hardware(version, ("NVIDIA H200", "a GPU"))
    assert driver._from_kernel_module(tmp_path / "nothing") == NOTHING


def test_a_runtime_without_irees_cuda_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cuda" in device.iree_drivers()
    monkeypatch.setattr(device, "driver_state", lambda: DriverState((), (13, 0), ""))
    assert cd.why_not("cuda") is None
    monkeypatch.setattr(device, "iree_drivers", lambda: ("local-sync", "local-task"))
    problem = device._without_driver.__wrapped__()
    assert problem == (
        "The IREE runtime that is installed was built without its CUDA driver: it has local-sync, "
        "local-task. Install iree-base-runtime from PyPI, or build IREE with "
        "-DIREE_HAL_DRIVER_CUDA=ON."
    )
    monkeypatch.setattr(device, "_without_driver", lambda: problem)
    assert cd.why_not("cuda") == problem
    with pytest.raises(DeviceError, match="built without its CUDA driver"):
        device.hal_device.__wrapped__("cuda")


def test_why_not_answers_for_a_module(tmp_path: Path, mixed: CompiledModule) -> None:
    assert cd.why_not("cpu", mixed) is None
    assert cd.why_not("cpu", mixed.save(tmp_path / "mixed.vmfb")) is None
    only_cpu = cd.compile(None, simple_mul, ["cpu"])
    assert cd.why_not("cuda", only_cpu.bytes) == (
        "The module holds no object for a GPU; compile it with a target cuda:sm_XX."
    )
    only_gpu = cd.compile(None, simple_mul, ["cuda:sm_90"]).save(tmp_path / "gpu.vmfb")
    assert cd.why_not("cpu", only_gpu) == (
        "`gpu.vmfb` holds objects for cuda:sm_90 only; compile it with the target cpu as well."
    )
    with pytest.raises(ModuleFileError, match="does not exist"):
        cd.why_not("cuda", tmp_path / "nothing.vmfb")


@pytest.mark.parametrize(
    ("cuda", "ptx"),
    [
        ((10, 2), (0, 0)),
        ((11, 4), (7, 4)),
        ((12, 5), (8, 5)),
        ((12, 6), (8, 5)),  # brought no new PTX
        ((12, 7), (8, 6)),
        ((12, 9), (8, 8)),
        ((13, 0), (9, 0)),
        ((13, 4), (9, 4)),
        ((13, 5), None),
        ((14, 0), None),
    ],
)
def test_a_driver_reads_the_ptx_of_its_cuda_version(
    cuda: tuple[int, int], ptx: tuple[int, int] | None
) -> None:
    assert newest_ptx(cuda) == ptx


def test_the_cpu_is_described_by_the_targets_it_runs() -> None:
    levels = host_cpu._features()["levels"]
    v3 = {*levels["x86-64-v2"], *levels["x86-64-v3"]}
    assert host_cpu._level("x86_64", []) == "x86-64"
    assert host_cpu._level("x86_64", v3) == "x86-64-v3"
    assert host_cpu._level("x86_64", v3 - {"ssse3"}) == "x86-64"
    assert host_cpu._level("aarch64", ["asimd"]) == "aarch64"
    assert host_cpu.host_cpu().cores >= 1
    assert str(cd.devices()[-1]) == f"cpu ({host_cpu.host_cpu()})"


def test_the_level_of_this_machine_is_one_that_runs_here() -> None:
    level = host_cpu.host_cpu().level
    module = cd.compile(None, simple_mul, [f"cpu:{level}"])
    two = np.full(8, 2, np.float32)
    assert (cd.load(module, "cpu").simple_mul(two, two) == 4).all()


def test_doctor_tells_of_gpus_that_are_hidden_or_not_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from custom_dispatch.cli import doctor, main

    gpus = tuple(Device("cuda", "NVIDIA H200", 90, 140 << 30, index) for index in range(2))
    state = DriverState(gpus, (13, 0), "", "580.159.04")
    for room in (doctor, device):
        monkeypatch.setattr(room, "driver_state", lambda: state)
    present = Hardware("580.159.04", ("NVIDIA H200",) * 3)
    monkeypatch.setattr(doctor, "hardware", lambda: present)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    assert main(["doctor"]) == 0
    rows = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    gpu = "cuda cuda (NVIDIA H200, sm_90, 140 GiB)"
    assert "NVIDIA driver 580.159.04, CUDA 13.0 reads PTX up to 9.0" in rows
    assert (
        f"{gpu} this machine has 3 GPUs (NVIDIA H200, NVIDIA H200, NVIDIA H200); "
        "CUDA_VISIBLE_DEVICES is '1,2'" in rows
    )
    second = "cuda:1 cuda:1 (NVIDIA H200, sm_90, 140 GiB)"
    assert f'{second} taken where it is named, device="cuda:1", or by arrays on it' in rows
    assert any(row.startswith("IREE's drivers cuda, ") for row in rows)


def test_doctor_fails_where_a_gpu_that_is_here_cannot_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from custom_dispatch.cli import doctor, main

    state = DriverState((Device("cuda", "NVIDIA H200", 90, 140 << 30),), (12, 4), "", "550.54.15")
    for room in (doctor, device):
        monkeypatch.setattr(room, "driver_state", lambda: state)
    assert main(["doctor"]) == 1
    assert (
        "reads PTX up to 8.4, and the compilers here make 9.0: update the driver, or build with "
        "--ptx-version 8.4 or --image cubin" in capsys.readouterr().out
    )
    # A GPU without a usable driver; one that is hidden on purpose is no failure.
    monkeypatch.undo()
    present = Hardware("580.159.04", ("NVIDIA H200",))
    monkeypatch.setattr(doctor, "hardware", lambda: present)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert main(["doctor"]) == int(device.device_problem("cuda") is not None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main(["doctor"]) == 0


def test_cpu_code_for_a_better_cpu_is_refused_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end the process with SIGILL."""
    module = cd.compile(None, simple_mul, ["cpu:x86-64-v4"])
    levels = host_cpu._features()["levels"]
    v3 = {*levels["x86-64-v2"], *levels["x86-64-v3"]} | {"pni"}
    here = host_cpu.HostCpu("An old CPU", 2, "x86-64-v3", frozenset(v3))
    monkeypatch.setattr(device_choice, "host_cpu", lambda: here)
    said = (
        "The module holds CPU code that uses avx512bw, avx512cd, avx512dq, avx512f, avx512vl, and "
        "this machine's CPU (An old CPU) does not have that. Compile it with the target cpu, or "
        "cpu:x86-64-v3."
    )
    assert cd.why_not("cpu", module) == said
    with pytest.raises(DeviceError) as caught:
        cd.load(module, "cpu")
    assert str(caught.value) == said
    assert cd.why_not("cpu", cd.compile(None, simple_mul, ["cpu:x86-64-v3"])) is None
    assert cd.why_not("cpu", cd.compile(None, simple_mul, ["cpu"])) is None


def test_code_for_this_cpu_runs_on_it() -> None:
    """LLVM's features and Linux's names for them agree: nothing that is here is missed."""
    module = cd.compile(None, simple_mul, ["cpu:host"])
    assert cd.why_not("cpu", module) is None
    manifest = cd.load(module, "cpu").manifest
    assert manifest is not None
    cpu = host_cpu.host_cpu()
    assert cpu.lacks(["avx512f", "fma"]) == tuple(
        name for name in ("avx512f", "fma") if name not in cpu.flags
    )
    assert host_cpu.HostCpu("unknown", 1, "x86-64").lacks(["avx512f"]) == ()
