"""Choosing the device for a module, and saying why another one will not do."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.errors import DeviceError
from custom_dispatch.kernel.target import AARCH64, host_architecture
from custom_dispatch.runtime.device import Device, check_device_name, devices, why_not
from custom_dispatch.runtime.driver import driver_state
from custom_dispatch.runtime.manifest import Manifest

# The newest PTX ISA version that a driver reads, by the CUDA version it supports (PTX ISA,
# "Release Notes", table "PTX Release History").
_PTX_OF_CUDA = {
    (13, 0): (9, 0),
    (12, 9): (8, 8),
    (12, 8): (8, 7),
    (12, 7): (8, 6),
    (12, 6): (8, 5),
    (12, 5): (8, 5),
    (12, 4): (8, 4),
    (12, 3): (8, 3),
    (12, 2): (8, 2),
    (12, 1): (8, 1),
    (12, 0): (8, 0),
    (11, 8): (7, 8),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A device, and why it was chosen."""

    device: Device
    reason: str


def choose_device(wanted: str, label: str, manifest: Manifest | None) -> Choice:
    """Choose the device that a module is to run on.

    Parameters
    ----------
    wanted
        "auto": CUDA if the module holds something for the GPU that is here, else the CPU.
    label
        The module's name in messages.
    manifest
        What the module holds, where it says so.

    Raises
    ------
    DeviceError
        The module does not run on the device that is wanted, or on none that is here.
    """
    check_device_name(wanted)
    cpu = devices()[-1]
    cuda_problem = why_not_cuda(label, manifest)
    cpu_problem = why_not_cpu(label, manifest)
    if wanted == "cpu" or (wanted == "auto" and cuda_problem is not None):
        if cpu_problem is None:
            reason = "asked for" if wanted == "cpu" else str(cuda_problem)
            return Choice(cpu, reason)
        if wanted == "cpu":
            raise DeviceError(cpu_problem)
        raise DeviceError(f"{label} runs on no device here. {cuda_problem} {cpu_problem}")
    if cuda_problem is not None:
        raise DeviceError(cuda_problem)
    gpu = devices()[0]
    target = manifest.best_for(gpu.compute_capability or 0) if manifest else None
    reason = f"objects for {target}" if target else "the module does not say what it holds"
    return Choice(gpu, reason)


def why_not_cuda(label: str, manifest: Manifest | None) -> str | None:
    """Why a module does not run on the first GPU: None when it does, else a sentence or two."""
    if manifest is not None and not manifest.cuda_targets:
        return f"{label} holds no object for a GPU; compile it with a target cuda:sm_XX."
    problem = why_not("cuda")
    if problem is not None:
        return problem
    if manifest is None:
        return None
    gpu = devices()[0]
    target = manifest.best_for(gpu.compute_capability or 0)
    if target is None:
        held = ", ".join(str(item.arch) for item in manifest.cuda_targets)
        return (
            f"{label} holds objects for {held}, and this GPU ({gpu.name}) is "
            f"sm_{gpu.compute_capability}. Compile it with the target "
            f"cuda:sm_{gpu.compute_capability} or an earlier one."
        )
    newest = max((item.ptx for item in manifest.objects if item.ptx), default=None)
    version = driver_state().cuda_version
    readable = None if version is None else _newest_ptx(version)
    if newest is not None and version is not None and readable is not None and newest > readable:
        return (
            f"{label} holds PTX {newest[0]}.{newest[1]}, and this driver (CUDA {version[0]}."
            f"{version[1]}) reads PTX up to {readable[0]}.{readable[1]}. Update the driver, or "
            "build with an older CUDA compiler."
        )
    return None


def _newest_ptx(cuda: tuple[int, int]) -> tuple[int, int] | None:
    """The newest PTX a driver reads; None for a driver newer than the table, which reads it all."""
    if cuda > max(_PTX_OF_CUDA):
        return None
    known = [version for version in _PTX_OF_CUDA if version <= cuda]
    return _PTX_OF_CUDA[max(known)] if known else (0, 0)


def why_not_cpu(label: str, manifest: Manifest | None) -> str | None:
    """Why a module does not run on the CPU: None when it does, else a sentence or two."""
    if manifest is None:
        return None
    if not manifest.runs_on_cpu:
        held = ", ".join(map(str, manifest.targets))
        return f"{label} holds objects for {held} only; compile it with the target cpu as well."
    built, here = manifest.cpu_architecture, host_architecture()
    if built and built != here:
        target = "cpu:aarch64" if here == AARCH64 else "cpu:x86-64"
        return (
            f"{label} holds code for {built} CPUs, and this machine's is {here}. Compile it on "
            f"such a machine, or with the target {target}."
        )
    return None
