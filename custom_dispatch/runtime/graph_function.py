"""A function that is a graph: its commands were recorded when the module was loaded."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import DeviceArray, bytes_of
from custom_dispatch.runtime.flight import (
    NO_MARK,
    Flight,
    ReadingFlight,
    Submission,
    ThreadFlight,
    keep_until_done,
)
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import NEEDS_NOTHING, Needs, check_array, place, read_array
from custom_dispatch.runtime.outgoing import start_copy


class GraphFunction(Function):
    """A function whose arguments and results have buffers that stay.

    `replay` runs it on what `inputs` hold, and leaves the results in `outputs`. A plain call copies
    its arguments there, and returns copies of the results.

    >>> program.step.inputs[0]                              # doctest: +SKIP
    DeviceArray(1x1024xf32 on cuda)
    >>> logits, = program.step.replay(token)                # doctest: +SKIP
    """

    _last: Flight | None = None
    """The call that was begun last."""
    _signal: _Signal | None = None

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._take_buffers()

    def _take_buffers(self) -> None:
        kinds = (*self.type.inputs, *self.type.outputs)
        found = rt.VmVariantList(len(kinds) + 1)
        with self.access:
            self._context.invoke(self._points.buffers, rt.VmVariantList(0), found)
            views = [found.get_as_object(i, rt.HalBufferView) for i in range(found.size)]
        dtypes = [kind.dtype for kind in kinds]
        arrays = [DeviceArray(self.open_device, *of) for of in zip(views, dtypes, strict=False)]
        self.inputs = tuple(arrays[: len(self.type.inputs)])
        """The arrays that the graph reads, which stay. What offers DLPack may write into them."""
        self.outputs = tuple(arrays[len(self.type.inputs) :])
        """The arrays that the graph writes, which stay: the next call writes over them."""
        self._read = [a for index, a in enumerate(self.inputs) if index not in self.writes]
        self._written = [*(self.inputs[index] for index in self.writes), *self.outputs]
        # Whoever asks a CPU's mark over and over takes time from the threads that compute.
        marks = views[len(kinds) :] if self.open_device.is_cuda else []
        self._mark = bytes_of(marks[0], ELEMENT_TYPES["i32"]).data if marks else NO_MARK

    def replay(self, *arguments: Any, wait: bool = True) -> Any:
        """Run the graph on what its inputs hold.

        - `*arguments`: arrays to copy into the inputs first, as many as are new; None leaves one as
          it is.
        - `wait`: whether to wait until it is done.

        Returns: `outputs`; or what to wait for.
        Raises `CallError`: there are more arguments than inputs, or one has another dtype or shape,
        is on another device, or is an input that another is copied into. No input has changed.
        Raises `DeviceError`, `KernelError`: as for a call.
        """
        if arguments and len(arguments) > len(self.inputs):
            raise CallError(
                f"`{self.name}` is given {len(arguments)} arrays.",
                expected=f"at most {len(self.inputs)}: {self.type}",
                next_step="pass them in the order of its inputs.",
            )
        with self.access:
            with self._order:
                needs = self._fill(arguments) if arguments else NEEDS_NOTHING
                if wait and (self._last is None or self._last.done()):
                    flight = self._start_alone(needs)
                else:
                    _, flight = self._start(self._points.graph, rt.VmVariantList(2), needs)
            if not wait:
                keep_until_done(flight)
                return Submission(flight, lambda: self.outputs, self.outputs)
            self._wait(flight)
            if self._order.last is flight:
                self._order.last = None
            return self.outputs

    def _fill(self, arguments: Sequence[Any]) -> Needs:
        """Begin to copy arrays into the inputs, when the calls before are done; return what for.

        All are read before any input changes: one that does not fit leaves everything as it was.
        """
        before, needs, copies = Needs(), Needs(), []
        for index, value in enumerate(self._apart(arguments, stay=True)):
            if value is None:
                continue
            what, kind = f"argument {index} of `{self.name}`", self.type.inputs[index]
            array = read_array(value, what)
            check_array(array, kind, what)
            before.of(array)
            source = place(self.open_device, array, kind.dtype, what)
            copies.append((source, self.inputs[index].view, kind.dtype))
        if not copies:
            return needs
        self._wait_for_others(before)
        for flight in (*before.flights, *self._before()):
            flight.wait()
        for source, target, dtype in copies:
            copied = start_copy(self.open_device, source, target, dtype, self.translated)
            if copied is not None:
                needs.flights.append(copied)
        return needs

    def _apart(self, values: Sequence[Any], *, stay: bool = False) -> Sequence[Any]:
        """Require that no array is an input that the call writes over.

        `stay`: whether inputs that are given for themselves stay as they are: they become None.
        """
        read, addresses = list(values), [0] * len(values)
        for index, value in enumerate(values):
            # What is numpy's is copied before any input changes.
            if value is not None and not isinstance(value, numpy.ndarray | numpy.generic):
                array = read[index] = read_array(value, f"argument {index} of `{self.name}`")
                addresses[index] = getattr(array, "address", 0)
        if not any(addresses):
            return read
        for other, place_of_other in enumerate(self._places[: len(values)]):
            if stay and addresses[other] == place_of_other.start:
                read[other] = None
            if read[other] is None:
                continue
            for index, address in enumerate(addresses):
                if address in place_of_other:
                    raise CallError(
                        f"Argument {index} of `{self.name}` is its input {other}, which the call "
                        "writes over.",
                        expected="an array of its own",
                        next_step=f"pass a copy: numpy.array({self.name}.inputs[{other}]); or let "
                        "`replay` run on what the inputs hold.",
                    )
        return read

    @functools.cached_property
    def _places(self) -> tuple[range, ...]:
        """Where the inputs are in the device's memory."""
        return tuple(range(array.address, array.address + array.nbytes) for array in self.inputs)

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """As `Function.__call__`."""
        values = self.arguments.in_order(arguments, named)
        return super().__call__(*self._apart(values), out=out)

    def submit(self, *arguments: Any, out: Any = None, **named: Any) -> Submission:
        """As `Function.submit`."""
        values = self.arguments.in_order(arguments, named)
        return super().submit(*self._apart(values), out=out)

    def run(self, inputs: Any, needs: Needs, *, on_device: bool) -> Any:
        """As `Function.run`, after the call that another thread may have begun."""
        outputs, flight = self._start(self._points.asynchronous, inputs, needs)
        self._wait(flight)
        return self._results(outputs, None, on_device)

    def _wait(self, flight: Flight) -> None:
        flight.wait()
        if self._findings is not None:
            self._findings.warn()

    def _start_alone(self, needs: Needs) -> Flight:
        """Begin to run the graph, when no other call is under way that may set its mark.

        What such a call is made with is kept for the next one.
        """
        if self.open_device.is_cuda:
            self._wait_for_others(needs)
        if self._signal is None or self._signal.failed:
            self._signal = _Signal(self.open_device)
        signal = self._signal
        mark = self._mark
        flight = Flight(self.open_device, None, self.translated, signal.next(), mark)
        inputs = signal.inputs
        if needs.flights or self._order.last is not None:
            inputs = rt.VmVariantList(2)
            inputs.push_ref(self._fence(needs))
            inputs.push_ref(signal.fence)
        if mark is not NO_MARK:
            mark[0] = 0
        try:
            self._invoke(self._points.graph, inputs, signal.outputs)
            self._begun(flight)
        except BaseException:
            self._forget_mark()
            raise
        return flight

    def _forget_mark(self) -> None:
        """Do without a mark after a call of which nobody knows whether it is under way.

        It ended before it was noted: by Ctrl-C, for one.
        """
        self._mark, self._signal = NO_MARK, None

    def _begun(self, flight: Flight) -> None:
        self._order.last = self._last = flight
        reading = ReadingFlight(flight)
        for array in self._read:
            array._flight = reading
        for array in self._written:
            array._flight = flight

    def _before(self) -> tuple[Flight | ThreadFlight, ...]:
        """As `Function._before`; the calls of a graph, which set one mark, keep their order."""
        before = super()._before()
        last = self._last
        if last is None or last in before or last.done():
            return before
        return (*before, last)

    def _start(self, function: Any, inputs: Any, needs: Needs) -> tuple[Any, Flight]:
        with self._order:
            try:
                outputs, flight = super()._start(function, inputs, needs)
                self._begun(flight)
            except BaseException:
                self._forget_mark()
                raise
        return outputs, flight


class _Signal:
    """What calls that are never under way together are made with."""

    __slots__ = ("fence", "inputs", "outputs", "semaphore", "value")

    def __init__(self, device: OpenDevice) -> None:
        self.semaphore, self.value = device.hal.create_semaphore(0), 0
        self.fence = rt.HalFence.create_at(self.semaphore, 1)
        self.inputs, self.outputs = rt.VmVariantList(2), rt.VmVariantList(0)
        self.inputs.push_ref(device.reached)
        self.inputs.push_ref(self.fence)

    @property
    def failed(self) -> bool:
        """Whether a call failed, and the semaphore with it."""
        try:
            self.semaphore.query()  # behind `value` as long as a mark alone was seen
        except IREE_ERRORS:
            return True
        return False

    def next(self) -> tuple[Any, int]:
        """The semaphore, and the value that the next call signals."""
        self.value += 1
        self.fence.insert(self.semaphore, self.value)
        return self.semaphore, self.value
