"""A process that runs kernels: one that faults or hangs ends it, and not who asked for the run.

The process answers questions, one after another: they come on standard input, the answers go to
standard output, both JSON behind its length in eight bytes. `tune`, `check` and `bench` each say
what the questions are.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from custom_dispatch import errors
from custom_dispatch.errors import CustomDispatchError, KernelError, ToolTimeoutError, sentence
from custom_dispatch.process import Started, start

Answer = Mapping[str, Any]

START_S = 120.0
"""For imports and the GPU's context."""


class ChildEndedError(Exception):
    """The process ended, or its device is of no use: what it was asked for last is to blame."""

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

    Parameters
    ----------
    module, argument
        A module with a function `answers`, which makes of `argument` the function that answers.
    shown
        Whether what the process writes to its standard error is written to that of this one.
    """

    def __init__(self, module: str, argument: str, *, shown: bool = False) -> None:
        self._module, self._argument, self._shown = module, argument, shown
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

    def ask(self, timeout_s: float, **question: Any) -> Answer:
        """Ask for something.

        Raises
        ------
        ChildEndedError
            There is no answer, or a last one: the next question goes to a new process.
        CustomDispatchError
            What was raised there.
        """
        if self._process is None:
            # The places of this process's modules, and no others: `-m` would look in the working
            # directory first.
            code = (
                f"import sys; sys.path[:] = {sys.path!r}; "
                "from custom_dispatch.measure.child import answers_apart, serve; "
                f"apart = answers_apart(); from {self._module} import answers; "  # may print
                "sys.exit(serve(answers(sys.argv[1]), apart))"
            )
            self._process = start([sys.executable, "-c", code, self._argument])
        process = self._process
        try:
            answer = process.ask(json.dumps(question).encode(), timeout_seconds=timeout_s)
        except ToolTimeoutError:
            self._process = None
            raise ChildEndedError(f"did not end within {timeout_s:g} seconds") from None
        said = process.take_stderr()
        if isinstance(answer, bytes):
            if self._shown:
                sys.stderr.write(said)
            return self._read(json.loads(answer))
        self._process = None
        raise ChildEndedError(_end_of(answer.returncode, answer.stderr))

    def _read(self, found: Answer) -> Answer:
        if found.get("lost"):
            self.close()
            raise ChildEndedError(found["problem"].rstrip("."))
        if "error" in found:
            kind, *words = found["error"]
            raise errors.rebuild(getattr(errors, kind), *words)
        return found


def _end_of(status: int, said: str) -> str:
    if status < 0:
        return f"its process was ended by {signal.Signals(-status).name}"
    last = (said.strip().splitlines() or ["it said nothing"])[-1]
    return f"its process ended with status {status}: {last}"


def serve(answer: Callable[[Answer], Answer], answers: BinaryIO) -> int:
    """Answer until there are no more questions; the exit status."""
    while True:
        head = sys.stdin.buffer.read(8)
        if len(head) < 8:
            return 0
        (size,) = struct.unpack("<Q", head)
        question = json.loads(sys.stdin.buffer.read(size))
        try:
            found = answer(question)
        except CustomDispatchError as error:
            words = (error.found, error.expected, error.next_step, error.log)
            found = lost_device() or {"error": [type(error).__name__, *words]}
        sys.stdout.flush()
        text = json.dumps(found).encode()
        answers.write(struct.pack("<Q", len(text)) + text)
        answers.flush()


def lost_device() -> Answer:
    """The answer that says what a kernel did to the GPU for the whole process; empty if nothing."""
    from custom_dispatch.runtime.access import access_to

    problem = access_to("cuda").problem
    return {"problem": problem, "lost": True} if problem else {}


def answers_apart() -> BinaryIO:
    """Where answers go, when standard output has become standard error.

    What a library prints is no answer, nor what a kernel does: the driver writes the texts of
    `printf` to file descriptor 1.
    """
    answers = os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    return answers
