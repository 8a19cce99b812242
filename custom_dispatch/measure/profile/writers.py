"""A profile in its forms: text, data for JSON, a Chrome trace, and a page."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custom_dispatch.tables import plain_lines, rate_text, seconds_text

if TYPE_CHECKING:
    from custom_dispatch.measure.profile.summary import KernelTime, Profile

COLUMNS = ("kernel", "by", "launches", "a call", "share", "mean", "floor", "of floor", "limit")
MOST_SPANS = 20_000
"""Of a page's timeline: of more, the first ones. A trace has all."""
_DATA = "{{profile}}"


def rows_of(profile: Profile) -> list[tuple[str, ...]]:
    """The kernels as rows of a table: launches and times of a call, and the mean of a launch."""
    return [_cells(item, profile.calls) for item in profile.kernels]


def _cells(item: KernelTime, calls: int) -> tuple[str, ...]:
    cells = (
        item.name,
        item.origin,
        f"{item.launches / calls:.4g}",
        seconds_text(item.total_s / calls),
        f"{item.share:.1%}",
        seconds_text(item.mean_s),
    )
    if item.floor is None:
        return (*cells, "-", "-", "-")
    limit = "memory" if item.floor.seconds == item.floor.memory_s else "arithmetic"
    return (*cells, seconds_text(item.floor.seconds), f"{item.floor_share:.1%}", limit)


def head_lines(profile: Profile) -> list[str]:
    """What was recorded, and what a call consists of."""
    busy = ", ".join(f"{name} {seconds_text(time)}" for name, time in profile.origins.items())
    return [
        profile.function,
        f"on {profile.device}",
        f"recorded by {profile.tool}: {profile.calls} calls; undisturbed, one takes "
        f"{seconds_text(profile.undisturbed_s)}",
        f"a recorded call: {seconds_text(profile.recorded_s)} = {seconds_text(profile.busy_s)} in "
        f"which something ran ({busy}) + {seconds_text(profile.idle_s)} idle in between + "
        f"{seconds_text(profile.before_s)} before + {seconds_text(profile.after_s)} after",
    ]


def foot_lines(profile: Profile) -> list[str]:
    """Where floors come from, and what else is to be known."""
    lines, peaks = list(profile.notes), profile.peaks
    floors = [item.floor for item in profile.kernels if item.floor]
    if floors:
        memory = rate_text(peaks.bytes_per_second, "B/s")
        text = f"A floor is each operand moved once, at {memory} ({peaks.bytes_source})"
        kinds = sorted({item.arithmetic for item in floors if item.arithmetic_s})
        rates = [f"{rate_text(peaks.flops_per_second[kind], 'FLOP/s')} of {kind}" for kind in kinds]
        if rates:
            text += f", or the declared operations at {', '.join(rates)} ({peaks.flops_source})"
        lines.append(f"{text}. Caches, and operands that are read in part, lead to above 100 %.")
    reasons = defaultdict[str, list[str]](list)
    for item in profile.kernels:
        reasons[item.no_floor].append(item.name)
    return lines + [f"No floor of {', '.join(reasons[why])}: {why}." for why in reasons if why]


def text_of(profile: Profile) -> str:
    """A profile for people."""
    table = plain_lines(COLUMNS, rows_of(profile))
    return "\n".join([*head_lines(profile), "", *table, "", *foot_lines(profile)]).rstrip()


def data_of(profile: Profile) -> dict[str, Any]:
    """A profile as data, but for its records: times in seconds."""
    names = [item.name for item in fields(profile) if item.name not in ("recording", "rows")]
    return {name: getattr(profile, name) for name in names} | {"notes": foot_lines(profile)}


def html_of(profile: Profile) -> bytes:
    """A page that shows a profile, without a network.

    The data is JSON in it, in which no text can end the element or begin another one.
    """
    calls, first = profile.recording.calls, profile.recording.calls[0][0]
    records = sorted(profile.recording.records, key=lambda item: item.start_ns)
    lanes = sorted({(item.device, item.stream) for item in records})
    data = data_of(profile) | {
        "lanes": lanes,
        "call_spans": [(start - first, end - start) for start, end in calls],
        "all_spans": len(records),
        "spans": [
            (
                profile.rows[item.name],
                lanes.index((item.device, item.stream)),
                item.start_ns - first,
                item.length_ns,
            )
            for item in records[:MOST_SPANS]
        ],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=asdict)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return page.replace(_DATA, text, 1).encode()


def trace_of(profile: Profile) -> bytes:
    """The events as a Chrome trace ("Trace Event Format"): complete events and metadata."""
    calls, first = profile.recording.calls, profile.recording.calls[0][0]

    def event(what: str, lane: tuple[int, int], told: Any, *times: int) -> dict[str, Any]:
        found = {"name": what, "pid": lane[0], "tid": lane[1], "args": told}
        if not times:
            return found | {"ph": "M"}
        start, end = times
        return found | {"ph": "X", "ts": (start - first) / 1e3, "dur": (end - start) / 1e3}

    events = [event(f"call {index + 1}", (0, 0), {}, *times) for index, times in enumerate(calls)]
    threads = {(0, 0): ("host", "calls")}
    for record in profile.recording.records:
        item, lane = profile.kernels[profile.rows[record.name]], (record.device + 1, record.stream)
        threads[lane] = (f"device {record.device}", f"stream {record.stream}")
        told = asdict(record) | {"origin": item.origin, "share_of_floor": item.floor_share}
        events.append(event(item.name, lane, told, record.start_ns, record.end_ns))
    for lane, (process, thread) in threads.items():
        events.append(event("process_name", lane, {"name": process}))
        events.append(event("thread_name", lane, {"name": thread}))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, allow_nan=False).encode()
