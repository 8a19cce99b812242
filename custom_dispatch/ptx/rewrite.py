"""Rewriting a kernel's entry from its C signature to the parameters that IREE passes.

IREE passes pointers first and then 32-bit constants (`kernel/abi.py`). The entry's parameter list
becomes that, and every parameter is put together again where it is loaded: `ld.param` names the
parameter it loads from (PTX ISA 9.0, section 5.1.6.1, "Kernel Function Parameters").

A parameter whose address is taken has no such name at its loads. It is copied to a local array at
the entry's start, and its address becomes that of the copy. The copy is a thread's own: an address
of a parameter that one thread hands to another does not work any more. A tensor map, which must be
in parameter space, is refused. A struct with pointers is copied where a load reads several parts.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Sequence

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.abi import CONSTANT_BYTES, Abi
from custom_dispatch.kernel.abi import Parameter as AbiParameter
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.ptx.edits import Edit
from custom_dispatch.ptx.module import Entry, Instruction, Module, Parameter, Span, named_by
from custom_dispatch.ptx.operands import TYPE_BITS, Address, Operand, Register, Symbol, elements_of

_PARAMETER_SPACES = ("param", "param::entry")
_MOVES = ("mov.b64", "mov.u64", "mov.s64")
_LOCAL_ALIGNMENT = 16
"""At least what a vector load needs."""
_LOW, _HIGH, _WORD, _PRESENT = "%iree_low", "%iree_high", "%iree_word", "%iree_present"
_POINTER = "%iree_pointer"


def is_rewritten(entry: Entry) -> bool:
    """Whether an entry was rewritten before, by the names of its parameters."""
    return any(p.name.startswith(_prefix(entry.name)) for p in entry.parameters)


def takes_addresses(entry: Entry) -> bool:
    """Whether an entry computes with addresses of its parameters, which the CPU target has not."""
    names = {parameter.name for parameter in entry.parameters}
    body = (item for item in entry.body if isinstance(item, Instruction))
    return any(_takes_address(item) and names.intersection(named_by(item)) for item in body)


def check_rewritten(
    entry: str, parameters: Sequence[str], kernel: str, abi: Abi, origin: str
) -> None:
    """Check that an entry was rewritten for this very signature."""
    if tuple(parameters) != rewritten_parameters(entry, abi):
        raise PtxError(
            f"Kernel `{kernel}`: `{origin}` was adapted to IREE for another declaration.",
            expected="an object that was built from the declaration as it is now, or one with the "
            "kernel's own C signature",
            next_step="build it again from the source.",
        )


def rewrite_entry(text: str, module: Module, name: str, abi: Abi) -> list[Edit]:
    """What is to be replaced for an entry to take the parameters that IREE passes.

    `name`: an entry's name, which has the C signature that `abi` describes. There is nothing to do
    for one that was rewritten before.
    """
    entry = module.entry(name)
    if entry is None:  # pragma: no cover - the module was compared with the declaration before
        raise TypeError(f"no entry {name}")
    return [] if is_rewritten(entry) else _EntryRewriter(text, module, entry, abi).edits()


def _prefix(entry: str) -> str:
    return f"{entry}_iree_"


def _stem(entry: str, abi: Abi) -> str:
    """How new parameters' names begin. Constants in structs are a part of it, as code has them."""
    constants = [p.constant_bytes for p in abi.parameters if p.pieces != (p,)]
    digest = f"{zlib.crc32(repr(constants).encode()):08x}_" if constants else ""
    return f"{_prefix(entry)}{digest}"


def _binding(stem: str, parameter: AbiParameter) -> str:
    return f"{stem}binding_{_index(parameter)}"


def _word(stem: str, parameter: AbiParameter, word: int) -> str:
    """Says which bytes of which parameter it is, to tell a stale file from a fitting one."""
    return f"{stem}word_{_index(parameter)}_{word}_of_{parameter.size_bytes}_bytes"


def _index(parameter: AbiParameter) -> str:
    return f"{parameter.index}_at_{parameter.offset}" if parameter.offset else f"{parameter.index}"


def rewritten_parameters(entry: str, abi: Abi) -> tuple[str, ...]:
    """The names of the parameters that IREE passes to an entry that was rewritten, in order."""
    ordered = sorted(abi.pieces, key=lambda parameter: parameter.ordinal)
    stem = _stem(entry, abi)
    return (
        *(_binding(stem, parameter) for parameter in ordered if parameter.is_binding),
        *(
            _word(stem, parameter, word)
            for parameter in abi.pieces
            for word in range(parameter.words)
        ),
    )


class _EntryRewriter:
    """Finds what is to be replaced in one entry."""

    def __init__(self, text: str, module: Module, entry: Entry, abi: Abi) -> None:
        self._text = text
        self._module = module
        self._entry = entry
        self._abi = abi
        self._stem = _stem(entry.name, abi)
        self._declared = {p.name: p for p in entry.parameters}
        self._parameters = {
            found.name: parameter
            for found, parameter in zip(entry.parameters, abi.parameters, strict=True)
        }
        self._body = [item for item in entry.body if isinstance(item, Instruction)]
        self._taken = {
            name
            for instruction in self._body
            for name in self._named(instruction)
            if _takes_address(instruction) or self._spans_parts(instruction, name)
        }

    def edits(self) -> list[Edit]:
        """Every place with its new text."""
        found = [(self._entry.parameters_span, self._parameter_list())]
        if self._taken:
            self._check_addresses()
            start = self._entry.body_span.start
            found.append((Span(start, start), self._copies()))
        for instruction in self._body:
            new = self._instruction(instruction)
            if new is not None:
                found.append((instruction.span, new))
        return found

    # -- the entry's head

    def _parameter_list(self) -> str:
        by_index = dict(enumerate(self._entry.parameters))
        lines = []
        stem = self._stem
        for parameter in sorted(self._abi.pieces, key=lambda parameter: parameter.ordinal):
            if parameter.is_binding:
                attributes = _pointer_attributes(by_index[parameter.index])
                lines.append(f"\t.param .u64{attributes} {_binding(stem, parameter)}")
        for parameter in self._abi.pieces:
            lines += (
                f"\t.param .b32 {_word(stem, parameter, word)}" for word in range(parameter.words)
            )
        return "\n" + ",\n".join(lines) + "\n"

    def _copies(self) -> str:
        lines = []
        for name in sorted(self._taken):
            parameter, copy = self._parameters[name], self._copy(name)
            align = max(self._declared[name].align, _LOCAL_ALIGNMENT)
            size = -(-parameter.size_bytes // CONSTANT_BYTES) * CONSTANT_BYTES
            lines.append(f"\t.local .align {align} .b8 {copy}[{size}];")
            lines.append(f"\t{{ .reg .b32 {_WORD}; .reg .b64 {_POINTER}; .reg .pred {_PRESENT};")
            if parameter.pieces != (parameter,):
                data = parameter.constant_bytes.ljust(size, b"\0")
                words = struct.unpack(f"<{size // CONSTANT_BYTES}I", data)
                lines += (
                    f"\tst.local.b32 [{copy}+{index * CONSTANT_BYTES}], {word};"
                    for index, word in enumerate(words)
                )
            for piece in parameter.pieces:
                lines += self._copied(piece, copy)
            lines.append("\t}")
        return "\n" + "\n".join(lines)

    def _copied(self, piece: AbiParameter, copy: str) -> Iterator[str]:
        """Put a piece of a parameter into a copy."""
        if piece.is_binding:
            yield f"\tld.param.b64 {_POINTER}, [{self._place(piece, 0)}];"
            if self._may_be_null(piece):
                yield f"\t{self._is_present(piece)} selp.b64 {_POINTER}, {_POINTER}, 0, {_PRESENT};"
            yield f"\tst.local.b64 [{copy}+{piece.offset}], {_POINTER};"
        # A number that shares its word with others leaves them as they are.
        bits = 8 * (min(piece.size_bytes, 4) if isinstance(piece.operand, Scalar) else 4)
        for word in () if piece.is_binding else range(piece.words):
            yield f"\tld.param.b32 {_WORD}, [{_word(self._stem, piece, word)}];"
            place = piece.offset + word * CONSTANT_BYTES
            yield f"\tst.local.b{bits} [{copy}+{place}], {_WORD};"

    def _copy(self, name: str) -> str:
        return f"{_prefix(self._entry.name)}copy_{self._parameters[name].index}"

    # -- its instructions

    def _named(self, instruction: Instruction) -> list[str]:
        """The parameters that an instruction names."""
        return [name for name in named_by(instruction) if name in self._parameters]

    def _instruction(self, instruction: Instruction) -> str | None:
        """An instruction's new text; None where it stays."""
        named = self._named(instruction)
        if not named:
            return self._through_register(instruction) if self._taken else None
        if _takes_address(instruction):
            text = self._renamed(instruction, named[0], self._copy(named[0]))
            return _in_local_space(text)
        place = _place_read(instruction)
        spaces = {*instruction.parts[1:-1]}.intersection(_PARAMETER_SPACES)
        if place is None or instruction.parts[0] != "ld" or not spaces:
            raise self._refusal(instruction, "a load, or a move of its address")
        parameter = self._parameters[named[0]]
        if named[0] in self._taken and parameter.pieces != (parameter,):
            return _in_local_space(self._renamed(instruction, named[0], self._copy(named[0])))
        if self._may_be_null(parameter):
            return self._load_or_null(instruction, parameter, place.offset)
        if parameter.is_binding:
            return self._renamed(instruction, named[0], _binding(self._stem, parameter))
        return self._load(instruction, parameter, place.offset)

    def _spans_parts(self, instruction: Instruction, name: str) -> bool:
        """Whether a load reads more of a struct that is split than a part or a number."""
        parameter, place = self._parameters[name], _place_read(instruction)
        if parameter.pieces == (parameter,) or place is None:
            return False
        found = _reads(instruction, parameter, place.offset)
        return any(self._may_be_null(p) if p else number is None for _, p, _, number in found)

    @staticmethod
    def _may_be_null(parameter: AbiParameter) -> bool:
        return parameter.is_binding and parameter.words > 0

    def _is_present(self, parameter: AbiParameter) -> str:
        """Set a predicate to whether an optional buffer is there; takes `_WORD` for that."""
        flag = _word(self._stem, parameter, 0)
        return f"ld.param.b32 {_WORD}, [{flag}]; setp.ne.s32 {_PRESENT}, {_WORD}, 0;"

    def _load_or_null(self, instruction: Instruction, parameter: AbiParameter, offset: int) -> str:
        """A load of a pointer that is null where its buffer is absent: IREE binds one always."""
        target = instruction.operands[0]
        if TYPE_BITS[instruction.parts[-1]] != 64 or offset or not isinstance(target, Register):
            raise self._refusal(instruction, "loads of the whole pointer")
        guard = _guard(instruction)
        register = _as_written(target)
        source = _binding(self._stem, parameter)
        return (
            f"{{ .reg .b32 {_WORD}; .reg .pred {_PRESENT}; {self._is_present(parameter)} "
            f"{guard}{instruction.opcode} {register}, [{source}]; "
            f"{guard}selp.b64 {register}, {register}, 0, {_PRESENT}; }}"
        )

    def _load(self, instruction: Instruction, parameter: AbiParameter, offset: int) -> str:
        """Loads from the words of a parameter: one for each element of at most 32 bits."""
        opcode = ".".join(p for p in instruction.parts if p not in ("v2", "v4", "v8"))
        size = TYPE_BITS[instruction.parts[-1]] // 8
        guard = _guard(instruction)
        loads: list[str] = []
        wide = False
        for element, piece, place, number in _reads(instruction, parameter, offset):
            if not isinstance(element, Register):
                raise self._refusal(instruction, "a load into a register")
            register = _as_written(element)
            if piece is None and number is not None:
                loads.append(f"{guard}mov.b{8 * size} {register}, {number};")
                continue
            place -= piece.offset if piece is not None else 0
            if piece is None or size > 8 or place % min(size, CONSTANT_BYTES):
                expected = "aligned loads of at most 64 bits each, inside the parameter"
                raise self._refusal(instruction, expected)
            if size <= CONSTANT_BYTES or piece.is_binding:
                loads.append(f"{guard}{opcode} {register}, [{self._place(piece, place)}];")
                continue
            wide = True
            for half, part in ((_LOW, 0), (_HIGH, CONSTANT_BYTES)):
                source = self._place(piece, place + part)
                loads.append(f"{guard}ld.param.b32 {half}, [{source}];")
            loads.append(f"{guard}mov.b64 {register}, {{{_LOW}, {_HIGH}}};")
        # One line: what ptxas says of later lines is then true of the compiler's PTX but for
        # the parameter list.
        text = " ".join(loads)
        return f"{{ .reg .b32 {_LOW}, {_HIGH}; {text} }}" if wide else text

    def _place(self, parameter: AbiParameter, offset: int) -> str:
        """Where bytes of a parameter are now, as an address without its brackets."""
        if parameter.is_binding:
            base, rest = _binding(self._stem, parameter), offset
        else:
            word, rest = divmod(offset, CONSTANT_BYTES)
            base = _word(self._stem, parameter, word)
        return f"{base}+{rest}" if rest else base

    def _through_register(self, instruction: Instruction) -> str | None:
        """Accesses by address: parameters whose address is taken are in local memory now."""
        text = self._text[instruction.span.start : instruction.span.end]
        base, *rest = instruction.parts
        spaces = [part for part in rest if part in _PARAMETER_SPACES]
        if not spaces:
            return None
        by_register = any(
            isinstance(operand, Address) and isinstance(operand.base, Register)
            for operand in instruction.operands
        )
        if (base == "ld" and by_register) or base in ("cvta", "isspacep"):
            return _in_local_space(text)
        return None  # parameters of a call

    def _check_addresses(self) -> None:
        """Refuse what must not be given the address of a copy."""
        for instruction in self._body:
            parts = instruction.parts
            if "tensor" in parts or "tensormap" in parts or parts[0] == "tensormap":
                raise self._refusal(
                    instruction,
                    "no tensor map beside a parameter whose address is taken: it has to be where "
                    "the driver puts it",
                    min(self._taken),
                )
        for function in self._module.functions:
            for statement in function.body:
                if not isinstance(statement, Instruction):
                    continue
                spaces = [part for part in statement.parts if part in _PARAMETER_SPACES]
                named = set(named_by(statement))
                known = {p.name for p in (*function.parameters, *function.results)}
                known |= {v.name for v in function.variables}
                if spaces and not named & known:
                    expected = "no function that takes an address in parameter space"
                    raise self._refusal(statement, expected, min(self._taken))

    def _refusal(self, instruction: Instruction, expected: str, name: str = "") -> PtxError:
        """The error of a parameter that has a name, or that the instruction names."""
        operand = self._parameters[name or self._named(instruction)[0]].operand
        return PtxError(
            f"`{instruction.opcode}` in line {instruction.line} of the PTX stands in the way of "
            f"adapting `{operand.name}` to IREE's calling convention.",
            expected=expected,
            next_step="pass it in a buffer, or put the parameters into IREE's order: buffers that "
            "are read or updated, buffers that are only written, scalars of at most 32 bits.",
        )

    # -- text

    def _renamed(self, instruction: Instruction, name: str, new: str) -> str:
        text = self._text[instruction.span.start : instruction.span.end]
        return re.sub(rf"(?<![\w$%.]){re.escape(name)}(?![\w$])", lambda _: new, text)


def _place_read(instruction: Instruction) -> Symbol | None:
    """The place, by its name, that a load of two operands is from."""
    address = instruction.operands[1] if len(instruction.operands) == 2 else None
    return address.place if isinstance(address, Address) else None


def _reads(
    instruction: Instruction, parameter: AbiParameter, offset: int
) -> Iterator[tuple[Operand, AbiParameter | None, int, int | None]]:
    """What a load puts where: a piece of a parameter from a place, or a number that is known."""
    size = TYPE_BITS[instruction.parts[-1]] // 8
    for index, element in enumerate(elements_of(instruction.operands[0])):
        place = offset + index * size
        fits = isinstance(element, Register) and TYPE_BITS.get(element.type) == 8 * size
        number = parameter.constant_at(place, size) if fits else None
        if not isinstance(element, Symbol) or element.name != "_":
            yield element, parameter.piece_at(place, size), place, number


def _guard(instruction: Instruction) -> str:
    if instruction.predicate is None:
        return ""
    mark = "!" if instruction.predicate.negated else ""
    return f"@{mark}{_as_written(instruction.predicate)} "


def _pointer_attributes(parameter: Parameter) -> str:
    if parameter.pointer_space is None:
        return ""
    space = f" .{parameter.pointer_space}" if parameter.pointer_space else ""
    align = f" .align {parameter.pointer_align}" if parameter.pointer_align else ""
    return f" .ptr{space}{align}"


def _takes_address(instruction: Instruction) -> bool:
    """`mov.b64 %rd1, name;` and `cvta.param.u64 %rd1, name;`."""
    operands = instruction.operands
    if len(operands) != 2 or not isinstance(operands[1], Symbol):
        return False
    parts = instruction.parts
    return instruction.opcode in _MOVES or (parts[0] == "cvta" and parts[1] in _PARAMETER_SPACES)


def _in_local_space(text: str) -> str:
    return re.sub(rf"\.(?:{'|'.join(_PARAMETER_SPACES)})(?![\w:])", ".local", text, count=1)


def _as_written(register: Register) -> str:
    """Without the number of its scope; the new text stands in the same one."""
    return register.name.partition("@")[0]
