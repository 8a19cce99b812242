"""What a profiler saw: calls of a function, and what a device did meanwhile."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """A kernel, copy or fill of a device. Times are nanoseconds of one clock, as those of calls."""

    kind: str
    """"kernel", "copy" or "fill"."""
    name: str
    """Of a kernel as its object has it."""
    start_ns: int
    end_ns: int
    device: int = 0
    stream: int = 0
    grid: tuple[int, int, int] = (0, 0, 0)
    block: tuple[int, int, int] = (0, 0, 0)
    bytes: int = 0
    """What is copied or filled."""
    in_graph: bool = False
    """Whether a CUDA graph launched it."""

    @property
    def length_ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded of a function."""

    calls: tuple[tuple[int, int], ...]
    """When each was made, and when its results were there."""
    records: tuple[Record, ...]
    tool: str
    """What recorded them, with its version."""
