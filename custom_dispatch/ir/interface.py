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

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.format.keys import ASYNC, INTO, NAMES_KEY, STATELESS_KEY, UPDATED_KEY
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.function_body import (
    BUFFER,
    FENCE,
    VIEW,
    Value,
    assert_view,
    await_fence,
    begin,
    call_body,
    copy_tensors,
    export_tensors,
    import_tensors,
    load_buffer,
    make_fence,
    named,
    pass_on,
    return_values,
    signal_after,
    sizes_of,
    types_of,
    write_function,
    written,
)
from custom_dispatch.ir.index_arithmetic import any_filled


@dataclass(frozen=True, slots=True)
class State:
    """What a function has of calls before."""

    name: str
    """The global that holds its buffer."""
    value: Value
    is_changed: bool = False
    in_place: bool = False
    """Whether its new value is made in that buffer, and nobody reads the old one."""


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
    states: tuple[State, ...] = ()
    """In buffers: the body takes them after the inputs. It returns the new values of those that it
    changes, which are the first ones, before all others."""

    @property
    def changed(self) -> tuple[State, ...]:
        """The states that it changes."""
        return tuple(state for state in self.states if state.is_changed)

    @property
    def returned(self) -> tuple[Value, ...]:
        """What callers get."""
        return self.outputs[len(self.changed) + len(self.updates) :]

    @property
    def said_async(self) -> list[str]:
        """What a module says of `@f$async`."""
        names = [f"{NAMES_KEY} = {quote(','.join(self.names))}"] if self.names else []
        return names + [f'{STATELESS_KEY} = "true"'] * self.stateless

    def write(self) -> str:
        """The waiting and the other function as text."""
        return f"{self._write_async()}{write_waiting(self)}"

    def _write_async(self) -> str:
        body, arguments, wait, signal = begin(self.inputs)
        results = self.write_call(body, arguments, wait, signal)
        return_values(body, export_tensors(body, self.returned, results), self.returned)
        return write_function(
            self.name + ASYNC,
            [*named(arguments, self.inputs), (wait, FENCE), (signal, FENCE)],
            self.returned,
            body,  # It has one copy, which the function that waits calls.
            taken=self.inputs,
            said=self.said_async,
        )

    def write_call(
        self,
        body: Emitter,
        arguments: Sequence[str],
        wait: str,
        signal: str,
        *,
        kind: str = VIEW,
        outputs: Sequence[str] = (),
        scratch: str = "",
    ) -> list[str]:
        """Write a call of the body, which signals a fence at its end; return its results.

        - `kind`: what the arguments are: VIEW or BUFFER.
        - `outputs`: buffers for the results; none where each is to have one of its own.
        - `scratch`: a buffer for all that lies between, if there is one.
        """
        states = [load_buffer(body, state.name) for state in self.states]
        values = [state.value for state in self.states]
        in_place = [index for index, state in enumerate(self.states) if state.in_place]
        tensors = import_tensors(body, self.inputs, arguments, wait, self.updates, kind)
        tensors += import_tensors(body, values, states, wait, in_place, BUFFER)
        taken = (*self.inputs, *values)
        results = call_body(body, self.body, taken, self.outputs, tensors, self.dialect)
        targets = [
            (states[index] if state.in_place else load_buffer(body, state.name + NEXT), BUFFER)
            for index, state in enumerate(self.changed)
        ]
        # Nothing is copied where the new value was written into the old one's buffer.
        targets += [(arguments[index], kind) for index in self.updates]
        targets += [(buffer, BUFFER) for buffer in outputs]
        for index, (target, of) in enumerate(targets):
            item = self.outputs[index]
            results[index] = written(body, results[index], item, target, wait, of)
            if scratch:
                results[index] = body.result(
                    f"hal.tensor.transients {results[index]} : {item.type} from {scratch} : "
                    f"{BUFFER}",
                    "placed",
                )
        copied = [index for index, state in enumerate(self.changed) if not state.in_place]
        computed = make_fence(body, "computed") if copied else signal
        signal_after(body, self.outputs, results, wait, computed, used=len(targets))
        if copied:
            # IREE would not let a value that is written over another one wait for who reads that.
            new = [targets[index][0] for index in copied]
            kept = [states[index] for index in copied]
            items = [self.outputs[index] for index in copied]
            copy_tensors(body, items, new, kept, computed, signal, BUFFER)
        return results[len(targets) - len(outputs) :]


NEXT = "$next"
"""What the names of globals end with that hold the buffer of a state's new value, where that is not
made in the state's own."""


def write_into(outer: Interface, checks: str, updated: Sequence[int | None]) -> str:
    """A kernel's function that writes into buffers it is given, as text.

    The storage of a result takes the place of a new buffer only where nothing branches between the
    dispatch and the result. So the body is only called when there is something to write, and the
    checks are a function of their own.

    - `outer`: with the body that dispatches without checks.
    - `checks`: the symbol of the function that makes the checks and returns tensors of the right
      sizes.
    - `updated`: for each result, the argument whose buffer it is; None where it has one of its own.
    """
    body, arguments, wait, signal = begin(outer.inputs)
    storages = [
        body.fresh(f"storage{index}") if argument is None else ""
        for index, argument in enumerate(updated)
    ]
    given = [
        (storage, item) for storage, item in zip(storages, outer.outputs, strict=True) if storage
    ]
    tensors = import_tensors(body, outer.inputs, arguments, wait, consumed=updated)
    shapes = call_body(body, checks, outer.inputs, outer.outputs, tensors, outer.dialect)
    sizes = [sizes_of(body, shape, item) for shape, item in zip(shapes, outer.outputs, strict=True)]
    for storage, item, mine in zip(storages, outer.outputs, sizes, strict=True):
        if storage:
            assert_view(body, storage, item, mine)
    something = any_filled(body, sizes)
    inner, skip = body.nested(), body.nested()
    results = call_body(inner, outer.body, outer.inputs, outer.outputs, tensors, outer.dialect)
    for index, (storage, item) in enumerate(zip(storages, outer.outputs, strict=True)):
        if storage:
            results[index] = written(inner, results[index], item, storage, wait)
    signal_after(inner, outer.outputs, results, wait, signal, used=len(results))
    pass_on(skip, wait, signal)
    body.put_either(f"scf.if {something}", inner, skip)
    body.line("util.return")
    positions = ",".join("" if index is None else str(index) for index in updated)
    views = [(name, VIEW) for name, _ in given]
    return write_function(
        outer.name + INTO,
        [*named(arguments, outer.inputs), *views, (wait, FENCE), (signal, FENCE)],
        (),
        body,
        taken=(*outer.inputs, *(item for _, item in given)),
        said=[f"{UPDATED_KEY} = {quote(positions)}"],
        inlined=True,
    )


def write_waiting(interface: Interface) -> str:
    """`@f`, which calls `@f$async` and waits, as text."""
    body = Emitter(1)
    arguments = [body.fresh(f"input{index}") for index in range(len(interface.inputs))]
    none = body.pure(f"util.null : {FENCE}", "none")
    done = make_fence(body, "done")
    results = [body.fresh(f"output{index}") for index in range(len(interface.returned))]
    types = comma([*(item.passed for item in interface.inputs), FENCE, FENCE])
    assigned = f"{comma(results)} = " if results else ""
    body.line(
        f"{assigned}util.call @{quote(interface.name + ASYNC)}({comma([*arguments, none, done])}) "
        f": ({types}) -> {types_of(interface.returned)}"
    )
    await_fence(body, done)
    return_values(body, results, interface.returned)
    return write_function(
        interface.name,
        named(arguments, interface.inputs),
        interface.returned,
        body,
        taken=interface.inputs,
        fences=False,
        said=[interface.reflection] if interface.reflection else [],
        inlined=True,
    )
