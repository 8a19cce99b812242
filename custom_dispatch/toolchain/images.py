"""What images of device code say, by their bytes: kinds, architectures, and a cubin's kernels.

Sources: PTX ISA, ".version" and ".target"; for cubins LLVM's `BinaryFormat/ELF.h` (`EF_CUDA_*`);
the fatbin container has no public description, so the layout below is the one that `fatbinary`
13.0 writes, as read from its output for known inputs (`tests/toolchain/test_image.py` repeats it).

A cubin is a 64-bit little-endian ELF file. For each kernel a section `.nv.info.NAME` lists
attributes: a format byte, an attribute byte, a 16-bit size or value, and for format 4
(EIFMT_SVAL) that many bytes. NVIDIA does not document them; the codes below agree with what
`cuobjdump --dump-elf` of CUDA 13.0 names for cubins whose kernels are known (tests/toolchain).
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from custom_dispatch.errors import PtxError
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.kernel.target import Arch


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """What an image of device code holds."""

    kind: str
    """"ptx", "cubin" or "fatbin"."""
    members: tuple[tuple[str, Arch], ...]
    """(kind, arch) of each image inside; a PTX or a cubin holds one: itself."""

    @property
    def archs(self) -> tuple[Arch, ...]:
        """The architectures, each once, in order of preference: the best first."""
        return tuple(sorted({arch for _, arch in self.members}, reverse=True))


def describe_image(data: bytes) -> ImageInfo:
    """Tell what an image is, by its bytes and not by any file name."""
    if data.startswith(_ELF_MAGIC):
        return ImageInfo("cubin", (("cubin", _cubin_arch(data)),))
    if data.startswith(_FATBIN_MAGIC):
        return ImageInfo("fatbin", tuple((kind, arch) for kind, arch, _ in _members(data)))
    return ImageInfo("ptx", (("ptx", _ptx_arch(data)),))


# Each on a line of its own, `.version` first of all but comments.
_VERSION_LINE = re.compile(rb"^[ \t]*\.version[ \t]+\d+\.\d+", re.MULTILINE)
_TARGET_LINE = re.compile(rb"^[ \t]*\.target[ \t]+(\w+)", re.MULTILINE)
_TARGET = re.compile(r"sm_(\d{2,3})([af]?)", re.ASCII)


def _ptx_arch(data: bytes) -> Arch:
    version = _VERSION_LINE.search(data)
    line = _TARGET_LINE.search(data, version.end()) if version is not None else None
    if line is None:
        found = f"its first bytes are {data[:8]!r}" if data else "it is empty"
        raise PtxError(
            f"The image is not device code: {found}.",
            expected="PTX (text with `.version` and `.target`), a cubin (ELF) or a fatbin",
            next_step="build it from the .cu source with `custom-dispatch build`.",
        )
    target = line[1].decode("ascii", "replace")
    match = _TARGET.fullmatch(target)
    if match is None:
        raise PtxError(
            f"The PTX's `.target` is `{target}`.",
            expected="an architecture such as sm_90",
            next_step="build the PTX again for a target such as cuda:sm_90.",
        )
    return Arch(int(match[1]), match[2])


_ELF_MAGIC = b"\x7fELF"
_ELF_HEADER_BYTES = 64
_EM_CUDA = 190
# The ABI version (e_ident[8]) says where e_flags holds the SM number: 7 up to CUDA 12, 8 since.
_ABI_SM_SHIFT = {7: 0, 8: 8}
_ABI_ACCELERATED = {7: 0x800, 8: 0x8}
# ptxas 13.0 leaves the flag clear for sm_90a; but the note `.note.nv.tkinfo`, which it and NVRTC
# put into every cubin, holds the command line. A suffix cannot be had from anywhere else.
_COMMAND_ARCH = re.compile(rb"-arch[ =]sm_(\d+)([af])[ \0]")


def _cubin_arch(data: bytes) -> Arch:
    if len(data) < _ELF_HEADER_BYTES:
        raise _cut_short("cubin")
    (machine,) = struct.unpack_from("<H", data, 18)
    (flags,) = struct.unpack_from("<I", data, 48)
    shift = _ABI_SM_SHIFT.get(data[8])
    if machine != _EM_CUDA:
        raise PtxError(
            f"The image is an ELF file of machine {machine}, not device code.",
            expected=f"a cubin (machine {_EM_CUDA})",
            next_step="name the cubin, not a program or library of this computer.",
        )
    if shift is None:
        raise PtxError(
            f"The cubin is of ABI version {data[8]}, which is unknown.",
            expected="7 (up to CUDA 12) or 8 (CUDA 13)",
            next_step="give PTX in its place, or build it with CUDA 13.0.",
        )
    capability = flags >> shift & 0xFF
    if flags & _ABI_ACCELERATED[data[8]]:
        return Arch(capability, "a")
    for match in _COMMAND_ARCH.finditer(data):
        if int(match[1]) == capability:
            return Arch(capability, match[2].decode())
    return Arch(capability)


_FATBIN_MAGIC = bytes.fromhex("50ed55ba")
# u32 magic, u16 version, u16 bytes of this header, u64 bytes of all members.
_FATBIN_HEADER = struct.Struct("<IHHQ")
# u16 kind, u16 version, u32 bytes of this header, u64 bytes of the member (a multiple of 8),
# u32 its bytes compressed, ..., u32 SM number at 28, ..., u64 flags at 40, ...
_MEMBER_HEADER = struct.Struct("<HHIQ12xI8xQ")
_MEMBER_KINDS = {1: "ptx", 2: "cubin"}
_SUFFIX_FLAGS = {0x100000: "a", 0x200000: "f"}


def fatbin_parts(data: bytes) -> list[tuple[str, Arch, bytes]]:
    """(kind, arch, content) of the parts of a fatbin that can be read: those not compressed."""
    found = []
    for kind, arch, content in _members(data):
        if kind == "cubin" and content.startswith(_ELF_MAGIC):
            found.append((kind, arch, content))
        elif kind == "ptx" and _VERSION_LINE.search(content):
            found.append((kind, arch, content.rstrip(b"\0")))
    return found


def _members(data: bytes) -> list[tuple[str, Arch, bytes]]:
    if len(data) < _FATBIN_HEADER.size:
        raise _cut_short("fatbin")
    _, version, header_bytes, size = _FATBIN_HEADER.unpack_from(data)
    if version != 1 or header_bytes < _FATBIN_HEADER.size:
        raise PtxError(
            f"The fatbin is of container version {version}, which is unknown.",
            expected="version 1",
            next_step="give PTX in its place, or build it with CUDA 13.0.",
        )
    offset, end = header_bytes, header_bytes + size
    if end > len(data):
        raise _cut_short("fatbin")
    members = []
    while offset < end:
        if offset + _MEMBER_HEADER.size > end:
            raise _cut_short("fatbin")
        kind, _, member_header, payload, sm, flags = _MEMBER_HEADER.unpack_from(data, offset)
        start = offset + member_header
        offset = start + payload
        if member_header < _MEMBER_HEADER.size or offset > end:
            raise _cut_short("fatbin")
        suffix = next((text for flag, text in _SUFFIX_FLAGS.items() if flags & flag), "")
        # Other kinds (LTO IR) are nothing that a driver loads by itself.
        if kind in _MEMBER_KINDS:
            members.append((_MEMBER_KINDS[kind], Arch(sm, suffix), data[start:offset]))
    if not members:
        raise PtxError(
            "The fatbin holds neither PTX nor a cubin.",
            expected="at least one of them",
            next_step="build it again with PTX inside.",
        )
    return members


def _cut_short(kind: str) -> PtxError:
    return PtxError(
        f"The {kind} is damaged or cut short.",
        expected="a whole file, as the compiler wrote it",
        next_step="build or copy it again.",
    )


_SHT_NOBITS = 8
_SYMBOL_BYTES = 24
_EIFMT_BVAL, _EIFMT_SVAL = 2, 4
_EIATTR_MAX_THREADS = 0x05
_EIATTR_REQNTID = 0x10
_EIATTR_PARAM_CBANK = 0x0A
KPARAM_INFO = 0x17
"""Of each parameter: 32 bits, ordinal, first byte, and a word whose upper 14 bits are its size."""
KPARAM_INFO_V2 = 0x45
"""The same in kernels of CUDA 13.4 that have tensor maps; the size is the word's lower 16 bits."""
_EIATTR_CTA_PER_CLUSTER = 0x3D
_EIATTR_NUM_BARRIERS = 0x4C
# REGCOUNT and MIN_STACK_SIZE: of any kernel, in one section for all.
_AMOUNTS = {0x2F: "registers", 0x12: "stack_bytes"}
_ALL_INFO = ".nv.info"
INFO = ".nv.info."
_CONSTANTS = re.compile(r"\.nv\.constant\d+\.(.*)", re.ASCII | re.DOTALL)
_SHARED = ".nv.shared."
# From sm_90 on, CUDA keeps the first KiB of a block's shared memory; `.nv.shared.NAME` counts it.
_RESERVED = ".nv.shared.reserved.0"
_RESERVED_BYTES = 1024


@dataclass(frozen=True, slots=True)
class CubinKernel:
    """A kernel in a cubin."""

    parameters: tuple[tuple[int, int], ...]
    """The first byte and the size of every parameter, in order."""
    hidden_bytes: int
    """What it reads as parameters besides: what its producer's own host code would pass."""
    max_threads: tuple[int, int, int] | None
    """`__launch_bounds__`, if the source states it."""
    required_threads: tuple[int, int, int] | None
    """The exact block size, if the source states it."""
    cluster: tuple[int, int, int] | None
    """The blocks of a cluster, if the source states them."""
    resources: KernelResources
    """Without what the system keeps of a block's shared memory for itself."""

    @property
    def parameter_bytes(self) -> tuple[int, ...]:
        """The size of every parameter, in order."""
        return tuple(size for _, size in self.parameters)


def read_cubin(data: bytes) -> dict[str, CubinKernel]:
    """The kernels of a cubin, by name."""
    try:
        sections = {section.name: section for section in read_sections(data)}
        amounts = _amounts(sections)
        return {
            name: _read_kernel(sections[INFO + name].content, amounts[name]) for name in amounts
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
    offset: int
    """Where its content is."""


def read_sections(data: bytes) -> Iterator[_Section]:
    """The sections of an ELF file, whose tables must be in it."""
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
        yield _Section(name, data[offset : offset + size], size, offset)


def _amounts(sections: dict[str, _Section]) -> dict[str, KernelResources]:
    """What each kernel takes, but for its barriers."""
    found: dict[str, dict[str, int]] = {
        name.removeprefix(INFO): {} for name in sections if name.startswith(INFO)
    }
    reserved = _RESERVED_BYTES if _RESERVED in sections else 0
    for name, section in sections.items():
        match = _CONSTANTS.fullmatch(name)
        if match is not None and match[1] in found:
            amounts = found[match[1]]
            amounts["constant_bytes"] = amounts.get("constant_bytes", 0) + section.size
        kernel = name.removeprefix(_SHARED)
        if name.startswith(_SHARED) and kernel in found:
            found[kernel]["static_shared_bytes"] = max(section.size - reserved, 0)
    names = _symbols(sections)
    for attribute, value, _ in attributes(
        sections[_ALL_INFO].content if _ALL_INFO in sections else b""
    ):
        if attribute in _AMOUNTS:
            symbol, amount = struct.unpack_from("<II", value)
            if names[symbol] in found:
                found[names[symbol]][_AMOUNTS[attribute]] = amount
    return {
        name: KernelResources(name, spill_stores_bytes=None, spill_loads_bytes=None, **amounts)
        for name, amounts in found.items()
    }


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


def attributes(content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Each attribute of an info section, with its value and all of its bytes."""
    position = 0
    while position + 4 <= len(content):
        form, attribute, size = struct.unpack_from("<BBH", content, position)
        end = position + 4 + (size if form == _EIFMT_SVAL else 0)
        value = content[position + 4 : end] if form == _EIFMT_SVAL else bytes([size & 0xFF])
        yield attribute, value, content[position:end]
        position = end


def _read_kernel(content: bytes, resources: KernelResources) -> CubinKernel:
    parameters: dict[int, tuple[int, int]] = {}
    bank = 0
    limits: dict[int, tuple[int, int, int]] = {}
    for attribute, value, _ in attributes(content):
        if attribute == KPARAM_INFO:
            _, ordinal, offset, packed = struct.unpack_from("<IHHI", value)
            parameters[ordinal] = offset, packed >> 18
        elif attribute == KPARAM_INFO_V2:
            _, ordinal, offset, size = struct.unpack_from("<IHHH", value)
            parameters[ordinal] = offset, size
        elif attribute == _EIATTR_PARAM_CBANK:
            _, _, bank = struct.unpack_from("<IHH", value)
        elif attribute in (_EIATTR_MAX_THREADS, _EIATTR_REQNTID, _EIATTR_CTA_PER_CLUSTER):
            limits[attribute] = struct.unpack_from("<III", value)
        elif attribute == _EIATTR_NUM_BARRIERS:
            resources = replace(resources, barriers=value[0])
    end = max((first + size for first, size in parameters.values()), default=0)
    return CubinKernel(
        tuple(parameters[ordinal] for ordinal in sorted(parameters)),
        bank - end if bank >= -(-end // 8) * 8 + 8 else 0,
        limits.get(_EIATTR_MAX_THREADS),
        limits.get(_EIATTR_REQNTID),
        limits.get(_EIATTR_CTA_PER_CLUSTER),
        resources,
    )
