"""Declarations: kernels, operands, dims, element types and targets, as pure data.

This room imports neither IREE nor CUDA nor numpy, and reads no file.
"""

from custom_dispatch.kernel.buffer import Buffer, In, InOut, Out, Scratch
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import (
    Dim,
    Expr,
    batch,
    ceildiv,
    compute_capability,
    dim,
    maximum,
    minimum,
    where,
)
from custom_dispatch.kernel.implementation import Implementation
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Operand, Scalar, Struct
from custom_dispatch.kernel.target import DEFAULT_TARGETS, Arch, Target

__all__ = [
    "DEFAULT_TARGETS",
    "Arch",
    "Buffer",
    "Choice",
    "Condition",
    "Dim",
    "Expr",
    "Implementation",
    "In",
    "InOut",
    "Kernel",
    "Operand",
    "Out",
    "Scalar",
    "Scratch",
    "Struct",
    "Target",
    "batch",
    "ceildiv",
    "compute_capability",
    "dim",
    "maximum",
    "minimum",
    "where",
]
