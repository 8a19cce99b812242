"""How what checked mode found leaves a module: as a dispatch, and a function that makes it.

A dispatch that failed has no results, so its finding stays in the executable until somebody asks.
"""

from __future__ import annotations

from custom_dispatch.cpu.checked.finding import REPORT_BYTES
from custom_dispatch.cpu.checked.finding_report import FINDINGS_ENTRY
from custom_dispatch.format.keys import FINDINGS_FUNCTION
from custom_dispatch.ir.emitter import Emitter

_LAYOUT = "#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>"


def write_findings_export(out: Emitter, ordinal: int) -> None:
    """The export of the dispatch function that `cpu` has added to the kernels."""
    inner = out.nested()
    inner.line(
        f"hal.executable.export public @{FINDINGS_ENTRY} ordinal({ordinal}) layout({_LAYOUT}) "
        "count(%device: !hal.device) -> (index, index, index) {"
    )
    inner.line("  %one = arith.constant 1 : index")
    inner.line("  hal.return %one, %one, %one : index, index, index")
    inner.line("}")
    out.absorb(inner)


def write_findings_function(executable: str, variant: str) -> str:
    """The public function that returns the text, with a zero behind it.

    Its argument means nothing: a dispatch without any would be run at compile time.
    """
    kind = f"tensor<{REPORT_BYTES}xi8>"
    return (
        f"func.func public @{FINDINGS_FUNCTION}{executable}(%any: i32) -> {kind} {{\n"
        f"  %text = flow.dispatch @{executable}::@{variant}::@{FINDINGS_ENTRY}(%any) : "
        f"(i32) -> {kind}\n"
        f"  func.return %text : {kind}\n"
        "}\n"
    )
