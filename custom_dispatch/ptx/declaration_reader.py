"""Reading declarations of parameters and variables (PTX ISA 9.0, chapter 5)."""

from custom_dispatch.ptx import operands
from custom_dispatch.ptx.module import Initializer, Parameter, Span, Variable
from custom_dispatch.ptx.operand_reader import Scope, parse_literal
from custom_dispatch.ptx.stream import Kind, TokenStream

VARIABLE_SPACES = ("global", "const", "shared", "local", "param", "tex")
_VECTOR_WIDTHS = {".v2": 2, ".v4": 4, ".v8": 8}
_MAX_NESTING = 16


def read_parameters(stream: TokenStream) -> tuple[tuple[Parameter, ...], Span]:
    """Read a parenthesised parameter list; the span is what stands between the parentheses."""
    start = stream.expect("(", "before the parameters").end
    parameters: list[Parameter] = []
    if not stream.at(")"):
        parameters = stream.separated(lambda: _parameter(stream))
    end = stream.expect(")", "after the parameters").start
    return tuple(parameters), Span(start, end)


def _parameter(stream: TokenStream) -> Parameter:
    start = stream.peek().start
    if not (stream.accept(".param") or stream.accept(".reg")):
        stream.fail("a parameter (`.param` or `.reg`)")
    align = _align(stream)
    type_name, _ = read_type(stream)
    space: str | None = None
    pointer_align: int | None = None
    if stream.accept(".ptr"):
        space = ""
        if stream.peek().text in (".global", ".const", ".local", ".shared"):
            space = stream.take().text[1:]
        pointer_align = _align(stream)
    name = stream.name("the parameter's name")
    count: int | None = None
    if stream.accept("["):
        count = 0 if stream.at("]") else stream.integer("the number of elements")
        stream.expect("]", "after the number of elements")
    return Parameter(
        name=name,
        type=type_name,
        count=count,
        align=align or operands.type_size(type_name),
        pointer_space=space,
        pointer_align=pointer_align,
        span=Span(start, stream.previous_end()),
    )


def _align(stream: TokenStream) -> int | None:
    if not stream.accept(".align"):
        return None
    value = stream.integer("an alignment")
    if value == 0 or value & (value - 1) or value > 1 << 16:
        stream.position -= 1
        stream.fail("an alignment, which is a power of two")
    return value


def read_type(stream: TokenStream) -> tuple[str, int | None]:
    """Read an optional vector width and a type: ``.v4 .f32`` gives ("f32", 4)."""
    width = None
    if stream.peek().text in _VECTOR_WIDTHS:
        width = _VECTOR_WIDTHS[stream.take().text]
    text = stream.peek().text
    if not text.startswith(".") or not (
        text[1:] in operands.TYPE_BITS or text[1:] in operands.OPAQUE_TYPES
    ):
        stream.fail("a type such as `.b32` or `.f32`")
    stream.take()
    return text[1:], width


def at_variable(stream: TokenStream) -> bool:
    """Whether a variable's declaration starts here (its linkage already taken)."""
    token = stream.peek()
    return token.kind is Kind.WORD and token.text[1:] in VARIABLE_SPACES and token.text[0] == "."


def read_variables(
    stream: TokenStream, scope: Scope | None, *, is_extern: bool
) -> tuple[Variable, ...]:
    """Read one declaration statement, which may declare several variables.

    - `stream`: at the state space.
    - `scope`: where the names are declared; None for the module.
    - `is_extern`: whether `.extern` stood before.
    """
    line = stream.peek().line
    space = stream.take().text[1:]
    if stream.accept("["):  # a constant bank, `.const[3]`
        stream.integer("the number of a constant bank")
        stream.expect("]", "after the number of a constant bank")
    if stream.accept(".attribute"):
        stream.skip_balanced("(", ")", "around attributes")
    align = _align(stream)
    type_name, width = read_type(stream)

    def variable() -> Variable:
        name = stream.name("the variable's name")
        dims: list[int] = []
        while stream.accept("["):
            dims.append(0 if stream.at("]") else stream.integer("the number of elements"))
            stream.expect("]", "after the number of elements")
        if width is not None:
            dims.append(width)
        initializer = _initializer(stream, 0) if stream.accept("=") else None
        return Variable(
            space=space,
            name=name if scope is None else scope.declare_symbol(name),
            type=type_name,
            dims=tuple(dims),
            align=align or operands.type_size(type_name) * (width or 1),
            initializer=initializer,
            is_extern=is_extern,
            line=line,
        )

    variables = stream.separated(variable)
    stream.expect(";", "after the declaration of a variable")
    return tuple(variables)


def _initializer(stream: TokenStream, depth: int) -> Initializer:
    if not stream.at("{"):
        return _value(stream)
    if depth == _MAX_NESTING:
        stream.fail(f"an initializer nested at most {_MAX_NESTING} deep")
    stream.take()
    values: list[Initializer] = []
    if not stream.at("}"):
        values = stream.separated(lambda: _initializer(stream, depth + 1))
    stream.expect("}", "after the values of an initializer")
    return tuple(values)


def _value(stream: TokenStream) -> Initializer:
    negative = stream.accept("-")
    text = stream.peek().text
    if stream.peek().kind is not Kind.WORD:
        stream.fail("a value: a number or a name")
    literal = parse_literal(text)
    if literal is not None:
        stream.take()
        if stream.at("("):  # 0xFF00(name): some bits of an address
            stream.skip_balanced("(", ")", "around a name")
            return operands.Expression(f"{text}(...)")
        return operands.negated(literal) if negative else literal
    if stream.accept("generic"):
        stream.expect("(", "after `generic`")
        text = stream.name("a variable's name")
        stream.expect(")", "after a variable's name")
    else:
        text = stream.name("a value: a number or a name")
    offset = stream.integer("an offset") if stream.accept("+") else 0
    return operands.Symbol(text, offset)
