"""Building kernels: sources and targets in, checked objects out. Needs no GPU and no driver."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.process import end_all
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest, find_compiler
from custom_dispatch.toolchain.library import Library, Unit
from custom_dispatch.toolchain.object import Object
from custom_dispatch.toolchain.prebuilt import find_in_directory, read_object
from custom_dispatch.toolchain.validate import validate

CPU_PTX_ARCH = Arch(80)
"""The architecture whose PTX the CPU runs when no CUDA target is asked for: the oldest one whose
PTX has all of bf16 and asynchronous copies."""


def build(
    kernels: Kernel | Iterable[Kernel],
    targets: Sequence[str | Target],
    *,
    compiler: str = "auto",
    objects: Path | str | None = None,
    include_dirs: Sequence[Path | str] = (),
    jobs: int | None = None,
) -> Library:
    """Build kernels for targets, and check every object against its kernels' declarations.

    Parameters
    ----------
    kernels
        One or several declared kernels. Those of one source with equal options are built together.
    targets
        "cuda:sm_80", "cuda:sm_90a", "cpu", "cpu:host", ...
    compiler
        "nvrtc", "nvcc", or "auto": NVRTC where installed.
    objects
        A directory of objects built elsewhere, named NAME_sm_XX.ptx (.cubin, .fatbin) after the
        source, as this project's CMake function writes them. Nothing is compiled then.
    include_dirs
        Directories searched for headers, after the source's own.
    jobs
        How many compilations run at once; one a CPU when omitted.

    Raises
    ------
    DeclarationError
        No kernels or targets, or some that contradict each other.
    SourceError
        A source is missing or does not compile.
    PtxError
        An object does not assemble, or is not what the kernel's declaration says.
    ToolNotFoundError
        A compiler or ptxas is not installed.
    """
    declared = _check_kernels(kernels)
    wanted = _check_targets(targets)
    plans = _group(declared)
    needed = [target for target in wanted if target.is_cuda]
    source = _Prebuilt(Path(objects)) if objects is not None else _Sources(compiler, include_dirs)
    work: list[tuple[_Plan, Target]] = []
    for plan in plans:
        work += [(plan, target) for target in needed]
        if len(needed) < len(wanted) and not any(_plain_ptx(t) for t in needed):
            work.append((plan, source.cpu_target(plan)))
    built = _build_all(source, work, jobs or os.cpu_count() or 1)
    units = []
    for plan in plans:
        mine = [item for (owner, _), item in zip(work, built, strict=True) if owner is plan]
        units.append(_unit(plan, mine, wanted))
    return Library(tuple(units), tuple(wanted))


def _build_all(
    source: _Sources | _Prebuilt, work: list[tuple[_Plan, Target]], jobs: int
) -> list[Object]:
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(source.build, plan, target) for plan, target in work]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            while wait(futures, timeout=0.05).not_done:  # one may start its next program
                end_all()
            raise
        finally:
            for future in futures:
                future.cancel()  # after an error nobody wants the rest


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """Kernels that are to be built together, and under which name."""

    name: str
    stem: str
    kernels: tuple[Kernel, ...]


class _Sources:
    """Objects come from compiling each plan's source."""

    def __init__(self, compiler: str, include_dirs: Sequence[Path | str]) -> None:
        self._name = compiler
        self._compiler: Compiler | None = None
        self._include_dirs = tuple(Path(directory) for directory in include_dirs)

    def cpu_target(self, plan: _Plan) -> Target:
        given = [target for target, _ in plan.kernels[0].objects if _plain_ptx(target)]
        return min(given, key=_arch) if given else Target("cuda", CPU_PTX_ARCH)

    def build(self, plan: _Plan, target: Target) -> Object:
        kernel = plan.kernels[0]
        if kernel.source is None:
            return _declared_object(plan, target)
        if self._compiler is None:
            self._compiler = find_compiler(self._name)
        compiled = self._compiler.compile(
            CompileRequest(kernel.source, target.cuda_arch, kernel.options, self._include_dirs)
        )
        item = Object(
            name=plan.name,
            target=target,
            kind="ptx",
            data=compiled.ptx,
            origin=compiled.compiler,
            log=compiled.log,
        )
        return validate(item, plan.kernels, kernel.source.name)


class _Prebuilt:
    """Objects come from a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def cpu_target(self, plan: _Plan) -> Target:
        return find_in_directory(self._directory, plan.stem).lowest_ptx()

    def build(self, plan: _Plan, target: Target) -> Object:
        path = find_in_directory(self._directory, plan.stem).path(target)
        return validate(read_object(plan.name, target, path), plan.kernels, path.name)


def _declared_object(plan: _Plan, target: Target) -> Object:
    kernel = plan.kernels[0]
    for given, path in kernel.objects:
        if given == target:
            return validate(read_object(plan.name, target, path), plan.kernels, path.name)
    names = ", ".join(str(given) for given, _ in kernel.objects)
    raise DeclarationError(
        f"Kernel `{kernel.name}` declares no object for target {target}.",
        expected=f"one of the targets it has objects for: {names}",
        next_step=f'add objects={{"{target}": ...}}, or drop the target.',
    )


def _unit(plan: _Plan, built: Sequence[Object], wanted: Sequence[Target]) -> Unit:
    mine = [item for item in built if item.target in wanted]
    cpu_ptx = None
    if any(not target.is_cuda for target in wanted):
        candidates = [item for item in built if _plain_ptx(item.target) and item.kind == "ptx"]
        if not candidates:
            raise DeclarationError(
                f"Kernel `{plan.kernels[0].name}`: target cpu is asked for, but there is no PTX "
                "of a plain architecture to run on it.",
                expected="a .ptx object, such as one for cuda:sm_80: the CPU runs a kernel's PTX",
                next_step="add such an object, or drop the target cpu.",
            )
        cpu_ptx = min(candidates, key=lambda item: _arch(item.target))
    mine.sort(key=lambda item: _arch(item.target), reverse=True)
    return Unit(plan.name, plan.kernels, tuple(mine), cpu_ptx)


def _plain_ptx(target: Target) -> bool:
    """Whether the target's PTX is plain: `a` and `f` code uses instructions of single chips."""
    return target.arch is not None and not target.arch.suffix


def _arch(target: Target) -> Arch:
    return target.cuda_arch


def _check_kernels(kernels: Kernel | Iterable[Kernel]) -> list[Kernel]:
    found = [kernels] if isinstance(kernels, Kernel) else list(kernels)
    for item in found:
        if not isinstance(item, Kernel):
            raise DeclarationError(
                f"{item!r} is not a kernel.",
                expected="cd.Kernel objects",
                next_step="pass the declared kernels: kernels=[simple_mul].",
            )
    if not found:
        raise DeclarationError(
            "No kernel is given.",
            expected="at least one cd.Kernel",
            next_step="pass the declared kernels: kernels=[simple_mul].",
        )
    unique = list(dict.fromkeys(found))
    names = [kernel.name for kernel in unique]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(
                f"{names.count(name)} different kernels are named `{name}`.",
                expected="a name for each: a model calls a kernel by its name",
                next_step="rename all but one; entry= keeps the __global__ function's name.",
            )
    return unique


def _check_targets(targets: Sequence[str | Target]) -> list[Target]:
    if isinstance(targets, str):
        targets = [targets]
    found = list(dict.fromkeys(Target.parse(target) for target in targets))
    if not found:
        raise DeclarationError(
            "No target is given.",
            expected="at least one of cuda:sm_XX and cpu",
            next_step='give targets=["cuda:sm_80", "cuda:sm_90", "cpu"].',
        )
    cpus = [target for target in found if not target.is_cuda]
    if len(cpus) > 1:
        raise DeclarationError(
            f"{len(cpus)} CPU targets are given: {', '.join(map(str, cpus))}.",
            expected="one: a file holds code for one kind of CPU",
            next_step="keep the least capable of them, or compile one file a CPU.",
        )
    cuda = sorted((target for target in found if target.is_cuda), key=_arch, reverse=True)
    return cuda + cpus


def _group(kernels: Sequence[Kernel]) -> list[_Plan]:
    """Kernels of one source with equal options share objects, unless they name the same entry."""
    groups: dict[tuple[object, ...], list[list[Kernel]]] = {}
    for kernel in kernels:
        bins = groups.setdefault((kernel.source, kernel.objects, kernel.options), [[]])
        for members in bins:
            if all(member.entry != kernel.entry for member in members):
                members.append(kernel)
                break
        else:
            bins.append([kernel])
    plans: list[_Plan] = []
    taken: set[str] = set()
    for members in (members for bins in groups.values() for members in bins):
        first = members[0]
        stem = first.source.stem if first.source is not None else first.name
        base = re.sub(r"\W", "_", stem, flags=re.ASCII) or "kernels"
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        plans.append(_Plan(name, stem, tuple(members)))
    return plans
