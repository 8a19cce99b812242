"""Choosing the device for a module, and saying why another one will not do."""

import os

from custom_dispatch.compiled import CompiledModule
from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeviceError, sentence
from custom_dispatch.format.manifest import Manifest
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.target import AARCH64, host_architecture, read_device
from custom_dispatch.runtime.device import device_of, device_problem, devices
from custom_dispatch.runtime.driver import Device, driver_state

# The CUDA version whose drivers are the first to read a PTX ISA version (PTX ISA, "Release Notes",
# table "PTX Release History").
_CUDA_OF_PTX = {
    **{(7, minor): (11, minor) for minor in range(9)},
    **{(8, minor): (12, minor + (minor > 5)) for minor in range(9)},  # CUDA 12.6 has PTX 8.5, too
    **{(9, minor): (13, minor) for minor in range(5)},
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A device, and why it was chosen."""

    device: Device
    reason: str


def choose_device(wanted: str, label: str, manifest: Manifest | None) -> Choice:
    """Choose the device that a module is to run on.

    - `wanted`: "auto": the first GPU if the module holds something for it, else the CPU.
    - `label`: the module's name in messages.
    - `manifest`: what the module holds, where it says so.
    """
    wanted = read_device(wanted)
    name = "cuda" if wanted in ("auto", "cpu") else wanted
    cpu = devices()[-1]
    cuda_problem = why_not_cuda(label, manifest, name)
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
    gpu = device_of(name)
    target = manifest.best_for(gpu.compute_capability or 0) if manifest else None
    reason = f"objects for {target}" if target else "the module does not say what it holds"
    return Choice(gpu, reason)


def why_not_cuda(label: str, manifest: Manifest | None, name: str = "cuda") -> str | None:
    """Why a module does not run on a GPU: None when it does, else a sentence or two."""
    if manifest is not None and not manifest.cuda_targets:
        return f"{label} holds no object for a GPU; compile it with a target cuda:sm_XX."
    problem = device_problem(name)
    if problem is not None:
        return problem
    if manifest is None:
        return None
    gpu = device_of(name)
    target = manifest.best_for(gpu.compute_capability or 0)
    if target is None:
        held = ", ".join(str(item.arch) for item in manifest.cuda_targets)
        return (
            f"{label} holds objects for {held}, and this GPU ({gpu.name}) is "
            f"sm_{gpu.compute_capability}. Compile it with the target "
            f"cuda:sm_{gpu.compute_capability} or an earlier one."
        )
    needed = max(
        (item.ptx for item in manifest.objects if item.target == target and item.ptx), default=None
    )
    driver = driver_state()
    readable = newest_ptx(driver.cuda_version) if driver.cuda_version else None
    if needed is not None and readable is not None and needed > readable:
        newer = _CUDA_OF_PTX.get(needed)
        update = "Update the driver" if newer is None else "Update it to CUDA {}.{}".format(*newer)
        return (
            f"{label} holds PTX {needed[0]}.{needed[1]}, and this driver ({driver.description}) "
            f"reads PTX up to {readable[0]}.{readable[1]}. {update}, or build with "
            f"--ptx-version {readable[0]}.{readable[1]} or --image cubin."
        )
    return None


def newest_ptx(cuda: tuple[int, int]) -> tuple[int, int] | None:
    """The newest PTX ISA version that drivers of a CUDA version read.

    None for a driver newer than the table, which is taken to read everything, and (0, 0) for one
    older than it.
    """
    if cuda > max(_CUDA_OF_PTX.values()):
        return None
    return max((ptx for ptx, first in _CUDA_OF_PTX.items() if first <= cuda), default=(0, 0))


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
    cpu = host_cpu()
    if lacking := cpu.lacks(manifest.cpu_features):
        return (
            f"{label} holds CPU code that uses {', '.join(lacking)}, and this machine's CPU "
            f"({cpu.name}) does not have that. Compile it with the target cpu, or cpu:{cpu.level}."
        )
    return None


def why_not(
    device: str, module: str | os.PathLike[str] | bytes | CompiledModule | None = None
) -> str | None:
    """Why a device cannot be used here, or a module does not run on it.

    - `device`: "cuda" or "cpu", or "cuda:1" for the second GPU.
    - `module`: a `.vmfb`, its bytes, or what `cd.compile` returned.

    Returns: None where it can; else a sentence or two, the last of which says what to do.
    Raises `DeviceError`: no device has that name.
    Raises `ModuleFileError`: the file is missing or no module.
    """
    device = read_device(device)
    if module is None:
        return device_problem(device)
    from custom_dispatch.runtime.module_file import ModuleFile

    file = ModuleFile(module.bytes if isinstance(module, CompiledModule) else module)
    try:
        choose_device(device, sentence(file.label), file.manifest)
    except DeviceError as error:
        return str(error)
    return None
