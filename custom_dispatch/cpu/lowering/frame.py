"""One thread's registers and parameters while its instructions are lowered.

Registers live in stack slots that LLVM turns into SSA values. A slot holds an integer of the
register's width, whatever its declared type, as PTX lets ``.b32`` hold a float. A slot starts as
zero: a register read before it is written has no value in PTX, and zero keeps the result the same
at every run.
"""

import math
import struct
from collections.abc import Sequence

from custom_dispatch import ptx
from custom_dispatch.cpu.lowering.special_registers import special_register
from custom_dispatch.cpu.lowering.waits import Waits
from custom_dispatch.cpu.numbers.rounding import widen
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given, int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.text.unsupported import shown, unsupported
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.cpu.threads.thread_code import Place, ThreadCode
from custom_dispatch.format.keys import Failure

_LARGEST_F32 = 3.4028234663852886e38
CARRY = "%carry"
"""The carry flag's name among the registers (`add.cc` and the like)."""
FLOAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


class Frame:
    """What instruction lowerings read and write."""

    def __init__(
        self,
        builder: Builder,
        thread: ThreadCode,
        place: Place = ("%tid_x", "%tid_y", "%tid_z"),
    ) -> None:
        self.b = builder
        self.thread = thread
        self.memory = thread.memory
        self.checks = thread.checks
        builder.processor = thread.kernel.processor
        self.place_in_block = place
        self._slots: dict[str, tuple[str, int]] = {}
        self.local: frozenset[str] = frozenset()
        """Registers that are kept as they are written: nothing reads them elsewhere."""
        self._held: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.coroutine: Waits | None = None
        """Where the thread can wait for others."""
        self.current: ptx.Instruction | None = None
        """The instruction being lowered, or None before the first."""

    @property
    def instruction(self) -> ptx.Instruction:
        """The instruction being lowered."""
        if self.current is None:
            raise TypeError("no instruction is being lowered")
        return self.current

    @property
    def parts(self) -> tuple[str, ...]:
        """Its opcode's parts."""
        return self.instruction.parts

    # ---- what the kernel declares

    def declare_register(self, register: ptx.Register) -> None:
        """Give a register its slot, set to zero."""
        bits = ptx.TYPE_BITS.get(register.type)
        if bits is None:
            raise self.unsupported(f"register `{register.name}` has the type `.{register.type}`")
        self.declare(register.name, bits)

    def declare(self, name: str, bits: int) -> None:
        """The same by a name, such as `CARRY`, and its bits."""
        slot = ""
        if name not in self.local:
            slot = f"%r{len(self._slots)}"
            one = self.b.const(1, 32)
            self.b.line(f"{slot} = llvm.alloca {one} x i{bits} : (i32) -> {POINTER}")
            self.b.write(self.b.const(0, bits), slot, int_type(bits))
        self._slots[name] = (slot, bits)

    def declare_variable(self, name: str, size: int, align: int) -> None:
        """Give a local variable its memory: on the stack, or where it outlives a wait."""
        if self.coroutine is not None:
            self.variables[name], start = self.coroutine.place_local(size, align)
            if self.checks is not None:
                self.checks.place_local(name, start, size)
            return
        one = self.b.const(1, 32)
        self.variables[name] = self.b.value(
            f"llvm.alloca {one} x !llvm.array<{size} x i8> "
            f"{{alignment = {max(align, 16)} : i64}} : (i32) -> {POINTER}"
        )

    def slot(self, name: str) -> tuple[str, str, int]:
        """A register's slot, and the type and bytes of what it holds."""
        slot, bits = self._slots[name]
        return slot, int_type(bits), max(bits // 8, 1)

    def width(self, name: str) -> int:
        """The bits of a register."""
        return self._slots[name][1]

    def read(self, name: str) -> SsaValue:
        """What a register holds."""
        slot, bits = self._slots[name]
        if name in self._held:
            return self.b.named(self._held[name], int_type(bits))
        return self.b.read(slot, int_type(bits))

    def write(self, name: str, value: str) -> None:
        """Write a register, with a value of its width."""
        if name in self.local:
            self._held[name] = value
            return
        slot, type_name, _ = self.slot(name)
        self.b.write(value, slot, type_name)

    def count(self, condition: SsaValue | None = None) -> SsaValue:
        """How many threads an instruction is lowered for, or those of them for which an i1 holds;
        an i32.
        """
        return self.b.const(1, 32) if condition is None else condition.resize(32)

    def rebind(self, slots: dict[str, tuple[str, int]], variables: dict[str, str]) -> None:
        """Put registers, by name, into other slots, with their bits; and variables elsewhere."""
        self._slots = slots
        self.variables = variables

    def waits(self) -> Waits:
        """The thread as one that can wait for others."""
        if self.coroutine is None:
            raise TypeError("the kernel was lowered as one that never waits")
        return self.coroutine

    def fail(self, failure: Failure) -> None:
        """End the thread, and let the workgroup return a failure."""
        self.b.fail(failure)
        self.b.block(self.b.fresh_label("failed"))  # the caller goes on with it; no one comes here

    # ---- errors

    def unsupported(self, reason: str = "") -> Exception:
        """The error for an instruction that cannot be lowered, or for what stands before them."""
        return unsupported(self.thread.entry.name, self.current, reason)

    def operands(self, *counts: int) -> tuple[ptx.Operand, ...]:
        """The instruction's operands when there are as many as there may be."""
        operands = self.instruction.operands
        if len(operands) not in counts:
            wanted = " or ".join(map(str, counts))
            raise self.unsupported(f"it has {len(operands)} operands, not {wanted}")
        return operands

    # ---- reading

    def taking(self, *bits: int) -> tuple[ptx.Operand, list[SsaValue]]:
        """The instruction's first operand, and its others as integers of so many bits each."""
        d, *sources = self.operands(1 + len(bits))
        return d, list(map(self.integer, sources, bits))

    def integer(self, operand: ptx.Operand, bits: int) -> SsaValue:
        """An operand's low bits as an integer; a narrower register is extended."""
        b = self.b
        if isinstance(operand, ptx.Register):
            value = self.read(operand.name)
            return (value ^ 1 if operand.negated else value).resize(bits)
        if isinstance(operand, ptx.Integer):
            return b.const(operand.value, bits)
        if isinstance(operand, ptx.Float):
            return b.const(self._literal(operand, bits), bits)
        if isinstance(operand, ptx.SpecialRegister):
            special = special_register(b, self.thread, self.place_in_block, operand)
            if special is None:
                reason = f"the CPU target has no special register `{operand.name}`"
                raise self.unsupported(reason)
            return special.resize(bits)
        if isinstance(operand, ptx.Symbol) and operand.name in self.memory.shared.offsets:
            return b.const(self.memory.shared.offsets[operand.name] + operand.offset, bits)
        if isinstance(operand, ptx.Symbol):
            return self.pointer(operand).cast("ptrtoint", "i64").resize(bits)
        raise self.unsupported(f"the operand `{shown(operand)}` has no lowering")

    def predicate(self, operand: ptx.Operand) -> SsaValue:
        """A predicate operand as i1, negated if written so."""
        return self.integer(operand, 1)

    def float(self, operand: ptx.Operand, type_name: str) -> SsaValue:
        """An operand as what is computed with: an f64 as itself, all others as f32."""
        value = self.integer(operand, FLOAT_BITS[type_name])
        return widen(value, type_name) if value.bits == 16 else value.as_float()

    def pointer(self, operand: ptx.Operand) -> SsaValue:
        """An operand's value as a pointer."""
        b = self.b
        if isinstance(operand, ptx.Symbol):
            if operand.name in self.variables:
                return b.offset(self.variables[operand.name], operand.offset)
            if operand.name in self.thread.globals:
                self.thread.used_globals.add(operand.name)
                return b.offset(b.address_of(self.thread.globals[operand.name]), operand.offset)
            raise self.unsupported(f"`{operand.name}` is no variable that the CPU target places")
        return self.integer(operand, 64).cast("inttoptr", POINTER)

    def address(self, operand: ptx.Operand, space: str = "generic") -> SsaValue:
        """The pointer of a memory operand; in shared memory, addresses count from its start."""
        if not isinstance(operand, ptx.Address) or operand.extra:
            raise self.unsupported(f"`{shown(operand)}` is no address of memory")
        if space == "shared":
            base = self.b.const(0, 64)
            if operand.base is not None:
                base = self.integer(operand.base, 64)
            pointer = self.b.offset(self.b.offset(MEMORY, base), operand.offset)
        elif operand.base is None:
            raise self.unsupported(f"`{shown(operand)}` is no address of memory")
        else:
            base = self.pointer(operand.base)
            if isinstance(operand.base, ptx.Register) and self.width(operand.base.name) == 32:
                base = self._near(space, base.cast("ptrtoint", "i64"))
            pointer = self.b.offset(base, operand.offset)
        if self.checks is not None and self.current is not None:
            self.checks.access(self.b, self.current, operand, space, pointer)
        return pointer

    def _near(self, space: str, half: SsaValue) -> SsaValue:
        """The pointer of which a register has the low 32 bits, as it has where compilers know that
        a space is that small: what is near a variable of the space.
        """
        names = {"local": self.variables, "const": self.thread.globals}.get(space)
        if not names:
            raise self.unsupported(f"an address in {space} memory has 32 bits")
        known = self.pointer(ptx.Symbol(next(iter(names)))).cast("ptrtoint", "i64")
        far = (half - known).resize(32).resize(64, signed=True)
        return (known + far).cast("inttoptr", POINTER)

    def check_part(
        self, operand: ptx.Operand, space: str, places: Sequence[str], size: Given
    ) -> None:
        """Say of some places, at or beyond a memory operand, that so many bytes are accessed there.

        Only for instructions whose whole access cannot be told from the operand.
        """
        instruction = self.current
        if self.checks is not None and instruction is not None and isinstance(operand, ptx.Address):
            self.checks.part(self.b, instruction, operand, space, places, size)

    def is_variable(self, operand: ptx.Operand) -> bool:
        """Whether a memory operand names a variable of the thread."""
        place = operand.place if isinstance(operand, ptx.Address) else None
        return place is not None and place.name in self.variables

    # ---- writing

    def put(self, operand: ptx.Operand, value: SsaValue, *, signed: bool = False) -> None:
        """Write a number; a wider register gets an integer extended by its sign or with zeros."""
        value = value.as_bits() if value.type[0] == "f" else value
        if isinstance(operand, ptx.Symbol) and operand.name == "_":
            return
        if not isinstance(operand, ptx.Register):
            raise self.unsupported(f"`{shown(operand)}` is no register to write")
        self.write(operand.name, value.resize(self.width(operand.name), signed=signed))

    # ---- inside

    def _literal(self, literal: ptx.Float, bits: int) -> int:
        """A literal's bits in another width: ``1.0`` may stand for an f32."""
        if literal.width == bits:
            return literal.bits
        if bits not in (32, 64):
            raise self.unsupported(f"a {literal.width}-bit literal stands for {bits} bits")
        source, target = ("<f", "<d") if bits == 64 else ("<d", "<f")
        (value,) = struct.unpack(source, literal.bits.to_bytes(literal.width // 8, "little"))
        if bits == 32 and abs(value) > _LARGEST_F32:
            value = math.copysign(math.inf, value)
        return int.from_bytes(struct.pack(target, value), "little")
