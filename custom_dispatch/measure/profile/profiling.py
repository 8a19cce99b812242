"""Profiling a function of a program: its calls, undisturbed and recorded."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy

from custom_dispatch.errors import CallError, DeviceError
from custom_dispatch.format.manifest import FunctionUse, KernelUse, KnownSizes, Manifest
from custom_dispatch.kernel.binding import bind_dims
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.measure.bench import timed
from custom_dispatch.measure.measurement import time_in_turn
from custom_dispatch.measure.profile.cupti import Cupti
from custom_dispatch.measure.profile.floors import Floor, Peaks, floor_of, peaks_of
from custom_dispatch.measure.profile.iree_tools import record_on_cpu
from custom_dispatch.measure.profile.recording import Record, Recording
from custom_dispatch.measure.profile.summary import Origin, Profile, summarise
from custom_dispatch.runtime.archive import generated_for
from custom_dispatch.runtime.graph_function import GraphFunction
from custom_dispatch.runtime.program import Program

_MOST_SECONDS = 60.0
MOST_CALLS = 10_000
_REPLAYED = "The function is a graph: its arguments were copied in before, and it was replayed."
_ON_CPU = (
    "IREE's tool made the calls in a process of its own, and what the program keeps from call to "
    "call began anew in it."
)


def profile(
    program: Program,
    name: str | None,
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    calls: int,
) -> Profile:
    """As `Program.profile`."""
    if type(calls) is not int or not 1 <= calls <= MOST_CALLS:
        raise CallError(
            f"{calls!r} calls are to be recorded.",
            expected=f"a whole number from 1 to {MOST_CALLS}",
            next_step="give calls=20, on the command line --calls 20.",
        )
    function, device = program.function(name), program.device
    cupti = Cupti() if device.kind == "cuda" else None
    given = function.arguments.in_order(tuple(arguments), dict(named))
    held = [program.to_device(x) if isinstance(x, numpy.ndarray) else x for x in given]
    run: Callable[[], Any] = partial(function, *held)
    notes: tuple[str, ...] = ()
    if cupti is not None and isinstance(function, GraphFunction):
        function.replay(*held)
        run, notes = function.replay, (_REPLAYED,)
    # The first call also says what does not fit.
    undisturbed = time_in_turn({"call": timed(run)}, calls, _MOST_SECONDS)["call"]
    if cupti is None:
        recording, notes = record_on_cpu(program, function.name, held, calls), (_ON_CPU,)
    else:
        recording = _record(cupti, run, calls)
    if not recording.calls or not recording.records:
        raise DeviceError(
            f"Nothing ran on {device} in {calls} calls of `{function.name}`.",
            expected="a function that calls kernels",
            next_step="profile another one: `custom-dispatch inspect` lists them.",
        )
    peaks, capability = peaks_of(device), device.compute_capability
    known = Known(program.manifest, capability, function.name, held)
    return summarise(
        recording,
        f"{function.name}{function.type}",
        str(device),
        undisturbed.median_s,
        peaks,
        known.origin_of,
        partial(known.floor_of, peaks),
        notes,
    )


def _record(cupti: Cupti, run: Callable[[], Any], calls: int) -> Recording:
    made = []
    with cupti.recording() as records:
        run()  # the first one takes longer: CUPTI gets ready
        for _ in range(calls):
            start_ns = cupti.now_ns()
            run()
            made.append((start_ns, cupti.now_ns()))
    return Recording(tuple(made), tuple(records), cupti.name)


class Known:
    """What a program's module says of the kernels that a function calls."""

    def __init__(
        self, said: Manifest | None, capability: int | None, function: str, held: Sequence[Any] = ()
    ) -> None:
        manifest = self._manifest = said or Manifest((), (), ())
        self._target = manifest.target_on(capability)
        use = manifest.use_of(function) or FunctionUse(function, ())
        self._uses = {item.kernel: item for item in use.kernels}
        self._arguments = self._of_arguments(use.direct or "", held)
        self._names: dict[str, str] = {}
        # Kernels may share an object's code: those that the function calls come last, and stay.
        for name in sorted(manifest.kernels, key=lambda item: item in self._uses):
            item = None if self._target is None else manifest.object_of(name, self._target)
            self._names |= {name: name} | ({item.symbols[name]: name} if item else {})

    def origin_of(self, record: Record) -> tuple[str, str]:
        """A record's name for people, and its origin."""
        if record.kind != "kernel":
            return record.name, Origin.MEMORY
        if record.name in self._names:
            return self._names[record.name], Origin.HAND_WRITTEN
        generated = generated_for(record.name) is not None
        return record.name, Origin.GENERATED if generated else Origin.OTHER

    def floor_of(self, peaks: Peaks, name: str, launches: float) -> Floor | str:
        """The floor of a kernel by its declared name, or why it has none."""
        kernel, use = self._manifest.declaration(name), self._uses.get(name, KernelUse(name, 0))
        sizes = use.sizes if sum(item.calls for item in use.sizes) == use.calls else ()
        declared = None if kernel is None else kernel.for_target(self._target)
        return floor_of(declared, sizes or self._arguments, launches, peaks)

    def _of_arguments(self, direct: str, arguments: Sequence[Any]) -> tuple[KnownSizes, ...]:
        """The sizes of a call, where the function is a kernel."""
        kernel = self._manifest.declaration(direct)
        if kernel is None or len(kernel.inputs) != len(arguments):
            return ()
        pairs = zip(kernel.inputs, arguments, strict=True)
        shapes = {item.name: tuple(x.shape) for item, x in pairs if isinstance(item, Buffer)}
        dims = bind_dims(kernel, shapes)
        return (KnownSizes(1, dims, tuple(name for name in shapes if 0 in shapes[name])),)
