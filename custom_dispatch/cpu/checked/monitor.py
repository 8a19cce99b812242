"""The monitor of checked mode: functions that compiled kernels call to have what they do checked.

They are written in CUDA (`monitor/`). What ships is what they compile to (`monitor/monitor.mlir`).
`monitor/monitor.cuh` says how what they know lies in memory.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.ssa_value import SsaValue

CONTEXT: Final = "%context"
"""The function argument that points to a block's context, as an i64."""
TEXT: Final = Path(__file__).parent / "monitor" / "monitor.mlir"
_FUNCTION: Final = re.compile(r"llvm\.func internal @check\.([\w.]+)\(([^)]*)\)(?: -> (\w+))?")


@cache
def monitor_functions() -> str:
    """The functions, in the LLVM dialect."""
    return TEXT.read_text()


@cache
def _signatures() -> Mapping[str, tuple[list[str], str]]:
    """The types of the functions' arguments, and that of their results, by name."""
    return {
        found[1]: (re.findall(r": (\w+)", found[2]), found[3] or "")
        for found in _FUNCTION.finditer(monitor_functions())
    }


def call(b: Builder, name: str, *given: Given) -> SsaValue:
    """Call one of the functions; returns its result, or an empty text where it has none.

    - `given`: what it takes; pointers are passed as i64. Names are taken to be of the right type.
    """
    types, result = _signatures()[name]
    passed = [
        value.cast("ptrtoint", "i64")
        if isinstance(value, SsaValue) and value.type == POINTER
        else value
        for value in given
    ]
    return b.call(f"check.{name}", list(zip(passed, types, strict=True)), result)
