"""The module of a call straight from the store, by the declaration and the files that it read.

Compiling a kernel looks up its PTX, its checked object and its module, one by what the other is.
For a call all of that follows from the declaration, the source with its headers, this package and
the compilers. So a call looks once, and loads what compiles only where that is needed.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.ir.stored import compiler_identity
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.store import (
    Closure,
    Snapshot,
    file_identity,
    key_of,
    open_store,
    package_identity,
)
from custom_dispatch.toolchain.locations import find_headers, find_nvrtc, find_tool, nvrtc_libraries


@dataclass(frozen=True, slots=True)
class _Read:
    """What a kernel's compilation read besides its source, and what that was."""

    closure: Closure
    state: bytes


def module_of(
    kernel: Kernel,
    target: Target,
    *,
    compiler: str,
    include_dirs: Sequence[Path],
    store: bool,
    asynchronous: bool,
) -> bytes:
    """The module of a kernel alone for one target, as `cd.compile` makes it."""
    kept = open_store() if store else None
    source = _digest(kernel.for_target(target).source)
    base = b""
    if kept is not None and source and compiler != "nvcc":
        conditions = _conditions(target)
        if conditions:
            made_of = kernel, target, tuple(include_dirs), asynchronous
            base = key_of("call", package_identity(), conditions, source, *made_of)
    if kept is not None and base:
        read = kept.load(_Read, base)
        state = read and Snapshot().state_of(read.closure)
        if read is not None and state == read.state:
            content = kept.get(key_of("call of", base, state))
            if content is not None:
                kept.count(hit=True)
                return content
    # Loaded here, with all that compiles.
    from custom_dispatch.compilation import compile as compile_module
    from custom_dispatch.toolchain.build import build

    library = build(kernel, [target], compiler=compiler, include_dirs=include_dirs, store=store)
    module = compile_module(None, library, asynchronous=asynchronous, store=store).bytes
    made = library.read
    if kept is not None and base and made is not None and made.source == source:
        items = [*library.objects, *(unit.cpu_ptx for unit in library.units if unit.cpu_ptx)]
        if all(item.origin.startswith("NVRTC") for item in items):
            kept.put(key_of("call of", base, made.state), module)
            kept.save(base, _Read(made.closure, made.state))
    return module


def _conditions(target: Target) -> list[bytes]:
    """Everything that compiles, as it is here; nothing where that cannot be told.

    nvcc is not among it: what it has compiled is not kept so.
    """
    nvrtc, ptxas, headers = find_nvrtc().found, find_tool("ptxas").found, find_headers().found
    if nvrtc is None or ptxas is None:
        return []
    try:
        tools = [file_identity(path) for path in (*nvrtc_libraries(nvrtc), ptxas)]
    except OSError:
        return []
    iree = compiler_identity("" if target.is_cuda else target.cpu)
    return [] if iree is None else [*tools, str(headers).encode(), iree]


def _digest(path: Path | None) -> bytes:
    """SHA-256 of a source as compilers take it; empty where it cannot be read."""
    try:
        data = b"" if path is None else path.read_bytes()
    except (OSError, ValueError):
        return b""
    return sha256(data.removeprefix(b"\xef\xbb\xbf")).digest() if data else b""
