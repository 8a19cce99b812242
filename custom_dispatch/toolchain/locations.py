"""Where the CUDA tools, the NVRTC library and the CUDA headers are, of which release, and why.

Looked for in this order, the first usable place winning:

1. the PyPI wheels of this Python environment (`nvidia/cu13`), because their versions are pinned;
2. the toolkit that `CUDA_HOME` or `CUDA_PATH` names;
3. `PATH`;
4. `/usr/local/cuda`.

Every place that was passed over is kept with its reason: errors and `custom-dispatch doctor`
print them.

Of these mixtures some do not work (tried with CUDA 13.0 to 13.5): nvcc with the compiler proper
(nvidia-nvvm) of another release, and nvcc with the headers of another (nvidia-cuda-runtime) where a
source includes CCCL before 13.2, which refuses them. NVRTC works with all headers.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.files import is_directory, is_file
from custom_dispatch.installation import install_step

# The directory that NVIDIA's CUDA 13 wheels share inside the namespace package `nvidia`.
WHEEL_DIRECTORY = "cu13"
DEFAULT_TOOLKIT = Path("/usr/local/cuda")


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found, and the places it passed over."""

    what: str
    """What was looked for: "nvcc", "the NVRTC library"."""
    found: Path | None
    """Where it is, or None."""
    place: str
    """The kind of place it was found in: "PyPI wheels", "CUDA_HOME=...", "PATH"; or empty."""
    rejected: tuple[tuple[str, str], ...]
    """(place, reason) for each place looked at before, in order."""

    def require(self, extra: str) -> Path:
        """The path found.

        `extra`: the extra of this package that brings it: "cuda", "nvcc".
        """
        if self.found is not None:
            return self.found
        raise ToolNotFoundError(
            f"{self.what} was not found.",
            expected="it in one of these places:\n"
            + "\n".join(f"    {place}: {reason}" for place, reason in self.rejected),
            next_step=install_step(extra),
        )


def find_tool(name: str) -> Search:
    """Find `nvcc`, `ptxas` or `fatbinary`; nothing is run."""
    return _search(name, lambda root: _tool_in(root, name), lambda: _on_path(name))


def find_nvrtc() -> Search:
    """Find the NVRTC library; it is not loaded."""
    return _search("NVRTC", _nvrtc_in, lambda: (None, "holds programs, not libraries"))


def nvrtc_libraries(library: Path) -> tuple[Path, ...]:
    """What a process loads to compile with NVRTC, in this order: its builtins, and itself."""
    return *sorted(library.parent.glob("libnvrtc-builtins.so.13*")), library


def find_headers() -> Search:
    """Find the CUDA headers: the directory that holds `cuda_runtime.h`."""
    return _search("The CUDA headers", _headers_in, _headers_beside_nvcc)


def include_directories() -> tuple[Path, ...]:
    """The CUDA headers and, where present, CCCL (`<cuda/std/...>`, `<cub/...>`); may be empty."""
    headers = find_headers().found
    if headers is None:
        return ()
    return tuple(path for path in (headers, headers / "cccl") if is_directory(path))


_Verdict = tuple[Path | None, str]


def _search(
    what: str, look_in: Callable[[Path], _Verdict], look_on_path: Callable[[], _Verdict]
) -> Search:
    rejected: list[tuple[str, str]] = []
    for place, root in _places():
        if place == "PATH":
            found, reason = look_on_path()
        elif root is None:
            found, reason = None, "not set"
            if place.startswith("PyPI"):
                reason = "NVIDIA's CUDA 13 packages are not installed"
        else:
            found, reason = look_in(root)
        if found is not None:
            return Search(what, found, place, tuple(rejected))
        rejected.append((place, reason))
    return Search(what, None, "", tuple(rejected))


def _places() -> Iterator[tuple[str, Path | None]]:
    wheels = wheel_roots()
    for root in wheels:
        yield f"PyPI wheels in {root}", root
    if not wheels:
        yield f"PyPI wheels in {sys.prefix}", None
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        value = os.environ.get(variable, "")
        yield (f"{variable}={value}", Path(value)) if value else (variable, None)
    yield "PATH", None
    yield str(DEFAULT_TOOLKIT), DEFAULT_TOOLKIT


def wheel_roots() -> tuple[Path, ...]:
    """The directories of this environment that hold NVIDIA's CUDA 13 wheels; usually one."""
    # `nvidia` is a namespace package: finding it runs no code and sees every directory on
    # sys.path, the user's and the system's site-packages included.
    spec = importlib.util.find_spec("nvidia")
    locations = spec.submodule_search_locations if spec is not None else None
    roots = [Path(location) / WHEEL_DIRECTORY for location in locations or ()]
    return tuple(root for root in roots if is_directory(root))


def _tool_in(root: Path, name: str) -> _Verdict:
    tool = root / "bin" / name
    if not is_file(tool):
        return None, f"has no bin/{name}"
    if not os.access(tool, os.X_OK):
        return None, f"bin/{name} may not be executed"
    if name == "nvcc" and root.name == WHEEL_DIRECTORY:
        # nvcc only drives: without these two wheels it starts, and fails in mid-compile.
        if not is_file(root / "nvvm" / "bin" / "cicc"):
            return None, "has nvcc but not nvidia-nvvm, which holds its compiler proper"
        if not is_file(root / "include" / "crt" / "host_defines.h"):
            return None, "has nvcc but not nvidia-cuda-crt, which holds its headers"
    return tool, ""


def _on_path(name: str) -> _Verdict:
    found = shutil.which(name)
    return (Path(found), "") if found else (None, f"has no {name}")


def _nvrtc_in(root: Path) -> _Verdict:
    for directory in (root / "lib", root / "lib64"):
        for library in sorted(directory.glob("libnvrtc.so.13*")):
            return library, ""
    return None, "has no libnvrtc.so.13"


def _headers_in(root: Path) -> _Verdict:
    include = root / "include"
    if is_file(include / "cuda_runtime.h"):
        return include, ""
    return None, "has no include/cuda_runtime.h"


def _headers_beside_nvcc() -> _Verdict:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None, "has no nvcc with headers beside it"
    found, reason = _headers_in(Path(nvcc).resolve().parent.parent)
    return found, f"nvcc is `{nvcc}`, beside which {reason.removeprefix('has ')}" if reason else ""


NO_CCCL_CHECK = "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK"
"""The macro by which CCCL takes headers of another release than the compiler's."""

_CUDART_VERSION = r"^#define\s+CUDART_VERSION\s+(\d+)"


def release(version: str) -> str:
    """The release of a version: of "13.0.88" it is "13.0"."""
    return ".".join(version.split(".")[:2])


def nvvm_version(nvcc: Path) -> str | None:
    """The version of the compiler proper that an nvcc starts; None where nothing tells it.

    Of a toolkit that was installed as one, nothing needs to.
    """
    root = nvcc.resolve().parent.parent
    if root.name != WHEEL_DIRECTORY:
        return None
    from importlib import metadata  # slow to load, and seldom asked

    site = str(root.parent.parent)
    found = metadata.distributions(name="nvidia-nvvm", path=[site])
    return next((item.version for item in found), None)


def headers_beside(nvcc: Path) -> Path:
    """Where nvcc takes the CUDA headers from."""
    return nvcc.resolve().parent.parent / "include"


def headers_release(headers: Path) -> str | None:
    """The release of the CUDA headers in a directory, "13.2"; None where that cannot be read."""
    try:
        text = (headers / "cuda_runtime_api.h").read_text("utf-8", "replace")
        match = re.search(_CUDART_VERSION, text, re.MULTILINE)
    except OSError:
        return None
    return None if match is None else f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}"


def cccl_refuses_other_headers(nvcc: Path) -> bool:
    """Whether the CCCL beside an nvcc takes headers of nvcc's own release alone."""
    check = headers_beside(nvcc) / "cccl" / "cuda" / "std" / "__cccl" / "cuda_toolkit.h"
    try:
        return NO_CCCL_CHECK not in check.read_text("utf-8", "replace")
    except OSError:
        return False


def nvcc_conflict(nvcc: Path, version: str) -> str | None:
    """Why an nvcc of a version cannot compile, or not everything, for what pip put beside it."""
    nvvm, headers = nvvm_version(nvcc), headers_release(headers_beside(nvcc))
    if nvvm is not None and release(nvvm) != release(version):
        return f"does not compile with the compiler proper (nvidia-nvvm) of {nvvm}"
    if headers not in (None, release(version)) and cccl_refuses_other_headers(nvcc):
        return f"does not compile CUB, Thrust or <cuda/...> with the CUDA headers of {headers}"
    return None
