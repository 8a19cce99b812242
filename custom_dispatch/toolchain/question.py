"""Asking a compiler about the kernels of a source while it compiles it: their symbols and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from custom_dispatch.kernel.entry import cpp_name
from custom_dispatch.toolchain.compiler import CompileRequest, does_not_compile, no_such_kernel
from custom_dispatch.toolchain.demangle import find_entries
from custom_dispatch.toolchain.descriptor import read_answer
from custom_dispatch.toolchain.entry_point import EntryPoint
from custom_dispatch.toolchain.struct_fields import StructFields

_ENTRY = re.compile(rb"\.entry\s+([\w$]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Question:
    """What one compilation asks for."""

    described: tuple[str, ...]
    """Entries whose types are asked for."""
    named: tuple[str, ...]
    """Entries whose symbols are asked for."""
    fields: tuple[StructFields, ...] = ()
    """Fields of structs whose places are asked for; their entries are among those described."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one compilation gave."""

    ptx: bytes | None
    """None where the source, with its question, does not compile."""
    log: str
    symbols: tuple[str, ...] | None = None
    """Of each entry that was named; None where they are to be read from the PTX."""
    is_final: bool = False
    """Whether the log shows that the source does not compile with any question."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A source compiled, with what the compiler said of its entries."""

    ptx: bytes
    log: str
    entries: tuple[EntryPoint, ...]


def compile_entries(
    request: CompileRequest,
    compiler: str,
    ask: Callable[[Question], Outcome],
    *,
    places: Sequence[str],
    describe: bool,
    name_all: bool,
) -> Answered:
    """Compile a source and find out what its entries are.

    A source that compiles by itself may not with a question behind it: it has no such function, or
    hides it in a namespace, or the C++ standard is too old. Then less is asked for. Only C++ names
    must be answered, because their symbols cannot be had otherwise.

    Parameters
    ----------
    compiler
        Name and short version, for errors.
    ask
        Compiles the source with a question.
    places
        Where the compiler looks for headers, for errors.
    describe
        Whether types may be asked for.
    name_all
        Whether asking for a symbol leaves the PTX as it is. Otherwise plain names are asked for
        only where the PTX has no such entry, as for a C++ function in no namespace.

    Raises
    ------
    SourceError
        The source does not compile, or has no kernel of a C++ name.
    """
    # A mangled name is one that C++ cannot look up.
    known = tuple(entry for entry in request.entries if not entry.startswith("_Z"))
    needed = tuple(entry for entry in known if not cpp_name(entry).is_identifier)
    named = known if name_all else needed
    described = known if describe else ()
    fields = tuple(item for item in request.fields if item.entry in described)
    questions = [Question(described, named, fields), Question(described, named)]
    questions += [Question((), named)]
    questions += [Question((), needed), Question((), ())]
    for question in dict.fromkeys(questions):
        outcome = ask(question)
        if outcome.ptx is not None or outcome.is_final:
            break
    if outcome.ptx is None:
        raise does_not_compile(request, compiler, outcome.log, places)
    for entry in needed if not question.named else ():
        alone = ask(Question((), (entry,)))
        if alone.ptx is None:
            raise no_such_kernel(request, entry, compiler, alone.log)
    absent = tuple(
        entry
        for entry in known
        if entry not in question.named and not _has_entry(outcome.ptx, entry)
    )
    if absent:
        more = replace(question, named=(*question.named, *absent))
        second = ask(more)
        if second.ptx is not None:
            question, outcome = more, second
    return _answered(request, question, outcome)


def _has_entry(ptx: bytes | None, symbol: str) -> bool:
    return re.search(rb"\.entry\s+" + re.escape(symbol.encode()) + rb"\b", ptx or b"") is not None


def _answered(request: CompileRequest, question: Question, outcome: Outcome) -> Answered:
    from_ptx = len(question.named) if outcome.symbols is None else 0
    answer = read_answer(outcome.ptx or b"", question.described, from_ptx, question.fields)
    symbols = answer.symbols if outcome.symbols is None else outcome.symbols
    symbol_of = dict(zip(question.named, symbols, strict=True))
    # A plain name that a host function overloads is none that C++ could look up by itself.
    rest = [e for e in request.entries if e not in symbol_of and not _has_entry(answer.ptx, e)]
    if rest:
        there = [match.decode() for match in _ENTRY.findall(answer.ptx)]
        symbol_of |= {found.name: found.symbol for found in find_entries(rest, there)}
    signature_of = dict(zip(question.described, answer.signatures, strict=True))
    entries = tuple(
        EntryPoint(entry, symbol_of.get(entry, entry), signature_of.get(entry))
        for entry in request.entries
    )
    return Answered(make_visible(answer.ptx, entries), outcome.log, entries)


def make_visible(ptx: bytes, entries: Sequence[EntryPoint]) -> bytes:
    """PTX whose entries a driver finds by name: that of a static function has no linkage."""
    for entry in entries:
        local = rb"^\.entry(?=\s+" + re.escape(entry.symbol.encode()) + rb"\b)"
        ptx = re.sub(local, b".visible .entry", ptx, flags=re.MULTILINE)
    return ptx
