"""A function that is a graph: its commands were recorded when the module was loaded."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.flight import Flight, ReadingFlight, Submission, keep_until_done
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import Needs, check_array, place, read_array
from custom_dispatch.runtime.outgoing import start_copy


class GraphFunction(Function):
    """A function whose arguments and results have buffers that stay.

    `replay` runs it on what `inputs` hold, and leaves the results in `outputs`. A plain call copies
    its arguments there, and returns copies of the results.

    >>> program.step.inputs[0]                              # doctest: +SKIP
    DeviceArray(1x1024xf32 on cuda)
    >>> logits, = program.step.replay(token)                # doctest: +SKIP
    """

    @functools.cached_property
    def _buffers(self) -> tuple[DeviceArray, ...]:
        kinds = (*self.type.inputs, *self.type.outputs)
        views = rt.VmVariantList(len(kinds))
        with self.access:
            self._context.invoke(self._points.buffers, rt.VmVariantList(0), views)
            return tuple(
                DeviceArray(
                    self.open_device, views.get_as_object(index, rt.HalBufferView), kind.dtype
                )
                for index, kind in enumerate(kinds)
            )

    @property
    def inputs(self) -> tuple[DeviceArray, ...]:
        """The arrays that the graph reads, which stay. What offers DLPack may write into them."""
        return self._buffers[: len(self.type.inputs)]

    @property
    def outputs(self) -> tuple[DeviceArray, ...]:
        """The arrays that the graph writes, which stay: the next call writes over them."""
        return self._buffers[len(self.type.inputs) :]

    def replay(self, *arguments: Any, wait: bool = True) -> Any:
        """Run the graph on what its inputs hold.

        Parameters
        ----------
        *arguments
            Arrays to copy into the inputs first, as many as are new; None leaves one as it is.
        wait
            Whether to wait until it is done.

        Returns
        -------
        tuple or Submission
            `outputs`; or what to wait for.

        Raises
        ------
        CallError
            There are more arguments than inputs, or one has another dtype or shape, is on another
            device, or is an input that another is copied into. No input has changed.
        DeviceError, KernelError
            As for a call.
        """
        if len(arguments) > len(self.inputs):
            raise CallError(
                f"`{self.name}` is given {len(arguments)} arrays.",
                expected=f"at most {len(self.inputs)}: {self.type}",
                next_step="pass them in the order of its inputs.",
            )
        with self.access:
            needs = Needs()
            with self._order.lock:
                self._fill(arguments, needs)
                _, flight = self._start(self._points.graph, rt.VmVariantList(2), needs)
            if not wait:
                keep_until_done(flight)
                return Submission(flight, lambda: self.outputs, self.outputs)
            self._wait(flight)
            if self._order.last is flight:
                self._order.last = None
            return self.outputs

    def _fill(self, arguments: Sequence[Any], needs: Needs) -> None:
        """Begin to copy arrays into the inputs, when the calls before are done.

        All are read before any input changes: one that does not fit leaves everything as it was.
        """
        before, copies = Needs(), []
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
            return
        self._wait_for_others(before)
        for flight in (*before.flights, *self._before()):
            flight.wait()
        for source, target, dtype in copies:
            copied = start_copy(self.open_device, source, target, dtype, self.translated)
            if copied is not None:
                needs.flights.append(copied)

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

    def _start(self, function: Any, inputs: Any, needs: Needs) -> tuple[Any, Flight]:
        with self._order.lock:
            outputs, flight = super()._start(function, inputs, needs)
            reading = ReadingFlight(flight)
            for index, array in enumerate(self.inputs):
                array.written_by(flight if index in self.writes else reading)
            for array in self.outputs:
                array.written_by(flight)
        return outputs, flight
