"""Checking an object before anything is built on it: it assembles, and is what was declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.geometry import max_shared_bytes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.conformance import check_block, check_module, check_parameters
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.toolchain.cubin import read_cubin
from custom_dispatch.toolchain.image import describe_image
from custom_dispatch.toolchain.object import Object
from custom_dispatch.toolchain.ptxas import assemble


def validate(item: Object, kernels: Sequence[Kernel], label: str) -> Object:
    """Check an object against the kernels it is for; return it with its resource report.

    PTX is read, compared with each declaration, and assembled. A cubin is compared by what its ELF
    tables say of each kernel. Of a fatbin image only the architectures can be read: its parts may
    be compressed, so an entry that is missing from it is found when the file is loaded.

    Parameters
    ----------
    label
        What the object is to the user, for errors: a source's or an object file's name.

    Raises
    ------
    PtxError
        The object is not what the declarations say, or does not assemble.
    """
    arch = item.target.cuda_arch
    if item.kind == "ptx":
        return _validate_ptx(item, kernels, arch, label)
    _check_image_arch(item, kernels[0], arch, label)
    if item.kind == "cubin":
        _validate_cubin(item, kernels, label)
    return item


def _validate_ptx(item: Object, kernels: Sequence[Kernel], arch: Arch, label: str) -> Object:
    try:
        text = item.data.decode("utf-8")
    except UnicodeDecodeError:
        raise PtxError(
            f"`{label}` is not PTX: it is not UTF-8 text.",
            next_step="give a file that nvcc -ptx or NVRTC wrote.",
        ) from None
    module = read_module(text)
    for kernel in kernels:
        check_module(module, kernel, arch, label)
    assembly = assemble(item.data, arch)
    item = replace(item, resources=assembly.resources)
    for kernel in kernels:
        _check_shared_memory(item, kernel, arch)
    return item


def _check_image_arch(item: Object, kernel: Kernel, arch: Arch, label: str) -> None:
    image = describe_image(item.data)
    if item.kind == "cubin":
        # Machine code runs on its own major version from its own minor on, and an `a` part
        # nowhere else (CUDA C++ Programming Guide, "Binary Compatibility").
        fits = any(
            built == arch
            or (
                not built.suffix
                and built.compute_capability // 10 == arch.compute_capability // 10
                and built <= arch
            )
            for built in image.archs
        )
    else:
        fits = any(built.runs_on_target(arch) for built in image.archs)
    if not fits:
        there = ", ".join(map(str, image.archs)) or "nothing"
        raise PtxError(
            f"Kernel `{kernel.name}`: `{label}` is a {item.kind} for {there}, but is given "
            f"for {arch}.",
            expected=f"a {item.kind} for {arch}",
            next_step=f"build it with -arch={arch}, or give it for the target it was built for.",
        )


def _validate_cubin(item: Object, kernels: Sequence[Kernel], label: str) -> None:
    found = read_cubin(item.data)
    for kernel in kernels:
        entry = found.get(kernel.entry)
        if entry is None:
            raise PtxError(
                f"Kernel `{kernel.name}`: `{label}` has no entry `{kernel.entry}`.",
                expected=f"one of the entries it has: {', '.join(found) or 'none'}",
                next_step="correct the kernel's name, or the __global__ function's.",
            )
        described = tuple((f"{size} bytes wide", size) for size in entry.parameter_bytes)
        check_parameters(kernel.name, kernel.abi, described, f"`{label}`")
        check_block(kernel, entry.max_threads, entry.required_threads, f"`{label}`")


def _check_shared_memory(item: Object, kernel: Kernel, arch: Arch) -> None:
    static = next(
        (report.static_shared_bytes for report in item.resources if report.kernel == kernel.entry),
        0,
    )
    total = static + kernel.dynamic_shared_memory
    limit = max_shared_bytes(arch.compute_capability)
    if total > limit:
        raise PtxError(
            f"Kernel `{kernel.name}` uses {total} bytes of shared memory a block for {arch}: "
            f"{static} static and {kernel.dynamic_shared_memory} dynamic.",
            expected=f"at most {limit} bytes, the limit of {arch}",
            next_step="use smaller tiles, or drop this target.",
        )
