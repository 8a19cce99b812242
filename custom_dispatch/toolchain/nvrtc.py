"""Compiling with NVRTC: needs no host compiler, no GPU and no driver."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from custom_dispatch.errors import DeclarationError
from custom_dispatch.files import exists
from custom_dispatch.kernel.sources import cpp_name
from custom_dispatch.store import file_identity, key_of
from custom_dispatch.toolchain.compiler import (
    CompiledPtx,
    CompileRequest,
    Outcome,
    Question,
    check_include_dirs,
    compile_entries,
    read_source,
    source_name,
    unsupported_arch,
)
from custom_dispatch.toolchain.compiler_options import (
    check_options,
    for_nvrtc,
    option_directories,
    option_values,
)
from custom_dispatch.toolchain.descriptor import TRAILER_NAME, write_trailer
from custom_dispatch.toolchain.includes import SearchPath
from custom_dispatch.toolchain.locations import find_nvrtc, include_directories, nvrtc_libraries
from custom_dispatch.toolchain.nvcc import STANDARD
from custom_dispatch.toolchain.nvrtc_process import Compilation, NvrtcProcess

# Headers of the C library that nvcc takes from the host and NVRTC has not (see the files).
C_HEADERS = Path(__file__).parent / "nvrtc_include"
PRE_INCLUDED = "custom_dispatch_c_names.h"
# Names of its own, which NVRTC 13.0 looks for in the working directory all the same.
LOOKED_FOR = ("__nv_nvrtc_builtin_header.h", "__nv_name_map")

# A header that is missing, and a function of the host: what no question brings about.
_NEVER_THE_QUESTIONS = ("catastrophic error", "in JIT mode")

_VERSION = re.compile(rb"release [\d.]+, V(\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True, eq=False)
class Nvrtc:
    """NVRTC, as a `Compiler`. Other processes load the library; this one never does."""

    library: Path
    name: str = "nvrtc"
    _begun: dict[int, NvrtcProcess] = field(default_factory=dict, repr=False)
    """By the thread that each belongs to."""

    @classmethod
    def find(cls) -> Nvrtc:
        """The NVRTC of this Python environment."""
        return cls(find_nvrtc().require("cuda"))

    @property
    def version(self) -> str:
        """The full version."""
        # The library's own call gives no third number; the head of the PTX that it makes does.
        with self._process() as process:
            ptx = process.compile(Compilation(b"", "version.cu", (), ())).ptx
            return _version_in(ptx) or f"{process.facts()[0]}.0"

    def identity(self, request: CompileRequest) -> bytes:  # noqa: ARG002 - others need it
        """The library and its builtins; see `Compiler.identity`."""
        return key_of(self.name, [file_identity(part) for part in nvrtc_libraries(self.library)])

    def search_path(self, request: CompileRequest) -> SearchPath:
        """Where it looks for headers; see `Compiler.search_path`."""
        declared = check_options(request.options)
        places = (*request.include_dirs, *include_directories(), C_HEADERS)
        return SearchPath(
            (*option_directories(declared), *map(str, places)),
            (PRE_INCLUDED, *option_values(declared, "--pre-include"), *LOOKED_FOR),
        )

    def begin(self) -> None:
        """Keep this thread's process; see `Compiler.begin`."""
        new = NvrtcProcess(nvrtc_libraries(self.library))
        self._begun.setdefault(threading.get_ident(), new)

    def end(self) -> None:
        """End every thread's process; see `Compiler.end`."""
        while self._begun:
            self._begun.popitem()[1].end()

    @contextmanager
    def _process(self) -> Iterator[NvrtcProcess]:
        """The process that was begun in this thread, or one for this block."""
        begun = self._begun.get(threading.get_ident())
        process = begun or NvrtcProcess(nvrtc_libraries(self.library))
        try:
            yield process
        finally:
            if begun is None:
                process.end()

    def compile(self, request: CompileRequest) -> CompiledPtx:
        """Compile to PTX; see `Compiler.compile`."""
        with self._process() as process:
            return self._compile(request, process)

    def _compile(self, request: CompileRequest, process: NvrtcProcess) -> CompiledPtx:
        declared = check_options(request.options)
        source = read_source(request.source)
        check_include_dirs(request)
        release, capabilities = process.facts()
        label = f"NVRTC {release}"
        if request.arch.compute_capability not in capabilities:
            supported = [f"sm_{capability}" for capability in capabilities]
            raise unsupported_arch(request.arch, label, supported)
        options = [
            # compute_, not sm_: the latter would assemble machine code as well, for nothing.
            f"--gpu-architecture=compute_{str(request.arch).removeprefix('sm_')}",
            *([] if any(option.name == "--std" for option in declared) else [str(STANDARD)]),
            # What nvcc does of itself: the host's 128-bit integers, and cuda_runtime.h's C names.
            "--device-int128",
            f"--pre-include={PRE_INCLUDED}",
            # CCCL's <cmath> repeats INFINITY, with no `#ifndef` and a spelling of its own.
            "--diag-suppress=47",
            *for_nvrtc(declared),
            # Quoted includes are looked up beside the including file, as with nvcc.
            *(f"--include-path={path}" for path in request.include_dirs),
            *(f"--include-path={path}" for path in include_directories()),
            f"--include-path={C_HEADERS}",
        ]

        ask = partial(self._ask, request, source, options, process)
        places = self.search_path(request).directories
        done = compile_entries(request, label, ask, places=places, name_all=True)
        ptx = drop_unused_constants(done.ptx)
        return replace(done, ptx=ptx, compiler=f"NVRTC {_version_in(ptx) or f'{release}.0'}")

    def _ask(
        self,
        request: CompileRequest,
        source: bytes,
        options: list[str],
        process: NvrtcProcess,
        question: Question,
    ) -> Outcome:
        trailer = write_trailer(question.described, fields=question.fields)
        if trailer:
            source += f'\n#line 1 "{TRAILER_NAME}"\n{trailer}'.encode()
        names = [cpp_name(entry).address for entry in question.named]
        asked = Compilation(source, source_name(request.source), tuple(options), tuple(names))
        found = process.compile(asked)
        if found.status == "NVRTC_ERROR_INVALID_OPTION":
            raise DeclarationError(
                f"NVRTC refuses the options {' '.join(request.options)}: "
                f"{found.log.removeprefix('nvrtc: error: ')}.",
                next_step="correct the kernel's options, or compile with nvcc.",
            )
        if found.status != "NVRTC_SUCCESS":
            # A template fails in the source as well, where it is instantiated for the question.
            plain = all(cpp_name(entry).is_identifier for entry in question.named)
            final = plain or any(words in found.log for words in _NEVER_THE_QUESTIONS)
            asked_for = any(name in found.log for name in (TRAILER_NAME, *LOOKED_FOR))
            return Outcome(None, found.log or found.status, is_final=final and not asked_for)
        # It holds some itself, and says their names alone. One that it reads for every source shows
        # that it says them at all.
        read = [name for name in found.headers if name not in LOOKED_FOR or exists(Path(name))]
        told = any(Path(name).name == PRE_INCLUDED for name in read)
        return Outcome(found.ptx, found.log, found.symbols, headers=read if told else None)


# One variable on one line. None that NVRTC makes is `.visible`: no other module can name it.
_VARIABLE = re.compile(
    rb"^\.global \.align \d+ \.\w+ ([\w$]+)(?:\[\d*\])?(?: = [^;\n]*)?;\n", re.MULTILINE
)
_WORD = re.compile(rb"[\w$]+")


def drop_unused_constants(ptx: bytes) -> bytes:
    """Remove the global variables that no kernel names.

    NVRTC keeps each `constexpr` of every header for the host to look up by name, which nvcc does
    not and which IREE has no call for. It would make 107 KB of the PTX of an empty kernel that
    includes <cooperative_groups.h>, for the driver to read and to lay out at each load.
    """
    uses = Counter(_WORD.findall(ptx))
    return _VARIABLE.sub(lambda match: match[0] if uses[match[1]] > 1 else b"", ptx)


def _version_in(ptx: bytes) -> str | None:
    """The version of what made PTX, by the PTX's head."""
    match = _VERSION.search(ptx, 0, 1000)
    return None if match is None else match[1].decode()
