"""What a PTX module holds (PTX ISA 9.0, chapters 4 "Syntax", 5 "State Spaces, Types, and
Variables" and 11 "Directives"), as immutable data.
"""

from __future__ import annotations

import functools

from custom_dispatch.dataclass import dataclass
from custom_dispatch.ptx.operands import (
    Expression,
    Float,
    Integer,
    Operand,
    Register,
    Symbol,
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
    """A parameter of an entry or function.

    Attributes
    ----------
    name
        The parameter's name.
    type
        Element type without its dot.
    count
        Number of elements when declared as an array (a struct by value is ``.b8 name[size]``);
        None for a scalar.
    align
        Alignment in bytes, declared or natural.
    pointer_space
        The state space of ``.ptr`` ("" when ``.ptr`` names none), or None without ``.ptr``.
    pointer_align
        Alignment of what it points to, from ``.ptr .align N``; None when not given.
    span
        The declaration's place in the text.
    """

    name: str
    type: str
    count: int | None
    align: int
    pointer_space: str | None
    pointer_align: int | None
    span: Span

    @property
    def size_bytes(self) -> int:
        """Bytes the parameter takes."""
        return type_size(self.type) * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a module or function.

    Attributes
    ----------
    space
        State space: ``"global"``, ``"const"``, ``"shared"``, ``"local"``, ``"param"``, ``"tex"``.
    name
        The name; with ``@`` and a number when declared in a nested scope.
    type
        Element type without its dot; for a vector variable ``.v4 .f32`` the element's.
    dims
        Array dimensions, outermost first (the vector width comes last); empty for a scalar.
        A first dimension of 0 is ``[]``: a size given at launch, or by the initializer.
    align
        Alignment in bytes, declared or natural.
    initializer
        Values, as nested as written; None without one.
    is_extern
        True for ``.extern``: defined elsewhere, or sized at launch.
    line
        Line of the declaration, from 1.
    """

    space: str
    name: str
    type: str
    dims: tuple[int, ...]
    align: int
    initializer: Initializer | None
    is_extern: bool
    line: int

    @property
    def count(self) -> int:
        """Number of elements; 0 for an array without a size."""
        total = 1
        for dim in self.dims:
            total *= dim
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
    """One instruction.

    Attributes
    ----------
    opcode
        With its modifiers in the ISA's order: ``"ld.global.nc.f32"``.
    operands
        In the order written, destination first.
    predicate
        The guard, ``@%p1`` or ``@!%p1``, or None.
    line
        Its line in the PTX text, from 1.
    location
        Its place in the ``.cu`` source, where the PTX tells.
    span
        Its place in the text, guard and semicolon included.
    """

    opcode: str
    operands: tuple[Operand, ...]
    predicate: Register | None
    line: int
    location: Location | None
    span: Span

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode split at its dots."""
        return opcode_parts(self.opcode)


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
    """A device function, `.func`.

    Attributes
    ----------
    name
        The (mangled) name.
    results
        Return parameters.
    parameters
        Parameters, in order.
    body
        Statements in order with the scopes flattened; empty for a declaration.
    variables
        Variables declared in the body.
    is_declaration
        True when the body is elsewhere.
    line
        Line of `.func` in the text.
    """

    name: str
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    variables: tuple[Variable, ...]
    is_declaration: bool
    line: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel, `.entry`.

    Attributes
    ----------
    name
        The (mangled) name.
    parameters
        Parameters, in order.
    body
        Statements in order with the scopes flattened.
    variables
        Variables declared in the body.
    max_threads
        `.maxntid` (x, y, z), or None.
    required_threads
        `.reqntid` (x, y, z), or None.
    min_blocks
        `.minnctapersm`, or None.
    max_registers
        `.maxnreg`, or None.
    cluster
        `.reqnctapercluster` (x, y, z), or None.
    is_clustered
        Whether it is launched in clusters only (`.explicitcluster`).
    line
        Line of `.entry` in the text.
    span
        From `.entry` (or its linkage) to the closing brace.
    parameters_span
        What stands between the parentheses.
    body_span
        What stands between the braces.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    variables: tuple[Variable, ...]
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    min_blocks: int | None
    max_registers: int | None
    cluster: tuple[int, int, int] | None
    is_clustered: bool
    line: int
    span: Span
    parameters_span: Span
    body_span: Span


@dataclass(frozen=True, slots=True)
class Module:
    """A PTX module.

    Attributes
    ----------
    version
        PTX ISA version, (9, 0) for ``.version 9.0``.
    target
        What `.target` lists, the architecture first: ``("sm_90a",)``, ``("sm_80", "debug")``.
    address_size
        32 or 64.
    entries, functions, variables
        In the order they are written.
    """

    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    entries: tuple[Entry, ...]
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]

    def entry(self, name: str) -> Entry | None:
        """The entry of this name, or None."""
        return next((entry for entry in self.entries if entry.name == name), None)
