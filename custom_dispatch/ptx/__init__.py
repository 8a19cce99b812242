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
    Statement,
    Variable,
)
from custom_dispatch.ptx.operands import (
    TYPE_BITS,
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
    elements_of,
    leaves,
    type_size,
)
from custom_dispatch.ptx.reader import read_module

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
    "Register",
    "SpecialRegister",
    "Statement",
    "Symbol",
    "Variable",
    "Vector",
    "elements_of",
    "leaves",
    "read_module",
    "type_size",
]
