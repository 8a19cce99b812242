"""A kernel's pipeline layout: how many constants, and which bindings it only reads."""

from __future__ import annotations

from custom_dispatch.ir.emitter import comma
from custom_dispatch.kernel.abi import Abi
from custom_dispatch.kernel.buffer import In


def layout_of(abi: Abi, *, with_grid: bool) -> str:
    """The `#hal.pipeline.layout` attribute of a kernel.

    Parameters
    ----------
    with_grid
        One more constant follows the kernel's own: the grid's x size, for the CPU variant. All
        variants of an executable get the same constants; the CUDA driver passes on as many
        parameters as the kernel's entry has (cuLaunchKernel, `kernelParams`), and no more.
    """
    bindings = comma(
        f"#hal.pipeline.binding<storage_buffer{', ReadOnly' if isinstance(b, In) else ''}>"
        for b in abi.bindings
    )
    constants = len(abi.constants) + with_grid
    return f"#hal.pipeline.layout<constants = {constants}, bindings = [{bindings}]>"
