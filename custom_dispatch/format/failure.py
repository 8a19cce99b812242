"""What a workgroup returns to IREE when its kernel failed.

IREE's CPU drivers fail the whole dispatch with the number in their message: "executable entry point
returned catastrophic error 3" (local-sync) or "dispatch kernel returned non-zero (3)" (local-task;
iree/hal/drivers/local_task/block_processor.c). A process lives on, and so does the device.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Failure(IntEnum):
    """Why a kernel failed."""

    TRAP = 1
    """It executed `trap`."""
    ASSERTION = 2
    """An `assert` did not hold."""
    DEADLOCK = 3
    """Its threads waited for ones that never come."""
    FINDING = 4
    """Checked mode found something, and has said what."""
    NO_MEMORY = 5
    """Checked mode needs more memory than there is."""
    SPIN = 6
    """A thread waited in a loop for another one to write memory."""


MARK: Final = "\x1e"
"""What begins each text of checked mode's findings, of those that a module keeps."""
NOTE: Final = "note: "
"""What begins the text of one that is no error."""
EXPECTED, NEXT_STEP = "\n  expected: ", "\n  next step: "
"""What begins the parts of a finding, as in `custom_dispatch.errors`."""
