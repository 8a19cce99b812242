"""What `custom-dispatch bench` measured: as a table and as a chart."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from custom_dispatch.measure.measurement import Measurement, Subject
    from custom_dispatch.measure.timing import Timing


def show(subject: Subject, measured: list[Measurement]) -> None:
    """Print them as a table."""
    from custom_dispatch.cli.report import show_table

    click.echo(f"{subject.function}{subject.type}")
    click.echo(f"on {subject.device} ({subject.reason})")
    rows = []
    for found in measured:
        what = " ".join(f"{name}={size}" for name, size in found.dims.items())
        rows.append(
            (
                what or " ".join(found.shapes) or "-",
                _time(found.call),
                _time(found.invoke),
                _time(found.native),
                _time(found.kernel),
                _time(found.copy),
                _rate(found.bytes_per_second, "B/s"),
                _rate(found.flops_per_second, "FLOP/s"),
                "; ".join(map(str, found.agreements)) or f"not compared: {found.why_not_compared}",
            )
        )
    columns = ("sizes", "a call", "IREE alone", "CUDA driver", "kernel", "a copy")
    show_table((*columns, "bandwidth", "arithmetic", "results"), rows)
    click.echo("Times are medians, with the quartiles beside them.")
    if any(found.copy for found in measured):
        click.echo("A copy moves as many bytes as the kernel must.")
    dispatches = subject.dispatches
    if dispatches is not None and dispatches > 1:
        each = measured[-1].invoke.median_s / dispatches
        click.echo(f"{dispatches} dispatches: {_seconds(each)} each, the call included.")
    if subject.native_note:
        click.echo(subject.native_note)
    least = min(measured, key=lambda found: found.invoke.median_s)
    over = least.call.median_s - least.invoke.median_s
    click.echo(f"Of the shortest call, this package takes {_seconds(max(over, 0.0))}.")


def _time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    low, high = _seconds(timing.low_s), _seconds(timing.high_s)
    return f"{_seconds(timing.median_s)} ({low} - {high})"


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-6:.4g} us"


def _rate(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= scale:
            return f"{value / scale:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def write_plot(
    path: Path, subject: Subject, dims: list[dict[str, int]], measured: list[Measurement]
) -> None:
    """Write a chart: times by the size that differs, or by the first."""
    from custom_dispatch.files import write_atomically
    from custom_dispatch.measure.plot import Line, Point, line_chart, picture

    dims = [{**found.dims, **given} for found, given in zip(measured, dims, strict=True)]
    swept = next((name for name in dims[0] if len({values[name] for values in dims}) > 1), None)
    swept = swept or next(iter(dims[0]), None)
    lines = []
    for name, kind in _KINDS.items():
        timed = [(index, getattr(found, kind)) for index, found in enumerate(measured)]
        points = [
            Point(
                measured[index].argument_bytes if swept is None else dims[index][swept],
                timing.median_s,
                timing.low_s,
                timing.high_s,
            )
            for index, timing in timed
            if timing is not None
        ]
        if points:
            lines.append(Line(name, points, is_bound=kind == "copy"))
    title = f"{subject.function} on {subject.device_name}"
    about = [*_equal_sizes({k: v for k, v in dims[0].items() if k != swept}), _BANDS]
    chart = line_chart(title, "; ".join(about), swept or "bytes of arguments", lines)
    write_atomically(path, picture(chart, path.suffix, f"{title}; {'; '.join(about)}"))


_KINDS = {
    "a call": "call",
    "IREE alone": "invoke",
    "CUDA driver": "native",
    "kernel": "kernel",
    "a copy of as many bytes": "copy",
}
"""What is timed, as `Measurement` calls it."""
_BANDS = "medians, and the range between the quartiles"


def _equal_sizes(dims: Mapping[str, int]) -> list[str]:
    """Sizes as text, those that are equal together: m = n = 256."""
    names: dict[int, list[str]] = {}
    for name, size in dims.items():
        names.setdefault(size, []).append(name)
    return [" = ".join([*equal, str(size)]) for size, equal in names.items()]


def about(subject: Subject, seed: int) -> dict[str, object]:
    """What was measured, by what, and on what."""
    from importlib.metadata import version

    return {
        "command": shlex.join(["custom-dispatch", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
        "function": subject.function,
        "type": subject.type,
        "device": subject.device,
        "variant": subject.variant,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("iree-base-runtime", "numpy")},
        "seed": seed,
        "note": subject.native_note,
    }
