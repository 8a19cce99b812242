"""What a cubin says of its kernels: parameters, limits and resources, from its ELF tables.

A cubin is a 64-bit little-endian ELF file. For each kernel a section `.nv.info.NAME` lists
attributes: a format byte, an attribute byte, a 16-bit size or value, and for format 4
(EIFMT_SVAL) that many bytes. NVIDIA does not document them; the codes below agree with what
`cuobjdump --dump-elf` of CUDA 13.0 names for cubins whose kernels are known (tests/toolchain).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from custom_dispatch.errors import PtxError
from custom_dispatch.format.kernel_resources import KernelResources

_SHT_NOBITS = 8
_SYMBOL_BYTES = 24
_EIFMT_BVAL, _EIFMT_SVAL = 2, 4
_EIATTR_MAX_THREADS = 0x05
_EIATTR_REQNTID = 0x10
_EIATTR_MIN_STACK_SIZE = 0x12
_EIATTR_KPARAM_INFO = 0x17
_EIATTR_REGCOUNT = 0x2F
_EIATTR_CTA_PER_CLUSTER = 0x3D
_EIATTR_NUM_BARRIERS = 0x4C
_ALL_INFO = ".nv.info"
_INFO = ".nv.info."
_CONSTANTS = re.compile(r"\.nv\.constant\d+\.(.*)", re.ASCII | re.DOTALL)
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
    cluster: tuple[int, int, int] | None
    """The blocks of a cluster, if the source states them."""
    resources: KernelResources
    """Without what the system keeps of a block's shared memory for itself."""


def read_cubin(data: bytes) -> dict[str, CubinKernel]:
    """The kernels of a cubin, by name.

    Raises
    ------
    PtxError
        The bytes are no complete ELF file.
    """
    try:
        sections = {section.name: section for section in _sections(data)}
        amounts = _amounts(sections)
        return {
            name: _read_kernel(sections[_INFO + name].content, amounts[name]) for name in amounts
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


def _amounts(sections: dict[str, _Section]) -> dict[str, KernelResources]:
    """What each kernel takes, but for its barriers."""
    kernels = {
        name.removeprefix(_INFO): KernelResources(
            name.removeprefix(_INFO), spill_stores_bytes=None, spill_loads_bytes=None
        )
        for name in sections
        if name.startswith(_INFO)
    }
    reserved = _RESERVED_BYTES if _RESERVED in sections else 0
    for name, section in sections.items():
        match = _CONSTANTS.fullmatch(name)
        if match is not None and match[1] in kernels:
            kernel = kernels[match[1]]
            total = kernel.constant_bytes + section.size
            kernels[match[1]] = replace(kernel, constant_bytes=total)
        kernel_name = name.removeprefix(_SHARED)
        if name.startswith(_SHARED) and kernel_name in kernels:
            shared = max(section.size - reserved, 0)
            kernels[kernel_name] = replace(kernels[kernel_name], static_shared_bytes=shared)
    names = _symbols(sections)
    for attribute, value in _attributes(
        sections[_ALL_INFO].content if _ALL_INFO in sections else b""
    ):
        if attribute not in (_EIATTR_REGCOUNT, _EIATTR_MIN_STACK_SIZE):
            continue
        symbol, amount = struct.unpack_from("<II", value)
        name = names[symbol]
        if name in kernels and attribute == _EIATTR_REGCOUNT:
            kernels[name] = replace(kernels[name], registers=amount)
        elif name in kernels:
            kernels[name] = replace(kernels[name], stack_bytes=amount)
    return kernels


def _symbols(sections: dict[str, _Section]) -> list[str]:
    """The names of the symbol table, by their index."""
    if ".symtab" not in sections or ".strtab" not in sections:
        return []
    table, strings = sections[".symtab"].content, sections[".strtab"].content
    names = []
    for position in range(0, len(table) - len(table) % _SYMBOL_BYTES, _SYMBOL_BYTES):
        (start,) = struct.unpack_from("<I", table, position)
        names.append(strings[start : strings.index(b"\0", start)].decode("ascii", "replace"))
    return names


def _attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Each attribute of an info section, with its value."""
    position = 0
    while position + 4 <= len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, position)
        position += 4
        if form == _EIFMT_SVAL:
            yield attribute, content[position : position + size]
            position += size
        elif form == _EIFMT_BVAL:
            yield attribute, bytes([size & 0xFF])


def _read_kernel(content: bytes, resources: KernelResources) -> CubinKernel:
    parameters: dict[int, int] = {}
    limits: dict[int, tuple[int, int, int]] = {}
    for attribute, value in _attributes(content):
        if attribute == _EIATTR_KPARAM_INFO:
            _, ordinal, _, packed = struct.unpack_from("<IHHI", value)
            parameters[ordinal] = packed >> 18
        elif attribute in (_EIATTR_MAX_THREADS, _EIATTR_REQNTID, _EIATTR_CTA_PER_CLUSTER):
            limits[attribute] = struct.unpack_from("<III", value)
        elif attribute == _EIATTR_NUM_BARRIERS:
            resources = replace(resources, barriers=value[0])
    return CubinKernel(
        tuple(parameters[ordinal] for ordinal in sorted(parameters)),
        limits.get(_EIATTR_MAX_THREADS),
        limits.get(_EIATTR_REQNTID),
        limits.get(_EIATTR_CTA_PER_CLUSTER),
        resources,
    )
