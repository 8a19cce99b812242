"""What checked mode finds, in words.

Findings are put into words by the compiled code itself (`monitor/report.cuh`), so that stock tools
show them too: they go to standard error, unless somebody has asked for them (`findings_entry`), and
the dispatch fails if one is more than a note. A text has the form of this package's errors: what
was found, what was expected, the next step.
"""

import tomllib
from collections.abc import Mapping
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final

from custom_dispatch.cpu.checked.sites import text_global
from custom_dispatch.format.keys import EXPECTED, MARK, NEXT_STEP

FINDINGS_ENTRY: Final = "custom_dispatch_findings"
"""Its symbol; it has one binding of `REPORT_BYTES` bytes, and is run as one workgroup."""
REPORT_BYTES: Final = 8192
"""Room for the findings' texts, as in `monitor/report.cuh`."""


class Finding(IntEnum):
    """What compiled code notes itself, by its place in `findings.toml`; the monitor finds more."""

    TRAP = 6
    ASSERTION = 7
    DIVISION = 10


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """What was found, what was expected and the next step (`next_step`), by a finding's name."""
    return tomllib.loads(Path(__file__).with_name("findings.toml").read_text())


def findings_global() -> str:
    """The texts as the monitor takes them: a mark before each, and a zero behind it."""
    listed = (
        f"{MARK}{of['found']}.{EXPECTED}{of['expected']}.{NEXT_STEP}{of['next_step']}."
        for of in texts().values()
    )
    return text_global("check.texts_of_findings", "\0".join(listed))
