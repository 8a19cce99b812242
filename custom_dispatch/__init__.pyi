# The public names, each from its room: for type checkers, and for `__init__.py`, which looks
# them up here.

from custom_dispatch import jax as jax
from custom_dispatch import onnx as onnx
from custom_dispatch import prebuilt as prebuilt
from custom_dispatch import tilelang as tilelang
from custom_dispatch import torch as torch
from custom_dispatch import triton as triton
from custom_dispatch.compilation import compile as compile  # noqa: A004 - cd.compile
from custom_dispatch.compilation import emit as emit
from custom_dispatch.compiled import CompiledModule as CompiledModule
from custom_dispatch.errors import CustomDispatchError as CustomDispatchError
from custom_dispatch.frontends.languages import cute as cute
from custom_dispatch.frontends.languages import numba as numba
from custom_dispatch.frontends.languages import tile as tile
from custom_dispatch.frontends.languages import warp as warp
from custom_dispatch.kernel.choice import Choice as Choice
from custom_dispatch.kernel.expr import batch as batch
from custom_dispatch.kernel.expr import ceildiv as ceildiv
from custom_dispatch.kernel.expr import compute_capability as compute_capability
from custom_dispatch.kernel.expr import dim as dim
from custom_dispatch.kernel.expr import maximum as maximum
from custom_dispatch.kernel.expr import minimum as minimum
from custom_dispatch.kernel.expr import where as where
from custom_dispatch.kernel.function import Function as Function
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

__version__: str
