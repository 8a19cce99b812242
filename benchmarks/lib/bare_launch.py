"""The shipped kernels launched with numpy's arrays through the CUDA driver alone.

For tools that watch a process, compute-sanitizer and Nsight Compute: nothing else touches the GPU,
every input comes from the host, and no framework takes its seconds to load. What is declared in
`cuda_kernels` is found by looking, so that a new kernel is among them by itself.

`build` needs no GPU; `Launcher` needs one, and iree-base-runtime, but no compiler.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import json
import math
import os
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

import cuda_kernels
import custom_dispatch as cd
from benchmarks.cases.called_functions import calling
from custom_dispatch.kernel.abi import constants_of
from custom_dispatch.kernel.binding import grid_for
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Buffer, InOut, Out, Scratch
from custom_dispatch.kernel.target import Target

TARGETS = ("cuda:sm_90a", "cuda:sm_80", "cuda:sm_90")
"""Of which an H200 runs the code. What two of them share is taken once, for the first."""
PORTABLE, HERE = "cuda:sm_80", "cuda:sm_90"
"""PTX for the first is assembled for the second, as the driver does it on an H200."""
BATCH = 16
"""Kernels that are compiled in one go."""
CAPABILITY = 90
TOLERANCES = {"f32": 2e-5, "f16": 2e-3, "bf16": 1e-2, "f8E4M3FN": 0.07, "f8E5M2": 0.13}
"""Of ||error|| / ||result||: results, and of attention the weights, are rounded to these types.
Integers are exact.
"""
ONE_SIGN = {"scales": 1 / 64, "dt": 1 / 8, "beta": 1 / 512, "a": -1.0}
"""Inputs with numbers of one sign, and about how large: steps of time and rates of decay, so that
states stay finite over any number of steps, and what a delta rule takes of its error."""
MOST_DRAWN = 1 << 20
"""Random numbers that are drawn for an array; a larger one has them over and over."""

Array = numpy.ndarray[Any, numpy.dtype[Any]]


@dataclass(frozen=True)
class Repeated:
    """A large array of which the host has the beginning."""

    beginning: Array
    count: int
    """Elements of all."""


@dataclass(frozen=True)
class Subject:
    """A kernel as it is on a target."""

    module: str
    """Of `cuda_kernels`, that declares it: the last part of its name, or its package's name."""
    form: cd.Kernel
    target: str

    @property
    def source(self) -> str:
        """The `.cu` file without its suffix."""
        assert self.form.source is not None
        return self.form.source.stem

    @property
    def key(self) -> str:
        """The kernel and the target."""
        return f"{self.form.name} {self.target}"

    @property
    def code(self) -> tuple[str, ...]:
        """Equal for subjects with the same machine code: what may be absent is part of it."""
        return self.source, self.form.entry, *map(str, self.form.operands)


def declared() -> Iterator[tuple[str, cd.Kernel]]:
    """Every kernel that the modules of `cuda_kernels` declare, once, with its module, and some that
    call a function of a user's.

    That is the package's name where several modules of it declare kernels that take the same.
    """
    names = set()
    for item in pkgutil.walk_packages(cuda_kernels.__path__, "cuda_kernels."):
        package, _, name = item.name.removeprefix("cuda_kernels.").rpartition(".")
        if item.ispkg or package.partition(".")[0] == "patterns":
            continue
        module = importlib.import_module(item.name)
        for value in (getattr(module, name) for name in module.__dir__()):
            is_one = isinstance(value, cd.Kernel)
            kernels = [value] if is_one else value.kernels if isinstance(value, cd.Choice) else ()
            for kernel in kernels:
                if kernel.name not in names:
                    names.add(kernel.name)
                    yield package if name == "choices" or package == "quantised" else name, kernel
    for module_name, choice in calling().items():
        yield from ((module_name, kernel) for kernel in choice.kernels)


@functools.cache
def subjects() -> tuple[Subject, ...]:
    """Every kernel for every target that has code of its own for it."""
    found: dict[tuple[str, ...], Subject] = {}
    for module, kernel in declared():
        for target in TARGETS:
            subject = Subject(module, kernel.for_target(Target.parse(target)), target)
            found.setdefault((kernel.name, *subject.code), subject)
    return tuple(found.values())


def build(directory: Path, wanted: Sequence[Subject]) -> list[dict[str, Any]]:
    """Compile the code of subjects to cubins, beside `index.json`, which says what lies where.

    Returns
    -------
    Of each instance its source, entry, target, and what it takes of a multiprocessor.
    """
    from custom_dispatch.toolchain.ptxas import assemble

    directory.mkdir(parents=True, exist_ok=True)
    index: dict[str, dict[str, str]] = {}
    rows: list[dict[str, Any]] = []
    for target in TARGETS:
        own = {item.code: item for item in wanted if item.target == target}
        if not own:
            continue
        image = "ptx" if target == PORTABLE else "cubin"
        # Kernels of one source are one compilation, of which some have hundreds of instances.
        forms = sorted((item.form for item in own.values()), key=lambda form: str(form.source))
        batches = [forms[at : at + BATCH] for at in range(0, len(forms), BATCH)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            one = functools.partial(cd.build, targets=[target], image=image, jobs=1)
            libraries = list(pool.map(one, batches))
        places: dict[str, dict[str, str]] = {}
        for number, library in enumerate(libraries):
            for unit in library.units:
                for built in unit.objects:
                    file = f"{unit.name}_{number}_{target.removeprefix('cuda:')}.cubin"
                    data = built.data
                    if image == "ptx":
                        data = assemble(data, Target.parse(HERE).cuda_arch).cubin
                    (directory / file).write_bytes(data)
                    for kernel in unit.kernels:
                        places[kernel.name] = {"file": file, "symbol": built.symbol(kernel.entry)}
            rows += resources(library, own.values())
        for item in wanted:
            if item.target == target:
                index[item.key] = places[own[item.code].form.name]
    (directory / "index.json").write_text(json.dumps(index, indent=1))
    return rows


def resources(library: cd.Library, members: Iterable[Subject]) -> list[dict[str, Any]]:
    """What each instance takes of a multiprocessor, as plain data."""
    named, rows = {item.form.name: item for item in members}, []
    for report in library.report():
        subject, taken = named[report.kernel], report.resources
        rows.append(
            {
                "source": f"{subject.source}.cu",
                "entry": subject.form.entry,
                "target": subject.target,
                "registers": taken.registers,
                "spill_stores_bytes": taken.spill_stores_bytes,
                "spill_loads_bytes": taken.spill_loads_bytes,
                "stack_bytes": taken.stack_bytes,
                "shared_bytes": taken.static_shared_bytes + report.dynamic_shared_bytes,
                "threads": math.prod(report.block),
            }
        )
    return rows


def shape_of(operand: Buffer, dims: Mapping[str, int]) -> tuple[int, ...]:
    """Its shape for these sizes, leading dims as one."""
    return tuple(evaluate(size, dims) for size in operand.shape)


def drawn(
    kernel: cd.Kernel, dims: Mapping[str, int], random: numpy.random.Generator, *, all_there: bool
) -> dict[str, Array | Repeated]:
    """Random inputs by operand name, without the optional ones if not all are to be there."""
    found: dict[str, Array | Repeated] = {}
    for operand in kernel.inputs:
        is_there = all_there and operand.name != "spans"  # that another kernel makes
        if isinstance(operand, Buffer) and (is_there or not operand.optional):
            shape = shape_of(operand, dims)
            size = math.prod(shape)
            if size <= MOST_DRAWN:
                found[operand.name] = _values(operand, shape, dims, random)
                continue
            row = math.prod(shape[1:])
            # Whole rows, of which blocks of quantised weights are parts.
            some = (MOST_DRAWN // row, *shape[1:]) if row <= MOST_DRAWN else (MOST_DRAWN,)
            found[operand.name] = Repeated(_values(operand, some, dims, random), size)
    return found


def _values(
    operand: Buffer, shape: tuple[int, ...], dims: Mapping[str, int], random: numpy.random.Generator
) -> Array:
    dtype = operand.dtype.to_numpy()
    if operand.name == "lengths":
        keys = dims["table_width"] * dims["page_size"] if "pages" in dims else dims["keys"]
        return random.integers(0, keys + 1, shape).astype(dtype)
    if operand.name == "table":
        return random.integers(0, dims["pages"], shape).astype(dtype)
    if operand.name == "offsets":  # the ends of groups of rows
        ends = numpy.sort(random.integers(0, dims["rows"] + 1, shape))
        return numpy.append(ends[1:], dims["rows"]).astype(dtype)
    if operand.name == "slots":
        return random.permutation(dims["pages"] * dims["page_size"] + 9)[: shape[0]].astype(dtype)
    if operand.name == "positions":  # each once, some of them from the end, and some outside
        keys = dims["keys"]
        found = random.permutation(max(keys, *shape) + 2)[: shape[0]]
        from_the_end = (found < keys) & (random.random(shape) < 0.3)
        return numpy.where(from_the_end, found - keys, found).astype(dtype)
    if operand.dtype.name == "bool":
        return random.random(shape) < 0.7
    if operand.dtype.is_float:
        values = random.standard_normal(shape).astype(numpy.float32)
        if operand.name in ONE_SIGN:
            values = (numpy.abs(values) + 0.5) * ONE_SIGN[operand.name]
        return values.astype(dtype)
    found = random.integers(0, 256, shape).astype(dtype)
    if len(shape) == 3:  # blocks of GGUF begin with numbers in f16, and 16 bytes follow
        numbers = random.standard_normal((*shape[:2], (shape[2] - 16) // 2)) / 64
        found[..., : shape[2] - 16] = numbers.astype(numpy.float16).view(numpy.uint8)
    return found


def numbers_of(kernel: cd.Kernel, *, causal: bool) -> dict[str, float]:
    """The scalars that a call gives."""
    given: dict[str, float] = {"scale": 0.125, "epsilon": 1e-5, "causal": causal}
    given |= {"offset": 1.0, "slope": 0.25, "activation": 2, "kind": int(causal)}
    given |= dict.fromkeys(("gate_is_second", "descending"), causal)
    given |= {"factor": 0.25, "limit": 3.0, "least": -0.5}
    given |= {"softcap": 20.0, "times_dt": 1, "plain": 0, "pairs_in": 0, "pairs_out": 1}
    buffers = {item.name for item in kernel.inputs if isinstance(item, Buffer)}
    return {item.name: given[item.name] for item in kernel.inputs if item.name not in buffers}


class Launcher:
    """The built kernels, launched through the driver; each is done when the call returns."""

    def __init__(self, directory: Path) -> None:
        from custom_dispatch.measure.native_launch import NativeContext

        self._index = json.loads((directory / "index.json").read_text())
        self._image = functools.cache(lambda file: (directory / file).read_bytes())
        self._context = NativeContext().__enter__()  # until the process ends
        self.keys = frozenset(self._index)

    def _placed(self, array: Array | Repeated, offset: int) -> ctypes.c_uint64:
        """The array in memory of its own, `offset` elements behind the beginning of it."""
        if isinstance(array, Repeated):
            return self._repeated(array)
        flat = numpy.concatenate([numpy.zeros(offset, array.dtype), array.reshape(-1)])
        return ctypes.c_uint64(self._context.upload(flat).value + offset * array.itemsize)

    def _repeated(self, array: Repeated) -> ctypes.c_uint64:
        done, total = array.beginning.nbytes, array.count * array.beginning.itemsize
        address = self._context.allocate(total)
        self._context.overwrite(address, array.beginning)
        while done < total:
            # As much again as is there.
            more = min(done, total - done)
            self._context.copy(ctypes.c_uint64(address.value + done), address, more)
            done += more
        return address

    def launch(
        self,
        subject: Subject,
        dims: Mapping[str, int],
        inputs: Mapping[str, Array | Repeated],
        numbers: Mapping[str, float],
        *,
        offset: int = 0,
        fetch: bool = True,
    ) -> list[Array]:
        """Launch it once; its results.

        Parameters
        ----------
        offset
            How many elements behind an aligned address each operand begins.
        fetch
            Whether the results are wanted.
        """
        from custom_dispatch.measure.native_launch import NativeLaunch

        form = subject.form
        addresses: dict[str, ctypes.c_uint64] = {}
        results: dict[str, Array] = {}
        absent = self._context.allocate(16)
        for operand in form.abi.bindings:
            name, dtype = operand.name, operand.dtype.to_numpy()
            if name in inputs:
                addresses[name] = self._placed(inputs[name], offset)
            elif isinstance(operand, Out | Scratch):
                start = 0 if isinstance(operand, Scratch) else offset * dtype.itemsize
                size = math.prod(shape_of(operand, dims)) * dtype.itemsize
                memory = self._context.allocate(start + size)
                addresses[name] = ctypes.c_uint64(memory.value + start)
                if isinstance(operand, Scratch):
                    # Few queries look for signs of others there that may not be written yet.
                    self._context.fill(memory, 0xFF, size)
                if fetch and isinstance(operand, Out):
                    poison = numpy.full(start + size, 0xFF, numpy.uint8)  # NaN in every type
                    self._context.overwrite(memory, poison)
            else:
                addresses[name] = absent
            if fetch and isinstance(operand, Out | InOut):
                results[name] = numpy.empty(shape_of(operand, dims), dtype)
        given = {item.name: int(item.name in inputs) for item in form.inputs} | dict(numbers)
        place = self._index[subject.key]
        NativeLaunch(
            self._context,
            self._image(place["file"]),
            place["symbol"],
            grid=grid_for(form, dims, capability=CAPABILITY),
            block=form.block,
            shared_bytes=form.dynamic_shared_memory,
            bindings=[addresses[item.name] for item in form.abi.bindings],
            constants=constants_of(form.abi, dims, given),
        ).run()
        for name, result in results.items():
            self._context.download(addresses[name], result)
        return [results[item.name] for item in form.outputs if fetch]


def wanted(
    kernel: cd.Kernel, inputs: Mapping[str, Array | Repeated], numbers: Mapping[str, float]
) -> list[Array]:
    """What the reference of a kernel says that its results are."""
    assert kernel.reference is not None
    given = [
        inputs.get(item.name) if isinstance(item, Buffer) else numbers[item.name]
        for item in kernel.inputs
    ]
    found = kernel.reference(*given)
    return list(found) if isinstance(found, tuple) else [found]


def problem(kernel: cd.Kernel, results: Iterable[Array], references: Iterable[Array]) -> str:
    """What is wrong with results; empty if nothing."""
    for operand, got, want in zip(kernel.outputs, results, references, strict=True):
        wide, exact = got.astype(numpy.float64), want.astype(numpy.float64).reshape(got.shape)
        finite = numpy.isfinite(exact)
        if (numpy.isfinite(wide) != finite).any():
            return f"{operand.name} has NaN or infinity where it should not, or lacks it"
        off = float(numpy.linalg.norm((wide - exact)[finite]))
        size = float(numpy.linalg.norm(exact[finite]))
        if not off <= TOLERANCES.get(operand.dtype.name, 0.0) * size + 1e-30:
            return f"{operand.name} is off by {off / (size or 1.0):.2g} of itself"
    return ""
