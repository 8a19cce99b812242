"""Waiting for other processes, by their ids (proc(5))."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not asked how does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until something holds, which has to come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_until_ended(pids: Sequence[int]) -> None:
    """Wait until processes have ended."""
    wait_until(lambda: not any(map(is_running, pids)))
