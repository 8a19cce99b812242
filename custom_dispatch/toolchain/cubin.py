"""What a cubin says of its kernels: parameters and thread limits, from its ELF tables.

A cubin is a 64-bit little-endian ELF file. For each kernel a section `.nv.info.NAME` lists
attributes: a format byte, an attribute byte, a 16-bit size or value, and for format 4
(EIFMT_SVAL) that many bytes. NVIDIA does not document them; the codes below agree with what
`cuobjdump --dump-elf` of CUDA 13.0 names for cubins whose kernels are known (tests/toolchain).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from custom_dispatch.errors import PtxError

_EIFMT_SVAL = 4
_EIATTR_MAX_THREADS = 0x05
_EIATTR_REQNTID = 0x10
_EIATTR_KPARAM_INFO = 0x17
_PREFIX = ".nv.info."


@dataclass(frozen=True, slots=True)
class CubinKernel:
    """A kernel in a cubin."""

    parameter_bytes: tuple[int, ...]
    """The size of every parameter, in order."""
    max_threads: tuple[int, int, int] | None
    """`__launch_bounds__`, if the source states it."""
    required_threads: tuple[int, int, int] | None
    """The exact block size, if the source states it."""


def read_cubin(data: bytes) -> dict[str, CubinKernel]:
    """The kernels of a cubin, by name.

    Raises
    ------
    PtxError
        The bytes are no complete ELF file.
    """
    try:
        return {
            name.removeprefix(_PREFIX): _read_kernel(content)
            for name, content in _sections(data)
            if name.startswith(_PREFIX)
        }
    except (struct.error, ValueError, IndexError):
        raise PtxError(
            "The cubin is damaged: its ELF tables point outside of it.",
            expected="a complete file as nvcc -cubin, ptxas or NVRTC wrote it",
            next_step="build it again.",
        ) from None


def _sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQ", data, table + index * entry_size) for index in range(count)
    ]
    names_start = headers[names_index][4]
    for name_offset, _, _, _, offset, size in headers:
        start = names_start + name_offset
        name = data[start : data.index(b"\0", start)].decode("ascii", "replace")
        yield name, data[offset : offset + size]


def _read_kernel(content: bytes) -> CubinKernel:
    parameters: dict[int, int] = {}
    limits: dict[int, tuple[int, int, int]] = {}
    position = 0
    while position + 4 <= len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, position)
        position += 4
        if form != _EIFMT_SVAL:
            continue
        if attribute == _EIATTR_KPARAM_INFO:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", content, position)
            parameters[ordinal] = packed >> 18
        elif attribute in (_EIATTR_MAX_THREADS, _EIATTR_REQNTID):
            limits[attribute] = struct.unpack_from("<III", content, position)
        position += size
    return CubinKernel(
        tuple(parameters[ordinal] for ordinal in sorted(parameters)),
        limits.get(_EIATTR_MAX_THREADS),
        limits.get(_EIATTR_REQNTID),
    )
