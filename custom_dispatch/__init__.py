"""Hand-written CUDA kernels inside every model that the IREE compiler compiles.

Declare a kernel once (`Kernel`), then call it, build it (`build`), link it into a model
(`compile`) and run the result (`load`). Importing this package and declaring kernels loads
neither IREE nor CUDA; the functions that need them load them when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custom_dispatch import jax as jax
    from custom_dispatch import onnx as onnx
    from custom_dispatch import torch as torch
    from custom_dispatch import triton as triton
    from custom_dispatch.compilation import compile, emit  # noqa: A004 - cd.compile
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.errors import CustomDispatchError
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
    from custom_dispatch.kernel.operand import In, InOut, Out, Scalar, Scratch, Struct
    from custom_dispatch.kernel.sources import Implementation
    from custom_dispatch.kernel.target import DEFAULT_TARGETS, Target
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

# The room of each public name. None is loaded before it is asked for: who runs a module needs no
# declarations, and who declares a kernel neither IREE nor a compiler.
_ROOMS = {
    "compilation": ("compile", "emit"),
    "compiled": ("CompiledModule",),
    "errors": ("CustomDispatchError",),
    "kernel.choice": ("Choice",),
    "kernel.expr": ("batch", "ceildiv", "compute_capability", "dim", "maximum", "minimum", "where"),
    "kernel.kernel": ("Kernel",),
    "kernel.operand": ("In", "InOut", "Out", "Scalar", "Scratch", "Struct"),
    "kernel.sources": ("Implementation",),
    "kernel.target": ("DEFAULT_TARGETS", "Target"),
    "match.pattern": ("Pattern",),
    "runtime.device": ("devices",),
    "runtime.device_array": ("DeviceArray",),
    "runtime.device_choice": ("why_not",),
    "runtime.flight": ("Submission",),
    "runtime.program": ("Program", "load"),
    "toolchain.build": ("build",),
    "toolchain.library": ("Library",),
}

# Front ends for packages that need not be here. They are not in `__all__`: `import *` would load
# them.
_FRONT_ENDS = ("jax", "onnx", "torch", "triton")


def __getattr__(name: str) -> Any:
    if name in _FRONT_ENDS:
        return importlib.import_module(f"custom_dispatch.{name}")
    room = next((room for room, names in _ROOMS.items() if name in names), None)
    if room is None:
        raise AttributeError(f"module 'custom_dispatch' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"custom_dispatch.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
