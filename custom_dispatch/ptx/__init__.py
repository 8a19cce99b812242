"""Reading PTX: entries, parameters, variables and instructions, as immutable data.

``read_module(text)`` is the way in. It loads neither IREE nor CUDA.
"""

from custom_dispatch.ptx.module import (
    BranchTargets,
    Entry,
    Function,
    Initializer,
    Instruction,
    Label,
    Location,
    Module,
    Parameter,
    Span,
    Statement,
    Variable,
)
from custom_dispatch.ptx.operand import (
    Address,
    Expression,
    Float,
    Group,
    Integer,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.ptx.types import TYPE_BITS, type_size

__all__ = [
    "TYPE_BITS",
    "Address",
    "BranchTargets",
    "Entry",
    "Expression",
    "Float",
    "Function",
    "Group",
    "Initializer",
    "Instruction",
    "Integer",
    "Label",
    "Location",
    "Module",
    "Operand",
    "Pair",
    "Parameter",
    "Register",
    "Span",
    "SpecialRegister",
    "Statement",
    "Symbol",
    "Variable",
    "Vector",
    "read_module",
    "type_size",
]
