"""What IREE's failures mean to whoever made the call."""

from __future__ import annotations

import re

from custom_dispatch.errors import CallError, DeviceError, KernelError
from custom_dispatch.format.failure import Failure

_KERNEL_CHECK = re.compile(
    r"(INVALID_ARGUMENT|FAILED_PRECONDITION); ((?:kernel|choice|model) `[^`]+`: .*?);?\s*"
    r"(?:\[ *\d+\] \w+ module@.*)?$"
)
# What IREE's two CPU drivers say of a workgroup that returns a number: see `format/failure.py`.
_FAILURE = re.compile(r"returned (?:catastrophic error |non-zero \()(\d+)")
_CHECK = "compile it for cpu:checked, which names the line, thread and block."
_FAILURES: dict[int, tuple[str, str]] = {
    Failure.TRAP: ("a kernel executed `trap`", _CHECK),
    Failure.ASSERTION: ("an assertion of a kernel did not hold", _CHECK),
    Failure.DEADLOCK: (
        "the threads of a kernel's block wait for each other at different barriers, or for lanes "
        "of their warp that never come",
        _CHECK,
    ),
    Failure.FINDING: (
        "cpu:checked found something in a kernel, and another call has reported it",
        "see the error of the other call.",
    ),
    Failure.NO_MEMORY: (
        "there is not enough memory to run a block in cpu:checked",
        "use a smaller block, or less shared memory.",
    ),
    Failure.SPIN: (
        "a thread waits in a loop for another one to write memory, and on the CPU warps run one "
        "after another",
        _CHECK,
    ),
}


def failure_of(error: Exception) -> int:
    """The number that a kernel returned which failed on the CPU (`format/failure.py`), else 0."""
    failed = _FAILURE.search(str(error))
    return 0 if failed is None else int(failed[1])


def translate_failure(name: str, error: Exception) -> CallError | DeviceError | KernelError:
    """What an IREE failure means to the caller."""
    text = str(error)
    failure = failure_of(error)
    if failure in _FAILURES:
        found, next_step = _FAILURES[failure]
        return KernelError(f"`{name}` failed on the CPU: {found}.", next_step=next_step)
    check = _KERNEL_CHECK.search(text.replace("\n", " "))
    if check is not None:
        is_model = check[2].startswith("model ")
        return CallError(
            f"`{name}` refused the call: {check[2]}.",
            next_step="pass arrays of the same sizes, or state the sizes in the model."
            if is_model
            else "pass arrays whose sizes fit the kernel's declaration.",
        )
    if "INVALID_ARGUMENT" in text and "mismatch" in text:
        return CallError(
            f"`{name}` refused an argument.",
            next_step="correct the argument; IREE says:",
            log=text.split("; while")[0],
        )
    return DeviceError(f"`{name}` failed.", next_step="IREE says:", log=text)


def is_out_of_memory(error: Exception) -> bool:
    """Whether a device had no memory left."""
    text = str(error)
    return "RESOURCE_EXHAUSTED" in text or "CUDA_ERROR_OUT_OF_MEMORY" in text
