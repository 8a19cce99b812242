"""Reading PTX: entries, parameters, variables and instructions, as immutable data.

``read_module(text)`` is the way in. It loads neither IREE nor CUDA.
"""

# isort: skip_file

from custom_dispatch.ptx.module import (
    BranchTargets as BranchTargets,
    Entry as Entry,
    Function as Function,
    Initializer as Initializer,
    Instruction as Instruction,
    Label as Label,
    Location as Location,
    Module as Module,
    Statement as Statement,
    Variable as Variable,
)
from custom_dispatch.ptx.operands import (
    TYPE_BITS as TYPE_BITS,
    Address as Address,
    Expression as Expression,
    Float as Float,
    Group as Group,
    Integer as Integer,
    Operand as Operand,
    Pair as Pair,
    Register as Register,
    SpecialRegister as SpecialRegister,
    Symbol as Symbol,
    Vector as Vector,
    elements_of as elements_of,
    leaves as leaves,
    type_size as type_size,
)
from custom_dispatch.ptx.reader import read_module as read_module
