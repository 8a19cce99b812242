"""The one place that starts other programs.

Programs are started with an argument list, never through a shell, in a process group of their
own: nvcc starts cicc and ptxas, and a time limit must end those too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from custom_dispatch.errors import ToolNotFoundError, ToolTimeoutError

Result = TypeVar("Result")

DEFAULT_TIMEOUT_SECONDS = 600.0
_READ_BYTES = 1 << 16
_LEFT_OPEN_SECONDS = 1.0
"""How long the output of a program that has ended is waited for. What it left behind (a compiler
cache starts a server) may hold its pipes for ever."""
_KILLED_SECONDS = 10.0
"""The same of one that was killed, and with much memory takes a while to be gone."""

_HEARING_SECONDS = 0.2
"""How long the main thread waits without looking up. A signal that the system gives to another
thread, as it may while that one starts a program, does not wake it."""

_WATCHER = """
import os, sys
groups = set()
for line in sys.stdin.buffer:
    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, 9)
    except OSError:
        pass
"""
"""A process that is told of every program, and ends those that are left when this process is gone:
killed or crashed, it can end nothing itself. Its input ends with this process."""

# Programs that a thread of this process waits for. Adding and discarding are atomic.
_running: set[subprocess.Popen[bytes]] = set()
_watcher: subprocess.Popen[bytes] | None = None
_watcher_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended: its exit status, and what it wrote to stdout and stderr."""

    returncode: int
    stdout: bytes
    stderr: str

    @property
    def how(self) -> str:
        """What became of it, after its name: "was ended by SIGKILL"."""
        if self.returncode >= 0:
            return f"ended with status {self.returncode}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-self.returncode).name}"
        return f"was ended by signal {-self.returncode}"


class Started:
    """A program that runs and waits for its standard input; ended if it is left without."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self._process = process
        self._name = name
        self._stderr = b""
        _running.add(process)
        _tell("+", process)

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, *, wait: bool = True) -> None:
        """Kill it with everything that it started, if it still runs.

        `wait`: whether to wait until it is gone, which takes milliseconds where it has much memory.
        """
        _forget(self._process)
        if self._process.returncode is not None:
            return
        if wait:
            _kill_group(self._process)
        else:
            _signal_group(self._process)
            arguments = (self._process, _KILLED_SECONDS)
            threading.Thread(target=_last_words, args=arguments, daemon=True).start()

    def finish(
        self, stdin: bytes | None = None, *, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> Completed:
        """Give it its standard input, and wait until it has ended; see `run`."""
        try:
            stdout, stderr = _wait(self._process, stdin, timeout_seconds)
        except TimeoutError as error:
            _kill_group(self._process)
            raise self._too_slow(timeout_seconds) from error
        except BaseException:  # KeyboardInterrupt included: never leave a compiler running
            _kill_group(self._process)
            raise
        finally:
            _forget(self._process)
        return Completed(self._process.returncode, stdout, stderr.decode("utf-8", "replace"))

    def ask(self, question: bytes, *, timeout_seconds: float) -> bytes | Completed:
        """Give it a message, and wait for the one that it answers, after which it goes on.

        Both stand behind their length, in eight bytes, on standard input and output.

        Returns: the answer; or how the program ended, if it gave none.
        """
        message = struct.pack("<Q", len(question)) + question
        try:
            answer = self._exchange(message, time.monotonic() + timeout_seconds)
            if answer is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LEFT_OPEN_SECONDS)  # its own status says how it ended
        except TimeoutError as error:
            self.end()
            raise self._too_slow(timeout_seconds) from error
        except BaseException:  # as above
            self.end()
            raise
        if answer is not None:
            return answer
        stderr = self._stderr + _kill_group(self._process)
        _forget(self._process)
        return Completed(self._process.returncode, b"", stderr.decode("utf-8", "replace"))

    def take_stderr(self) -> str:
        """What it wrote to standard error up to its last answer, and was not taken yet."""
        said, self._stderr = self._stderr, b""
        return said.decode("utf-8", "replace")

    def _exchange(self, message: bytes, latest: float) -> bytes | None:
        """Write and read at once, whatever the program does first; None where it has ended."""
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        if stdin is None or stdout is None or stderr is None:  # pragma: no cover - see `start`
            raise TypeError(f"`{self._name}` has no pipes")
        rest, answer, heard = memoryview(message), bytearray(), [stdout, stderr]
        while len(answer) < 8 or len(answer) - 8 < int.from_bytes(answer[:8], "little"):
            left = latest - time.monotonic()
            if left <= 0:
                raise TimeoutError
            written = [stdin] if rest else []
            ready, free, _ = select.select(heard, written, [], min(left, _HEARING_SECONDS))
            if free:
                try:
                    rest = rest[os.write(stdin.fileno(), rest[: select.PIPE_BUF]) :]
                except BrokenPipeError:  # its end shows on stdout
                    rest = rest[:0]
            if stderr in ready and not self._hear(stderr):
                heard.remove(stderr)
            if stdout in ready:
                found = os.read(stdout.fileno(), _READ_BYTES)
                if not found:
                    return None
                answer += found
        while select.select([stderr], [], [], 0)[0] and self._hear(stderr):
            pass
        return bytes(answer[8:])

    def _hear(self, stderr: IO[bytes]) -> bool:
        """Read what is there of standard error; return whether it goes on."""
        found = os.read(stderr.fileno(), _READ_BYTES)
        self._stderr += found
        return bool(found)

    def _too_slow(self, timeout_seconds: float) -> ToolTimeoutError:
        return ToolTimeoutError(
            f"`{self._name}` did not finish within {timeout_seconds:g} seconds and "
            "was ended, with everything it had started.",
            next_step="try a smaller source, or raise the time limit.",
        )


def start(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    takes_input: bool = True,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    name: str = "",
) -> Started:
    """Start a program, whose standard input is given later; without one it is empty.

    `name`: what errors call it; the name of its file when omitted.
    """
    command = [os.fspath(argument) for argument in arguments]
    try:
        process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
            command,
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(environment) if environment is not None else None,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL character in an argument
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ToolNotFoundError(
            f"`{command[0]}` could not be started: {reason}.",
            next_step="run `custom-dispatch doctor` to see which tools were found and where.",
        ) from error
    return Started(process, name or Path(command[0]).name)


def run(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
) -> Completed:
    """Run a program to its end and return what it printed; a non-zero status is not an error here.

    - `arguments`: the program and its arguments.
    - `stdin`: bytes given on standard input; without it standard input is empty.
    - `environment`: the program's whole environment; this process's own when omitted.
    - `timeout_seconds`: after this many seconds the program and everything it started are killed.

    Raises `ToolNotFoundError`: the program does not exist or may not be executed.
    Raises `ToolTimeoutError`: the time limit passed.
    """
    started = start(arguments, takes_input=stdin is not None, cwd=cwd, environment=environment)
    return started.finish(stdin, timeout_seconds=timeout_seconds)


def result_of(future: Future[Result]) -> Result:
    """A future's result, waited for so that Ctrl-C is heard meanwhile."""
    while not future.done():
        wait([future], _HEARING_SECONDS)
    return future.result()


def end_all() -> None:
    """Kill every program that `run` waits for in any thread, and what those programs started.

    Ctrl-C reaches neither the programs, which have sessions of their own, nor the threads that
    wait for them: it is raised in the main thread alone.
    """
    for process in tuple(_running):
        if process.returncode is None:  # else its number may be another's by now
            _signal_group(process)


def _forget(process: subprocess.Popen[bytes]) -> None:
    _running.discard(process)
    _tell("-", process)


def _tell(what: str, process: subprocess.Popen[bytes]) -> None:
    """Tell the watcher that a program runs, or does no longer."""
    global _watcher
    with _watcher_lock, contextlib.suppress(OSError):
        if _watcher is None and what == "+":
            _watcher = subprocess.Popen(  # noqa: S603 - as above
                [sys.executable, "-I", "-S", "-c", _WATCHER],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        if _watcher is not None and _watcher.stdin is not None:
            os.write(_watcher.stdin.fileno(), f"{what}{process.pid}\n".encode())


def _leave_watcher() -> None:
    if _watcher is not None and _watcher.stdin is not None:
        _watcher.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a fork may hold its input, too
            _watcher.wait(_LEFT_OPEN_SECONDS)


def _forked() -> None:
    """The parent's watcher is to see the end of the parent alone."""
    global _watcher, _watcher_lock
    _watcher_lock = threading.Lock()
    if _watcher is not None and _watcher.stdin is not None:
        _watcher.stdin.close()
        _watcher.returncode = 0  # it is no child of this process
    _watcher = None
    _running.clear()


os.register_at_fork(after_in_child=_forked)
atexit.register(_leave_watcher)


def _signal_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _kill_group(process: subprocess.Popen[bytes]) -> bytes:
    """Kill a program with everything that it started; return what else it wrote to stderr."""
    _signal_group(process)
    return _last_words(process, _KILLED_SECONDS)[1]


def _wait(
    process: subprocess.Popen[bytes], stdin: bytes | None, seconds: float
) -> tuple[bytes, bytes]:
    """Write a program's input and read its output until it has ended."""
    latest = time.monotonic() + seconds
    while True:
        left = latest - time.monotonic()
        try:
            return process.communicate(stdin, timeout=max(0.0, min(left, _LEFT_OPEN_SECONDS)))
        except subprocess.TimeoutExpired:
            stdin = None  # which `communicate` goes on with
        if process.poll() is not None:
            return _last_words(process, _LEFT_OPEN_SECONDS)
        if left <= _LEFT_OPEN_SECONDS:
            raise TimeoutError


def _last_words(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """The output of a program that has ended, as far as it comes in so many seconds."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        process.poll()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return error.output or b"", error.stderr or b""
