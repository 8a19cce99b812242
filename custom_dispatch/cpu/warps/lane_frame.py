"""A warp's registers while its instructions are lowered for all lanes at once.

A register has one form in the whole kernel: a scalar, a scalar with distances, or a vector
(`warps/lane_values.py`). The forms are found by lowering the kernel until what is
written no longer needs wider ones (`warps/warp_function.py`).
"""

from collections.abc import Callable

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import POINTER, bytes_of, int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.warps import lane_values
from custom_dispatch.cpu.warps.lane_memory import LaneMemory, either
from custom_dispatch.cpu.warps.lane_names import vector_of
from custom_dispatch.cpu.warps.warp_plan import WarpPlan
from custom_dispatch.format.keys import Failure


class NotYetError(Exception):
    """A register is read whose form is not known yet."""


class LaneFrame(Frame):
    """What instruction lowerings read and write, for 32 lanes.

    `plan`: what is known of the kernel; the registers' forms are widened where a value needs it.
    """

    def __init__(self, builder: LaneMemory, plan: WarpPlan) -> None:
        super().__init__(builder, plan.thread)
        self.lanes = builder
        self.forms = plan.forms
        self.final = plan.final
        self.local = plan.local
        self._kept = plan.lasting
        self.changed = False
        """Whether a form was widened."""
        self.blended: frozenset[str] = frozenset()
        """Registers of which inactive lanes must keep what they hold."""
        self.alive = ""
        """Where the lanes are that have not ended, as bits."""
        self.merging = False
        """Whether that goes for all registers now."""
        self.place_scalar: Callable[[], str] = self._no_state
        """Where the state of a warp that stops has room for a scalar."""
        self._bits: dict[str, int] = {}
        self._places: dict[str, tuple[str, str, str, str]] = {}
        """Where a register's scalar or vector lies, its stride, whether it is valid, and its lanes
        where it is not."""
        self._writes: dict[str, int] = {}

    # ---- declaring

    def declare(self, name: str, bits: int) -> None:
        self._bits[name] = bits
        self._places[name] = ("", "", "", "")
        if not self.final or name in self.local:
            return
        form = self.forms.get(name, lane_values.UNSET_FORM)
        place = stride = valid = shadow = ""
        scalar = self.type_of(name)
        lasts = self.lasts(name)
        if form.rank == lane_values.DISTANT and form.checked:
            valid = self._variable("i1", lasts=lasts)
            shadow = self._lasting(f"shadow {name}", 8)
        if form.factors:
            stride = self._variable(self.type_of(name), lasts=lasts)
        if form.rank in (lane_values.UNIFORM, lane_values.DISTANT):
            if form.known is None:
                place = self._variable(scalar, lasts=lasts)
        elif form.rank != lane_values.UNSET:
            place = self._variable(vector_of(scalar), lasts=False)
        self._places[name] = (place, stride, valid, shadow)

    @staticmethod
    def _no_state() -> str:
        raise TypeError("the kernel was lowered as one that never waits")

    def lasts(self, name: str) -> bool:
        """Whether a register lies in the warp's state all the time, and need not be saved."""
        return name in self._kept and self.form(name).rank in (
            lane_values.UNIFORM,
            lane_values.DISTANT,
        )

    def _variable(self, type_name: str, *, lasts: bool) -> str:
        """A variable in the warp's state, or one on the stack that is zero at first."""
        return self.place_scalar() if lasts else self.lanes.one.variable(type_name)

    def declare_variable(self, name: str, size: int, align: int) -> None:
        unit = max(align, 16)
        size = -(-size // unit) * unit
        base = self._lasting(f"variable {name}", size)
        distances = tuple(lane * size for lane in range(lane_values.LANES))
        self.variables[name] = self.lanes.name(lane_values.Value(base, distances))

    def _lasting(self, key: str, size: int) -> str:
        """Memory for 32 lanes of some bytes that outlives a wait."""
        if self.memory.suspends:
            return self.waits().place_local(size, 16)[0]
        return self.lanes.place(key, size)

    # ---- registers

    def type_of(self, name: str) -> str:
        """The type of one lane of a register."""
        return int_type(self._bits[name])

    def width(self, name: str) -> int:
        return self._bits[name]

    def form(self, name: str) -> lane_values.Form:
        """The form of a register."""
        if name in self.local:
            held = self._held.get(name)
            return (
                lane_values.UNSET_FORM if held is None else lane_values.form_of(self.lanes.of(held))
            )
        return self.forms.get(name, lane_values.UNSET_FORM)

    def place(self, name: str) -> str:
        """Where a register's scalar or vector lies."""
        return self._places[name][0]

    def kept(self, name: str) -> list[tuple[str, str, int]]:
        """What of a register has to be kept while the warp stops: places, types and bytes."""
        if self.lasts(name):
            return []
        place, stride, valid, _ = self._places[name]
        scalar = self.type_of(name)
        size = bytes_of(scalar)
        if self.form(name).rank == lane_values.VARYING:
            whole = lane_values.LANES * size if scalar != "i1" else lane_values.LANES // 8
            return [(place, vector_of(scalar), whole)]
        parts = ((place, scalar, size), (stride, scalar, size), (valid, "i1", 1))
        return [part for part in parts if part[0]]

    def read(self, name: str) -> SsaValue:
        return self.lanes.named(self._read(name), self.type_of(name))

    def _read(self, name: str) -> str:
        b, form, scalar = self.lanes, self.form(name), self.type_of(name)
        if name in self._held:
            return self._held[name]
        if form.rank == lane_values.UNSET:
            if not self.final:
                raise NotYetError
            return b.name(lane_values.Value("", known=0))
        if not self.final:
            return b.name(lane_values.stand_in(form, b.fresh()))
        place, stride, valid, shadow = self._places[name]
        if form.rank in (lane_values.UNIFORM, lane_values.DISTANT):
            base = self._load(place, scalar) if place else ""
            is_valid = self._load(valid, "i1") if valid else ""
            by = self._load(stride, self.type_of(name)) if stride else ""
            kind = vector_of(scalar)
            return b.name(
                form.value(base, by, is_valid, lambda: b.one.load(shadow, kind, 8, "volatile"))
            )
        lanes = self._load(place, vector_of(scalar))
        return b.lanes(lanes)

    def _load(self, place: str, type_name: str) -> str:
        """What is in a register's place, asked for once from write to write in a basic block."""
        key = (place, f"after write {self._writes.get(place, 0)}")
        return self.lanes.once(key, f"llvm.load {place} : {POINTER} -> {type_name}")

    def _put(self, value: str, place: str, type_name: str) -> None:
        """Write to a register's place."""
        b, one = self.lanes, self.lanes.one
        one.write(value, place, type_name)
        self._writes[place] = number = self._writes.get(place, 0) + 1
        b.kept((place, f"after write {number}"), value)

    def write(self, name: str, value: str) -> None:
        if name in self.local:
            self._held[name] = value
            return
        form, held = self.form(name), self.lanes.of(value)
        merges = self.merging or name in self.blended
        if merges and self._bits[name] > 1:
            wider = form.join(lane_values.form_of(held, checked=True))
        else:
            wider = form.join(lane_values.VARYING_FORM if merges else lane_values.form_of(held))
        if wider != form:
            self.forms[name] = wider
            self.changed = True
        if not self.final or self.changed:
            return
        if not merges:
            self._store(name, value, wider)
        elif wider.rank == lane_values.DISTANT:
            self._store_or_merge(name, value, wider)
        else:
            self._store(name, self._merged(name, value), wider)

    def _store_or_merge(self, name: str, value: str, form: lane_values.Form) -> None:
        """Write a value that stays distant as long as no lane keeps another."""
        b, one, scalar = self.lanes, self.lanes.one, self.type_of(name)
        _, _, valid, shadow = self._places[name]

        def whole() -> str:
            self._store(name, value, form)
            return ""

        def some() -> str:
            lanes = b.vector(self._merged(name, value), scalar)
            one.store(lanes, shadow, vector_of(scalar), 8, "volatile")
            self._put(b.number(0, 1), valid, "i1")
            return ""

        everyone = one.load(self.alive).cmp("eq", self.lanes.mask)
        either(b, everyone, whole, some)

    def _merged(self, name: str, value: str) -> str:
        """A value for active lanes, and for the others what they hold."""
        return self.lanes.select(self.mask_lanes(), value, self._read(name), self.type_of(name))

    def _store(self, name: str, value: str, form: lane_values.Form) -> None:
        b, scalar = self.lanes, self.type_of(name)
        place, stride, valid, shadow = self._places[name]
        held = b.of(value)
        if form.rank == lane_values.VARYING:
            self._put(b.vector(value, scalar), place, vector_of(scalar))
        else:
            if place:
                self._put(
                    b.scalar(b.name(lane_values.Value(held.base, known=held.known)), scalar),
                    place,
                    scalar,
                )
            if stride:
                self._put(held.stride, stride, self.type_of(name))
            if valid:
                self._store_check(held, (valid, shadow), scalar)

    def _store_check(self, held: lane_values.Value, places: tuple[str, str], scalar: str) -> None:
        b, one = self.lanes, self.lanes.one
        valid, shadow = places
        is_valid = held.valid or one.const(1, 1)
        self._put(is_valid, valid, "i1")
        if not held.valid or held.lanes is None:
            return
        wrong, after = b.fresh_label("wrong"), b.fresh_label("right")
        one.cond_branch(is_valid, after, wrong)
        one.block(wrong)
        with b.scope():
            lanes = held.lanes.write()
            one.store(lanes, shadow, vector_of(scalar), 8, "volatile")
        one.branch(after)
        one.block(after)

    # ---- active lanes

    def activate(self, mask: SsaValue, *, whole: str = "") -> None:
        """Say which lanes are active from here on.

        - `mask`: their bits, an i32.
        - `whole`: whether they are all lanes, an i1, if that is known already.
        """
        self.lanes.mask = mask
        self.lanes.everyone = bool(whole)
        self.lanes.full = whole or mask.cmp("eq", -1)

    def mask_lanes(self) -> str:
        """The active lanes as i1."""
        mask = self.lanes.mask
        text = f"llvm.bitcast {mask} : i32 to {vector_of('i1')}"
        return self.lanes.lanes(self.lanes.once(("lanes of", mask), text))

    def bits(self, condition: str) -> SsaValue:
        """The active lanes for which an i1 holds, as bits."""
        b, one, mask = self.lanes, self.lanes.one, self.lanes.mask
        value = b.of(condition)
        if value.is_uniform:
            return one.select(b.scalar(condition, "i1"), mask, 0)
        if value.is_known:
            return mask & sum((lane & 1) << index for index, lane in enumerate(value.constants()))
        vector = b.vector(condition, "i1")
        return mask & one.value(f"llvm.bitcast {vector} : {vector_of('i1')} to i32")

    def count(self, condition: SsaValue | None = None) -> SsaValue:
        mask = self.lanes.mask if condition is None else self.bits(condition)
        return mask.call("ctpop")

    def fail(self, failure: Failure) -> None:
        one = self.lanes.one
        one.fail(failure)
        one.block(one.fresh_label("failed"))
