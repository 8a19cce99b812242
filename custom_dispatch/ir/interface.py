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

from dataclasses import dataclass

from custom_dispatch.format.keys import ASYNC, INTO, NAMES_KEY, STATELESS_KEY, UPDATED_KEY
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.function_body import (
    FENCE,
    VIEW,
    Value,
    assert_view,
    await_fence,
    begin,
    call_body,
    declaration,
    export_tensors,
    import_tensors,
    make_fence,
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
        return f"{self._write_async()}{write_waiting(self)}"

    def _write_async(self) -> str:
        body, arguments, wait, signal = begin(self.inputs)
        tensors = import_tensors(body, self.inputs, arguments, wait, consumed=self.updates)
        results = call_body(body, self.body, self.inputs, self.outputs, tensors, self.dialect)
        for index, argument in enumerate(self.updates):
            # Nothing is copied where the new value was written into the old one's buffer.
            results[index] = written(
                body, results[index], self.outputs[index], arguments[argument], wait
            )
        signal_after(body, self.outputs, results, wait, signal, used=len(self.updates))
        returned = export_tensors(body, self.returned, results[len(self.updates) :])
        return_values(body, returned, self.returned)
        return write_function(
            self.name + ASYNC,
            [(name, item.passed) for name, item in zip(arguments, self.inputs, strict=True)]
            + [(wait, FENCE), (signal, FENCE)],
            self.returned,
            # It has one copy, which the function that waits calls.
            f"inlining_policy = #util.inline.never, {reflection(self, 'async')}",
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
        body, arguments, wait, signal = begin(outer.inputs)
        storages = [
            body.fresh(f"storage{index}") if argument is None else ""
            for index, argument in enumerate(self.updated)
        ]
        given = [
            (storage, item)
            for storage, item in zip(storages, outer.outputs, strict=True)
            if storage
        ]
        tensors = import_tensors(body, outer.inputs, arguments, wait, consumed=self.updated)
        shapes = call_body(body, self.checks, outer.inputs, outer.outputs, tensors, outer.dialect)
        sizes = [
            sizes_of(body, shape, item) for shape, item in zip(shapes, outer.outputs, strict=True)
        ]
        for storage, item, mine in zip(storages, outer.outputs, sizes, strict=True):
            if storage:
                assert_view(body, storage, item, mine)
        something = any_filled(body, sizes)
        body.line(f"scf.if {something} {{")
        inner = body.nested()
        results = call_body(inner, outer.body, outer.inputs, outer.outputs, tensors, outer.dialect)
        for index, (storage, item) in enumerate(zip(storages, outer.outputs, strict=True)):
            if storage:
                results[index] = written(inner, results[index], item, storage, wait)
        signal_after(inner, outer.outputs, results, wait, signal, used=len(results))
        body.absorb(inner)
        body.line("} else {")
        skip = body.nested()
        pass_on(skip, wait, signal)
        body.absorb(skip)
        body.line("}")
        body.line("util.return")
        taken = (*outer.inputs, *(item for _, item in given))
        declared = declaration("async", outer.name + INTO, taken, ())
        updated = ",".join("" if index is None else str(index) for index in self.updated)
        parameters = [
            (name, item.passed) for name, item in zip(arguments, outer.inputs, strict=True)
        ] + [(name, VIEW) for name, _ in given]
        return write_function(
            outer.name + INTO,
            [*parameters, (wait, FENCE), (signal, FENCE)],
            (),
            f"iree.reflection = {{iree.abi.declaration = {quote(declared)}, "
            f'iree.abi.model = "coarse-fences", {UPDATED_KEY} = {quote(updated)}}}',
            body,
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
        [(name, item.passed) for name, item in zip(arguments, interface.inputs, strict=True)],
        interface.returned,
        reflection(interface, "sync"),
        body,
    )


def reflection(interface: Interface, model: str) -> str:
    """What a module says of a function: of @f for the model "sync", of @f$async for "async"."""
    name = interface.name + (ASYNC if model == "async" else "")
    declared = declaration(model, name, interface.inputs, interface.returned)
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
