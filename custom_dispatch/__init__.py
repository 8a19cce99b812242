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
    from custom_dispatch import prebuilt as prebuilt
    from custom_dispatch import torch as torch
    from custom_dispatch import triton as triton
    from custom_dispatch.compilation import compile as compile  # noqa: A004 - cd.compile
    from custom_dispatch.compilation import emit as emit
    from custom_dispatch.compiled import CompiledModule as CompiledModule
    from custom_dispatch.errors import CustomDispatchError as CustomDispatchError
    from custom_dispatch.kernel.choice import Choice as Choice
    from custom_dispatch.kernel.expr import batch as batch
    from custom_dispatch.kernel.expr import ceildiv as ceildiv
    from custom_dispatch.kernel.expr import compute_capability as compute_capability
    from custom_dispatch.kernel.expr import dim as dim
    from custom_dispatch.kernel.expr import maximum as maximum
    from custom_dispatch.kernel.expr import minimum as minimum
    from custom_dispatch.kernel.expr import where as where
    from custom_dispatch.kernel.kernel import Kernel as Kernel
    from custom_dispatch.kernel.operand import In as In
    from custom_dispatch.kernel.operand import InOut as InOut
    from custom_dispatch.kernel.operand import Out as Out
    from custom_dispatch.kernel.operand import Scalar as Scalar
    from custom_dispatch.kernel.operand import Scratch as Scratch
    from custom_dispatch.kernel.operand import Struct as Struct
    from custom_dispatch.kernel.sources import Implementation as Implementation
    from custom_dispatch.kernel.target import DEFAULT_TARGETS as DEFAULT_TARGETS
    from custom_dispatch.kernel.target import Target as Target
    from custom_dispatch.match.pattern import Pattern as Pattern
    from custom_dispatch.runtime.device import devices as devices
    from custom_dispatch.runtime.device_array import DeviceArray as DeviceArray
    from custom_dispatch.runtime.device_choice import why_not as why_not
    from custom_dispatch.runtime.flight import Submission as Submission
    from custom_dispatch.runtime.program import Program as Program
    from custom_dispatch.runtime.program import load as load
    from custom_dispatch.toolchain.build import build as build
    from custom_dispatch.toolchain.library import Library as Library

__version__ = "0.1.0.dev0"

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

__all__ = [name for names in _ROOMS.values() for name in names]

# Front ends, most of them for packages that need not be here: `import *` would load them.
_FRONT_ENDS = ("jax", "onnx", "prebuilt", "torch", "triton")


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
