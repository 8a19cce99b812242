"""What a PTX module holds (PTX ISA 9.0, chapters 4 "Syntax", 5 "State Spaces, Types, and
Variables" and 11 "Directives"), as immutable data.
"""

from __future__ import annotations

import functools
import math

from custom_dispatch.dataclass import dataclass
from custom_dispatch.ptx.operands import (
    Expression,
    Float,
    Integer,
    Operand,
    Register,
    Symbol,
    leaves,
    type_size,
)

Initializer = Integer | Float | Symbol | Expression | tuple["Initializer", ...]
"""One value of a variable's initializer; a tuple for values in braces."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the source that the PTX was compiled from (`.loc`, needs ``-lineinfo``)."""

    file: str
    line: int
    column: int
    caller: Location | None = None
    """Where the function that the place is in was called, if it was inlined there."""

    @property
    def callers(self) -> tuple[Location, ...]:
        """The places of the calls that led here, the last one first."""
        found: list[Location] = []
        place = self.caller
        while place is not None:
            found.append(place)
            place = place.caller
        return tuple(found)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in the text that was read."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry or function."""

    name: str
    """The parameter's name."""
    type: str
    """Element type without its dot."""
    count: int | None
    """Number of elements when declared as an array (a struct by value is ``.b8 name[size]``);
    None for a scalar."""
    align: int
    """Alignment in bytes, declared or natural."""
    pointer_space: str | None
    """The state space of ``.ptr`` ("" when ``.ptr`` names none), or None without ``.ptr``."""
    pointer_align: int | None
    """Alignment of what it points to, from ``.ptr .align N``; None when not given."""
    span: Span
    """The declaration's place in the text."""

    @property
    def size_bytes(self) -> int:
        """Bytes the parameter takes."""
        return type_size(self.type) * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module or function."""

    space: str
    """State space: ``"global"``, ``"const"``, ``"shared"``, ``"local"``, ``"param"``, ``"tex"``."""
    name: str
    """The name; with ``@`` and a number when declared in a nested scope."""
    type: str
    """Element type without its dot; for a vector variable ``.v4 .f32`` the element's."""
    dims: tuple[int, ...]
    """Array dimensions, outermost first (the vector width comes last); empty for a scalar.
    A first dimension of 0 is ``[]``: a size given at launch, or by the initializer."""
    align: int
    """Alignment in bytes, declared or natural."""
    initializer: Initializer | None
    """Values, as nested as written; None without one."""
    is_extern: bool
    """True for ``.extern``: defined elsewhere, or sized at launch."""
    line: int
    """Line of the declaration, from 1."""

    @property
    def count(self) -> int:
        """Number of elements; 0 for an array without a size."""
        total = math.prod(self.dims)
        if total == 0 and isinstance(self.initializer, tuple):
            return len(self.initializer)
        return total

    @property
    def size_bytes(self) -> int:
        """Bytes the variable takes; 0 for an array without a size."""
        return type_size(self.type) * self.count


@functools.lru_cache(maxsize=1024)
def opcode_parts(opcode: str) -> tuple[str, ...]:
    """An opcode split at its dots."""
    return tuple(opcode.split("."))


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction."""

    opcode: str
    """With its modifiers in the ISA's order: ``"ld.global.nc.f32"``."""
    operands: tuple[Operand, ...]
    """In the order written, destination first."""
    predicate: Register | None
    """The guard, ``@%p1`` or ``@!%p1``, or None."""
    line: int
    """Its line in the PTX text, from 1."""
    location: Location | None
    """Its place in the ``.cu`` source, where the PTX tells."""
    span: Span
    """Its place in the text, guard and semicolon included."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode split at its dots."""
        return opcode_parts(self.opcode)


ONLY_COMPUTES = frozenset((
    "abs", "add", "and", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "copysign", "cos", "cvt",
    "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "lg2", "lop3", "mad", "mad24", "max", "min",
    "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt", "sad", "selp",
    "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub", "tanh", "testp", "xor",
))  # fmt: skip
"""What does nothing but give a result."""
# Their first operand is read, or is memory.
_WITHOUT_RESULT = frozenset(
    {"st", "red", "bra", "brx", "ret", "exit", "membar", "fence", "trap", "cp", "prefetch"}
    | {"prefetchu", "nanosleep", "stmatrix", "discard", "applypriority", "griddepcontrol"}
    | {"__assertfail", "call"}
)


def written_operands(instruction: Instruction) -> int:
    """How many of an instruction's first operands are destinations: 0 or 1."""
    base = instruction.parts[0]
    if base in ("bar", "barrier"):
        return 1 if "red" in instruction.parts else 0
    return 0 if base in _WITHOUT_RESULT else 1


def named_by(instruction: Instruction) -> list[str]:
    """The variables, functions and labels that an instruction names."""
    return [o.name for o in leaves(*instruction.operands) if isinstance(o, Symbol)]


@dataclass(frozen=True, slots=True)
class Label:
    """A place to branch to."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """The table of an indexed branch (``name: .branchtargets A, B;``)."""

    name: str
    targets: tuple[str, ...]
    line: int


Statement = Instruction | Label | BranchTargets


@dataclass(frozen=True, slots=True)
class Function:
    """A device function, `.func`."""

    name: str
    """The (mangled) name."""
    results: tuple[Parameter, ...]
    """Return parameters."""
    parameters: tuple[Parameter, ...]
    """Parameters, in order."""
    body: tuple[Statement, ...]
    """Statements in order with the scopes flattened; empty for a declaration."""
    variables: tuple[Variable, ...]
    """Variables declared in the body."""
    is_declaration: bool
    """True when the body is elsewhere."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel, `.entry`."""

    name: str
    """The (mangled) name."""
    parameters: tuple[Parameter, ...]
    """Parameters, in order."""
    body: tuple[Statement, ...]
    """Statements in order with the scopes flattened."""
    variables: tuple[Variable, ...]
    """Variables declared in the body."""
    max_threads: tuple[int, int, int] | None
    """`.maxntid` (x, y, z), or None."""
    required_threads: tuple[int, int, int] | None
    """`.reqntid` (x, y, z), or None."""
    max_registers: int | None
    """`.maxnreg`, or None."""
    cluster: tuple[int, int, int] | None
    """`.reqnctapercluster` (x, y, z), or None."""
    is_clustered: bool
    """Whether it is launched in clusters only (`.explicitcluster`)."""
    line: int
    """Line of `.entry` in the text."""
    span: Span
    """From `.entry` (or its linkage) to the closing brace."""
    parameters_span: Span
    """What stands between the parentheses."""
    body_span: Span
    """What stands between the braces."""


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module."""

    version: tuple[int, int]
    """PTX ISA version, (9, 0) for ``.version 9.0``."""
    target: tuple[str, ...]
    """What `.target` lists, the architecture first: ``("sm_90a",)``, ``("sm_80", "debug")``."""
    address_size: int
    """32 or 64."""
    entries: tuple[Entry, ...]
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]
    """In the order they are written."""

    def entry(self, name: str) -> Entry | None:
        """The entry of this name, or None."""
        return next((entry for entry in self.entries if entry.name == name), None)
