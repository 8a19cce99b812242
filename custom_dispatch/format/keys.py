"""What a module and whoever loads it agree on: names of functions, their reflection, and failures.

`custom_dispatch.ir.interface` says what the functions are.
"""

from enum import IntEnum
from typing import Final

ASYNC = "$async"
"""What the names of functions end with that return before their work is done."""
INTO = "$into"
"""What the names of functions end with that write into buffers they are given."""
GRAPH = "$graph"
"""What the names of functions end with that run a graph over buffers that stay."""
BUFFERS = "$buffers"
"""What the names of functions end with that return these buffers."""
FINDINGS_FUNCTION = "custom_dispatch_findings_of_"
"""What the names of functions begin with that return what checked mode found; the executable's
follows."""

NAMES_KEY = "custom_dispatch.inputs"
"""The key in the reflection of `f$async` under which its arguments' names stand, with commas."""
STATELESS_KEY = "custom_dispatch.stateless"
"""The key there that says that calls leave nothing behind."""
RESULTS_KEY = "custom_dispatch.results"
"""The key in the reflection of `f` under which its results' element types stand, with commas: a
front end knows whether integers have a sign, and MLIR's types do not say it."""
UPDATED_KEY = "custom_dispatch.updated"
"""The key in the reflection of `f$into` under which stands for each result the position of the
argument whose buffer it is, or nothing, with commas between."""
UPDATES_KEY = "custom_dispatch.updates"
"""The key in the reflection of `f` under which the positions of the arguments stand that it writes
into, with commas. Until it is opened to callers, it returns their new values before its results."""
MEMORY_KEY = "custom_dispatch.memory"
"""The key in the reflection of `f$graph` under which a text says what its module's graphs keep."""
MANIFEST_KEY = "custom_dispatch.manifest"
"""The key in the reflection of every function under which a module says what was built in."""
PARAMETERS_KEY = "custom_dispatch.parameters"
"""The key there under which it says which weights it needs."""


class Failure(IntEnum):
    """Why a kernel failed: what a workgroup returns to IREE.

    IREE's CPU drivers fail the whole dispatch with the number in their message: "executable entry
    point returned catastrophic error 3" (local-sync) or "dispatch kernel returned non-zero (3)"
    (local-task; iree/hal/drivers/local_task/block_processor.c). A process lives on, and so does the
    device.
    """

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
