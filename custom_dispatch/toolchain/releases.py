"""Of which CUDA releases the parts of an installation are, where pip has mixed them.

Of these mixtures some do not work (tried with CUDA 13.0 to 13.5): nvcc with the compiler proper
(nvidia-nvvm) of another release, and nvcc with the headers of another (nvidia-cuda-runtime) where a
source includes CCCL before 13.2, which refuses them. NVRTC works with all headers.
"""

from __future__ import annotations

import re
from pathlib import Path

from custom_dispatch.toolchain.locations import WHEEL_DIRECTORY

NO_CCCL_CHECK = "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK"
"""The macro by which CCCL takes headers of another release than the compiler's."""

_CUDART_VERSION = re.compile(r"^#define\s+CUDART_VERSION\s+(\d+)", re.MULTILINE)


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
        match = _CUDART_VERSION.search(text)
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
