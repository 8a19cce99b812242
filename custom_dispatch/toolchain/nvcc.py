"""Compiling with nvcc: needs a host preprocessor (gcc), and no GPU and no driver."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from custom_dispatch.errors import DeclarationError, SourceError, ToolNotFoundError
from custom_dispatch.files import check_room, temporary_directory
from custom_dispatch.installation import install_step
from custom_dispatch.kernel.sources import cpp_name
from custom_dispatch.process import run
from custom_dispatch.store import file_identity, key_of
from custom_dispatch.toolchain import compiler_options, locations
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
from custom_dispatch.toolchain.descriptor import TRAILER_NAME, write_trailer
from custom_dispatch.toolchain.includes import SearchPath

STANDARD = compiler_options.Option("--std", "c++17")
"""The C++ standard of both compilers unless a kernel's options name another."""

# These would change what is compiled without any trace in the declaration or in the store's key.
# What configures the host compiler (NVCC_CCBIN, CPATH) stays: some systems need it to find gcc.
_HIDDEN_OPTIONS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")

_CONFIGURE_HOST = ("NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")

# nvcc hands its arguments to gcc through `sh -c`, between double quotes and with nothing escaped:
# a file named `$(command).cu` would run the command (nvcc 13.0, seen).
_SHELL_CHARACTERS = re.compile(r'["$`\\\n]')

_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")
# In the first lines of every PTX file: which cicc (nvidia-nvvm) made it.
_MADE_BY = re.compile(rb"// Cuda compilation tools, release [\d.]+, V(\d+\.\d+\.\d+)")
_BAD_OPTION = re.compile(
    r"nvcc fatal\s*: ((?:Unknown option|Value .* is not defined|.*incompatible).*)"
)
_WITH_TRAILER = "source"  # a directory for the source with a question behind it
_OTHER_HEADERS = "CUDA compiler and CUDA toolkit headers are incompatible"
_NO_HOST_COMPILER = re.compile(
    r"Failed to preprocess host compiler|cannot execute .cc1plus|unsupported GNU version"
)


@dataclass(frozen=True, slots=True)
class Nvcc:
    """nvcc, as a `Compiler`."""

    path: Path
    version: str
    name: str = "nvcc"

    @classmethod
    def find(cls) -> Nvcc:
        """The nvcc of this machine."""
        path = locations.find_tool("nvcc").require("cuda")
        return cls(path, tool_version(path))

    def identity(self, request: CompileRequest) -> bytes:
        """nvcc, cicc and the host's compiler; see `Compiler.identity`."""
        root = self.path.resolve().parent
        parts = [self.path, root / "nvcc.profile", root.parent / "nvvm" / "bin" / "cicc"]
        chosen = compiler_options.option_values(
            compiler_options.check_options(request.options), "--compiler-bindir"
        )
        host = shutil.which("gcc", path=next(iter(chosen), os.environ.get("NVCC_CCBIN")))
        parts += [Path(name) for name in (host, *chosen) if name]
        configured = {name: os.environ.get(name) for name in _CONFIGURE_HOST}
        files = [file_identity(part) for part in parts if part.is_file()]
        return key_of(self.name, self.version, files, configured)

    def search_path(self, request: CompileRequest) -> SearchPath:
        """Where it looks before its own places and gcc's; see `Compiler.search_path`."""
        declared = compiler_options.check_options(request.options)
        host = os.environ.get("CPATH", "").split(os.pathsep)
        places = *compiler_options.option_directories(declared), *map(str, request.include_dirs)
        places += tuple(filter(None, host))
        forced = compiler_options.option_values(declared, "--pre-include")
        return SearchPath(places, forced)

    def begin(self) -> None:
        """Nothing: it is a program; see `Compiler.begin`."""

    def end(self) -> None:
        """Nothing, as `begin`."""

    def compile(self, request: CompileRequest) -> CompiledPtx:
        """Compile to PTX; see `Compiler.compile`."""
        options = compiler_options.check_options(request.options)
        read_source(request.source)
        _refuse_shell_characters(request)
        check_include_dirs(request)
        _require_host_compiler(options)
        self._check_parts(locations.nvvm_version(self.path))
        label = f"nvcc {self.version.rpartition('.')[0]}"

        ask = partial(self._ask, request, options, label)
        places = (*self.search_path(request).directories, "nvcc's and gcc's own directories")
        done = compile_entries(request, label, ask, places=places, name_all=False)
        return replace(done, compiler=f"nvcc {self.version}")

    def _ask(
        self,
        request: CompileRequest,
        options: tuple[compiler_options.Option, ...],
        label: str,
        question: Question,
    ) -> Outcome:
        environment = {k: v for k, v in os.environ.items() if k not in _HIDDEN_OPTIONS}
        environment["LC_ALL"] = "C"  # gcc's half of the messages in English, as nvcc's is
        arguments = self._arguments(request, options)
        with temporary_directory() as directory:
            # nvcc's own intermediate files go with the directory, even after a time limit.
            environment["TMPDIR"] = str(directory)
            output = directory / "out.ptx"
            trailer = write_trailer(question.described, question.named, question.fields)
            arguments += (
                _with_trailer(request.source, trailer, directory / _WITH_TRAILER)
                if trailer
                else [source_name(request.source)]
            )
            headers = directory / "out.d"
            traced = [*arguments, "-MD", "-MF", str(headers), "-o", str(output)]
            completed = run(traced, environment=environment)
            log = (completed.stderr + completed.stdout.decode("utf-8", "replace")).strip()
            if completed.returncode != 0:
                check_room(directory)
                copied = str(directory / _WITH_TRAILER / request.source.name)
                log = log.replace(copied, source_name(request.source))
                self._check_failure(request, label, log)
                ended = completed.returncode < 0  # by an interrupt, or for want of memory
                plain = all(cpp_name(entry).is_identifier for entry in question.named)
                return Outcome(None, log, is_final=ended or (plain and TRAILER_NAME not in log))
            ptx = output.read_bytes()
            found = read_dependencies(headers.read_bytes())
            made = (TRAILER_NAME, f"{directory}/")
            read = [path for path in found if not path.startswith(made)]
        made_by = _MADE_BY.search(ptx, 0, 1000)
        self._check_parts(None if made_by is None else made_by[1].decode())
        return Outcome(ptx, log, headers=read)

    def _arguments(
        self, request: CompileRequest, options: tuple[compiler_options.Option, ...]
    ) -> list[str]:
        standard = [] if any(option.name == "--std" for option in options) else [str(STANDARD)]
        include = [f"-I{path}" for path in request.include_dirs]
        fixed = [str(self.path), "-ptx", f"-arch={request.arch}"]
        # The headers of another release do compile; those who know better may undefine it.
        mixed = locations.headers_release(locations.headers_beside(self.path)) not in (
            None,
            locations.release(self.version),
        )
        macro = [f"-D{locations.NO_CCCL_CHECK}"] if mixed else []
        return [*fixed, *standard, *macro, *compiler_options.for_nvcc(options), *include]

    def _check_failure(self, request: CompileRequest, label: str, log: str) -> None:
        """Raise the error of a failure that is not the source's."""
        if "Unsupported gpu architecture" in log:
            raise unsupported_arch(request.arch, label, _supported(self.path))
        if (bad := _BAD_OPTION.search(log)) is not None:
            raise DeclarationError(
                f"nvcc refuses the options {' '.join(request.options)}: {bad[1].strip()}.",
                next_step="correct the kernel's options.",
            )
        if _OTHER_HEADERS in log:
            headers = locations.headers_release(locations.headers_beside(self.path))
            raise self._mixed(f"CUB, Thrust or <cuda/...> with the CUDA headers of {headers}")
        if _NO_HOST_COMPILER.search(log):
            raise _no_host_compiler("the one found does not work for nvcc", log)

    def _check_parts(self, nvvm: str | None) -> None:
        # nvidia-nvvm is a package of its own, and pip may pair nvcc 13.0 with the newest of it,
        # whose PTX this release's ptxas does not take, nor the driver that it promises.
        if nvvm is not None and locations.release(nvvm) != locations.release(self.version):
            raise self._mixed(f"with the compiler proper (nvidia-nvvm) of {nvvm}")

    def _mixed(self, what: str) -> ToolNotFoundError:
        return ToolNotFoundError(
            f"nvcc {self.version} at `{self.path}` does not compile {what}.",
            expected="all of its parts of one CUDA release",
            next_step=install_step("nvcc"),
        )


def _with_trailer(source: Path, trailer: str, directory: Path) -> list[str]:
    """Arguments that compile a source with something behind it, from a file of the same name."""
    path = os.path.abspath(source)  # noqa: PTH100 - as nvcc sees it: links are not followed
    file = directory / source.name
    directory.mkdir()
    # The trailer as a system header: without warnings.
    text = f'# 1 "{TRAILER_NAME}"\n#include "{path}"\n# 1 "{TRAILER_NAME}" 3\n{trailer}'
    file.write_bytes(os.fsencode(text))
    # Names of internal functions hold a hash of the source's path; it shall be the real one's.
    # nvcc splits what it hands on at commas and blanks.
    real = [] if re.search(r"[,\s]", path) else ["-Xcicc", f"--orig_src_path_name={path}"]
    return [*real, str(file)]


_WORD = re.compile(rb"(?:\\[ #]|\S)+")
_ESCAPED = re.compile(rb"\\([ #])")


def read_dependencies(rule: bytes) -> tuple[str, ...]:
    """The files in the make rule that `-MD` writes: what the compilation read, its source first."""
    _, _, files = rule.replace(b"\\\n", b" ").partition(b" : ")
    words = (_ESCAPED.sub(rb"\1", word).replace(b"$$", b"$") for word in _WORD.findall(files))
    return tuple(map(os.fsdecode, words))


@cache
def tool_version(path: Path) -> str:
    """The full version that a CUDA tool prints: "13.0.88"."""
    completed = run([path, "--version"], timeout_seconds=60)
    match = _VERSION.search(completed.stdout.decode("utf-8", "replace"))
    if completed.returncode != 0 or match is None:
        raise ToolNotFoundError(
            f"`{path} --version` does not print a CUDA version.",
            next_step=f"reinstall it, or {install_step('cuda')}",
            log=completed.stderr,
        )
    return match[1]


@cache
def _supported(path: Path) -> list[str]:
    lines = run([path, "--list-gpu-arch"], timeout_seconds=60).stdout.decode().split()
    capabilities = {int(line.removeprefix("compute_")) for line in lines}
    return [f"sm_{capability}" for capability in sorted(capabilities)]


def _refuse_shell_characters(request: CompileRequest) -> None:
    for path in (request.source, *request.include_dirs):
        # It also splits directories at commas.
        if _SHELL_CHARACTERS.search(str(path)) or (path != request.source and "," in str(path)):
            raise SourceError(
                f"nvcc cannot take the path {str(path)!r}: it would misread a character in it.",
                expected='a path without any of " $ ` \\, line ends, and commas in directories',
                next_step="rename it, or use --compiler nvrtc.",
            )
    for option in request.options:
        if _SHELL_CHARACTERS.search(option):
            raise DeclarationError(
                f"nvcc cannot take the option {option!r}: it would misread a character in it.",
                expected="""an option without any of " $ ` \\ and line ends""",
                next_step="move the definition into the source, or use --compiler nvrtc.",
            )


def _require_host_compiler(options: tuple[compiler_options.Option, ...]) -> None:
    chosen = any(option.name == "--compiler-bindir" for option in options)
    if chosen or os.environ.get("NVCC_CCBIN") or shutil.which("gcc"):
        return
    raise _no_host_compiler("there is no gcc on PATH")


def _no_host_compiler(why: str, log: str = "") -> ToolNotFoundError:
    return ToolNotFoundError(
        f"nvcc needs a host C++ compiler to preprocess sources, and {why}.",
        next_step="install g++ (apt install g++); sources without code for the host compile with "
        "--compiler nvrtc, which needs none.",
        log=log,
    )
