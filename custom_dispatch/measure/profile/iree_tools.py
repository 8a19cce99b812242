"""Recording what a CPU does, by IREE's own tools, which come with its runtime.

IREE's Python runtime offers no profile ("requires a profile sink and is not exposed by the runtime
bindings"), and its benchmark tool does: so the function runs there, in a process of its own, with
the same arguments. What a program keeps from call to call begins anew in it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from iree._runtime.libs import library_path

from custom_dispatch.errors import DeviceError, excerpt
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.dtypes import of_numpy
from custom_dispatch.measure.profile.recording import Record, Recording
from custom_dispatch.process import run
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.program import Program

_BENCHMARK, _READER = "iree-benchmark-module", "iree-profile"
_MODES = "host-execution,queue-events,executable-metadata"
_MOST_SECONDS = 3600.0


def record_on_cpu(
    program: Program, function: str, arguments: Sequence[Any], calls: int
) -> Recording:
    """Run a function so often, and record its dispatches; a DeviceError where a tool fails."""
    with temporary_directory() as directory:
        values = enumerate(arguments)
        inputs = [_written(value, directory / f"{place}.bin") for place, value in values]
        profile = directory / "recorded.ireeprof"
        _tool(
            _BENCHMARK,
            "--device=local-task",
            *program.tool_flags(directory),
            f"--function={function}",
            *(f"--input={text}" for text in inputs),
            f"--benchmark_min_time={calls}x",
            f"--device_profiling_mode={_MODES}",
            f"--device_profiling_output={profile}",
        )
        told = _tool(_READER, "dispatch", "--dispatch_events", "--format=jsonl", str(profile))
    events = [json.loads(line) for line in told.splitlines()]
    records = []
    for event in (event for event in events if event["type"] == "host_dispatch_event"):
        times = (event["start_host_time_ns"], event["end_host_time_ns"])
        grid = tuple(event["workgroup_count"])
        records.append(Record("kernel", event["key"], *times, grid=grid))
    records.sort(key=lambda item: item.start_ns)
    return Recording(_calls(records, calls), tuple(records), f"IREE's {_BENCHMARK}")


def _calls(records: Sequence[Record], calls: int) -> tuple[tuple[int, int], ...]:
    """When the calls were: the profile does not say it, and they follow each other.

    Where they made different numbers of dispatches, there is one, of all of them.
    """
    each = len(records) // calls if len(records) % calls == 0 else len(records)
    parts = [records[at : at + each] for at in range(0, len(records), max(each, 1))]
    return tuple((part[0].start_ns, max(item.end_ns for item in part)) for part in parts)


def _tool(name: str, *arguments: str) -> str:
    done = run([Path(library_path) / name, *arguments], timeout_seconds=_MOST_SECONDS)
    if done.returncode != 0:
        raise DeviceError(
            f"IREE's {name} failed on the function.",
            next_step="see whether `custom-dispatch run` can run it; the tool says:",
            log=excerpt(done.stderr),
        )
    return done.stdout.decode()


def _written(value: Any, file: Path) -> str:
    """An argument that the function takes, in the form that the tool takes: arrays in a file."""
    if isinstance(value, bool | int | float):
        return str(value)
    array = value.to_host() if isinstance(value, DeviceArray) else numpy.asarray(value)
    kind = of_numpy(array.dtype)
    assert kind is not None  # noqa: S101 - the program has taken it
    file.write_bytes(numpy.ascontiguousarray(array).tobytes())
    return f"{''.join(f'{size}x' for size in array.shape)}{kind.mlir}=@{file}"
