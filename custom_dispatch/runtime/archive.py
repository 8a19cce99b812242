"""The parts of a `.vmfb`: host code, executables by target, and their images.

A `.vmfb` is a zip archive (IREE, compiler/src/iree/compiler/Dialect/VM/Target/Bytecode/
ArchiveWriter.cpp): `module.fb` is the host code, and every executable and large constant is a file
of its own, stored uncompressed. A CUDA executable is a header of 64 bytes that begins with "CDA1",
and then a flatbuffer (runtime/src/iree/schemas/cuda_executable_def.fbs): its exports with their
names, and its modules with their images. What is not understood is passed over: this is for
reports, and IREE judges files when it loads them.
"""

import io
import re
import struct
import zipfile
from collections.abc import Iterator, Sequence

from custom_dispatch.dataclass import dataclass

_HOST = "module.fb"
_CUDA_MAGIC, _ELF_MAGIC = b"CDA1", b"\x7fELF"
_HEADER_BYTES = 64
_EXPORTS, _MODULES = 0, 1
"""Fields of `ExecutableDef`."""
_KERNEL_NAME, _IMAGE = 1, 0
"""Fields of `ExportDef` and `ModuleDef`."""
# Generated code is named after the function it was taken from: `main_dispatch_3_matmul_64x64_f32`.
_GENERATED = r"(.+?)_dispatch_\d+\w*"


@dataclass(frozen=True, slots=True)
class ModulePart:
    """A part of a `.vmfb`."""

    name: str
    kind: str
    """"host code", "CUDA", "CPU" or "data"."""
    size_bytes: int
    kernels: tuple[str, ...] = ()
    """The names under which a CUDA executable exports its kernels."""

    @property
    def generated(self) -> tuple[str, ...]:
        """The kernels in it that IREE generated; of CPU code the executable's name."""
        names = self.kernels or (self.name.rpartition(".")[0],)
        return tuple(name for name in names if generated_for(name) is not None)


def generated_for(name: str) -> str | None:
    """The function that IREE generated a kernel for, by the kernel's name; None for any other."""
    match = re.fullmatch(_GENERATED, name)
    # The work of a function @f is done in @f$async (ir/interface.py), which is what IREE names, or
    # in @f$graph (ir/graph_interface.py).
    return None if match is None else re.sub("_(async|graph)$", "", match[1])


def generated_kernels(parts: Sequence[ModulePart], function: str, device: str) -> tuple[str, ...]:
    """The kernels that IREE generated for a function on "cuda" or "cpu", where their names tell."""
    kind = "CUDA" if device == "cuda" else "CPU"
    return tuple(
        name
        for part in parts
        if part.kind == kind
        for name in part.generated
        if generated_for(name) == function
    )


@dataclass(frozen=True, slots=True)
class CudaExecutable:
    """What a CUDA executable holds."""

    exports: tuple[str, ...]
    images: tuple[bytes, ...]
    """PTX, without the NUL at its end, cubins or fatbins."""


def parts_of(archive: zipfile.ZipFile) -> tuple[ModulePart, ...]:
    """The parts of an open archive, in their order."""
    found = []
    for info in archive.infolist():
        with archive.open(info) as part:
            magic = part.read(4)
        kernels: tuple[str, ...] = ()
        if info.filename == _HOST:
            kind = "host code"
        elif magic == _CUDA_MAGIC:
            kind = "CUDA"
            executable = read_cuda_executable(archive.read(info))
            kernels = executable.exports if executable is not None else ()
        else:
            kind = "CPU" if magic == _ELF_MAGIC else "data"
        found.append(ModulePart(_shown(info.filename), kind, info.file_size, kernels))
    return tuple(found)


def cuda_executables(content: bytes) -> Iterator[CudaExecutable]:
    """The CUDA executables of a `.vmfb`; none of a file that is no archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                executable = read_cuda_executable(archive.read(info))
                if executable is not None:
                    yield executable
    except zipfile.BadZipFile:
        return


def read_cuda_executable(content: bytes) -> CudaExecutable | None:
    """Read a CUDA executable; None for anything else."""
    if not content.startswith(_CUDA_MAGIC):
        return None
    data = content[_HEADER_BYTES:]
    try:
        root = _follow(data, 0)
        names = [_text(data, item, _KERNEL_NAME) for item in _vector(data, root, _EXPORTS)]
        images = [_text(data, item, _IMAGE) for item in _vector(data, root, _MODULES)]
        return CudaExecutable(tuple(_shown(name.decode()) for name in names), tuple(images))
    except (struct.error, ValueError):
        return None


def _shown(name: str) -> str:
    return name if name.isprintable() else ascii(name)


def _number(data: bytes, offset: int) -> int:
    if offset < 0:
        raise ValueError("before the data")
    value: int = struct.unpack_from("<I", data, offset)[0]
    return value


def _follow(data: bytes, offset: int) -> int:
    """Where an offset leads, which counts from itself."""
    return offset + _number(data, offset)


def _field(data: bytes, table: int, index: int) -> int | None:
    """Where a table's field stands; None for one at its default."""
    # A table begins with the distance back to its vtable: two sizes, then an offset a field.
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError("before the data")
    size = struct.unpack_from("<H", data, vtable)[0]
    place = 4 + 2 * index
    offset = struct.unpack_from("<H", data, vtable + place)[0] if place + 2 <= size else 0
    return table + offset if offset else None


def _vector(data: bytes, table: int, index: int) -> list[int]:
    """Where the tables of a vector stand."""
    field = _field(data, table, index)
    if field is None:
        return []
    start = _follow(data, field)
    count = _number(data, start)
    if 4 * count > len(data):
        raise ValueError("longer than the data")
    return [_follow(data, start + 4 + 4 * item) for item in range(count)]


def _text(data: bytes, table: int, index: int) -> bytes:
    field = _field(data, table, index)
    if field is None:
        return b""
    start = _follow(data, field)
    length = _number(data, start)
    if start + 4 + length > len(data):
        raise ValueError("longer than the data")
    return data[start + 4 : start + 4 + length]
