"""The function through which a finding's text leaves a checked executable."""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.checked.findings import REPORT_BYTES
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.threads.entry_function import BINDING_POINTERS, declare_entry

FINDINGS_ENTRY: Final = "custom_dispatch_findings"
"""Its symbol; it has one binding of `REPORT_BYTES` bytes, and is run as one workgroup."""


def findings_entry() -> list[str]:
    """The lines of a dispatch function that writes what was found since it last ran, as texts
    with a mark before each and a zero behind the last. From then on findings are not written to
    standard error any more: whoever runs it once takes care of them.
    """
    b = Builder()
    bindings = b.load(b.offset("%dispatch", BINDING_POINTERS), POINTER)
    target = b.load(bindings, POINTER)
    text, told, used, quiet = (
        b.address_of(f"check.{name}")
        for name in ("report_text", "told_count", "report_size", "quiet")
    )
    size = b.const(REPORT_BYTES, 64)
    call_c(b, "memcpy", [(target, POINTER), (text, POINTER), (size, "i64")])
    b.store(0, text, "i8")
    b.store(0, told)
    b.store(0, used)
    b.store(1, quiet)
    b.return_(0, "i32")
    return declare_entry(FINDINGS_ENTRY, b)
