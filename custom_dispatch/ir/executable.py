"""A unit's objects as a `hal.executable`: one variant a target, the best first.

A CUDA variant holds an object and a condition on the GPU's compute capability, because without
conditions IREE takes the first variant whether or not a better one follows. The CPU variant holds
the kernels as code. IREE takes the first variant whose condition holds, so order is preference.

A dispatch that failed has no results, so its finding stays in the executable until somebody asks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import prod

from custom_dispatch.cpu.checked.finding import FINDINGS_ENTRY, REPORT_BYTES
from custom_dispatch.cpu.cpu_kernel import CpuCode
from custom_dispatch.format.keys import FINDINGS_FUNCTION
from custom_dispatch.ir.call_words import layout_of
from custom_dispatch.ir.emitter import Emitter, comma, quote
from custom_dispatch.ir.index_arithmetic import Arithmetic, capability
from custom_dispatch.kernel.evaluation import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import EMBEDDED, EVERY_CPU, Arch, Target
from custom_dispatch.toolchain.library import Object

CUDA_FORMAT = '#hal.executable.target<"cuda", "cuda-nvptx-fb">'
"""The target of an external CUDA variant. Without a configuration it fits every CUDA device."""

_THREADS_PER_WORKGROUP = 4096
_MIN_WORKGROUPS = 1024

Workloads = Mapping[str, tuple[str, ...]]
"""The dims that grids of kernels of choices are computed from, by the kernels' names."""
ObjectReference = Callable[[Object], str]
"""Writes the `#hal.executable.object` attribute of an object."""


@dataclass(frozen=True, slots=True)
class CpuVariant:
    """The CPU variant of an executable."""

    symbol: str
    target: str
    """Its `#hal.executable.target` attribute."""
    ptx: Object
    """What it was translated from; its kernels have the same symbols."""
    code: CpuCode
    """The content of its `builtin.module`."""
    digest: str = ""
    """Of that content, where it is left out."""


@dataclass(frozen=True, slots=True)
class VariantOf:
    """Where a variant runs: equal for variants of two executables that fit the same devices."""

    target: int
    """The ordinal of its target in the library."""
    archs: tuple[Arch, ...] = ()
    machine_code: bool = False


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """How a dispatch names a kernel: a symbol for each variant of its executable."""

    symbols: tuple[str, ...]
    """In the variants' order. IREE drops a variant that no dispatch names, without a word."""
    variants: tuple[VariantOf, ...]

    @property
    def text(self) -> str:
        """As a `flow.dispatch` has them."""
        return entry_list(self.symbols)


def entry_list(symbols: Iterable[str]) -> str:
    """The entry points of a `flow.dispatch`: it runs the first whose variant fits the device.

    They may be of several executables, which all have these variants.
    """
    first, *more = symbols
    return f"{{{comma([first, *more])}}}" if more else first


@dataclass(frozen=True, slots=True)
class Executable:
    """Kernels that share objects, ready to be written as IR."""

    symbol: str
    kernels: tuple[Kernel, ...]
    objects: tuple[Object, ...]
    """One a CUDA target, the best first."""
    cpu: CpuVariant | None
    checked: bool = False
    """Whether the CPU variant checks what its kernels do, and can tell what it found."""
    of_choices: Workloads = field(default_factory=dict)
    """Kernels whose grids are computed from one number more: bit i of it says whether they are to
    run on target i."""
    targets: tuple[Target, ...] = ()
    """The targets of the library, in its order."""

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants' symbols, in order."""
        cuda = tuple(item.target.symbol for item in self.objects)
        return cuda if self.cpu is None else (*cuda, self.cpu.symbol)

    def on_cpu(self, kernel: Kernel) -> Kernel:
        """A kernel as the CPU variant has it."""
        return kernel.own if self.checked else kernel.for_target(EVERY_CPU)

    def without_code(self) -> Executable:
        """The same with an empty CPU variant: what the host's code has to know of it."""
        if self.cpu is None:
            return self
        code = self.cpu.code
        digest = sha256(code.text.encode()).hexdigest()
        return replace(self, cpu=replace(self.cpu, code=replace(code, text=""), digest=digest))

    def ordinal_of(self, item: Object) -> int:
        """Which of the targets an object is for; of a fatbin's the first, the best."""
        return self.targets.index(item.target) if item.target in self.targets else 0

    def entry_points(self, kernel: Kernel) -> EntryPoints:
        """How a dispatch names a kernel."""
        symbols = [entry_symbol(item, kernel) for item in self.objects]
        variants = [
            VariantOf(self.ordinal_of(item), item.archs, item.kind == "cubin")
            for item in self.objects
        ]
        if self.cpu is not None:
            symbols.append(self.cpu.ptx.symbol(self.on_cpu(kernel).entry))
            variants.append(VariantOf(len(self.targets) - 1))
        pairs = zip(self.variants, symbols, strict=True)
        names = (f"@{self.symbol}::@{variant}::@{symbol}" for variant, symbol in pairs)
        return EntryPoints(tuple(names), tuple(variants))


def entry_symbol(item: Object, kernel: Kernel) -> str:
    """The name that a kernel has in an object for a CUDA target."""
    return item.symbol(kernel.for_target(item.target).entry)


def by_path(item: Object) -> str:
    """Refer to an object by its file name, which the compiler finds on its search path."""
    return f"#hal.executable.object<{{path = {quote(item.file_name)}}}>"


def embedded(item: Object) -> str:
    """Put an object's bytes into the IR: PTX as text that stays readable, images as hex."""
    path = quote(item.file_name)
    if item.kind == "ptx":
        # It is ASCII but for comments and file names.
        text = quote(item.data.decode("utf-8", "replace"))
        return f"#hal.executable.object<{{path = {path}, data = {text}}}>"
    data = f'dense<"0x{item.data.hex().upper()}"> : vector<{len(item.data)}xi8>'
    return f"#hal.executable.object<{{path = {path}, data = {data}}}>"


def write_executable(executable: Executable, reference: ObjectReference) -> str:
    """The `hal.executable` operation as text, and the function that tells what it has found."""
    out, body = Emitter(0), Emitter(1)
    for item in executable.objects:
        variant = body.nested()
        _write_condition(variant, item)
        _write_exports(variant, executable, item)
        head = f"hal.executable.variant public @{item.target.symbol} target({CUDA_FORMAT})"
        body.put(f"{head} objects([{reference(item)}])", variant)
    cpu = executable.cpu
    if cpu is not None:
        variant = body.nested()
        _write_exports(variant, executable, cpu.ptx, cpu)
        if executable.checked:
            write_findings_export(variant, len(executable.kernels))
        code = variant.nested()
        code.lines.append(cpu.code.text.rstrip())
        # IREE makes one of executables that look the same, as kernels of a choice often do.
        name = f" attributes {{custom_dispatch.code = {quote(cpu.digest)}}}"
        variant.put(f"builtin.module{'' if code.lines[0] else name}", code)
        body.put(f"hal.executable.variant public @{cpu.symbol} target({cpu.target})", variant)
    out.put(f"hal.executable private @{executable.symbol}", body)
    text = "\n".join(out.lines) + "\n"
    if executable.checked and executable.cpu is not None:
        text += write_findings_function(executable.symbol, executable.cpu.symbol)
    return text


def write_apart(executables: Sequence[Executable], reference: ObjectReference) -> Mapping[str, str]:
    """The executables with a CPU variant, each as a module by itself, by their symbols.

    The compiler puts them in the place of those `without_code` when the host's code is done. Its
    passes before that visit every operation of a module, again and again, and find nothing to do
    in a kernel.
    """
    return {
        item.symbol: f"module {{\n{write_executable(item, reference)}}}\n"
        for item in executables
        if item.cpu is not None
    }


def write_source(executable: Executable, reference: ObjectReference) -> str:
    """The `hal.executable.source` operation as text, for an executable with one object.

    IREE drops the conditions of this form and would run whichever object comes first, so there is
    room for one: of one architecture, or a fatbin image of which the driver picks a part.
    """
    (item,) = executable.objects
    out, body = Emitter(0), Emitter(1)
    _write_exports(body, executable, item)
    objects = f"<objects = <{{{CUDA_FORMAT} = [{reference(item)}]}}>>"
    out.put(f"hal.executable.source private @{executable.symbol} {objects}", body)
    return "\n".join(out.lines) + "\n"


def _write_condition(out: Emitter, item: Object) -> None:
    inner = Emitter(out.indent + 1)
    inner.reserve("device")
    number = capability(inner, "%device")
    is_cubin = item.kind == "cubin"
    each = (_runs_on(inner, number, arch, machine_code=is_cubin) for arch in item.archs)
    fits = inner.joined("arith.ori", each, "i1")
    inner.line(f"hal.return {fits} : i1")
    out.put("hal.executable.condition(%device: !hal.device) -> i1", inner)


def _runs_on(out: Emitter, number: str, arch: Arch, *, machine_code: bool) -> str:
    """`Arch.runs_on` or `Arch.machine_code_runs_on`, for a device's compute capability."""
    wanted = out.i32(arch.compute_capability)
    if arch.suffix == "a" or (machine_code and arch.compute_capability in EMBEDDED):
        return out.pure(f"arith.cmpi eq, {number}, {wanted} : i32", "fits")
    fits = out.pure(f"arith.cmpi sge, {number}, {wanted} : i32", "fits")
    if arch.suffix == "f" or machine_code:  # nothing of a later major number
        end = out.i32(arch.later_minors.stop)
        below = out.pure(f"arith.cmpi slt, {number}, {end} : i32")
        fits = out.pure(f"arith.andi {fits}, {below} : i1")
    for other in sorted(EMBEDDED.intersection(arch.later_minors)) if machine_code else ():
        differs = out.pure(f"arith.cmpi ne, {number}, {out.i32(other)} : i32")
        fits = out.pure(f"arith.andi {fits}, {differs} : i1")
    return fits


def _write_exports(
    out: Emitter, executable: Executable, item: Object, cpu: CpuVariant | None = None
) -> None:
    for ordinal, kernel in enumerate(executable.kernels):
        form = kernel.for_target(item.target) if cpu is None else executable.on_cpu(kernel)
        inner = Emitter(out.indent + 1)
        inner.reserve("device")
        dims = workload_of(kernel, executable.of_choices)
        workload = {name: inner.fresh(name) for name in dims}
        runs = inner.fresh("runs") if kernel.name in executable.of_choices else ""
        values = [*workload.values(), *([runs] if runs else [])]
        arguments = comma(["%device: !hal.device", *(f"{value}: index" for value in values)])
        with_grid, checked = executable.cpu is not None, executable.checked
        layout = layout_of(kernel.abi, with_grid=with_grid, checked=checked)
        arithmetic = Arithmetic(inner, workload, "%device")
        if runs and len(executable.targets) > 1:
            target = len(executable.targets) - 1 if cpu else executable.ordinal_of(item)
            moved = inner.pure(f"arith.shrui {runs}, {inner.index(target)} : index")
            runs = inner.pure(f"arith.andi {moved}, {inner.index(1)} : index")
        grid = _all_zero_if_one_is(inner, arithmetic, form, runs)
        if cpu is not None:
            grid[0] = _workgroups(inner, form, grid[0])
        inner.line(f"hal.return {comma(grid)} : index, index, index")
        # The CPU variant runs a block's threads itself.
        attributes = _launch_attributes(form) if cpu is None else _local_memory(cpu, form)
        out.put(
            f"hal.executable.export public @{item.symbol(form.entry)} ordinal({ordinal}) "
            f"layout({layout}) count({arguments}) -> (index, index, index)",
            inner,
            f"}} <{attributes}>",
        )


def _all_zero_if_one_is(
    out: Emitter, arithmetic: Arithmetic, kernel: Kernel, runs: str
) -> list[str]:
    """The grid; where a size is zero, all are, and where `runs` is there and zero.

    IREE's runtime passes over a dispatch of (0, 0, 0). Any other zero reaches the CUDA driver,
    which refuses the launch, and with it every later allocation on that device.
    """
    values = [arithmetic.value(size) for size in kernel.grid]
    open_axes = [axis for axis, size in enumerate(kernel.grid) if not arithmetic.known(size)]
    if not open_axes and not runs:
        return values
    one = out.index(1)
    factors = (out.pure(f"arith.minui {values[axis]}, {one} : index") for axis in open_axes)
    some = out.joined("arith.muli", itertools.chain([runs] if runs else [], factors), "index")
    return [
        value
        if open_axes == [axis] and not runs
        else some
        if value == one
        else out.pure(f"arith.muli {value}, {some} : index")
        for axis, value in enumerate(values)
    ]


def _workgroups(out: Emitter, kernel: Kernel, blocks: str) -> str:
    """How many CPU workgroups run a row of blocks.

    Small blocks are run several to a workgroup, because starting one costs more than they do; but
    a row keeps at least `_MIN_WORKGROUPS`, so that no core goes without.
    """
    threads = prod(kernel.block)
    most = max(1, _THREADS_PER_WORKGROUP // threads)
    if most == 1:
        return blocks
    spare = out.pure(f"arith.divui {blocks}, {out.index(_MIN_WORKGROUPS)} : index")
    share = out.pure(f"arith.minui {spare}, {out.index(most)} : index")
    share = out.pure(f"arith.maxui {share}, {out.index(1)} : index")
    return out.pure(f"arith.ceildivui {blocks}, {share} : index")


def _launch_attributes(kernel: Kernel) -> str:
    sizes = comma(f"{size} : index" for size in kernel.block)
    attributes = f"workgroup_size = [{sizes}]"
    if kernel.dynamic_shared_memory:
        attributes += f", workgroup_local_memory = {kernel.dynamic_shared_memory}"
    return attributes


def _local_memory(cpu: CpuVariant, kernel: Kernel) -> str:
    return f"workgroup_local_memory = {cpu.code.local_memory[cpu.ptx.symbol(kernel.entry)]}"


def workload_of(kernel: Kernel, of_choices: Workloads) -> tuple[str, ...]:
    """The dims that the grids are computed from: the workload of a dispatch.

    Each variant computes its own grid from it. Kernels of a choice have those of all that have
    such dims, so that one dispatch can be any of them.
    """
    return of_choices.get(kernel.name) or dims_of_grids([kernel])


def dims_of_grids(kernels: Iterable[Kernel]) -> tuple[str, ...]:
    """The dims of some kernels' grids, on all targets."""
    sizes = [size for kernel in kernels for form in kernel.forms for size in form.grid]
    return tuple(dim.name for dim in dims_of(*sizes))


_LAYOUT = "#hal.pipeline.layout<constants = 1, bindings = [#hal.pipeline.binding<storage_buffer>]>"


def write_findings_export(out: Emitter, ordinal: int) -> None:
    """The export of the dispatch function that `cpu` has added to the kernels."""
    inner = out.nested()
    inner.line("%one = arith.constant 1 : index")
    inner.line("hal.return %one, %one, %one : index, index, index")
    head = f"hal.executable.export public @{FINDINGS_ENTRY} ordinal({ordinal}) layout({_LAYOUT})"
    out.put(f"{head} count(%device: !hal.device) -> (index, index, index)", inner)


def write_findings_function(executable: str, variant: str) -> str:
    """The public function that returns the text, with a zero behind it.

    Its argument means nothing: a dispatch without any would be run at compile time.
    """
    kind = f"tensor<{REPORT_BYTES}xi8>"
    return (
        f"func.func public @{FINDINGS_FUNCTION}{executable}(%any: i32) -> {kind} {{\n"
        f"  %text = flow.dispatch @{executable}::@{variant}::@{FINDINGS_ENTRY}(%any) : "
        f"(i32) -> {kind}\n"
        f"  func.return %text : {kind}\n"
        "}\n"
    )
