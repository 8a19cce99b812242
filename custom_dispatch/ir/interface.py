"""The functions through which a module is called from outside: waiting or not, allocating or not.

A function @f of a model becomes up to three, over one body:

- `@f$async` takes two fences more, one to wait for and one to signal, and returns before the work
  is done (IREE's model "coarse-fences"). Modules that IREE imports from PyTorch have it too, under
  this name (IREE, compiler/plugins/input/Torch/InputConversion/FuncConversion.cpp).
- `@f` calls it and waits: what `iree-run-module` and IREE's C API call.
- `@f$into`, of a kernel's own function, takes the buffers of its `Out`s after its arguments, and
  updates those of its `InOut`s themselves. It returns nothing, and has fences as `@f$async`.

IREE would wrap each function by itself (compiler/src/iree/compiler/Bindings/Native/Transforms/
WrapEntryPoints.cpp), with a copy of the body in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.format.keys import ASYNC, INTO, NAMES_KEY, STATELESS_KEY, UPDATED_KEY
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.index_arithmetic import any_filled
from custom_dispatch.ir.tensor_types import Sizes

_VIEW = "!hal.buffer_view"
_FENCE = "!hal.fence"


@dataclass(frozen=True, slots=True)
class Value:
    """An argument or result of a function."""

    type: str
    """Its type in the model: tensor<?x8xf32>, i32."""
    sizes: Sizes | None = None
    """A tensor's sizes; None for anything else, which is passed as it is."""

    @property
    def passed(self) -> str:
        """The type it has outside."""
        return self.type if self.sizes is None else _VIEW


@dataclass(frozen=True, slots=True)
class Interface:
    """A function of a model, to be called from outside."""

    name: str
    """The name it is called by."""
    body: str
    """The symbol of the private function over tensors that does the work."""
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    dialect: str = "func"
    """Of the body: "func" or "util"."""
    reflection: str = ""
    """Further entries of its reflection, as `key = "value"`."""
    names: tuple[str, ...] = ()
    """Its arguments' names, where they have some."""
    stateless: bool = False
    """Whether calls leave nothing behind: then they may overtake each other."""
    updates: tuple[int, ...] = ()
    """The arguments that are to be what the body returns first, which callers do not get."""

    @property
    def returned(self) -> tuple[Value, ...]:
        """What callers get."""
        return self.outputs[len(self.updates) :]

    def write(self) -> str:
        """The waiting and the other function as text."""
        return f"{self._write_async()}{self._write_sync()}"

    def _write_async(self) -> str:
        body, arguments, wait, signal = _begin(self.inputs)
        tensors = _import_tensors(body, self.inputs, arguments, wait, consumed=self.updates)
        results = _call(body, self, tensors)
        for index, argument in enumerate(self.updates):
            # Nothing is copied where the new value was written into the old one's buffer.
            results[index] = _written(
                body, results[index], self.outputs[index], arguments[argument], wait
            )
        _signal_after(body, self.outputs, results, wait, signal, used=len(self.updates))
        returned = _export_tensors(body, self.returned, results[len(self.updates) :])
        _return(body, returned, self.returned)
        return _function(
            self.name + ASYNC,
            [(name, item.passed) for name, item in zip(arguments, self.inputs, strict=True)]
            + [(wait, _FENCE), (signal, _FENCE)],
            self.returned,
            # It has one copy, which the function that waits calls.
            f"inlining_policy = #util.inline.never, {_reflection(self, 'async')}",
            body,
        )

    def _write_sync(self) -> str:
        body = Emitter(1)
        arguments = [body.fresh(f"input{index}") for index in range(len(self.inputs))]
        none = body.pure(f"util.null : {_FENCE}", "none")
        device = body.pure(f"hal.devices.get {body.index(0)} : !hal.device", "device")
        done = body.result(
            f'hal.fence.create device({device} : !hal.device) flags("None") : {_FENCE}', "done"
        )
        results = [body.fresh(f"output{index}") for index in range(len(self.returned))]
        types = comma([*(item.passed for item in self.inputs), _FENCE, _FENCE])
        assigned = f"{comma(results)} = " if results else ""
        body.line(
            f"{assigned}util.call @{quote(self.name + ASYNC)}({comma([*arguments, none, done])}) : "
            f"({types}) -> {_tuple(self.returned)}"
        )
        _await(body, done)
        _return(body, results, self.returned)
        return _function(
            self.name,
            [(name, item.passed) for name, item in zip(arguments, self.inputs, strict=True)],
            self.returned,
            _reflection(self, "sync"),
            body,
        )


@dataclass(frozen=True, slots=True)
class IntoInterface:
    """A kernel's function that writes into buffers it is given.

    The storage of a result takes the place of a new buffer only where nothing branches between the
    dispatch and the result. So the body is only called when there is something to write, and the
    checks are a function of their own.
    """

    interface: Interface
    """With the body that dispatches without checks."""
    checks: str
    """The symbol of the function that makes the checks and returns tensors of the right sizes."""
    updated: tuple[int | None, ...]
    """For each result, the argument whose buffer it is; None where it has one of its own."""

    def write(self) -> str:
        """The function as text."""
        outer = self.interface
        body, arguments, wait, signal = _begin(outer.inputs)
        storages = [
            body.fresh(f"storage{index}") if argument is None else ""
            for index, argument in enumerate(self.updated)
        ]
        given = [
            (storage, item)
            for storage, item in zip(storages, outer.outputs, strict=True)
            if storage
        ]
        tensors = _import_tensors(body, outer.inputs, arguments, wait, consumed=self.updated)
        shapes = _call(body, outer, tensors, symbol=self.checks)
        sizes = [
            _sizes(body, shape, item) for shape, item in zip(shapes, outer.outputs, strict=True)
        ]
        for storage, item, mine in zip(storages, outer.outputs, sizes, strict=True):
            if storage:
                _assert_view(body, storage, item, mine)
        something = any_filled(body, sizes)
        body.line(f"scf.if {something} {{")
        inner = body.nested()
        results = _call(inner, outer, tensors)
        for index, (storage, item) in enumerate(zip(storages, outer.outputs, strict=True)):
            if storage:
                results[index] = _written(inner, results[index], item, storage, wait)
        _signal_after(inner, outer.outputs, results, wait, signal, used=len(results))
        body.absorb(inner)
        body.line("} else {")
        skip = body.nested()
        _pass_on(skip, wait, signal)
        body.absorb(skip)
        body.line("}")
        body.line("util.return")
        taken = (*outer.inputs, *(item for _, item in given))
        declared = _declaration("async", outer.name + INTO, taken, ())
        updated = ",".join("" if index is None else str(index) for index in self.updated)
        parameters = [
            (name, item.passed) for name, item in zip(arguments, outer.inputs, strict=True)
        ] + [(name, _VIEW) for name, _ in given]
        return _function(
            outer.name + INTO,
            [*parameters, (wait, _FENCE), (signal, _FENCE)],
            (),
            f"iree.reflection = {{iree.abi.declaration = {quote(declared)}, "
            f'iree.abi.model = "coarse-fences", {UPDATED_KEY} = {quote(updated)}}}',
            body,
        )


def _begin(inputs: Sequence[Value]) -> tuple[Emitter, list[str], str, str]:
    body = Emitter(1)
    arguments = [body.fresh(f"input{index}") for index in range(len(inputs))]
    return body, arguments, body.fresh("wait"), body.fresh("signal")


def _import_tensors(
    body: Emitter,
    inputs: Sequence[Value],
    arguments: Sequence[str],
    wait: str,
    consumed: Sequence[int | None],
) -> list[str]:
    """The arguments as tensors, whose sizes and types IREE checks; some may be written over."""
    found = []
    for index, (item, argument) in enumerate(zip(inputs, arguments, strict=True)):
        if item.sizes is None:
            found.append(argument)
            continue
        read = [
            body.pure(f"hal.buffer_view.dim<{argument} : {_VIEW}>[{axis}] : index")
            for axis, size in enumerate(item.sizes)
            if size is None
        ]
        dynamic = f"{{{comma(read)}}}" if read else ""
        consume = "consume " if index in consumed else ""
        found.append(
            body.result(
                f'hal.tensor.import wait({wait}) => {consume}{argument} "input{index}" : '
                f"{_VIEW} -> {item.type}{dynamic}",
                "tensor",
            )
        )
    return found


def _call(
    body: Emitter, interface: Interface, tensors: Sequence[str], symbol: str = ""
) -> list[str]:
    results = [body.fresh("result") for _ in interface.outputs]
    assigned = f"{comma(results)} = " if results else ""
    inputs = comma(item.type for item in interface.inputs)
    outputs = comma(item.type for item in interface.outputs)
    body.line(
        f"{assigned}{interface.dialect}.call @{quote(symbol or interface.body)}({comma(tensors)}) "
        f": ({inputs}) -> ({outputs})"
    )
    return results


def _sizes(body: Emitter, tensor: str, item: Value) -> list[str]:
    """Every size of a tensor, as index values."""
    return [
        body.pure(f"tensor.dim {tensor}, {body.index(axis)} : {item.type}")
        if size is None
        else body.index(size)
        for axis, size in enumerate(item.sizes or ())
    ]


def _dynamic(body: Emitter, tensor: str, item: Value) -> str:
    """A tensor's dynamic sizes as IREE's operations write them: {%n, %m}."""
    sizes = _sizes(body, tensor, item)
    dynamic = [value for value, size in zip(sizes, item.sizes or (), strict=True) if size is None]
    return f"{{{comma(dynamic)}}}" if dynamic else ""


def _written(body: Emitter, tensor: str, item: Value, storage: str, wait: str) -> str:
    """A tensor that is in a caller's buffer."""
    dynamic = _dynamic(body, tensor, item)
    return body.result(
        f"hal.tensor.alias wait({wait}) => {tensor} : {item.type}{dynamic} to {storage} : {_VIEW}",
        "written",
    )


def _signal_after(
    body: Emitter,
    outputs: Sequence[Value],
    results: list[str],
    wait: str,
    signal: str,
    *,
    used: int,
) -> None:
    """Signal a fence once every tensor is there; `results` becomes those that are.

    Nothing returns the first of them, as many as `used` says, and they are computed all the same.
    """
    tensors = [index for index, item in enumerate(outputs) if item.sizes is not None]
    if not tensors:
        _pass_on(body, wait, signal)
        return
    ready = [body.fresh("ready") for _ in tensors]
    joined = comma(results[index] for index in tensors)
    types = comma(outputs[index].type for index in tensors)
    body.line(
        f"{comma(ready)} = hal.tensor.barrier join({joined} : {types}) => {signal} : {_FENCE}"
    )
    for name, index in zip(ready, tensors, strict=True):
        if index < used:
            body.result(f"util.optimization_barrier {name} : {outputs[index].type}", "kept")
        results[index] = name


def _pass_on(body: Emitter, wait: str, signal: str) -> None:
    """Signal a fence as soon as another is reached, where there is nothing else to wait for."""
    _await(body, wait)
    body.line(f"hal.fence.signal<{signal} : {_FENCE}>")


def _await(body: Emitter, fence: str) -> None:
    forever = body.i32(-1)
    status = body.result(
        f'hal.fence.await until([{fence}]) timeout_millis({forever}) flags("None") : i32', "status"
    )
    body.line(f'util.status.check_ok {status}, "what was waited for has failed"')


def _export_tensors(body: Emitter, outputs: Sequence[Value], results: Sequence[str]) -> list[str]:
    returned = []
    for index, (item, result) in enumerate(zip(outputs, results, strict=True)):
        if item.sizes is None:
            returned.append(result)
            continue
        dynamic = _dynamic(body, result, item)
        returned.append(
            body.result(
                f'hal.tensor.export {result} "output{index}" : {item.type}{dynamic} -> {_VIEW}',
                "exported",
            )
        )
    return returned


def _assert_view(body: Emitter, view: str, item: Value, sizes: Sequence[str]) -> None:
    """Require a buffer view of a shape and type."""
    element = item.type.removeprefix("tensor<").removesuffix(">").rpartition("x")[2]
    kind = body.pure(f"hal.element_type<{element}> : i32")
    dense = body.pure("hal.encoding_type<dense_row_major> : i32")
    body.line(
        f'hal.buffer_view.assert<{view} : {_VIEW}> message("storage") shape([{comma(sizes)}]) '
        f"type({kind}) encoding({dense})"
    )


def _return(body: Emitter, values: Sequence[str], outputs: Sequence[Value]) -> None:
    types = comma(item.passed for item in outputs)
    body.line(f"util.return {comma(values)} : {types}" if values else "util.return")


def _tuple(values: Sequence[Value]) -> str:
    return f"({comma(item.passed for item in values)})"


def _function(
    name: str,
    parameters: Sequence[tuple[str, str]],
    outputs: Sequence[Value],
    attributes: str,
    body: Emitter,
) -> str:
    given = comma(f"{value}: {kind}" for value, kind in parameters)
    head = (
        f"util.func public @{quote(name)}({given}) -> {_tuple(outputs)} "
        f"attributes {{iree.abi.stub, {attributes}}} {{"
    )
    return "\n".join([head, *body.lines, "}"]) + "\n"


def _reflection(interface: Interface, model: str) -> str:
    name = interface.name + (ASYNC if model == "async" else "")
    declared = _declaration(model, name, interface.inputs, interface.returned)
    entries = [f"iree.abi.declaration = {quote(declared)}"]
    if model == "async":
        entries.append('iree.abi.model = "coarse-fences"')
        if interface.names:
            entries.append(f"{NAMES_KEY} = {quote(','.join(interface.names))}")
        if interface.stateless:
            entries.append(f'{STATELESS_KEY} = "true"')
    elif interface.reflection:
        entries.append(interface.reflection)
    return f"iree.reflection = {{{comma(entries)}}}"


def _declaration(model: str, name: str, inputs: Sequence[Value], outputs: Sequence[Value]) -> str:
    """The types as IREE writes them for people and bindings (`formatSourceDeclaration`)."""
    taken = comma(f"%input{index}: {item.type}" for index, item in enumerate(inputs))
    given = comma(f"%output{index}: {item.type}" for index, item in enumerate(outputs))
    return f"{model} func @{name}({taken}) -> ({given})"
