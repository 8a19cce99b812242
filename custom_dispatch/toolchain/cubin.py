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

_SHT_NOBITS = 8
_EIFMT_SVAL = 4
_EIATTR_MAX_THREADS = 0x05
_EIATTR_REQNTID = 0x10
_EIATTR_KPARAM_INFO = 0x17
_INFO = ".nv.info."
_SHARED = ".nv.shared."
# From sm_90 on, CUDA keeps the first KiB of a block's shared memory; `.nv.shared.NAME` counts it.
_RESERVED = ".nv.shared.reserved.0"
_RESERVED_BYTES = 1024


@dataclass(frozen=True, slots=True)
class CubinKernel:
    """A kernel in a cubin."""

    parameter_bytes: tuple[int, ...]
    """The size of every parameter, in order."""
    max_threads: tuple[int, int, int] | None
    """`__launch_bounds__`, if the source states it."""
    required_threads: tuple[int, int, int] | None
    """The exact block size, if the source states it."""
    static_shared_bytes: int
    """Shared memory of a block without the part that the system keeps for itself."""


def read_cubin(data: bytes) -> dict[str, CubinKernel]:
    """The kernels of a cubin, by name.

    Raises
    ------
    PtxError
        The bytes are no complete ELF file.
    """
    try:
        sections = {section.name: section for section in _sections(data)}
        return {
            name.removeprefix(_INFO): _read_kernel(section.content, _shared(name, sections))
            for name, section in sections.items()
            if name.startswith(_INFO)
        }
    except (struct.error, ValueError, IndexError, OverflowError):
        raise PtxError(
            "The cubin is damaged: its ELF tables point outside of it.",
            expected="a complete file as nvcc -cubin, ptxas or NVRTC wrote it",
            next_step="build it again.",
        ) from None


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    content: bytes
    size: int
    """What it takes in memory; of shared memory nothing is in the file."""


def _sections(data: bytes) -> Iterator[_Section]:
    segments, table = struct.unpack_from("<QQ", data, 0x20)
    segment_size, segment_count, entry_size, count, names_index = struct.unpack_from(
        "<HHHHH", data, 0x36
    )
    if segments + segment_size * segment_count > len(data):
        raise ValueError("the segment table is not in the file")
    headers = [
        struct.unpack_from("<IIQQQQ", data, table + index * entry_size) for index in range(count)
    ]
    names_start = headers[names_index][4]
    for name_offset, kind, _, _, offset, size in headers:
        if kind != _SHT_NOBITS and offset + size > len(data):
            raise ValueError("a section is not in the file")
        start = names_start + name_offset
        name = data[start : data.index(b"\0", start)].decode("ascii", "replace")
        yield _Section(name, data[offset : offset + size], size)


def _shared(info: str, sections: dict[str, _Section]) -> int:
    section = sections.get(_SHARED + info.removeprefix(_INFO))
    reserved = _RESERVED_BYTES if _RESERVED in sections else 0
    return max(section.size - reserved, 0) if section is not None else 0


def _read_kernel(content: bytes, static_shared_bytes: int) -> CubinKernel:
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
        static_shared_bytes,
    )
