"""Hand-written CUDA kernels inside every model that the IREE compiler compiles.

Declare a kernel once (`Kernel`), then call it, build it (`build`), link it into a model
(`compile`) and run the result (`load`). Importing this package and declaring kernels loads
neither IREE nor CUDA; the functions that need them load them when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.kernel import launch as launching
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.expr import (
    batch,
    ceildiv,
    compute_capability,
    dim,
    maximum,
    minimum,
    where,
)
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import BoundKernel, Taken
from custom_dispatch.kernel.operand import In, InOut, Out, Scalar, Scratch, Struct
from custom_dispatch.kernel.sources import Implementation
from custom_dispatch.kernel.target import DEFAULT_TARGETS, Target

if TYPE_CHECKING:
    from custom_dispatch import jax as jax
    from custom_dispatch import onnx as onnx
    from custom_dispatch import torch as torch
    from custom_dispatch.compilation import compile, emit  # noqa: A004 - cd.compile
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.match.pattern import Pattern
    from custom_dispatch.runtime.device import devices
    from custom_dispatch.runtime.device_array import DeviceArray
    from custom_dispatch.runtime.device_choice import why_not
    from custom_dispatch.runtime.flight import Submission
    from custom_dispatch.runtime.program import Program, load
    from custom_dispatch.toolchain.build import build
    from custom_dispatch.toolchain.library import Library

__version__ = "0.1.0.dev0"

__all__ = [
    "DEFAULT_TARGETS",
    "Choice",
    "CompiledModule",
    "CustomDispatchError",
    "DeviceArray",
    "Implementation",
    "In",
    "InOut",
    "Kernel",
    "Library",
    "Out",
    "Pattern",
    "Program",
    "Scalar",
    "Scratch",
    "Struct",
    "Submission",
    "Target",
    "batch",
    "build",
    "ceildiv",
    "compile",
    "compute_capability",
    "devices",
    "dim",
    "emit",
    "load",
    "maximum",
    "minimum",
    "where",
    "why_not",
]

# Public names that live in rooms which load IREE or a CUDA compiler.
_LAZY = {
    "CompiledModule": "custom_dispatch.compiled",
    "DeviceArray": "custom_dispatch.runtime.device_array",
    "Library": "custom_dispatch.toolchain.library",
    "Pattern": "custom_dispatch.match.pattern",
    "Program": "custom_dispatch.runtime.program",
    "Submission": "custom_dispatch.runtime.flight",
    "build": "custom_dispatch.toolchain.build",
    "compile": "custom_dispatch.compilation",
    "devices": "custom_dispatch.runtime.device",
    "emit": "custom_dispatch.compilation",
    "load": "custom_dispatch.runtime.program",
    "why_not": "custom_dispatch.runtime.device_choice",
}

# Front ends for packages that need not be here. They are not in `__all__`: `import *` would load
# them.
_FRONT_ENDS = ("jax", "onnx", "torch")


def __getattr__(name: str) -> Any:
    if name in _FRONT_ENDS:
        return importlib.import_module(f"custom_dispatch.{name}")
    room = _LAZY.get(name)
    if room is None:
        raise AttributeError(f"module 'custom_dispatch' has no attribute {name!r}")
    value = getattr(importlib.import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _launch(bound: BoundKernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Load what calls kernels, which takes this function's place."""
    from custom_dispatch.eager.call import launch

    launching.launch = launch
    return launch(bound, arguments, keywords)


def _decide(choice: Choice, target: Target | str | None, dims: dict[str, int]) -> Taken:
    """Load what tells which kernel of a choice a call takes."""
    from custom_dispatch.eager.call_choice import which

    return which(choice, target, dims)


launching.launch = _launch
launching.decide = _decide
