"""Another order of parameters for machine code: what the driver is told of where each goes.

The driver copies what a launch passes as its n-th parameter to the place that the n-th attribute
KPARAM_INFO of a kernel names. The code reads bytes at places and knows nothing of parameters. So
other ordinals make another signature of the same code, as IREE passes it (`kernel/abi.py`).
"""

import struct
from collections.abc import Sequence

from custom_dispatch.kernel.abi import CONSTANT_BYTES, POINTER_BYTES, Abi
from custom_dispatch.toolchain.images import (
    INFO,
    KPARAM_INFO,
    KPARAM_INFO_V2,
    attributes,
    read_sections,
)

_ORDINAL = 8
"""Bytes from an attribute's start."""


def order_of(abi: Abi) -> list[int] | None:
    """The C parameter that is the first, second, ... of those that IREE passes.

    None where it passes them in parts, or something besides.
    """
    for parameter in abi.parameters:
        most = POINTER_BYTES if parameter.is_binding else CONSTANT_BYTES
        if parameter.words != (not parameter.is_binding) or parameter.size_bytes > most:
            return None
    pointers = [parameter for parameter in abi.parameters if parameter.is_binding]
    pointers.sort(key=lambda parameter: parameter.ordinal)
    numbers = [parameter for parameter in abi.parameters if not parameter.is_binding]
    return [parameter.index for parameter in (*pointers, *numbers)]


def in_order(data: bytes, kernel: str, order: Sequence[int]) -> bytes:
    """A cubin whose kernel takes its parameters in another order."""
    section = next(item for item in read_sections(data) if item.name == INFO + kernel)
    changed, position = bytearray(data), section.offset
    for attribute, _, raw in attributes(section.content):
        if attribute in (KPARAM_INFO, KPARAM_INFO_V2):
            (ordinal,) = struct.unpack_from("<H", raw, _ORDINAL)
            struct.pack_into("<H", changed, position + _ORDINAL, order.index(ordinal))
        position += len(raw)
    return bytes(changed)
