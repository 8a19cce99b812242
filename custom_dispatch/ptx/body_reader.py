"""Reading the statements between a function's braces (PTX ISA 9.0, sections 4.3 and 11.7).

ptxas takes an opcode's modifiers in almost any order, the ISA writes one, and so do the
instructions that are read. Within a kind the order means something: ``cvt.f32.s32`` is not
``cvt.s32.f32``, and ``.row.col`` not ``.col.row``.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from custom_dispatch.ptx import module
from custom_dispatch.ptx.declaration_reader import at_variable, read_type, read_variables
from custom_dispatch.ptx.operand_reader import MAX_DEPTH, Scope, read_operand
from custom_dispatch.ptx.operands import Operand, Register, Symbol
from custom_dispatch.ptx.stream import Kind, TokenStream, parse_integer

_MAX_CALLERS = 64
_CALL_TABLES = (".calltargets", ".callprototype")


class BodyReader:
    """Reads one function's body.

    - `stream`: at the opening brace.
    - `files`: the source files that `.file` numbers.
    - `parameters`: the function's parameters and results; one declared `.reg` is a register.
    """

    def __init__(
        self,
        stream: TokenStream,
        files: Mapping[int, str],
        parameters: tuple[module.Parameter, ...],
    ) -> None:
        self._stream = stream
        self._files = files
        self._scope = Scope(None, 0)
        self._scopes = 0
        self._location: module.Location | None = None
        self._locations: dict[tuple[int, ...], module.Location] = {}
        self._statements: list[module.Statement] = []
        self._unresolved: list[tuple[int, Scope]] = []
        self._variables: list[module.Variable] = []
        for parameter in parameters:
            self._scope.declare_symbol(parameter.name)

    def read(self) -> tuple[tuple[module.Statement, ...], tuple[module.Variable, ...], module.Span]:
        """Read up to and including the closing brace.

        Returns: the statements, the variables, and the span between the braces.
        """
        stream = self._stream
        start = stream.expect("{", "before a body").end
        while True:
            if stream.accept("{"):
                if self._scope.depth == MAX_DEPTH:
                    stream.position -= 1
                    stream.fail(f"scopes nested at most {MAX_DEPTH} deep")
                self._scopes += 1
                self._scope = Scope(self._scope, self._scopes)
            elif stream.at("}"):
                end = stream.take().start
                if self._scope.parent is None:
                    break
                self._scope = self._scope.parent
            elif not stream.accept(";"):
                self._statement()
        for index, scope in self._unresolved:
            statement = self._statements[index]
            if isinstance(statement, module.Instruction):
                operands = tuple(_resolve(operand, scope) for operand in statement.operands)
                self._statements[index] = replace(statement, operands=operands)
            elif isinstance(statement, module.BranchTargets):
                targets = tuple(scope.symbol(target) for target in statement.targets)
                self._statements[index] = replace(statement, targets=targets)
        return tuple(self._statements), tuple(self._variables), module.Span(start, end)

    def _statement(self) -> None:
        stream = self._stream
        token = stream.peek()
        if token.kind is Kind.WORD and stream.peek(1).text == ":":
            self._label()
        elif at_variable(stream):
            self._variables.extend(read_variables(stream, self._scope, is_extern=False))
        elif token.text == ".loc":
            self._loc()
        elif token.text == ".reg":
            self._registers()
        elif token.text == ".pragma":
            stream.skip_directive()
        elif token.text == "@" or (token.kind is Kind.WORD and token.text[0].isalpha()):
            self._instruction()
        else:
            stream.fail("an instruction, a label, a declaration or `}`")

    def _label(self) -> None:
        stream = self._stream
        line = stream.peek().line
        written = stream.name("a label")
        stream.take()
        name = self._scope.declare_symbol(written)
        if stream.accept(".branchtargets"):
            targets = stream.separated(lambda: stream.name("a label to branch to"))
            stream.expect(";", "after the labels to branch to")
            self._unresolved.append((len(self._statements), self._scope))
            self._statements.append(module.BranchTargets(name, tuple(targets), line))
        elif stream.peek().text in _CALL_TABLES:
            stream.skip_directive()
        else:
            self._statements.append(module.Label(name, line))

    def _loc(self) -> None:
        """`.loc file line column [, function_name label[+n]] [, inlined_at file line column]`."""
        stream = self._stream
        stream.take()
        file, line, column = (stream.integer("three numbers after `.loc`") for _ in range(3))
        caller = None
        while stream.accept(","):
            if stream.accept("function_name"):
                stream.name("a label after `function_name`")
                if stream.accept("+"):
                    stream.integer("an offset")
            elif stream.accept("inlined_at"):
                place = tuple(stream.integer("three numbers after `inlined_at`") for _ in "flc")
                caller = self._locations.get(place)
            else:
                stream.fail("`function_name` or `inlined_at`")
        if caller is not None and len(caller.callers) >= _MAX_CALLERS:
            caller = None
        self._location = module.Location(
            self._files.get(file, f"file {file}"), line, column, caller
        )
        # The place of a call stands before those of what was inlined there.
        self._locations[file, line, column] = self._location
        while parse_integer(stream.peek().text) is not None and stream.peek().kind is Kind.WORD:
            stream.take()  # older compilers append flags

    def _registers(self) -> None:
        stream = self._stream
        stream.take()
        type_name, width = read_type(stream)
        if width is not None:
            type_name = f"v{width}.{type_name}"

        def declare() -> None:
            name = stream.name("a register's name")
            if stream.accept("<"):
                count = stream.integer("the number of registers")
                stream.expect(">", "after the number of registers")
                self._scope.declare_bank(name, count, type_name)
            else:
                self._scope.declare_register(name, type_name)

        stream.separated(declare)
        stream.expect(";", "after a declaration of registers")

    def _instruction(self) -> None:
        stream = self._stream
        start = stream.peek().start
        predicate = self._predicate() if stream.accept("@") else None
        line = stream.peek().line
        opcode = stream.name("an instruction")
        operands: list[Operand] = []
        if not stream.at(";"):
            operands = stream.separated(lambda: read_operand(stream, self._scope))
        stream.expect(";", f"after the operands of `{opcode[:40]}`")
        if any(isinstance(operand, Symbol) for operand in operands):
            self._unresolved.append((len(self._statements), self._scope))
        self._statements.append(
            module.Instruction(
                opcode=in_order(opcode),
                operands=tuple(operands),
                predicate=predicate,
                line=line,
                location=self._location,
                span=module.Span(start, stream.previous_end()),
            )
        )

    def _predicate(self) -> Register:
        stream = self._stream
        negated = stream.accept("!")
        known = self._scope.register(stream.peek().text)
        if known is None or known[1] != "pred":
            stream.fail("a declared predicate register after `@`")
        stream.take()
        return Register(*known, negated)


def _resolve(operand: Operand, scope: Scope) -> Operand:
    """A label may be declared after its use, so names are looked up again at the end."""
    if isinstance(operand, Symbol) and "@" not in operand.name:
        return Symbol(scope.symbol(operand.name), operand.offset)
    return operand


_SHAPE: Final = r"m\d+n\d+(?:k\d+)?"
_SPACES: Final = r"(?:shared|global)(?:::\w+)?"
_COMPARISONS: Final = "eq|ne|[lg][te]|l[os]|h[is]|(?:equ|neu|[lg][te]u)|num|nan"
_TYPE: Final = r"(?:b|s|u|f|bf|tf|u?e)\d+(?:m\d+)?(?:x\d+)?|pred"
_USUAL: Final = (rf"(?!{_TYPE}$).+", _TYPE)
_MATRICES: Final = ("sync", "aligned", _SHAPE, r"x\d", "trans", *_USUAL)
_ORDERS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("shfl", "vote", "redux", "elect"), ("sync", *_USUAL)),
    "match": ("any|all", "sync"),
    **dict.fromkeys(
        ("bar", "barrier"), ("warp|cta|cluster", "red|arrive|sync", "popc|and|or", *_USUAL)
    ),
    **dict.fromkeys(("ld", "st"), ("param", *_USUAL)),
    **dict.fromkeys(("setp", "set"), (_COMPARISONS, "and|or|xor", *_USUAL)),
    "cp": (r"async|bulk|tensor|reduce|prefetch|\dd|mbarrier|arrive|noinc", "c[ag]", _SPACES),
    "cvta": ("to", *_USUAL),
    "prmt": (_TYPE,),
    **dict.fromkeys(("ldmatrix", "stmatrix", "movmatrix"), _MATRICES),
    "mma": ("sync", "aligned", _SHAPE, "row|col", "satfinite"),
    "wmma": ("load|store|mma", "[abcd]", "sync", "aligned", "row|col", _SHAPE, _SPACES),
    **{
        f"v{operation}{count}": (_TYPE,)
        for operation in ("add", "sub", "abs", "absdiff", "min", "max", "avrg", "set", "shr", "shl")
        for count in ("", 2, 4)
    },
}
"""Patterns of modifiers by what they follow, in order; what fits none comes after them."""


@functools.lru_cache(maxsize=4096)
def in_order(opcode: str) -> str:
    """An opcode with its modifiers in the order that the ISA writes: ``vote.sync.ballot.b32``."""
    base, *modifiers = opcode.split(".")
    order = _ORDERS.get(base, _USUAL)

    def place(modifier: str) -> int:
        fits = (index for index, kind in enumerate(order) if re.fullmatch(kind, modifier))
        return next(fits, len(order))

    return ".".join([base, *sorted(modifiers, key=place)])
