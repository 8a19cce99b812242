"""Bodies of functions that are called from outside: arguments in, tensors, results and fences."""

from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.tensor_types import Sizes

VIEW, BUFFER, FENCE = "!hal.buffer_view", "!hal.buffer", "!hal.fence"
"""What is passed for a tensor, what a tensor lies in, and what says when it is there."""


@dataclass(frozen=True, slots=True)
class Value:
    """An argument or result of a function."""

    type: str
    """Its type in the model: tensor<?x8xf32>, i32."""
    sizes: Sizes | None = None
    """A tensor's sizes; None for anything else, which is passed as it is."""

    @property
    def element(self) -> str:
        """The type of a tensor's elements."""
        return self.type.removeprefix("tensor<").removesuffix(">").rpartition("x")[2]

    @property
    def passed(self) -> str:
        """The type it has outside."""
        return self.type if self.sizes is None else VIEW


def begin(inputs: Sequence[Value]) -> tuple[Emitter, list[str], str, str]:
    """An empty body, its arguments' names, and the fences to wait for and to signal."""
    body = Emitter(1)
    arguments = [body.fresh(f"input{index}") for index in range(len(inputs))]
    return body, arguments, body.fresh("wait"), body.fresh("signal")


def import_tensors(
    body: Emitter,
    inputs: Sequence[Value],
    arguments: Sequence[str],
    wait: str,
    consumed: Sequence[int | None],
    kind: str = VIEW,
) -> list[str]:
    """The arguments as tensors, whose sizes and types IREE checks; some may be written over.

    They are buffer views, or buffers if `kind` says so.
    """
    found = []
    for index, (item, argument) in enumerate(zip(inputs, arguments, strict=True)):
        if item.sizes is None:
            found.append(argument)
            continue
        read = [
            body.pure(f"hal.buffer_view.dim<{argument} : {VIEW}>[{axis}] : index")
            for axis, size in enumerate(item.sizes)
            if size is None
        ]
        dynamic = f"{{{comma(read)}}}" if read else ""
        consume = "consume " if index in consumed else ""
        found.append(
            body.result(
                f'hal.tensor.import wait({wait}) => {consume}{argument} "input{index}" : '
                f"{kind} -> {item.type}{dynamic}",
                "tensor",
            )
        )
    return found


def call_body(
    body: Emitter,
    symbol: str,
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    tensors: Sequence[str],
    dialect: str = "func",
) -> list[str]:
    """Call a function over tensors; return its results."""
    results = [body.fresh("result") for _ in outputs]
    assigned = f"{comma(results)} = " if results else ""
    taken, given = (comma(item.type for item in items) for items in (inputs, outputs))
    body.line(
        f"{assigned}{dialect}.call @{quote(symbol)}({comma(tensors)}) : ({taken}) -> ({given})"
    )
    return results


def make_fence(body: Emitter, name: str) -> str:
    """A fence of the module's device."""
    device = body.pure(f"hal.devices.get {body.index(0)} : !hal.device", "device")
    return body.result(
        f'hal.fence.create device({device} : !hal.device) flags("None") : {FENCE}', name
    )


def sizes_of(body: Emitter, tensor: str, item: Value) -> list[str]:
    """Every size of a tensor, as index values."""
    return [
        body.pure(f"tensor.dim {tensor}, {body.index(axis)} : {item.type}")
        if size is None
        else body.index(size)
        for axis, size in enumerate(item.sizes or ())
    ]


def _dynamic(body: Emitter, tensor: str, item: Value) -> str:
    """A tensor's dynamic sizes as IREE's operations write them: {%n, %m}."""
    sizes = sizes_of(body, tensor, item)
    dynamic = [value for value, size in zip(sizes, item.sizes or (), strict=True) if size is None]
    return f"{{{comma(dynamic)}}}" if dynamic else ""


def written(
    body: Emitter, tensor: str, item: Value, storage: str, wait: str, kind: str = VIEW
) -> str:
    """A tensor that is in a caller's buffer."""
    dynamic = _dynamic(body, tensor, item)
    return body.result(
        f"hal.tensor.alias wait({wait}) => {tensor} : {item.type}{dynamic} to {storage} : {kind}",
        "written",
    )


def signal_after(
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
        pass_on(body, wait, signal)
        return
    ready = [body.fresh("ready") for _ in tensors]
    joined = comma(results[index] for index in tensors)
    types = comma(outputs[index].type for index in tensors)
    body.line(f"{comma(ready)} = hal.tensor.barrier join({joined} : {types}) => {signal} : {FENCE}")
    for name, index in zip(ready, tensors, strict=True):
        if index < used:
            body.result(f"util.optimization_barrier {name} : {outputs[index].type}", "kept")
        results[index] = name


def copy_tensors(
    body: Emitter,
    values: Sequence[Value],
    sources: Sequence[str],
    targets: Sequence[str],
    wait: str,
    signal: str,
    kind: str = VIEW,
) -> None:
    """Copy tensors into buffers, from what `kind` says; signal a fence when they are there."""
    tensors = import_tensors(body, values, sources, wait, consumed=(), kind=kind)
    for index, (item, target) in enumerate(zip(values, targets, strict=True)):
        tensors[index] = written(body, tensors[index], item, target, wait, kind=BUFFER)
    signal_after(body, values, tensors, wait, signal, used=len(tensors))


def load_buffer(body: Emitter, name: str) -> str:
    """The buffer that a global holds."""
    return body.result(f"util.global.load immutable @{quote(name)} : {BUFFER}", "buffer")


def pass_on(body: Emitter, wait: str, signal: str) -> None:
    """Signal a fence as soon as another is reached, where there is nothing else to wait for."""
    await_fence(body, wait)
    body.line(f"hal.fence.signal<{signal} : {FENCE}>")


def await_fence(body: Emitter, fence: str) -> None:
    """Wait for a fence, on the host."""
    forever = body.i32(-1)
    status = body.result(
        f'hal.fence.await until([{fence}]) timeout_millis({forever}) flags("None") : i32', "status"
    )
    body.line(f'util.status.check_ok {status}, "what was waited for has failed"')


def export_tensors(body: Emitter, outputs: Sequence[Value], results: Sequence[str]) -> list[str]:
    """Tensors as buffer views."""
    returned = []
    for index, (item, result) in enumerate(zip(outputs, results, strict=True)):
        if item.sizes is None:
            returned.append(result)
            continue
        dynamic = _dynamic(body, result, item)
        returned.append(
            body.result(
                f'hal.tensor.export {result} "output{index}" : {item.type}{dynamic} -> {VIEW}',
                "exported",
            )
        )
    return returned


def assert_view(body: Emitter, view: str, item: Value, sizes: Sequence[str]) -> None:
    """Require a buffer view of a shape and type."""
    kind = body.pure(f"hal.element_type<{item.element}> : i32")
    dense = body.pure("hal.encoding_type<dense_row_major> : i32")
    body.line(
        f'hal.buffer_view.assert<{view} : {VIEW}> message("storage") shape([{comma(sizes)}]) '
        f"type({kind}) encoding({dense})"
    )


def return_values(body: Emitter, values: Sequence[str], outputs: Sequence[Value]) -> None:
    """Return what is passed for some values."""
    types = comma(item.passed for item in outputs)
    body.line(f"util.return {comma(values)} : {types}" if values else "util.return")


def named(values: Sequence[str], items: Sequence[Value]) -> list[tuple[str, str]]:
    """Parameters of a function: the names and types of what is passed."""
    return [(value, item.passed) for value, item in zip(values, items, strict=True)]


def write_initializer(body: Emitter) -> str:
    """What is done when the module is loaded, as text."""
    lines = "\n".join([*body.lines, "  util.return"])
    return f"util.initializer {{\n{lines}\n}}\n"


def types_of(values: Sequence[Value]) -> str:
    """The types of what is passed, in brackets."""
    return f"({comma(item.passed for item in values)})"


def write_function(
    name: str,
    parameters: Sequence[tuple[str, str]],
    outputs: Sequence[Value],
    body: Emitter,
    *,
    taken: Sequence[Value] = (),
    fences: bool = True,
    said: Sequence[str] = (),
    inlined: bool = False,
) -> str:
    """A public function as text.

    - `parameters`: the name and type of each.
    - `taken`: those of them that are no fences.
    - `fences`: whether it returns before its work is done, and has fences.
    - `said`: further entries of its reflection.
    - `inlined`: whether IREE may put its body in the place of a call.
    """
    entries = [f"iree.abi.declaration = {quote(_declaration(name, taken, outputs, fences))}"]
    entries += ['iree.abi.model = "coarse-fences"'] * fences
    policy = "" if inlined else "inlining_policy = #util.inline.never, "
    given = comma(f"{value}: {kind}" for value, kind in parameters)
    head = (
        f"util.func public @{quote(name)}({given}) -> {types_of(outputs)} attributes "
        f"{{iree.abi.stub, {policy}iree.reflection = {{{comma([*entries, *said])}}}}} {{"
    )
    return "\n".join([head, *body.lines, "}"]) + "\n"


def _declaration(name: str, inputs: Sequence[Value], outputs: Sequence[Value], fences: bool) -> str:
    """The types as IREE writes them for people and bindings (`formatSourceDeclaration`)."""
    taken = comma(f"%input{index}: {item.type}" for index, item in enumerate(inputs))
    given = comma(f"%output{index}: {item.type}" for index, item in enumerate(outputs))
    return f"{'async' if fences else 'sync'} func @{name}({taken}) -> ({given})"
