"""What a command of the command line did, and what is asserted of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str
    appeared: frozenset[str]
    """The files and directories that are there now, and were not before."""

    def refused(self, *parts: str) -> None:
        """Assert that it failed as bad input must: status 2, sentences, nothing left behind."""
        assert self.status == 2, self.out + self.err
        for part in parts:
            assert part in self.err
        assert "Traceback" not in self.err
        assert "internal error" not in self.err
        assert not self.appeared

    def succeeded(self, *parts: str) -> None:
        """Assert that it ended well and printed these parts."""
        assert self.status == 0, self.out + self.err
        for part in parts:
            assert part in self.out


CommandLine = Callable[..., Outcome]
