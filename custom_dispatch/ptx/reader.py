"""Reading a PTX module (PTX ISA 9.0, chapters 4 and 11)."""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

from custom_dispatch.ptx.body_reader import BodyReader
from custom_dispatch.ptx.declaration_reader import at_variable, read_parameters, read_variables
from custom_dispatch.ptx.module import Entry, Function, Module, Parameter, Span, Variable
from custom_dispatch.ptx.stream import Kind, Token, TokenStream, tokenize

_LINKAGE = (".visible", ".extern", ".weak", ".common")
_VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")


def read_module(text: str) -> Module:
    """Read PTX text.

    Takes what nvcc, NVRTC and cuobjdump print, with or without line information, and a trailing
    NUL. Instructions are read by their form only: an unknown opcode is data like any other.
    """
    with _without_collections():
        tokens = tokenize(text.rstrip("\0\t\r\n "))
        return _ModuleReader(tokens).read()


@contextmanager
def _without_collections() -> Iterator[None]:
    """Let Python not look for cycles among objects that are all still used.

    It would do so again and again as their number grows, for 40% of the time that 600 KB take.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


_Directives = dict[str, tuple[int, ...]]
"""What stands between a function's parameters and its body: numbers by name."""


def _threads(values: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    """A directive's x, y and z, of which the last may be left out."""
    if not values:
        return None
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


class _ModuleReader:
    def __init__(self, tokens: list[Token]) -> None:
        self._stream = TokenStream(tokens)
        self._files = _files(tokens)
        self._entries: list[Entry] = []
        self._functions: list[Function] = []
        self._variables: list[Variable] = []

    def read(self) -> Module:
        version = self._version()
        target, address_size = self._target()
        while self._stream.peek().kind is not Kind.END:
            self._item()
        return Module(
            version=version,
            target=target,
            address_size=address_size,
            entries=tuple(self._entries),
            functions=tuple(self._functions),
            variables=tuple(self._variables),
        )

    def _version(self) -> tuple[int, int]:
        stream = self._stream
        while stream.at(".file"):
            self._file()
        stream.expect(".version", "at the start of a PTX module")
        match = _VERSION.fullmatch(stream.peek().text)
        if match is None:
            stream.fail("a version such as `9.0`")
        stream.take()
        return int(match.group(1)), int(match.group(2))

    def _target(self) -> tuple[tuple[str, ...], int]:
        stream = self._stream
        stream.expect(".target", "after `.version`")
        target = stream.separated(
            lambda: stream.name("an architecture such as `sm_80`, or an option")
        )
        address_size = 32
        if stream.accept(".address_size"):
            address_size = stream.integer("32 or 64")
            if address_size not in (32, 64):
                stream.position -= 1
                stream.fail("an address size of 32 or 64")
        return tuple(target), address_size

    def _item(self) -> None:
        stream = self._stream
        start = stream.peek().start
        linkage: set[str] = set()
        while stream.peek().text in _LINKAGE:
            linkage.add(stream.take().text)
        if stream.at(".entry"):
            self._entry(start)
        elif stream.at(".func"):
            self._function()
        elif at_variable(stream):
            self._variables.extend(read_variables(stream, None, is_extern=".extern" in linkage))
        elif linkage:
            stream.fail("`.entry`, `.func` or a variable after its linkage")
        elif stream.at(".file"):
            self._file()
        elif stream.at(".section"):
            stream.take()
            stream.word("the section's name")
            stream.skip_balanced("{", "}", "around a section")
        elif stream.at(".pragma") or stream.at(".alias"):
            stream.skip_directive()
        elif not stream.accept(";"):
            stream.fail("`.entry`, `.func`, a variable or another directive")

    def _file(self) -> None:
        stream = self._stream
        stream.take()
        stream.integer("the file's number")
        if stream.take().kind is not Kind.STRING:
            stream.position -= 1
            stream.fail("the file's name in quotes")
        while stream.accept(","):
            stream.integer("the file's time or size")

    def _entry(self, start: int) -> None:
        stream = self._stream
        line = stream.take().line
        name = stream.name("the kernel's name")
        if stream.at("("):
            parameters, parameters_span = read_parameters(stream)
        else:
            parameters, parameters_span = (), Span(stream.previous_end(), stream.previous_end())
        directives = self._directives()
        body, variables, body_span = BodyReader(stream, self._files, parameters).read()
        self._entries.append(
            Entry(
                name=name,
                parameters=parameters,
                body=body,
                variables=variables,
                max_threads=_threads(directives.get(".maxntid")),
                required_threads=_threads(directives.get(".reqntid")),
                max_registers=next(iter(directives.get(".maxnreg", ())), None),
                cluster=_threads(directives.get(".reqnctapercluster")),
                is_clustered=".explicitcluster" in directives,
                line=line,
                span=Span(start, stream.previous_end()),
                parameters_span=parameters_span,
                body_span=body_span,
            )
        )

    def _function(self) -> None:
        stream = self._stream
        stream.take()
        if stream.accept(".attribute"):
            stream.skip_balanced("(", ")", "around attributes")
        results: tuple[Parameter, ...] = ()
        parameters: tuple[Parameter, ...] = ()
        if stream.at("("):
            results, _ = read_parameters(stream)
        name = stream.name("the function's name")
        if stream.at("("):
            parameters, _ = read_parameters(stream)
        self._directives()
        if stream.accept(";"):
            self._functions.append(Function(name, results, parameters, (), (), True))
            return
        body, variables, _ = BodyReader(stream, self._files, results + parameters).read()
        self._functions.append(Function(name, results, parameters, body, variables, False))

    def _directives(self) -> _Directives:
        stream = self._stream
        numbers: _Directives = {}
        while not stream.at("{") and not stream.at(";"):
            token = stream.peek()
            if token.kind is not Kind.WORD or not token.text.startswith("."):
                stream.fail("a directive such as `.maxntid`, or `{`")
            stream.take()
            if token.text == ".pragma":
                stream.skip_directive()
                continue
            if stream.at("("):
                stream.skip_balanced("(", ")", "after a directive")
                continue
            values: list[int] = []
            if stream.peek().kind is Kind.WORD and stream.peek().text[0].isdigit():
                values = stream.separated(lambda: stream.integer("a number"))
            numbers[token.text] = tuple(values)
        return numbers


def _files(tokens: list[Token]) -> dict[int, str]:
    """The names of `.file`, which nvcc writes after the code that refers to them."""
    files: dict[int, str] = {}
    for index, token in enumerate(tokens[:-2]):
        number, name = tokens[index + 1], tokens[index + 2]
        if token.text == ".file" and name.kind is Kind.STRING and number.text.isdecimal():
            files[int(number.text[:9])] = name.text[1:-1]
    return files
