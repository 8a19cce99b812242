"""Where a call runs on this machine, and what its kernel is compiled for there."""

from custom_dispatch.errors import DeviceError
from custom_dispatch.kernel import target
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.runtime.device import device_of, device_problem


def kind_of_device(kernel: Kernel, device: str) -> str:
    """Where a call runs: "cuda", "cuda:1", "cpu" or "cpu:checked"."""
    index = target.gpu_index(target.read_device(device, of_kernel=True))
    if device in ("cpu", target.CHECKED):
        return device
    name = target.gpu_name(index or 0)
    problem = device_problem(name)
    if problem is not None and index is not None:
        raise DeviceError(problem)
    usable = index is not None or not kernel.objects or _fitting(kernel, name)
    return name if problem is None and usable else "cpu"


def target_of(kernel: Kernel, kind: str) -> target.Target:
    """What a kernel is compiled for where a call runs on such a device."""
    if target.gpu_index(kind) is not None:
        return target_for_gpu(kernel, kind)
    return (
        target.Target.parse(target.CHECKED)
        if kind == target.CHECKED
        else target.Target("cpu", cpu="host")
    )


def target_for_gpu(kernel: Kernel, gpu: str = "cuda") -> target.Target:
    """The best target for a GPU: of the objects declared, or of what a source can be built for;
    and of those that have an implementation of their own.

    A GPU newer than this package knows takes PTX of the latest architecture before it.
    """
    return target.Target("cuda", max(_fitting(kernel, gpu), default=target.Arch(_capability(gpu))))


def _fitting(kernel: Kernel, gpu: str) -> list[target.Arch]:
    """The architectures whose code a GPU runs, of the objects declared, or else of all known;
    and of the implementations for single targets.
    """
    declared = [item.cuda_arch for item, _ in kernel.objects]
    known = [target.Arch(number) for number in target.KNOWN_COMPUTE_CAPABILITIES]
    more = [
        item.arch
        for item, form in kernel.variants
        if item.arch and (form.source is not None or item in dict(form.objects))
    ]
    return [arch for arch in (*(declared or known), *more) if arch.runs_on(_capability(gpu))]


def _capability(gpu: str) -> int:
    return device_of(gpu).compute_capability or 0
