"""A function of a model as commands that are recorded once, over buffers that stay.

A function @f whose sizes are known becomes, with `graph=True`, four over one body:

- `@f$graph` takes a fence to wait for and one to signal, as `@f$async` does. It reads the inputs
  from buffers that the module holds, and writes its results into others. All that it does is
  recorded when the module is loaded (`graph_form.py`): on a GPU one CUDA graph.
- `@f$buffers` returns these buffers: the inputs, then the results, and last a word of the host's
  memory, the mark, into which the graph writes 1 when all else is done.
- `@f$async` and `@f` copy their arguments into them, run `@f$graph`, and return copies.

IREE's own operations make it so: `hal.tensor.import` reads a buffer that is loaded from an
immutable global, `hal.tensor.alias` places a result in one, and `hal.tensor.transients` takes what
lies between from another, which all functions of a module share: they run one after the other
(IREE, compiler/src/iree/compiler/Dialect/HAL/IR/HALOps.td). State is a buffer too, which a function
reads and updates.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from custom_dispatch.format.keys import ASYNC, BUFFERS, GRAPH
from custom_dispatch.ir.dispatch import allocate
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.function_body import (
    BUFFER,
    FENCE,
    VIEW,
    Value,
    await_fence,
    begin,
    copy_tensors,
    export_tensors,
    import_tensors,
    load_buffer,
    make_fence,
    named,
    return_values,
    signal_after,
    write_function,
    write_initializer,
    written,
)
from custom_dispatch.ir.interface import Interface, State, write_waiting

TRANSIENTS = "custom_dispatch.transients"
"""The global that holds the buffer for what is neither argument nor result nor state. Its size is
known when IREE has compiled the functions: `graph_form.py` puts it in."""
_DEVICE = (
    "DeviceVisible|DeviceLocal",
    "TransferSource|TransferTarget|Transfer|DispatchStorageRead|DispatchStorageWrite|"
    "DispatchStorage",
)
"""Memory and usage as IREE allocates results: to be mapped, memory of a GPU would be managed."""
_HOST = ("HostVisible|HostCoherent|HostCached|HostLocal|DeviceVisible", "TransferTarget|Mapping")
"""Of the host's memory that a GPU writes: cached, or each look at it would be one at the memory."""


@dataclass(frozen=True, slots=True)
class GraphInterface:
    """A function of a model that becomes a graph, to be called from outside."""

    interface: Interface

    def write(self) -> str:
        """The functions and the globals as text."""
        return "".join(
            [
                allocate_buffers(self._sizes()),
                allocate_buffers({mark_of(self.interface.name): 4}, _HOST),
                self._write_graph(),
                self._write_buffers(),
                self._write_async(self.interface),
                write_waiting(self.interface),
            ]
        )

    def _sizes(self) -> dict[str, int]:
        inputs, results = enumerate(self.interface.inputs), enumerate(self.interface.returned)
        given = {self._input(index): byte_size(item) for index, item in inputs}
        return given | {self._output(index): byte_size(item) for index, item in results}

    def _input(self, index: int) -> str:
        return f"custom_dispatch.{self.interface.name}.input{index}"

    def _output(self, index: int) -> str:
        return f"custom_dispatch.{self.interface.name}.output{index}"

    def _write_graph(self) -> str:
        outer = self.interface
        body, _, wait, signal = begin(())
        outer.write_call(
            body,
            [load_buffer(body, self._input(index)) for index in range(len(outer.inputs))],
            wait,
            signal,
            kind=BUFFER,
            outputs=[load_buffer(body, self._output(i)) for i in range(len(outer.returned))],
            scratch=load_buffer(body, TRANSIENTS),
        )
        body.line("util.return")
        parameters = [(wait, FENCE), (signal, FENCE)]
        return write_function(outer.name + GRAPH, parameters, (), body)

    def _write_buffers(self) -> str:
        body = Emitter(1)
        names = [
            *map(self._input, range(len(self.interface.inputs))),
            *map(self._output, range(len(self.interface.returned))),
        ]
        names.append(mark_of(self.interface.name))
        values = (*self.interface.inputs, *self.interface.returned, Value("tensor<1xi32>", (1,)))
        views = [
            _view(body, load_buffer(body, name), item)
            for name, item in zip(names, values, strict=True)
        ]
        return_values(body, views, values)
        name = self.interface.name + BUFFERS
        return write_function(name, [], values, body, fences=False, inlined=True)

    def _write_async(self, outside: Interface) -> str:
        inputs, returned = outside.inputs, outside.returned
        body, arguments, wait, signal = begin(inputs)
        updates = outside.updates
        # Before anything runs: a call that finds no memory for its results is made again.
        device = body.pure(f"hal.devices.get {body.index(0)} : !hal.device", "device")
        made = [allocate(body, device, byte_size(item), _DEVICE) for item in returned]
        ready = wait
        if inputs:
            ready = make_fence(body, "ready")
            targets = [load_buffer(body, self._input(index)) for index in range(len(inputs))]
            copy_tensors(body, inputs, arguments, targets, wait, ready)
        copied = (*(inputs[index] for index in updates), *returned)
        done = make_fence(body, "done") if copied else signal
        body.line(
            f"util.call @{quote(outside.name + GRAPH)}({ready}, {done}) : ({FENCE}, {FENCE}) -> ()"
        )
        exported: list[str] = []
        if copied:
            buffers = [load_buffer(body, self._input(index)) for index in updates]
            buffers += [load_buffer(body, self._output(i)) for i in range(len(returned))]
            results = import_tensors(body, copied, buffers, done, consumed=(), kind=BUFFER)
            for index, item in enumerate(copied):
                if index < len(updates):
                    given = arguments[updates[index]]
                    results[index] = written(body, results[index], item, given, done)
                    continue
                new = made[index - len(updates)]
                results[index] = written(body, results[index], item, new, done, kind=BUFFER)
            signal_after(body, copied, results, done, signal, used=len(updates))
            exported = export_tensors(body, returned, results[len(updates) :])
        return_values(body, exported, returned)
        parameters = [*named(arguments, inputs), (wait, FENCE), (signal, FENCE)]
        name, said = outside.name + ASYNC, outside.said_async
        return write_function(name, parameters, returned, body, taken=inputs, said=said)


def byte_size(item: Value) -> int:
    """How many bytes a tensor of known sizes takes."""
    bits = int("".join(filter(str.isdigit, item.element.partition("E")[0])))
    return math.prod(size or 0 for size in item.sizes or ()) * max(bits // 8, 1)


def mark_of(function: str) -> str:
    """The global that holds the word into which a function's graph writes last."""
    return f"custom_dispatch.{function}.mark"


def allocate_buffers(sizes: Mapping[str, int], where: tuple[str, str] = _DEVICE) -> str:
    """Globals that each hold a buffer of as many bytes, from when the module is loaded."""
    body = Emitter(1)
    device = body.pure(f"hal.devices.get {body.index(0)} : !hal.device", "device")
    for name, size in sizes.items():
        made = allocate(body, device, size, where)
        body.line(f"util.global.store {made}, @{quote(name)} : {BUFFER}")
    globals_ = [f"util.global private @{quote(name)} : {BUFFER}\n" for name in sizes]
    return f"{''.join(globals_)}{write_initializer(body)}" if sizes else ""


def write_first_values(function: str, states: tuple[State, ...], outputs: tuple[Value, ...]) -> str:
    """What calls a function for the first values of states when the module is loaded, as text."""
    body = Emitter(1)
    none = body.pure(f"util.null : {FENCE}", "none")
    done = make_fence(body, "done")
    Interface("", function, (), outputs, states=states).write_call(body, (), none, done)
    await_fence(body, done)
    return write_initializer(body)


def _view(body: Emitter, buffer: str, item: Value) -> str:
    kind = body.pure(f"hal.element_type<{item.element}> : i32")
    dense = body.pure("hal.encoding_type<dense_row_major> : i32")
    shape = comma(body.index(size or 0) for size in item.sizes or ())
    return body.result(
        f"hal.buffer_view.create buffer({buffer} : {BUFFER})[{body.index(0)}, "
        f"{body.index(byte_size(item))}] shape([{shape}]) type({kind}) encoding({dense}) : {VIEW}",
        "view",
    )
