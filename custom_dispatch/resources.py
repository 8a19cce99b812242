"""Files that ship with the package: the CMake function and the sample model."""

from __future__ import annotations

from pathlib import Path


def resource(name: str) -> Path:
    """A shipped file or directory: "cmake", "mlir/mixed_invocation.mlir".

    In an installed package they lie inside it, under `share`; in a checkout at the top.
    """
    package = Path(__file__).resolve().parent
    installed = package / "share" / name
    return installed if installed.exists() else package.parent / name
