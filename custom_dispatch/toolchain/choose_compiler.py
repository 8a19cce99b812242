"""The compiler of a name; "auto" is NVRTC, and nvcc for the sources that NVRTC cannot take.

NVRTC knows no code for the host: neither its headers nor its functions, and so no `main` and no
launch. Of what fails with it, nvcc is the judge, unless each of NVRTC's errors is one that code for
the host does not cause. nvcc takes seconds, so mistakes of these kinds are told without it.

A result is kept by what both compilers are and read, so that a source which NVRTC did not take is
not given to it again.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from custom_dispatch import errors
from custom_dispatch.kernel.launch import check_compiler_name
from custom_dispatch.store import key_of
from custom_dispatch.toolchain.compiler import CompiledPtx, Compiler, CompileRequest
from custom_dispatch.toolchain.descriptor import TRAILER_NAME
from custom_dispatch.toolchain.includes import SearchPath
from custom_dispatch.toolchain.locations import find_nvrtc, find_tool
from custom_dispatch.toolchain.nvcc import Nvcc
from custom_dispatch.toolchain.nvrtc import LOOKED_FOR, Nvrtc

_ERROR = re.compile(
    r"^(?P<file>[^\n]*)\(\d+\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>[^\n]*)$",
    re.MULTILINE,
)
# What stays a mistake whatever is declared elsewhere. A name that is not known is no such mistake:
# a header of the host, or gcc itself, may declare it.
_MISTAKE = re.compile(
    r"expected an? |expression must |a value of type |too (?:few|many) arguments |"
    r"unrecognized token|missing closing quote|return value type "
)


def find_compiler(name: str = "auto") -> Compiler:
    """The compiler of that name; "auto" is NVRTC where installed, with nvcc for what it refuses.

    NVRTC comes first because it needs no host compiler and is several times faster. It takes no
    code for the host.
    """
    match check_compiler_name(name):
        case "nvrtc":
            return Nvrtc.find()
        case "nvcc":
            return Nvcc.find()
        case _:
            found = find_nvrtc().found
            return Nvcc.find() if found is None else NvrtcElseNvcc(Nvrtc(found))


@dataclass(frozen=True, slots=True, eq=False)
class NvrtcElseNvcc:
    """NVRTC, and nvcc for what NVRTC cannot take, as a `Compiler`."""

    nvrtc: Nvrtc
    name: str = "auto"

    @property
    def version(self) -> str:
        """NVRTC's."""
        return self.nvrtc.version

    def identity(self, request: CompileRequest) -> bytes:
        """Both compilers; see `Compiler.identity`. No program is started to find it out."""
        path = find_tool("nvcc").found
        nvcc = path and Nvcc(path, version="").identity(request)
        return key_of(self.name, self.nvrtc.identity(request), nvcc)

    def search_path(self, request: CompileRequest) -> SearchPath:
        """Both compilers'; see `Compiler.search_path`."""
        known = self.nvrtc.search_path(request)
        more = Nvcc(Path(), version="").search_path(request).directories
        return replace(known, directories=tuple(dict.fromkeys((*known.directories, *more))))

    def begin(self) -> None:
        """As NVRTC's; see `Compiler.begin`. Where that cannot be, compiling says so."""
        with suppress(errors.ToolNotFoundError):
            self.nvrtc.begin()

    def end(self) -> None:
        """As NVRTC's; see `Compiler.end`."""
        self.nvrtc.end()

    def compile(self, request: CompileRequest) -> CompiledPtx:
        """Compile to PTX; see `Compiler.compile`."""
        try:
            return self.nvrtc.compile(request)
        except (errors.DeclarationError, errors.SourceError, errors.ToolNotFoundError) as error:
            if not _may_be_for_the_host(error):
                raise
            refusal = error
        try:
            return Nvcc.find().compile(request)
        except errors.CustomDispatchError as error:
            if not isinstance(refusal, errors.SourceError):
                raise refusal from None
            if isinstance(error, errors.SourceError) and error.log:
                # All that NVRTC said of the source itself is in it as well, without the rest.
                raise error from None
            raise errors.SourceError(
                f"{refusal.found} NVRTC takes no code for the host; nvcc does, and cannot be used: "
                f"{error.found}",
                expected=error.expected,
                next_step=error.next_step,
                log=refusal.log,
            ) from error


def _may_be_for_the_host(error: errors.CustomDispatchError) -> bool:
    """Whether nvcc may take what NVRTC refused with this error."""
    if not isinstance(error, errors.SourceError):  # an option, an architecture, or NVRTC itself
        return True
    # NVRTC gives no list where it was ended. A name that the source has not, no compiler finds.
    ours = (TRAILER_NAME, *LOOKED_FOR)
    return any(
        not found["file"].endswith(ours) and _MISTAKE.match(found["text"]) is None
        for found in _ERROR.finditer(error.log)
    )
