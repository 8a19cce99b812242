"""Moving data: registers, parameters and memory (PTX ISA 9.0, section 9.7.9)."""

from custom_dispatch import ptx
from custom_dispatch.cpu.analysis.inline_calls import ASSERTION
from custom_dispatch.cpu.checked.finding import Finding
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given, int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.text.unsupported import shown
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.format.keys import Failure

_SPACES = ("global", "local", "const", "param", "shared")
_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release"}


def lower_move(frame: Frame) -> None:
    """`mov`, which also packs and unpacks: ``mov.b64 {%r1,%r2}, %rd1``."""
    d, a = frame.operands(2)
    bits = ptx.TYPE_BITS[frame.parts[-1]]
    for vector in (d, a):
        if isinstance(vector, ptx.Vector) and (not vector.elements or bits % len(vector.elements)):
            raise frame.unsupported("a vector that does not divide the type")
    if isinstance(d, ptx.Vector):
        width = bits // len(d.elements)
        for element, part in zip(d.elements, split(frame.integer(a, bits), width), strict=True):
            frame.put(element, part)
    elif isinstance(a, ptx.Vector):
        width = bits // len(a.elements)
        frame.put(d, join([frame.integer(element, width) for element in a.elements], bits))
    else:
        frame.put(d, frame.integer(a, bits))


def lower_cvta(frame: Frame) -> None:
    """`cvta`: every address but one in shared memory is a generic one on a CPU."""
    is_shared = frame.parts[-2].startswith("shared")
    d, (address,) = frame.taking(64 if is_shared else ptx.TYPE_BITS[frame.parts[-1]])
    if is_shared:
        start = _memory(frame)
        address = address - start if "to" in frame.parts else address + start
    frame.put(d, address)


def _memory(frame: Frame) -> SsaValue:
    """Where the block's memory begins, which the shared one does with, as an i64."""
    return frame.b.named(MEMORY, POINTER).cast("ptrtoint", "i64")


def _place_and_order(frame: Frame) -> tuple[str, str]:
    """The state space of a load or store, ``"generic"`` where none is named; and ``"volatile"``, an
    atomic ordering, or nothing. Other modifiers are hints to caches, or say nothing on one CPU
    thread.
    """
    named = [modifier.partition("::")[0] for modifier in frame.parts[1:-1]]
    space = next((name for name in named if name in _SPACES), "generic")
    how = next((name for name in named if name == "volatile" or name in _ORDERS), "")
    return space, _ORDERS.get(how, how)


def lower_policy(frame: Frame) -> None:
    """`createpolicy`: what it makes is a hint to the L2 cache, which a CPU does not take."""
    frame.put(frame.instruction.operands[0], frame.b.const(0, 64))


def lower_load(frame: Frame) -> None:
    """`ld` and `ldu`."""
    b, type_name = frame.b, frame.parts[-1]
    space, how = _place_and_order(frame)
    d, source, *_ = frame.operands(2, 3)  # the third is a hint, too: how to cache
    bits, signed = ptx.TYPE_BITS[type_name], type_name.startswith("s")
    is_parameter = space == "param" and not frame.is_variable(source)
    base = "" if is_parameter else frame.address(source, space)
    for index, target in enumerate(ptx.elements_of(d)):
        if isinstance(target, ptx.Symbol) and target.name == "_":
            continue
        place = index * bits // 8
        if is_parameter:
            value = _parameter(frame, source, bits, place)
        else:
            value = b.load(b.offset(base, place), int_type(bits), how=how)
        frame.put(target, value, signed=signed)


def _parameter(frame: Frame, operand: ptx.Operand, bits: int, offset: int) -> SsaValue:
    """Bits of a parameter of the kernel, from an operand of `ld.param`, some bytes further on.

    On the CPU each is an argument of the thread's function: a pointer for a binding, and an i32
    for each word of the rest (`custom_dispatch.kernel.abi`).
    """
    thread = frame.thread
    place = operand.place if isinstance(operand, ptx.Address) else None
    names = [parameter.name for parameter in thread.entry.parameters]
    if place is None or place.name not in names:
        raise frame.unsupported(f"`{shown(operand)}` is no parameter of the kernel")
    index, start = names.index(place.name), 8 * (place.offset + offset)
    is_binding = index < thread.kernel.bindings
    width = 64 if is_binding else 32
    if start < 0 or start + bits > width:
        raise frame.unsupported(
            f"`{shown(operand)}` reads past parameter {index}, which has {width} bits"
        )
    value = frame.b.named(f"%p{index}", POINTER if is_binding else "i32")
    if is_binding:
        value = value.cast("ptrtoint", "i64")
    return (value >> start if start else value).resize(bits)


def lower_store(frame: Frame) -> None:
    """`st`."""
    b, bits = frame.b, ptx.TYPE_BITS[frame.parts[-1]]
    space, how = _place_and_order(frame)
    target, source, *_ = frame.operands(2, 3)
    if space == "param" and not frame.is_variable(target):
        raise frame.unsupported()
    base = frame.address(target, space)
    for index, element in enumerate(ptx.elements_of(source)):
        value = frame.integer(element, bits)
        b.store(value, b.offset(base, index * bits // 8), int_type(bits), how=how)


def lower_fence(frame: Frame) -> None:
    """`membar` and `fence`."""
    frame.b.line("llvm.fence seq_cst")
    if frame.checks is not None:
        frame.checks.note(frame.b, "fence", "%thread")


def lower_is_space(frame: Frame) -> None:
    """`isspacep`: whether a generic address is in shared memory, or in global memory."""
    is_global = frame.parts[1] == "global"
    d, a = frame.operands(2)
    if not frame.memory.needed:
        frame.put(d, frame.b.const(is_global, 1))
        return
    start = _memory(frame)
    offset = frame.integer(a, 64) - start
    condition = "uge" if is_global else "ult"
    frame.put(d, offset.cmp(condition, max(frame.memory.shared.size, 1)))


def lower_nothing(frame: Frame) -> None:
    """Prefetches, waits and hints, which change no value."""
    del frame


def lower_trap(frame: Frame) -> None:
    """`trap`, and a call of `__assertfail`: ends the thread, and fails the dispatch."""
    is_assertion = frame.instruction.parts[0] == ASSERTION
    if frame.checks is None:
        frame.fail(Failure.ASSERTION if is_assertion else Failure.TRAP)
    elif is_assertion:
        given = [frame.pointer(operand) for operand in frame.instruction.operands]
        frame.checks.assertion(frame.b, frame.instruction, given)
    else:
        frame.checks.found(frame.b, frame.instruction, Finding.TRAP)


def lower_call(frame: Frame) -> None:
    """A call that `analysis/inline_calls.py` has left, of `ThreadCode.callees`."""
    b = frame.b
    target, *operands = frame.instruction.operands
    if not isinstance(target, ptx.Symbol):
        raise frame.unsupported()
    callee = frame.thread.callees[target.name]
    places = [frame.pointer(operand) for operand in operands]
    result = places.pop(0) if callee.result and places else None
    if len(places) != len(callee.parameters):
        raise frame.unsupported(f"`{target.name}` is called with {len(places)} parameters")
    passed = [
        (b.load(place, type_name), type_name)
        for place, type_name in zip(places, callee.parameters, strict=True)
    ]
    value = b.call(callee.symbol, passed, callee.result, callee.kind)
    if result is not None:
        b.store(value, result, callee.result)


def lower_async_copy(frame: Frame) -> None:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory, and the waits for it.

    It copies at once, which is one of the orders that a GPU may choose; so there is nothing left to
    wait for. Copies that report to a barrier in shared memory (`cp.async.mbarrier`,
    `cp.async.bulk`, TMA) are refused: a waiting thread has to be suspended until such a barrier's
    phase ends. They would be lowered here, with a third reason to wait beside `AT_BARRIER` and
    `IN_WARP` (`threads/block_memory.py`), and the scheduler would look at the barriers' counts.
    """
    b = frame.b
    hints = "L2::cache_hint" in frame.parts
    operands = frame.operands(3 + hints, 4 + hints)
    target, source, size, *rest = operands[: len(operands) - hints]
    if not isinstance(size, ptx.Integer) or size.value not in (4, 8, 16):
        raise frame.unsupported()
    to, at = frame.address(target, "shared"), frame.address(source)
    if frame.checks is not None:
        frame.check_part(source, "generic", [at], _read(frame, size.value, rest))
    words = range(0, size.value, 4)
    # What lies beyond the bytes given must not be read: zeros of the target are read instead.
    for word in words if rest else ():
        b.store(0, b.offset(to, word))
    if rest and _is_ignored(rest[0]):
        at, rest = frame.predicate(rest[0]).select(to, at), []
    if not rest:
        for word in words:
            b.store(b.load(b.offset(at, word)), b.offset(to, word))
        return
    given = frame.integer(rest[0], 32)
    for word in words:
        _copy(b, at, to, b.const(word, 64), given.cmp("uge", word + 4), 4)
    # The bytes of a word that is given in part.
    first = (given & 12).call("umin", size.value - 4)
    for byte in range(3):
        place = first | byte
        is_given = place.cmp("ult", given)
        _copy(b, at, to, place.resize(64), is_given, 1)


def _is_ignored(operand: ptx.Operand) -> bool:
    """Whether a fourth operand says if the source is ignored, and not how much there is of it."""
    return isinstance(operand, ptx.Register) and operand.type == "pred"


def _read(frame: Frame, size: int, rest: list[ptx.Operand]) -> Given:
    """How many bytes of the source are read."""
    if not rest:
        return size
    if _is_ignored(rest[0]):
        return frame.predicate(rest[0]).select(0, size)
    return frame.integer(rest[0], 32)


def _copy(b: Builder, at: str, to: str, place: str, is_given: SsaValue, size: int) -> None:
    """Copy an i8 or i32 at an offset, or leave what is there."""
    integer, target = int_type(8 * size), b.offset(to, place)
    source = is_given.select(b.offset(at, place), target)
    b.store(b.load(source, integer), target, integer)
