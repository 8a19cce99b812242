"""What a CUDA compiler is to the rest of the package: a source and an arch in, PTX out."""

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from custom_dispatch.errors import DeclarationError, SourceError
from custom_dispatch.files import exists, is_directory, read_bytes
from custom_dispatch.installation import install_step
from custom_dispatch.kernel.sources import cpp_name
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.compiler_options import DEBUG_INFORMATION, check_options
from custom_dispatch.toolchain.descriptor import StructFields, read_answer
from custom_dispatch.toolchain.entry_point import EntryPoint, find_entries
from custom_dispatch.toolchain.includes import SearchPath
from custom_dispatch.toolchain.locations import WHEEL_DIRECTORY, find_headers, headers_release


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One `.cu` file to be compiled for one architecture."""

    source: Path
    """The file; messages name it as written here."""
    arch: Arch
    options: tuple[str, ...] = ()
    """Options in nvcc's spelling; see `compiler_options.check_options` for those refused."""
    include_dirs: tuple[Path, ...] = ()
    """Directories searched for headers, before CUDA's own."""
    entries: tuple[str, ...] = ()
    """The kernels that are wanted, as declared: identifiers and C++ names, each once. Templates
    among them are instantiated."""
    fields: tuple[StructFields, ...] = ()
    """The fields of structs, of which it is asked where they lie."""


@dataclass(frozen=True, slots=True)
class CompiledPtx:
    """The PTX of one source for one architecture."""

    ptx: bytes
    """Without the NUL that NVRTC ends it with."""
    compiler: str
    """Name and full version: "nvcc 13.0.88"."""
    log: str
    """The compiler's warnings; usually empty."""
    entries: tuple[EntryPoint, ...] = ()
    """Each of the entries asked for: its symbol, and its C++ type where that could be had. An
    identifier that the source does not have is its own symbol, and has no type."""
    headers: tuple[str, ...] | None = None
    """The files that it read, besides the source; None where the compiler does not say them."""


class Compiler(Hashable, Protocol):
    """nvcc or NVRTC."""

    @property
    def name(self) -> str:
        """The name by which `find_compiler` knows it."""

    @property
    def version(self) -> str:
        """The full version: "13.0.88"."""

    def identity(self, request: CompileRequest) -> bytes:
        """What tells this compiler from any other, with what configures it from outside.

        Raises `OSError`: a part of it cannot be read.
        """

    def search_path(self, request: CompileRequest) -> SearchPath:
        """Where it looks for headers."""

    def begin(self) -> None:
        """Keep what compiling in this thread needs, until `end`."""

    def end(self) -> None:
        """End what `begin` started, in every thread."""

    def compile(self, request: CompileRequest) -> CompiledPtx:
        """Compile to PTX. May be called from several threads at once."""


def read_source(path: Path) -> bytes:
    """Read a `.cu` file as a compiler will take it: UTF-8, without a byte order mark."""
    data = read_bytes(path, "The CUDA source", SourceError)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise SourceError(
            f"The CUDA source `{path}` is not UTF-8 text: line {line} holds the byte "
            f"0x{data[problem.start]:02x}.",
            next_step="save the file as UTF-8, or name the .cu file rather than a built object.",
        ) from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise SourceError(
            f"The CUDA source `{path}` holds a NUL character in line {line}.",
            expected="text",
            next_step="name the .cu file rather than a built object.",
        )
    # NVRTC takes a byte order mark for a stray token; gcc, and so nvcc, skips it.
    return data.removeprefix(b"\xef\xbb\xbf")


def check_include_dirs(request: CompileRequest) -> None:
    """Refuse an include directory that is not one: compilers ignore it silently."""
    for path in request.include_dirs:
        if not is_directory(path):
            raise SourceError(
                f"The include directory `{path}` of `{request.source.name}` "
                f"{'is a file' if exists(path) else 'does not exist'}.",
                expected="a directory that holds headers",
                next_step="correct the path, or remove it.",
            )


def source_name(path: Path) -> str:
    """The path as a compiler takes it: a name that begins with `-` would be read as an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


def does_not_compile(
    request: CompileRequest, compiler: str, log: str, places: Sequence[str] = ()
) -> SourceError:
    """The error of a source that the compiler rejects, with the compiler's own message.

    - `compiler`: name and short version: "NVRTC 13.0".
    - `places`: where it looks for headers.
    """
    missing = _MISSING_HEADER.search(log)
    if missing is not None:
        return _no_header(request, compiler, log, missing, places)
    return SourceError(
        f"`{request.source.name}` does not compile for {request.arch} ({compiler}).",
        next_step="correct the source where the compiler's message points:",
        log=_errors_first(log),
    )


_ERROR = re.compile(r"\berror(?: #[\w-]+)?:")


def _errors_first(log: str) -> str:
    """The same messages, which blank lines separate, without warnings before the first error."""
    messages = re.split(r"\n(?:[ \t]*\n)+", log)
    return "\n\n".join(sorted(messages, key=lambda message: _ERROR.search(message) is None))


# NVRTC's words, and gcc's, which preprocesses for nvcc.
_MISSING_HEADER = re.compile(
    r'^(?P<nvrtc>[^\n]*)\(\d+\): [a-z]+ error: cannot open source file "(?P<sought>[^"\n]*)"'
    r"|^(?P<gcc>[^\n]*?):\d+:\d+: fatal error: (?P<header>[^\n]*): No such file or directory",
    re.MULTILINE,
)

# CUDA's libraries, each an extra of the package "cuda-toolkit", by how their headers begin.
_LIBRARY = re.compile(
    r"(?P<cublas>cublas)|(?P<cufft>cufft)|(?P<cupti>cupti|generated_cuda)|(?P<curand>curand)"
    r"|(?P<cusolver>cusolver)|(?P<cusparse>cusparse)|(?P<npp>npp)|(?P<nvjpeg>nvjpeg)"
    r"|(?P<nvml>nvml\.h)|(?P<nvtx>nvtx3/)|(?P<profiler>cuda_profiler_api\.h|cudaProfiler\.h)"
)


def _no_header(
    request: CompileRequest, compiler: str, log: str, missing: re.Match[str], places: Sequence[str]
) -> SourceError:
    includer = Path(missing["nvrtc"] or missing["gcc"])
    header = missing["sought"] or missing["header"]
    searched = list(places)
    if f'"{header}"' in log.replace(missing[0], ""):  # in quotes in the source's own line
        searched.insert(0, f"{includer.parent} (beside {includer.name})")
    headers = find_headers()
    if headers.found is None:
        searched += (f"{place}: {reason}" for place, reason in headers.rejected)
    hint = 'give its directory: include_dirs=["..."], or --include on the command line'
    if "NVRTC" in compiler:
        hint += (
            "; NVRTC has no host C++ library, so use <cuda/std/...> in its place, or compile with "
            "nvcc"
        )
    part = _LIBRARY.match(header)
    if part and headers.found and headers.found.parent.name == WHEEL_DIRECTORY:
        # The release of the headers that are there: pip leaves the other wheels as they are.
        of_release = f"=={known}.*" if (known := headers_release(headers.found)) else ""
        command = f"pip install 'cuda-toolkit[{part.lastgroup}]{of_release}'"
        hint = f"{command}; or, if it is installed elsewhere, {hint}"
    return SourceError(
        f"`{includer.name}` includes `{header}`, which was not found ({compiler}, "
        f"{request.source.name}).",
        expected="it in one of these places:\n" + "\n".join(f"    {place}" for place in searched),
        next_step=install_step("cuda") if headers.found is None else f"{hint}.",
        log=log,
    )


def no_such_kernel(request: CompileRequest, entry: str, compiler: str, log: str) -> SourceError:
    """The error of a C++ name that a source, which compiles by itself, has not.

    `log`: what the compiler says of the name.
    """
    return SourceError(
        f"`{request.source.name}` has no kernel `{entry}` that compiles for {request.arch} "
        f"({compiler}).",
        expected="the name of a __global__ function as C++ code after the source's end would "
        "write it; that of an overload with its parameter types: scale(const float*, int)",
        next_step="correct entry= or the source; the compiler says:",
        log=log,
    )


def unsupported_arch(arch: Arch, compiler: str, supported: list[str]) -> DeclarationError:
    """The error of an architecture that the compiler does not know."""
    return DeclarationError(
        f"{compiler} does not compile for {arch}.",
        expected=f"one of {', '.join(supported)}",
        next_step="choose one of these targets, or install a CUDA compiler that knows it.",
    )


_ENTRY = re.compile(rb"\.entry\s+([\w$]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Question:
    """What one compilation asks for."""

    described: tuple[str, ...]
    """Entries whose types are asked for."""
    named: tuple[str, ...]
    """Entries whose symbols are asked for."""
    fields: tuple[StructFields, ...] = ()
    """Fields of structs whose places are asked for; their entries are among those described."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one compilation gave."""

    ptx: bytes | None
    """None where the source, with its question, does not compile."""
    log: str
    symbols: tuple[str, ...] | None = None
    """Of each entry that was named; None where they are to be read from the PTX."""
    is_final: bool = False
    """Whether the log shows that the source does not compile with any question."""
    headers: Sequence[str] | None = None
    """The files that were read, where the compiler says them."""


def compile_entries(
    request: CompileRequest,
    compiler: str,
    ask: Callable[[Question], Outcome],
    *,
    places: Sequence[str],
    name_all: bool,
) -> CompiledPtx:
    """Compile a source and find out what its entries are.

    A source that compiles by itself may not with a question behind it: it has no such function, or
    hides it in a namespace, or the C++ standard is too old. Then less is asked for. Only C++ names
    must be answered, because their symbols cannot be had otherwise.

    - `compiler`: name and short version, for errors and in the result.
    - `ask`: compiles the source with a question.
    - `places`: where the compiler looks for headers, for errors.
    - `name_all`: whether asking for a symbol leaves the PTX as it is. Otherwise plain names are
      asked for only where the PTX has no such entry, as for a C++ function in no namespace.
    """
    # A mangled name is one that C++ cannot look up.
    known = tuple(entry for entry in request.entries if not entry.startswith("_Z"))
    needed = tuple(entry for entry in known if not cpp_name(entry).is_identifier)
    named = known if name_all else needed
    # Debug information would describe the question as well.
    debug = any(item.name == DEBUG_INFORMATION for item in check_options(request.options))
    described = () if debug else known
    fields = tuple(item for item in request.fields if item.entry in described)
    questions = [Question(described, named, fields), Question(described, named)]
    questions += [Question((), named)]
    questions += [Question((), needed), Question((), ())]
    for question in dict.fromkeys(questions):
        outcome = ask(question)
        if outcome.ptx is not None or outcome.is_final:
            break
    if outcome.ptx is None:
        raise does_not_compile(request, compiler, outcome.log, places)
    for entry in needed if not question.named else ():
        alone = ask(Question((), (entry,)))
        if alone.ptx is None:
            raise no_such_kernel(request, entry, compiler, alone.log)
    absent = tuple(
        entry
        for entry in known
        if entry not in question.named and not _has_entry(outcome.ptx, entry)
    )
    if absent:
        more = replace(question, named=(*question.named, *absent))
        second = ask(more)
        if second.ptx is not None:
            question, outcome = more, second
    ptx, entries = _answered(request, question, outcome)
    headers = None if outcome.headers is None else tuple(sorted({*outcome.headers}))
    return CompiledPtx(ptx, compiler, outcome.log, entries, headers)


def _has_entry(ptx: bytes | None, symbol: str) -> bool:
    return re.search(rb"\.entry\s+" + re.escape(symbol.encode()) + rb"\b", ptx or b"") is not None


def _answered(
    request: CompileRequest, question: Question, outcome: Outcome
) -> tuple[bytes, tuple[EntryPoint, ...]]:
    """The PTX, with what the compiler said of its entries."""
    from_ptx = len(question.named) if outcome.symbols is None else 0
    answer = read_answer(outcome.ptx or b"", question.described, from_ptx, question.fields)
    symbols = answer.symbols if outcome.symbols is None else outcome.symbols
    symbol_of = dict(zip(question.named, symbols, strict=True))
    # A plain name that a host function overloads is none that C++ could look up by itself.
    rest = [e for e in request.entries if e not in symbol_of and not _has_entry(answer.ptx, e)]
    if rest:
        there = [match.decode() for match in _ENTRY.findall(answer.ptx)]
        symbol_of |= {found.name: found.symbol for found in find_entries(rest, there)}
    signature_of = dict(zip(question.described, answer.signatures, strict=True))
    entries = tuple(
        EntryPoint(entry, symbol_of.get(entry, entry), signature_of.get(entry))
        for entry in request.entries
    )
    return make_visible(answer.ptx, entries), entries


def make_visible(ptx: bytes, entries: Sequence[EntryPoint]) -> bytes:
    """PTX whose entries a driver finds by name: that of a static function has no linkage."""
    for entry in entries:
        local = rb"^\.entry(?=\s+" + re.escape(entry.symbol.encode()) + rb"\b)"
        ptx = re.sub(local, b".visible .entry", ptx, flags=re.MULTILINE)
    return ptx
