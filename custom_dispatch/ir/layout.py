"""A kernel's pipeline layout: how many constants, and which bindings it only reads."""

from __future__ import annotations

from custom_dispatch.ir.emitter import comma
from custom_dispatch.kernel.abi import Abi
from custom_dispatch.kernel.operand import In


def layout_of(abi: Abi) -> str:
    """The `#hal.pipeline.layout` attribute of a kernel."""
    bindings = comma(
        f"#hal.pipeline.binding<storage_buffer{', ReadOnly' if isinstance(b, In) else ''}>"
        for b in abi.bindings
    )
    return f"#hal.pipeline.layout<constants = {len(abi.constants)}, bindings = [{bindings}]>"
