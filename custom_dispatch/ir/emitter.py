"""Writing IR as text: indentation, fresh value names, constants said once.

Only checked identifiers, numbers and escaped strings are ever put into the text; whatever is
written is parsed and verified by IREE's own parser before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable

_ESCAPED = [chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:02X}" for b in range(256)]


class Emitter:
    """One block of operations.

    Values are named after what they hold where a name is given, else %0, %1, ... An operation that
    was already emitted in the same block, and has no effects, is not emitted again.
    """

    def __init__(self, indent: int, *, parent: Emitter | None = None) -> None:
        self.lines: list[str] = []
        self._pad = "  " * indent
        self.indent = indent
        self._parent = parent
        self._known: dict[str, str] = {}
        self._names: dict[str, int] = parent._names if parent is not None else {}

    def reserve(self, *names: str) -> None:
        """Take names that the text outside this block already gives to values."""
        self._names |= dict.fromkeys(names, 0)

    def fresh(self, hint: str = "") -> str:
        """A value name that is not taken: %hint, %hint_1, ..."""
        name = base = hint or "v"
        while name in self._names:
            self._names[base] = count = self._names.get(base, 0) + 1
            name = f"{base}_{count}"
        self._names[name] = 0
        return f"%{name}"

    def pure(self, operation: str, hint: str = "") -> str:
        """Emit an operation without effects and return its result; reuse an equal earlier one."""
        known = self._lookup(operation)
        if known is not None:
            return known
        value = self.fresh(hint)
        self.lines.append(f"{self._pad}{value} = {operation}")
        self._known[operation] = value
        return value

    def joined(self, operation: str, values: Iterable[str], kind: str, hint: str = "") -> str:
        """Several values as one, by an operation of two; empty where there are none."""
        found = ""
        for value in values:
            found = self.pure(f"{operation} {found}, {value} : {kind}", hint) if found else value
        return found

    def result(self, operation: str, hint: str = "") -> str:
        """Emit an operation that has effects and return its result."""
        value = self.fresh(hint)
        self.lines.append(f"{self._pad}{value} = {operation}")
        return value

    def line(self, text: str) -> None:
        """Emit a line as it is."""
        self.lines.append(self._pad + text)

    def nested(self) -> Emitter:
        """A block inside this one: it sees this one's values, and its own end with it."""
        return Emitter(self.indent + 1, parent=self)

    def put(self, head: str, inner: Emitter, end: str = "}") -> None:
        """Append a block in braces."""
        self.line(f"{head} {{")
        self.lines += inner.lines
        self.line(end)

    def put_either(self, head: str, yes: Emitter, no: Emitter) -> None:
        """Append two blocks, of which an `scf.if` chooses one."""
        self.put(head, yes, "} else {")
        self.lines += no.lines
        self.line("}")

    def index(self, value: int) -> str:
        """An index constant."""
        return self.pure(f"arith.constant {value} : index", f"c{value}")

    def i32(self, value: int) -> str:
        """An i32 constant, given by its bits: 0 ... 2**32 - 1 or negative."""
        signed = (value + 2**31) % 2**32 - 2**31
        return self.pure(f"arith.constant {signed} : i32", f"i{value}" if value >= 0 else "i")

    def _lookup(self, operation: str) -> str | None:
        block: Emitter | None = self
        while block is not None:
            if operation in block._known:
                return block._known[operation]
            block = block._parent
        return None


def quote(text: str) -> str:
    r"""A string attribute, escaped as MLIR's lexer reads it (\XX is a byte in hex)."""
    return f'"{text.encode("utf-8").decode("latin-1").translate(_ESCAPED)}"'


def comma(items: Iterable[str]) -> str:
    """Items with commas between."""
    return ", ".join(items)
