"""What a recording adds up to: where the time of a call goes."""

import os
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from custom_dispatch.files import write_atomically
from custom_dispatch.measure.profile import writers
from custom_dispatch.measure.profile.floors import Floor, Peaks
from custom_dispatch.measure.profile.recording import Record, Recording

_NS = 1e-9


class Origin(StrEnum):
    """Kernels that were linked into the module; IREE's; copies and fills; and what else ran."""

    HAND_WRITTEN, GENERATED, MEMORY, OTHER = "hand-written", "generated", "copy", "other"


@dataclass(frozen=True, slots=True)
class KernelTime:
    """A kernel, or a kind of copy, in all recorded calls."""

    name: str
    """A hand-written kernel's as it was declared."""
    origin: str
    symbol: str
    """As the device has it."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    """Both of the first launch."""
    launches: int
    total_s: float
    mean_s: float
    least_s: float
    most_s: float
    share: float
    """Of the time of all of them."""
    idle_before_s: float
    """How long nothing ran before its launches, in all; not before the first of a call."""
    floor: Floor | None
    floor_share: float | None
    """How near it is to its floor: 1 is there."""
    no_floor: str
    """Why a hand-written kernel has none."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a function's calls went. Times are in seconds; of a call they are means."""

    function: str
    device: str
    tool: str
    calls: int
    undisturbed_s: float
    """How long a call takes while nothing records it: a median."""
    recorded_s: float
    """How long it takes while it is recorded: the sum of the four parts that follow."""
    busy_s: float
    """While something ran."""
    idle_s: float
    """While nothing ran, between the first and the last."""
    before_s: float
    after_s: float
    origins: Mapping[str, float]
    """The time of all kernels by origin; what runs at once counts twice."""
    kernels: tuple[KernelTime, ...]
    """Those that took most first."""
    peaks: Peaks
    notes: tuple[str, ...]
    recording: Recording = field(repr=False)
    rows: Mapping[str, int] = field(repr=False)
    """The place in `kernels` of what has a name in the recording."""

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page with a timeline, a bar for each kernel and a roofline.

        It needs no network. Where it cannot be written, an OutputError says why.
        """
        write_atomically(Path(path), writers.html_of(self))

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a Chrome trace, which Perfetto opens, in the same way."""
        write_atomically(Path(path), writers.trace_of(self))

    def __str__(self) -> str:
        return writers.text_of(self)


def summarise(
    recording: Recording,
    function: str,
    device: str,
    undisturbed_s: float,
    peaks: Peaks,
    origin_of: Callable[[Record], tuple[str, str]],
    floor_of: Callable[[str, float], Floor | str],
    notes: tuple[str, ...] = (),
) -> Profile:
    """Add a recording up. Records that begin in no call do not count.

    - `origin_of`: a record's name for people, and its origin.
    - `floor_of`: of a hand-written kernel by its name, and its launches in a call.
    """
    groups, idle = defaultdict[str, list[Record]](list), defaultdict[str, int](int)
    busy = before = after = 0
    records = sorted(recording.records, key=lambda item: item.start_ns)
    starts = [item.start_ns for item in records]
    for start, end in recording.calls:
        latest = start
        for record in records[bisect_left(starts, start) : bisect_right(starts, end)]:
            groups[record.name].append(record)
            gap = max(record.start_ns - latest, 0)
            if latest == start:
                before += gap
            else:
                idle[record.name] += gap
            busy += max(record.end_ns - max(record.start_ns, latest), 0)
            latest = max(latest, record.end_ns)
        after += max(end - latest, 0)
    lengths = {name: [item.length_ns for item in group] for name, group in groups.items()}
    whole, count = max(sum(map(sum, lengths.values())), 1), len(recording.calls)
    kernels, origins, counted = list[KernelTime](), defaultdict[str, float](float), list[Record]()
    for symbol in sorted(groups, key=lambda symbol: -sum(lengths[symbol])):
        group, took = groups[symbol], lengths[symbol]
        counted += group
        name, origin = origin_of(group[0])
        origins[origin] += sum(took) * _NS / count
        mean_s = sum(took) * _NS / len(took)
        found = floor_of(name, len(took) / count) if origin == Origin.HAND_WRITTEN else ""
        floor = found if isinstance(found, Floor) else None
        share = None if floor is None else floor.seconds / max(mean_s, _NS)
        floors = (floor, share, "" if isinstance(found, Floor) else found)
        what = (name, origin, symbol, group[0].grid, group[0].block, len(took))
        times = (sum(took) * _NS, mean_s, min(took) * _NS, max(took) * _NS)
        kernels.append(KernelTime(*what, *times, sum(took) / whole, idle[symbol] * _NS, *floors))
    whole_ns = sum(end - start for start, end in recording.calls)
    parts_ns = (whole_ns, busy, sum(idle.values()), before, after)
    recorded, busy_s, idle_s, before_s, after_s = (part * _NS / count for part in parts_ns)
    head = (function, device, recording.tool, count, undisturbed_s)
    parts = (recorded, busy_s, idle_s, before_s, after_s, origins, tuple(kernels), peaks, notes)
    rows = {item.symbol: row for row, item in enumerate(kernels)}
    content = (*head, *parts, replace(recording, records=tuple(counted)), rows)
    return Profile(*content)
