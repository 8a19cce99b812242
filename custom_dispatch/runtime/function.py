"""A function of a loaded module, to be called with arrays."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.errors import CallError, CustomDispatchError
from custom_dispatch.format.keys import Failure
from custom_dispatch.runtime import failures
from custom_dispatch.runtime.access import IREE_ERRORS, Access, is_out_of_memory
from custom_dispatch.runtime.call_arguments import Arguments
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import DeviceArray, to_host
from custom_dispatch.runtime.driver import wait_for_stream, wait_for_users
from custom_dispatch.runtime.flight import (
    Flight,
    Order,
    Submission,
    ThreadFlight,
    is_submitting_thread,
    keep_until_done,
)
from custom_dispatch.runtime.incoming import Needs
from custom_dispatch.runtime.module_file import EntryPoints, FunctionType, ValueType
from custom_dispatch.runtime.outgoing import Destinations


class Function:
    """A function of a loaded module.

    Call it with numpy arrays, or with arrays that are on the device already: results of other
    calls, and what offers DLPack (PyTorch, CuPy, JAX), which is not copied. Results are numpy
    arrays if all arguments were, and else `DeviceArray`s.
    """

    def __init__(
        self,
        name: str,
        points: EntryPoints,
        context: Any,
        device: OpenDevice,
        order: Order,
        findings: failures.Findings | None = None,
    ) -> None:
        self.name = name
        self.type: FunctionType = points.type
        self.open_device = device
        self.access: Access = device.access
        self._points = points
        self._context = context
        self._order = order
        self._turn = contextlib.nullcontext() if points.stateless else order
        self._findings = findings
        self.arguments = Arguments(name, points, device)
        self._result_count = len(points.type.outputs)

    @property
    def device(self) -> Any:
        """IREE's device."""
        return self.open_device.hal

    @property
    def writes(self) -> tuple[int, ...]:
        """The arguments that every call writes into, by position: arrays on the device."""
        return self._points.writes

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Run the function, and wait for it.

        - `*arguments`, `**named`: arrays and numbers. They have names in a module of kernels: those
          of its operands.
        - `out`: an array to write the result into, or a tuple of them: returned in its place.

        Raises `CallError`: the arguments do not fit: their number, dtype, rank, sizes or device.
        Raises `DeviceError`: the device failed.
        Raises `KernelError`: a kernel failed on the CPU.
        """
        with self.access:
            arguments = self.arguments.in_order(arguments, named)
            if out is not None:
                return self._call_into(arguments, out)
            needs = Needs()
            inputs, on_device = self.arguments.read(arguments, needs, self.translated)
            return self.run(inputs, needs, on_device=on_device)

    def submit(self, *arguments: Any, out: Any = None, **named: Any) -> Submission:
        """Begin to run the function, and return at once.

        Calls of a program take effect in the order in which they are submitted; numpy arrays are
        read before this returns, and other arrays must not be changed until the call is done.

        `*arguments`, `out`, `**named`: as for a call.

        Returns: wait for it with `.result()`, or `await` it.
        Raises `CallError`, `DeviceError`: as for a call, where it is known at once.
        """
        with self.access:
            arguments = self.arguments.in_order(arguments, named)
            into = None if out is None else self._destinations(out, arguments)
            if into is not None and self._points.into is not None and into.direct:
                flight = self._start_into(arguments, into)
                keep_until_done(flight)
                return Submission(flight, lambda: out, None)
            if self._points.asynchronous is None or out is not None:
                return self._submit_to_thread(arguments, out)
            needs = Needs()
            inputs, on_device = self.arguments.read(arguments, needs, self.translated)
            outputs, flight = self._start(self._points.asynchronous, inputs, needs)
            keep_until_done(flight)
            for index in self._points.writes:
                if isinstance(arguments[index], DeviceArray):
                    arguments[index].written_by(flight)
            arrays = self._results(outputs, flight, True)
            return Submission(flight, lambda: arrays if on_device else _to_host(arrays), arrays)

    def _submit_to_thread(self, arguments: tuple[Any, ...], out: Any) -> Submission:
        """Run a function that can only be waited for, in the thread that this program has."""
        kept = tuple(
            value.copy() if isinstance(value, numpy.ndarray) else value for value in arguments
        )
        with self._order:
            before = self._order.last

            def call() -> Any:
                with contextlib.suppress(CustomDispatchError):  # that call's own
                    if before is not None:
                        before.wait()
                return self(*kept, out=out)

            future = self._order.thread().submit(call)
            flight = self._order.last = ThreadFlight(future)
        return Submission(flight, future.result, None)

    # -- running

    def run(self, inputs: Any, needs: Needs, *, on_device: bool) -> Any:
        """Run the function on IREE's own values, which are right in number and type.

        Whoever calls this holds `access`.

        - `inputs`: with room for two more.
        - `needs`: what must be over before they are read.

        Raises `CallError`, `DeviceError`, `KernelError`: as for a call.
        """
        is_cuda = self.open_device.is_cuda
        if is_cuda and self._points.asynchronous is not None:
            outputs, flight = self._start(self._points.asynchronous, inputs, needs)
            flight.wait()
            if self._order.last is flight:
                self._order.last = None
        else:
            if is_cuda:
                self._wait_for_others(needs)
            with self._turn:
                if needs.flights or self._order.last is not None:
                    for before in (*needs.flights, *self._before()):
                        before.wait()
                outputs = self._invoke(self._points.waiting, inputs)
        return self._results(outputs, None, on_device)

    def _start(self, function: Any, inputs: Any, needs: Needs) -> tuple[Any, Flight]:
        """Call a function with fences; return its results, which are there when the call is."""
        device = self.open_device
        if device.is_cuda:
            self._wait_for_others(needs)
        flight = Flight(device, inputs, self.translated)
        with self._turn:
            inputs.push_ref(self._fence(needs))
            inputs.push_ref(flight.fence())
            try:
                outputs = self._invoke(function, inputs)
            except CustomDispatchError as error:
                flight.fail(error)
                raise
            self._order.last = flight
        return outputs, flight

    def _fence(self, needs: Needs) -> Any:
        """The fence that a call waits for."""
        every = (*needs.flights, *self._before())
        if not every:
            return self.open_device.reached
        fences = []
        for before in every:
            # Semaphores of another device of the same GPU are not this one's: see `hal_device`.
            if isinstance(before, ThreadFlight) or before.hal is not self.device:
                before.wait()
            else:
                fences.append(before.fence())
        if len(fences) > 1:
            return rt.HalFence.join(fences)
        return fences[0] if fences else self.open_device.reached

    def _wait_for_others(self, needs: Needs) -> None:
        """Wait for the work of other libraries on the GPU, which IREE's fences do not know."""
        self.open_device.count_call()
        wait_for_users(self.open_device.gpu)
        for stream in needs.streams:
            wait_for_stream(stream)

    def _before(self) -> tuple[Flight | ThreadFlight, ...]:
        """The call of this program that is to take effect before the next."""
        last = self._order.last
        if last is None or is_submitting_thread():
            return ()
        if last.done():
            self._order.last = None
            return ()
        if self._points.stateless and not isinstance(last, ThreadFlight):
            return ()
        return (last,)

    def _invoke(self, function: Any, inputs: Any, outputs: Any = None) -> Any:
        if outputs is None:
            outputs = rt.VmVariantList(self._result_count)
        try:
            try:
                self._context.invoke(function, inputs, outputs)
            except IREE_ERRORS as error:
                if not is_out_of_memory(error):
                    raise
                # What is kept for later calls, of sizes that this one has no use for, goes first.
                if not self.open_device.give_back_memory():
                    raise
                outputs = rt.VmVariantList(self._result_count)
                self._context.invoke(function, inputs, outputs)
        except IREE_ERRORS as error:
            raise self.translated(error) from error
        if self._findings is not None:
            self._findings.warn()
        return outputs

    # -- results

    def _results(self, outputs: Any, flight: Flight | None, on_device: bool) -> Any:
        kinds = self.type.outputs
        if len(kinds) == 1:
            return self._result(outputs, 0, kinds[0], flight, on_device)
        results = (
            self._result(outputs, index, kind, flight, on_device)
            for index, kind in enumerate(kinds)
        )
        return tuple(results) or None

    def _result(
        self, outputs: Any, index: int, kind: ValueType, flight: Flight | None, on_device: bool
    ) -> Any:
        if kind.sizes is None:
            return outputs.get_variant(index)
        view = outputs.get_as_object(index, rt.HalBufferView)
        if on_device:
            return DeviceArray(self.open_device, view, kind.dtype, flight)
        try:
            return to_host(self.open_device, view, kind.dtype)
        except IREE_ERRORS as error:
            raise self.translated(error) from error

    # -- results into arrays of the caller

    def _destinations(self, out: Any, arguments: Sequence[Any]) -> Destinations:
        return Destinations(self.open_device, self.name, self.type, out, arguments, self._points)

    def _call_into(self, arguments: tuple[Any, ...], out: Any) -> Any:
        into = self._destinations(out, arguments)
        if self._points.into is not None and into.direct:
            self._start_into(arguments, into).wait()
            return out
        needs = Needs()
        inputs, _ = self.arguments.read(arguments, needs, self.translated)
        results = self.run(inputs, needs, on_device=True)
        into.fill(results if isinstance(results, tuple) else (results,), self.translated)
        return out

    def _start_into(self, arguments: tuple[Any, ...], into: Destinations) -> Flight:
        given = list(arguments)
        for result, position in enumerate(self._points.updated):
            if position is not None:
                given[position] = into.updated(result, given[position], self.translated)
        inputs, _ = self.arguments.read(given, into.needs, self.translated, into.storages)
        return self._start(self._points.into, inputs, into.needs)[1]

    def translated(self, error: Exception) -> CustomDispatchError:
        """What a failure of IREE means to the caller."""
        if isinstance(error, CustomDispatchError):
            return error
        found = None
        if self._findings is not None and failures.failure_of(error) == Failure.FINDING:
            found = self._findings.take()
        graph = self._points.graph is not None
        ended = self.access.ended_by(self.name, error, self.device, graph=graph)
        return found or ended or failures.translate_failure(self.name, error)

    def replay(self, *_: Any, **__: Any) -> Any:
        """As `GraphFunction.replay`, which this function has not.

        Raises `CallError`: always.
        """
        raise CallError(
            f"`{self.name}` is no graph: its arguments and results have no buffers that stay.",
            expected="a function of a model that was compiled as a graph",
            next_step="compile it with graph=True, or call it with arguments.",
        )

    def __repr__(self) -> str:
        return f"Function({self.name}: {self.type})"


def _to_host(results: Any) -> Any:
    if isinstance(results, tuple):
        return tuple(map(_to_host, results))
    return results.to_host() if isinstance(results, DeviceArray) else results
