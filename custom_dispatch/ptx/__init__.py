"""Reading PTX: entries, parameters, variables and instructions, as immutable data.

``read_module(text)`` is the way in. It loads neither IREE nor CUDA.
"""

# isort: skip_file

from custom_dispatch.ptx.module import (
    ONLY_COMPUTES as ONLY_COMPUTES,
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
    named_by as named_by,
    written_operands as written_operands,
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
    registers_in as registers_in,
    type_size as type_size,
)
from custom_dispatch.ptx.origins import Origins as Origins
from custom_dispatch.ptx.reader import read_module as read_module
