"""Names of devices: what `device=`, `.on(...)` and `--device` take."""

from __future__ import annotations

import re

from custom_dispatch.errors import DeclarationError, DeviceError
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.target import Target

CHECKED = "cpu:checked"
"""What a kernel can be called on besides: the CPU, with checks."""
_GPU = re.compile(r"cuda:(0|[1-9][0-9]{0,5})")


def read_device(device: object, *, of_kernel: bool = False) -> str:
    """The name of a device, from text or a `torch.device`.

    Parameters
    ----------
    of_kernel
        Whether a kernel is called, which also runs on `CHECKED`.

    Raises
    ------
    DeviceError
        The value does not name a device. Whether the GPU exists is not checked.
    """
    name = str(device) if str(type(device)) == "<class 'torch.device'>" else device
    names = ("auto", "cuda", "cpu", CHECKED) if of_kernel else ("auto", "cuda", "cpu")
    if isinstance(name, str) and (name in names or _GPU.fullmatch(name)):
        return name
    what, next_step = "not a device", "choose one of these; cd.devices() lists what is here."
    try:
        target = Target.parse(name)  # type: ignore[arg-type]
    except DeclarationError:
        pass
    else:
        what = "a target, for which code is built, and not a device"
        next_step = f'choose "{target.backend}"; targets are given as targets=["{target}"].'
    raise DeviceError(
        f"{shown(device)} is {what}.",
        expected=" or ".join((*names[:2], "cuda:N (GPUs count from 0)", *names[2:])),
        next_step=next_step,
    )


def gpu_index(name: str) -> int | None:
    """The number of the GPU that a device's name means, the first for "cuda"; else None."""
    if name == "cuda":
        return 0
    found = _GPU.fullmatch(name)
    return None if found is None else int(found[1])


def gpu_name(index: int) -> str:
    """The name of a GPU: "cuda" for the first, then "cuda:1"."""
    return f"cuda:{index}" if index else "cuda"
