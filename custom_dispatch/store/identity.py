"""What tells a compiler, a CPU or this package's own code from another version of it."""

from __future__ import annotations

import os
import struct
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path

from custom_dispatch.store.key import key_of

_PAGE_BYTES = 1 << 12
_PAGES = 64
_SIZES = struct.Struct("<QQ")


def file_identity(path: Path) -> bytes:
    """What tells a program or library from any other version of it, without reading all of it.

    A compiler has 100 to 300 MB. Its size and 64 of its pages, evenly spread and with the first and
    the last, differ from build to build; among them are an ELF file's build identifier and tables.
    Times do not count, so that the same wheel, installed again, is the same compiler.

    Raises
    ------
    OSError
        It cannot be read.
    """
    status = path.stat()
    return _sampled(path, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


@lru_cache(maxsize=64)
def _sampled(path: Path, size: int, *_state: int) -> bytes:
    """The identity of a file that is as the file system says: asked again when that changes."""
    pages = max(1, min(_PAGES, size // _PAGE_BYTES + 1))
    last = max(0, size - _PAGE_BYTES)
    digest = sha256()
    with path.open("rb") as file:
        for page in range(pages):
            digest.update(os.pread(file.fileno(), _PAGE_BYTES, last * page // max(1, pages - 1)))
    return key_of("file", path.name, size, digest.digest())


@cache
def package_identity() -> bytes:
    """A digest of this package's own files: what it makes of an input may change with any edit.

    The version alone would not do: in a checkout it stays the same from edit to edit.

    Raises
    ------
    OSError
        They cannot be read.
    """
    root = str(Path(__file__).parents[1])
    digest = sha256()
    for directory, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        for name in sorted(names):
            path = f"{directory}/{name}"
            inside, content = os.fsencode(path[len(root) :]), _content(path)
            digest.update(_SIZES.pack(len(inside), len(content)))
            digest.update(inside)
            digest.update(content)
    return digest.digest()


def _content(path: str) -> bytes:
    """A file's bytes, without a file object: hundreds of them take half as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size + 1)
    finally:
        os.close(descriptor)


# What decides which instructions a CPU has; not its clock, nor which core answers.
_CPU_FIELDS = frozenset(
    {
        "vendor_id",
        "cpu family",
        "model",
        "model name",
        "stepping",
        "flags",
        "Features",
        "CPU implementer",
        "CPU architecture",
        "CPU variant",
        "CPU part",
        "CPU revision",
    }
)


@cache
def host_identity() -> bytes | None:
    """What tells this machine's CPU from another model; None where the system does not say."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            found: list[tuple[str, str]] = []
            for line in lines:
                name, _, value = line.partition(":")
                if not line.strip() and found:
                    break  # the next core
                if name.strip() in _CPU_FIELDS:
                    found.append((name.strip(), value.strip()))
    except OSError:
        return None
    features = any(name in ("flags", "Features") for name, _ in found)
    return key_of("cpu", os.uname().machine, found) if features else None
