"""A process that runs kernels: one that faults or hangs ends it, and not who asked for the run.

The process makes one object, whose methods it calls as it is asked to: calls come on standard
input, what they return goes to standard output, both JSON behind its length in eight bytes. `tune`,
`check` and `bench` have a class each for that.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import Any, BinaryIO

from custom_dispatch import errors
from custom_dispatch.errors import (
    CallError,
    CustomDispatchError,
    KernelError,
    ToolTimeoutError,
    sentence,
)
from custom_dispatch.process import Started, start
from custom_dispatch.runtime.access import access_to

START_S = 120.0
"""For imports and the GPU's context."""


class ChildEndedError(Exception):
    """The process ended, or its device is of no use: what it was asked for last is to blame."""

    @property
    def found(self) -> str:
        """What is wrong, as errors of this package have it."""
        return str(self)

    def of(self, what: str) -> KernelError:
        """The error for the user of a command, where `what` was run."""
        return KernelError(
            f"{sentence(what)}: {self}.",
            expected="a kernel that comes to its end, and accesses its operands alone",
            next_step='call it with .on("cpu:checked"), which names the line and the thread; or '
            "raise --timeout, where it only takes long.",
        )


class Child:
    """The process, started when it is first asked, and again after it ended.

    - `module`, `name`: where the class is whose methods are called.
    - `shown`: whether what the process writes to its standard error is written to that of this one.
    - `**made_with`: what an object of the class is made with.
    """

    def __init__(self, module: str, name: str, *, shown: bool = False, **made_with: Any) -> None:
        self._class, self._shown = (module, name), shown
        self._made_with = json.dumps(made_with)
        self._process: Started | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def ask(self, timeout_s: float, method: str, *arguments: Any) -> Any:
        """What a method returns.

        Raises `ChildEndedError`: there is no answer, or a last one: the next call goes to a new
        process.
        Raises `CustomDispatchError`: what was raised there.
        """
        if self._process is None:
            # The places of this process's modules, and no others: `-m` would look in the working
            # directory first.
            module, name = self._class
            code = (
                f"import sys; sys.path[:] = {sys.path!r}; import json; "
                "from custom_dispatch.measure.child import answers_apart, serve; "
                f"apart = answers_apart(); from {module} import {name}; "  # may print
                f"sys.exit(serve({name}(**json.loads(sys.argv[1])), apart))"
            )
            self._process = start([sys.executable, "-c", code, self._made_with])
        process = self._process
        try:
            call = json.dumps([method, arguments]).encode()
            answer = process.ask(call, timeout_seconds=timeout_s)
        except ToolTimeoutError:
            self._process = None
            raise ChildEndedError(f"did not end within {timeout_s:g} seconds") from None
        said = process.take_stderr()
        if isinstance(answer, bytes):
            if self._shown:
                sys.stderr.write(said)
            return self._read(json.loads(answer))
        self._process = None
        last = "" if answer.returncode < 0 else answer.stderr.strip().rpartition("\n")[2]
        raise ChildEndedError(f"its process {answer.how}" + (last and f": {last}"))

    def _read(self, found: dict[str, Any]) -> Any:
        if "lost" in found:
            self.close()
            raise ChildEndedError(found["lost"].rstrip("."))
        if "error" in found:
            kind, *words = found["error"]
            raise errors.rebuild(getattr(errors, kind), *words)
        return found["returned"]


def serve(answerer: object, answers: BinaryIO) -> int:
    """Answer until nothing more is asked; the exit status."""
    while True:
        head = sys.stdin.buffer.read(8)
        if len(head) < 8:
            return 0
        (size,) = struct.unpack("<Q", head)
        method, arguments = json.loads(sys.stdin.buffer.read(size))
        found: dict[str, Any]
        try:
            found = {"returned": getattr(answerer, method)(*arguments)}
        except CustomDispatchError as error:
            words = (error.found, error.expected, error.next_step, error.log)
            found = {"error": [type(error).__name__, *words]}
        except MemoryError:
            said = "The memory of this machine does not suffice."
            found = {"error": [CallError.__name__, said, "", "give smaller sizes.", ""]}
        # What a kernel did to the GPU it did for the whole process.
        if problem := access_to("cuda").problem:
            found = {"lost": problem}
        sys.stdout.flush()
        text = json.dumps(found).encode()
        answers.write(struct.pack("<Q", len(text)) + text)
        answers.flush()


def answers_apart() -> BinaryIO:
    """Where answers go, when standard output has become standard error.

    What a library prints is no answer, nor what a kernel does: the driver writes the texts of
    `printf` to file descriptor 1.
    """
    answers = os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    return answers
