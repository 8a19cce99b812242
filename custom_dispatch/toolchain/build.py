"""Building kernels: sources and targets in, checked objects out. Needs no GPU and no driver."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from custom_dispatch.errors import DeclarationError, PtxError, SourceError
from custom_dispatch.format.manifest import ModuleSource
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declarations, Declared
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.launch import check_compiler_name
from custom_dispatch.kernel.names import check_switch, several
from custom_dispatch.kernel.target import GENERATED, Target
from custom_dispatch.phases import say
from custom_dispatch.process import end_all, result_of
from custom_dispatch.store import open_store
from custom_dispatch.toolchain.library import Library, Object, Unit, check_form
from custom_dispatch.toolchain.object_sources import (
    FromFiles,
    FromSources,
    ObjectSource,
    find_in_directory,
    is_plain,
)
from custom_dispatch.toolchain.plan import (
    Plan,
    check_directory,
    check_include_dirs,
    check_jobs,
    check_kernels,
    check_one_form,
    check_targets,
    plan_units,
    warn_of_slow_targets,
)
from custom_dispatch.toolchain.produced import produced
from custom_dispatch.toolchain.stored_build import NotKeptError, StoredBuild
from custom_dispatch.toolchain.tuned import tuned

_START_SECONDS = 1.0
"""How long a thread may take to start before it is taken for one that never will."""


class BuildOptions(TypedDict, total=False):
    """The keywords of `build` that whoever builds on the way hands on."""

    compiler: str
    objects: Path | str | None
    include_dirs: Sequence[Path | str]
    image: str
    ptx_version: str | None
    fail_on_spill: bool
    jobs: int | None


def build(
    kernels: Declarations,
    targets: Sequence[str | Target] | None = None,
    *,
    compiler: str = "auto",
    objects: Path | str | None = None,
    include_dirs: Sequence[Path | str] = (),
    image: str = "ptx",
    ptx_version: str | None = None,
    fail_on_spill: bool = False,
    jobs: int | None = None,
    store: bool = True,
) -> Library:
    """Build kernels for targets, and check every object against its kernels' declarations.

    - `kernels`: one or several declared kernels, and choices of them. Kernels of one source with
      equal options are built together.
    - `targets`: "cuda:sm_80", "cuda:sm_90a", "cpu", "cpu:host", "cpu:aarch64", ...; or
      "cpu:checked" by itself, for which sources are compiled with line numbers. Left out,
      `cd.DEFAULT_TARGETS`: every GPU from Ampere on, Hopper with its own instructions, and the CPU.
    - `compiler`: "nvrtc", "nvcc", or "auto": NVRTC where installed, and nvcc for each source that
      NVRTC does not take, such as one with code for the host.
    - `objects`: a directory of objects built elsewhere, named NAME_sm_XX.ptx (.cubin, .fatbin)
      after the source, as this project's CMake function writes them. Nothing is compiled then.
    - `include_dirs`: directories searched for headers, after the source's own.
    - `image`: the form of objects: "ptx", which also runs on later GPUs; "cubin", machine code for
      each target, which loads without compilation and runs on no other; or "fatbin", both for every
      target in one object, from which the driver takes what fits. Prebuilt machine code stays as it
      is.
    - `ptx_version`: the PTX ISA version of the objects, "8.0", for drivers older than the compiler.
    - `fail_on_spill`: refuse a kernel that spills registers to memory on a target.
    - `jobs`: how many compilations run at once; one for each CPU when omitted.
    - `store`: whether to use the store: reuse what was compiled before, and keep what is new.

    Raises `DeclarationError`: kernels or targets are missing, or contradict each other.
    Raises `SourceError`: a source is missing or does not compile.
    Raises `PtxError`: an object does not assemble, or is not what the kernel's declaration says.
    Raises `ToolNotFoundError`: a compiler or ptxas is not installed.
    """
    wanted = check_targets(targets)
    declared, choices = check_kernels(_by_tables(kernels, wanted))
    if wanted[0].backend in GENERATED:
        raise DeclarationError(
            f"Kernel `{declared[0].name}` is given for the target {wanted[0]}.",
            expected="cuda:sm_XX or cpu: kernels are CUDA code, and functions alone become code "
            "for other GPUs",
            next_step="leave the kernel out, or declare what it computes as a cd.Function.",
        )
    warn_of_slow_targets(declared, wanted)
    workers = check_jobs(jobs)
    form = check_form(image, ptx_version)
    plans = plan_units(declared)
    stored = StoredBuild(open_store() if check_switch(store, "store") else None)
    check_switch(fail_on_spill, "fail_on_spill")
    directories = check_include_dirs(include_dirs)
    check_compiler_name(compiler)
    with_lines = any(target.checked for target in wanted)
    cpu = next((target for target in wanted if target.is_cpu), None)
    from_source = FromSources(stored, form, compiler, directories, with_lines)
    directory = None if objects is None else check_directory(objects)
    needed = [target for target in wanted if target.is_cuda]
    if form.image == "fatbin":
        check_one_form(declared, needed)
    work: list[_Work] = []

    def source_of(plan: Plan, elsewhere: Collection[Target] = ()) -> ObjectSource:
        # A kernel that has no source has objects of its own, and they are used in every case.
        if plan.source is None:
            found = dict(plan.kernels[0].objects)
        elif directory is not None:
            # The CPU takes nothing but PTX.
            preferred = form.image if cpu is None else "ptx"
            found = find_in_directory(directory, plan.object_names, preferred)
        else:
            return from_source
        files = {target: path for target, path in found.items() if target not in elsewhere}
        return FromFiles(stored, form, plan, files, None if plan.source is None else directory)

    for plan in plans:
        own = plan.for_target(None)
        source = source_of(own, plan.replaced)
        for target in needed:
            if target in plan.replaced:
                there = plan.for_target(target)
                work.append(_Work(plan, there, target, source_of(there)))
            else:
                work.append(_Work(plan, own, target, source))
        if cpu is not None and cpu.implemented in plan.replaced:
            there = plan.for_target(cpu)
            source = source_of(there)
            extra = source.cpu_target(())
            work += [_Work(plan, there, extra, source, for_cpu=True)] if extra is not None else []
        elif cpu is not None:
            extra = source.cpu_target([item for item in needed if item not in plan.replaced])
            work += [_Work(plan, own, extra, source, for_cpu=True)] if extra is not None else []
    made = list(zip(work, _build_all(work, workers, stored), strict=True))
    units = [
        _unit(plan, [(job, item) for job, item in made if job.unit is plan], with_cpu=bool(cpu))
        for plan in plans
    ]
    if form.image == "fatbin" and needed:
        units = [replace(unit, objects=(stored.join(unit.objects),)) for unit in units]
    read = next(iter(stored.read)) if len(stored.read) == len(made) == 1 else None
    library = Library(tuple(units), tuple(wanted), choices, read)
    if fail_on_spill:
        _refuse_spills(library)
    return library


def _by_tables(kernels: Declarations, targets: Sequence[Target]) -> Declarations:
    """What is given, with choices by what was measured, of the kernels that are then taken; and
    with the code of those that have a producer.
    """

    def one(item: Declared) -> Declared:
        if isinstance(item, Choice):
            return tuned(item, targets).taken_on(targets).with_kernels(code)
        return code(item) if isinstance(item, Kernel) else item

    def code(kernel: Kernel) -> Kernel:
        return produced(kernel, targets)

    if isinstance(kernels, Kernel | Choice):
        return one(kernels)
    given = several(kernels)
    return kernels if given is None else [*map(one, given)]


def _refuse_spills(library: Library) -> None:
    for report in library.report():
        resources = report.resources
        if resources.spills:
            threads = math.prod(report.block)
            raise PtxError(
                f"Kernel `{report.kernel}` spills registers for {report.target.symbol}: each "
                f"thread stores {resources.spill_stores_bytes} bytes and loads "
                f"{resources.spill_loads_bytes}, with {resources.registers} registers.",
                expected="no spills, as fail_on_spill asks for",
                next_step="keep fewer values alive at once, or give a thread more registers: "
                f"__launch_bounds__({threads}) in the source, or a smaller block.",
            )


def _build_all(work: Sequence[_Work], workers: int, stored: StoredBuild) -> list[Object]:
    built: dict[int, Object] = {}
    with stored.only_kept():
        for index, job in enumerate(work):
            with suppress(NotKeptError):
                built[index] = _build(job)
    if len(built) < len(work):
        rest = [index for index in range(len(work)) if index not in built]
        with stored.compiling():
            built |= zip(rest, _make_all([work[index] for index in rest], workers), strict=True)
    return [built[index] for index in range(len(work))]


def _make_all(work: Sequence[_Work], workers: int) -> list[Object]:
    """Every object, made by several threads at once.

    Ctrl-C is raised in the main thread alone, wherever that is. While it starts a thread, nobody
    would know that thread; so it starts one only, which starts the others.
    """
    made: Future[list[Object]] = Future()
    interrupted = threading.Event()

    def make(job: _Work) -> Object:
        if interrupted.is_set():
            raise CancelledError
        made = "PTX for the CPU" if job.for_cpu else f"object for {job.target}"
        say(f"{made} of {', '.join(kernel.name for kernel in job.plan.kernels)}")
        return _build(job)

    def make_all() -> None:
        try:
            with ThreadPoolExecutor(max_workers=workers) as pool:
                futures = [pool.submit(make, job) for job in work]
                try:
                    objects = [future.result() for future in futures]
                finally:
                    for future in futures:
                        future.cancel()  # after an error nobody wants the rest
            made.set_result(objects)
        except BaseException as error:  # noqa: BLE001 - it is raised again by whoever waits
            made.set_exception(error)

    maker = threading.Thread(target=make_all, daemon=True)
    try:
        maker.start()
        return result_of(made)
    except KeyboardInterrupt:
        interrupted.set()
        # Not `is_alive`, which says no while the thread starts. One that was never started has no
        # identity, and comes to nothing.
        patience = time.monotonic() + _START_SECONDS
        while not made.done() and (maker.ident is not None or time.monotonic() < patience):
            end_all()  # again and again: a thread may start its next program
            time.sleep(0.05)
        raise


@dataclass(frozen=True, slots=True)
class _Work:
    """One object to be built."""

    unit: Plan
    """What it belongs to."""
    plan: Plan
    """The same with the kernels as they are on the target."""
    target: Target
    source: ObjectSource
    for_cpu: bool = False
    """Whether only the CPU needs it: no CUDA target asks for it."""


def _build(work: _Work) -> Object:
    try:
        return work.source.build(work.plan, work.target, for_cpu=work.for_cpu)
    except SourceError as error:
        # Where an error says what was expected, the architecture is not what is wrong.
        if not work.for_cpu or not error.log or error.expected:
            raise
        raise SourceError(
            f"{error.found.rstrip('.')}, whose PTX the target cpu runs.",
            expected=f"code for {work.target.symbol}; where it needs a later architecture, a "
            "plain CUDA target besides cpu that has it, such as cuda:sm_90",
            next_step=error.next_step,
            log=error.log,
        ) from error


def _unit(plan: Plan, built: Sequence[tuple[_Work, Object]], *, with_cpu: bool) -> Unit:
    cpu_ptx = None
    if with_cpu:
        own = [item for job, item in built if job.for_cpu]
        own = own or [item for job, item in built if job.target not in plan.replaced]
        candidates = [item.ptx for item in own if is_plain(item.target) and item.ptx is not None]
        cpu_ptx = min(candidates, key=lambda item: item.target.cuda_arch)
    objects = [item for job, item in built if not job.for_cpu]
    objects.sort(key=lambda item: item.target.cuda_arch, reverse=True)
    return Unit(plan.name, plan.kernels, tuple(objects), cpu_ptx, _sources(plan, built))


def _sources(unit: Plan, built: Sequence[tuple[_Work, Object]]) -> tuple[ModuleSource, ...]:
    """What a unit was compiled from: for its own form, and for each target with another."""
    jobs: dict[Plan, list[_Work]] = {}
    for job, _ in built:
        jobs.setdefault(job.plan, []).append(job)
    found = []
    for plan, of_plan in jobs.items():
        source = of_plan[0].source.describe(plan)
        targets = tuple("cpu" if job.for_cpu else str(job.target) for job in of_plan)
        if source is not None:
            found.append(replace(source, targets=targets if unit.replaced else ()))
    return tuple(found)
