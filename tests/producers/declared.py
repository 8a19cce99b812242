"""Kernels from PTX of other languages: on vectors, on two dimensions, and sums of rows.

The files under `ptx` are for sm_80, written by the modules beside this one with numba-cuda 0.30.4,
warp-lang 1.19.0, nvidia-cutlass-dsl 4.8.1 and cuda-tile 1.7.0 (tileiras 13.4.92).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import custom_dispatch as cd

PTX = Path(__file__).parent / "ptx"
LANGUAGES = ("numba", "warp", "cute", "tile")
n, m = cd.dim("n"), cd.dim("m")
SAXPY = {
    "operands": [
        cd.In("x", "f32", [n]),
        cd.In("y", "f32", [n]),
        cd.Out("out", "f32", [n]),
        cd.Scalar("a", "f32"),
    ],
    "grid": cd.ceildiv(n, 256),
}
SCALE_ROWS = [cd.In("x", "f32", [m, n]), cd.In("y", "f32", [m]), cd.Out("out", "f32", [m, n])]
_LAUNCHES: dict[str, dict[str, Any]] = {
    "numba": {"block": (16, 8), "grid": (cd.ceildiv(m, 16), cd.ceildiv(n, 8))},
    "warp": {"block": 128, "dim": [m, n]},
    "cute": {"grid": m},
    "tile": {"grid": (cd.ceildiv(m, 8), cd.ceildiv(n, 32))},
}
_SUMS: dict[str, dict[str, Any]] = {
    "numba": {"block": 128, "grid": m},
    "warp": {"block": 64, "dim": [m, n]},
    "cute": {"grid": m, "dynamic_shared_memory": 512},
    "tile": {"grid": m},
}


def kernel(language: str, function: str, **given: Any) -> cd.Kernel:
    name = "kernels" if language == "warp" else function
    entry = f"{function}_cuda_kernel_forward" if language == "warp" else None
    given = {"entry": entry, "layout": language, "name": f"{language}_{function}", **given}
    return cd.prebuilt.kernel(PTX / f"{language}_{name}.ptx", **given)


def saxpy(language: str, **given: Any) -> cd.Kernel:
    extra: dict[str, Any] = {"dim": n, "grid": None} if language == "warp" else {}
    blocks = {"block": 256} if language in ("numba", "warp") else {}
    return kernel(language, "saxpy", **SAXPY | blocks | extra | given)


def scale_rows(language: str, operands: Any = SCALE_ROWS, **given: Any) -> cd.Kernel:
    return kernel(language, "scale_rows", operands=operands, **_LAUNCHES[language] | given)


def row_sum(language: str) -> cd.Kernel:
    """Warp's adds to what there is."""
    out = (cd.InOut if language == "warp" else cd.Out)("out", "f32", [m])
    operands = [cd.In("x", "f32", [m, n]), out]
    return kernel(language, "row_sum", operands=operands, **_SUMS[language])
