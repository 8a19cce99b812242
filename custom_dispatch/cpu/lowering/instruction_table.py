"""Which function lowers which PTX instruction: `instructions.toml`."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from custom_dispatch.cpu.lowering import (
    atomic,
    barrier,
    compare,
    convert,
    floating,
    integer,
    logic,
    matrix,
    memory,
    warp,
    wmma,
)
from custom_dispatch.cpu.lowering.frame import Frame

Lowering = Callable[[Frame], None]
"""Lowers the instruction that a frame is at."""

_MODULES: Final = (
    *(atomic, barrier, compare, convert, floating, integer, logic, matrix, memory, warp, wmma),
)
_NAME: Final = re.compile(r"\b[A-Z_]{3,}\b")


def lower_instruction(frame: Frame) -> None:
    """Lower the instruction that a frame is at, which is no branch, without its predicate."""
    lowering = _lowering_of(frame.instruction.opcode)
    if lowering is None:
        raise frame.unsupported()
    lowering(frame)


@lru_cache(maxsize=1024)
def _lowering_of(opcode: str) -> Lowering | None:
    base = opcode.partition(".")[0]
    known = _forms().get(base, ())
    return next((f for f, form in known if re.fullmatch(form, opcode[len(base) :])), None)


@cache
def _forms() -> Mapping[str, Sequence[tuple[Lowering, str]]]:
    """By opcode, without its modifiers: functions, and patterns of the modifiers that they take."""
    table = tomllib.loads(Path(__file__).with_name("instructions.toml").read_text())
    names = table.pop("names")
    found: dict[str, list[tuple[Lowering, str]]] = {}
    for module in _MODULES:
        for function, rows in table[module.__name__.rpartition(".")[2]].items():
            for opcodes, forms in rows.items():
                texts = [forms] if isinstance(forms, str) else forms
                pattern = "|".join(_pattern(text, names) for text in texts)
                for opcode in opcodes.split():
                    found.setdefault(opcode, []).append((getattr(module, function), pattern))
    return found


def _pattern(form: str, names: Mapping[str, str]) -> str:
    """A form as a pattern of modifiers, each behind its dot."""

    def meaning(name: re.Match[str]) -> str:
        return f"(?:{_NAME.sub(meaning, names[name[0]])})"

    words = (re.fullmatch(r"(.*?)([?*]?)", word) for word in form.split())
    return "".join(rf"(?:\.(?:{_NAME.sub(meaning, w[1])})){w[2]}" for w in words if w is not None)
