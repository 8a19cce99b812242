"""Recording what GPUs do, by CUPTI: NVIDIA's library under its profilers.

Its activity API gives a record for each kernel, copy and fill, those of a CUDA graph's nodes
among them, with the GPU's own times (CUPTI documentation, "CUPTI Activity API"). A process has one
taker of records: what takes them already is not disturbed.
"""

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from custom_dispatch.errors import DeviceError, ToolNotFoundError
from custom_dispatch.installation import install_step
from custom_dispatch.measure.profile.recording import Record
from custom_dispatch.runtime.driver import driver_state

PACKAGE = "cupti-python"
_BUFFER_BYTES = 8 << 20
_KINDS = ("CONCURRENT_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET")
_PLACES = {1: "pageable host", 2: "pinned host", 3: "device", 4: "array", 5: "managed"}
"""CUpti_ActivityMemoryKind (CUPTI API reference)."""
_one_at_a_time = threading.Lock()


class Cupti:
    """The library, which is imported here alone."""

    def __init__(self) -> None:
        try:
            found = version(PACKAGE)
            self._library = importlib.import_module("cupti.cupti")
        except (PackageNotFoundError, ImportError, OSError, RuntimeError) as problem:
            raise ToolNotFoundError(
                f"CUPTI, which tells when kernels run, cannot be loaded: {problem}.",
                expected=f"the package {PACKAGE}",
                next_step=install_step("profile"),
            ) from problem
        cuda = driver_state().cuda_version
        if cuda is not None and int(found.partition(".")[0]) != cuda[0]:
            raise ToolNotFoundError(
                f"{PACKAGE} {found} does not fit the driver, which is of CUDA {cuda[0]}.",
                expected=f"{PACKAGE} {cuda[0]}",
                next_step=f'run `pip install "{PACKAGE}=={cuda[0]}.*"`.',
            )
        self.name = f"CUPTI ({PACKAGE} {found})"
        self.now_ns: Callable[[], int] = self._library.get_timestamp

    @contextlib.contextmanager
    def recording(self) -> Iterator[list[Record]]:
        """Record what all GPUs of the process do; the list is complete when the block has ended."""
        cupti, records, problems = self._library, list[Record](), list[Exception]()
        kinds = [cupti.ActivityKind[name] for name in _KINDS]

        def take(activities: list[Any]) -> None:
            try:
                records.extend(_record(cupti, item) for item in activities if item.kind in kinds)
            except Exception as problem:  # noqa: BLE001 - CUPTI's thread has nobody to tell
                problems.append(problem)

        if not _one_at_a_time.acquire(blocking=False):
            raise _refused("this package records already")
        try:
            # CUPTI has one subscriber, and gives records to whoever asked last: who profiles the
            # process already would lose them.
            subscriber = cupti.subscribe(lambda *_: None, None)
            try:
                cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), take)
                for kind in kinds:
                    cupti.activity_enable(kind)
                yield records
                cupti.activity_flush_all(1)
            finally:
                for kind in kinds:
                    with contextlib.suppress(cupti.cuptiError):
                        cupti.activity_disable(kind)
                cupti.unsubscribe(subscriber)
        except cupti.cuptiError as problem:
            raise _refused(problem) from problem
        finally:
            _one_at_a_time.release()
        if problems:
            raise _refused(problems[0]) from problems[0]


def _refused(why: object) -> DeviceError:
    return DeviceError(
        "CUPTI does not record: something else in this process uses it.",
        expected="no ncu, nsys or compute-sanitizer around the program, and no profiler of "
        "PyTorch's in it: that keeps CUPTI when it has ended",
        next_step="profile in a new process, without them; CUPTI says:",
        log=str(why),
    )


def _record(cupti: Any, activity: Any) -> Record:
    common: dict[str, Any] = {
        "start_ns": int(activity.start),
        "end_ns": int(activity.end),
        "device": int(activity.device_id),
        "stream": int(activity.stream_id),
        "in_graph": bool(activity.graph_node_id),
    }
    if activity.kind == cupti.ActivityKind.CONCURRENT_KERNEL:
        return Record(
            "kernel",
            str(activity.name),
            grid=(activity.grid_x, activity.grid_y, activity.grid_z),
            block=(activity.block_x, activity.block_y, activity.block_z),
            **common,
        )
    common["bytes"] = int(activity.bytes)
    if activity.kind == cupti.ActivityKind.MEMSET:
        return Record("fill", "fill memory", **common)
    places = [_PLACES.get(int(x), "memory") for x in (activity.src_kind, activity.dst_kind)]
    return Record("copy", f"copy {' to '.join(places)}", **common)
