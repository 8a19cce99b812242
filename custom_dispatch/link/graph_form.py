"""Commands that are recorded when a module is loaded: the HAL form of what `graph_interface` wrote.

IREE records the commands of `@f$graph` in every call. But all that they refer to is known when the
module is loaded: buffers and executables in immutable globals, and constants. So the recording
moves into an initializer, and the function hands over what that has recorded. A command buffer
without a table of bindings, which is recorded once, is one CUDA graph to IREE's CUDA driver in its
graph mode (iree/hal/drivers/cuda/cuda_device.c).
"""

import re
from collections.abc import Iterable
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import hal, util

from custom_dispatch.errors import GraphError
from custom_dispatch.format.keys import GRAPH, MEMORY_KEY
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.graph_interface import TRANSIENTS, mark_of
from custom_dispatch.link import graph_barriers, operations
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.model import new_context
from custom_dispatch.reachable import reachable

HAL_FLAGS = ("--compile-to=hal", "--iree-hal-indirect-command-buffers=false")
"""What lets IREE write the form that this works on, in which commands name their buffers."""
_CREATE, _EXECUTE = "hal.command_buffer.create", "hal.device.queue.execute"
_COPY, _BARRIER = "hal.device.queue.copy", "hal.device.queue.barrier"
_IN_ORDER = (_EXECUTE, _COPY, _BARRIER, "hal.fence.create", "hal.fence.join")
"""Operations of which nothing is left when all that they order is in one command buffer."""
_QUEUED = ("hal.device.queue.", "hal.fence.")
"""How operations begin that are done in each call: they wait for work and signal it."""
_PURE = (
    "arith.",
    "hal.buffer.subspan",
    "hal.device.allocator",
    "hal.devices.get",
    "util.global.load",
)
_WAIT = "hal.fence.await"
_NEEDS_HOST = ("hal.device.queue.alloca", "hal.buffer.load", "util.call")
"""Operations that need the host or memory in each call."""
_GLOBALS = ("util.global.load", "util.global.store")
_KINDS = {"input": "inputs", "output": "results", "mark": "marks"}
"""What `graph_interface.py` calls a function's buffers, and what users do."""
_SIZE = "iree.abi.transients.size.constant"


def record_once(content: bytes) -> bytes:
    """Move the recording of every graph of a module, in IREE's HAL form, to when it is loaded.

    Returns: the module as text.
    """
    with new_context() as context, ir.Location.unknown():
        module = ir.Module.parse(content, context)
        every = [op.operation for op in module.body.operations if op.operation.name == "util.func"]
        functions = [op for op in every if operations.name_of(op).endswith(GRAPH)]
        for function in every:
            if not operations.is_declaration(function):
                if function in functions:
                    graph_barriers.limit_width(function)
                else:
                    graph_barriers.keep_order(module, function)
        kept = _allocate_transients(module, max([1, *map(_transients, functions)]))
        for function in functions:
            operations.say(function, MEMORY_KEY, kept)
            _record(module, function)
        return str(module).encode()


def _transients(function: Any) -> int:
    """How many bytes it needs between its commands."""
    entries = operations.reflection_of(function)
    if _SIZE in entries:
        return int(ir.IntegerAttr(entries[_SIZE]).value)
    if any(_SIZE.startswith(name) for name in entries):  # a function tells it, of the call
        raise _refused(function, "the size of its memory")
    return 0


def _record(module: ir.Module, function: Any) -> None:
    """Make of a function what records, when the module is loaded, and of its queue operations one
    that hands over what was recorded.
    """
    name = operations.name_of(function)
    blocks = list(function.regions[0].blocks)
    _drop_waits(op.operation for block in blocks for op in block.operations)
    every = [op.operation for block in blocks for op in block.operations]
    queued = [op for op in every if op.name.startswith(_QUEUED)]
    for op in queued:  # A copy into the memory that functions share waits, too
        for number, value in enumerate(op.operands):
            waits = number == 2 or op.name == "hal.fence.join"  # after device and affinity
            if waits and getattr(owner_of(value), "name", "") == "util.null":
                op.operands[number] = blocks[0].arguments[0]
    mutable = operations.mutable_globals(module)
    for op in every:
        is_state = op.name in _GLOBALS and operations.global_of(op) in mutable
        if (
            op.name in _NEEDS_HOST
            or is_state
            or (op in queued and _may_be_passed(op.block, blocks))
        ):
            raise _refused(function, f"`{op.name}`")
        if op.name == _CREATE:  # IREE has them run once
            op.attributes["modes"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 0)
    queued = _submit_once(blocks[0], every, queued)
    executed = [op for op in queued if op.name == _EXECUTE]
    if [op for op in queued if not op.name.startswith("hal.fence.")] == executed[:1]:
        _write_mark(_commands_of(executed[0]), mark_of(name.removesuffix(GRAPH)))
    symbols = [f"custom_dispatch.{name}.commands{number}" for number in range(len(executed))]
    recorder = f"custom_dispatch.{name}.record"
    globals_ = [f"util.global private @{quote(each)} : !hal.command_buffer" for each in symbols]
    made = ir.Module.parse(
        "\n".join(globals_)
        + f"\nutil.func private @{quote(recorder)}()"
        + f"\nutil.initializer {{ util.call @{quote(recorder)}() : () -> ()\n  util.return }}"
        + f"\nutil.func public @{quote(name)}(%wait: !hal.fence, %signal: !hal.fence) "
        "attributes {inlining_policy = #util.inline.never} { util.return }",
        module.context,
    )
    added = [op.operation for op in made.body.operations]
    launches = added.pop()
    launches.attributes["iree.abi.stub"] = ir.UnitAttr.get()
    launches.attributes[operations.REFLECTION] = function.attributes[operations.REFLECTION]
    del function.attributes[operations.REFLECTION]
    body = launches.regions[0].blocks[0]
    end = body.operations[0].operation
    known = dict(zip(blocks[0].arguments, body.arguments, strict=True))
    for op in queued:
        for operand in op.operands:
            _carry(operand, known, executed, symbols, end)
        copy = op.clone(ip=ir.InsertionPoint(end)).operation
        for number, operand in enumerate(op.operands):
            copy.operands[number] = known[operand]
        known |= dict(zip(op.results, copy.results, strict=True))
    for symbol, op in zip(symbols, executed, strict=True):
        util.GlobalStoreOp(_commands_of(op), symbol, ip=ir.InsertionPoint(op))
    for op in reversed(queued):
        op.erase()
    for number in reversed(range(len(blocks[0].arguments))):
        blocks[0].erase_argument(number)
    operations.set_type(function, [], [])
    function.attributes["sym_name"] = ir.StringAttr.get(recorder)
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    for op in (*added, launches):
        if op.name != "util.func" or op == launches:
            module.body.append(op)


def _submit_once(first: Any, every: list[Any], queued: list[Any]) -> list[Any]:
    """Put all commands into one command buffer, in the order in which they are written; return
    what is left to be done in each call.
    """
    made = [op for op in every if op.name == _CREATE]
    copies = [op for op in queued if op.name == _COPY]
    if any(op.name not in _IN_ORDER for op in queued) or not made or made[0].block != first:
        return queued
    if copies and every.index(copies[0]) < every.index(made[0]):
        return queued
    for op in made[1:]:
        op.result.replace_all_uses_with(made[0].result)
    for op in copies:
        buffers, at = list(op.operands)[4:], ir.InsertionPoint(op)
        hal.CommandBufferCopyBufferOp(made[0].result, *buffers, 0, ip=at)
        graph_barriers.barrier_of(made[0].result).clone(ip=ir.InsertionPoint(op))
    block = queued[-1].block
    end = operations.last_of(block)
    ends = [op for op in every if op.name == "hal.command_buffer.finalize"]
    execute = next(op for op in queued if op.name == _EXECUTE)
    operands = [*first.arguments, made[0].result]
    for index, value in enumerate(operands, len(execute.operands) - len(operands)):
        execute.operands[index] = value
    ends[0].move_before(end)
    execute.move_before(end)
    for op in [*ends[1:], *made[1:], *(op for op in reversed(queued) if op != execute)]:
        op.erase()
    return [execute]


def _write_mark(commands: Any, mark: str) -> None:
    """Let the last of a graph's commands write a word of which the host sees that all are done."""
    users = (use.owner.operation for use in commands.uses)
    # A barrier stands before it: see `barrier_of`.
    with ir.InsertionPoint(next(op for op in users if op.name == "hal.command_buffer.finalize")):
        buffer = util.GlobalLoadOp(ir.Type.parse("!hal.buffer"), mark, is_immutable=True).result
        one = operations.integer(1, ir.IntegerType.get_signless(32))
        start, size = operations.integer(0), operations.integer(4)
        hal.CommandBufferFillBufferOp(commands, buffer, start, size, one, 0)


def _drop_waits(operations: Iterable[Any]) -> None:
    """Drop what waits on the host for work that later work waits for on the device as well."""
    for wait in [op for op in operations if op.name == _WAIT]:
        for use in list(wait.results[0].uses):
            use.owner.operation.erase()
        wait.erase()


def _carry(
    value: Any, known: dict[Any, Any], executed: list[Any], symbols: list[str], end: Any
) -> None:
    """Make a value that is known when a module is loaded known to the function that launches."""
    if value in known:
        return
    op = value.owner.operation
    where = ir.InsertionPoint(end)
    for symbol, execute in zip(symbols, executed, strict=True):
        if _commands_of(execute) == value:
            with where:
                known[value] = util.GlobalLoadOp(value.type, symbol, is_immutable=True).result
            return
    if not op.name.startswith(_PURE):
        raise _refused(end.parent.operation, f"`{op.name}`")
    for operand in op.operands:
        _carry(operand, known, executed, symbols, end)
    copy = op.clone(ip=where).operation
    for number, operand in enumerate(op.operands):
        copy.operands[number] = known[operand]
    known |= dict(zip(op.results, copy.results, strict=True))


def _commands_of(execute: Any) -> Any:
    return execute.operands[len(execute.operands) - 1]


def _may_be_passed(block: Any, blocks: list[Any]) -> bool:
    """Whether a function may return without having been in a block."""
    reached = reachable([blocks[0]], lambda one: () if one == block else one.successors)
    return any(one != block and operations.last_of(one).name == "util.return" for one in reached)


def _allocate_transients(module: ir.Module, size: int) -> str:
    """Let the buffer that functions share have the size that the largest needs; say, for
    `MEMORY_KEY`, how many bytes it and all other buffers take that graphs keep.
    """
    kept = dict.fromkeys(("inputs", "results", "state", "marks"), 0)
    for store in operations.operations_of(module, "util.global.store"):
        name, allocation = operations.global_of(store), store.operands[0].owner
        if isinstance(allocation, ir.Block) or allocation.name != "hal.allocator.allocate":
            continue
        last = len(allocation.operands) - 1
        if name == TRANSIENTS:
            with ir.InsertionPoint(allocation):
                allocation.operands[last] = operations.integer(size)
        else:
            # A mark is in the host's memory, and four bytes.
            found = re.fullmatch(r"custom_dispatch\..+\.(input|output|mark)\d*", name)
            kind = _KINDS[found[1]] if found else "state"
            kept[kind] += ir.IntegerAttr(allocation.operands[last].owner.attributes["value"]).value
    del kept["marks"]
    return ",".join(f"{kind}={count}" for kind, count in {**kept, "transients": size}.items())


def _refused(function: Any, what: str) -> GraphError:
    name = operations.name_of(function).removesuffix(GRAPH)
    error = GraphError(
        f"`{name}` cannot be a graph: {what} depends on values of the call.",
        expected="a function whose commands are all known when the module is loaded",
        next_step='leave graph out, or write graph="where possible".',
    )
    error.refused = {name: error.found}
    return error
