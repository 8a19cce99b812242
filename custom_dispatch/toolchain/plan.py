"""What a build is asked for, checked, and divided into units that are built together."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from custom_dispatch.errors import DeclarationError, TargetWarning
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declarations, Names, is_same_code, kernels_of
from custom_dispatch.kernel.function import Function
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import (
    MAX_NAME_LENGTH,
    as_integer,
    as_path,
    is_list,
    listed,
    several,
    shown,
)
from custom_dispatch.kernel.target import DEFAULT_TARGETS, GENERATED, Target, naming


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Kernels that are to be built together, and under which name."""

    name: str
    """Letters, digits and `_`: names objects, their files and the executable."""
    object_names: tuple[str, ...]
    """What files of objects built elsewhere are named after, the preferred name first."""
    kernels: tuple[Kernel, ...]

    @property
    def source(self) -> Path | None:
        """The `.cu` file, or None where the kernels declare objects."""
        return self.kernels[0].source

    @property
    def replaced(self) -> frozenset[Target]:
        """The targets on which the kernels have implementations of their own: the same for all."""
        return frozenset(target for target, _ in self.kernels[0].variants)

    def for_target(self, target: Target | None) -> Plan:
        """What is built for a target: each kernel as it is there, as `Kernel.for_target`."""
        forms = tuple(kernel.for_target(target) for kernel in self.kernels)
        names = self.object_names
        source = forms[0].source
        if target is not None and not target.is_cuda and target.implemented in self.replaced:
            # Its PTX is for an architecture, too, and must not be taken for that of a GPU.
            name = f"{self.name}_{target.implemented.symbol}"
            stem = () if source is None or source == self.source else (source.stem,)
            return Plan(name, (name, *stem), forms)
        if source is not None and source != self.source:
            # Files are named after the source; what `Library.write` wrote, after the unit.
            names = tuple(dict.fromkeys((_identifier(source.stem), source.stem, *names)))
        return replace(self, kernels=forms, object_names=names)


def plan_units(kernels: Sequence[Kernel]) -> list[Plan]:
    """Kernels of one source with equal options share objects, unless they name the same entry;
    so it must be on every target with other implementations.
    """
    groups: dict[tuple[object, ...], list[list[Kernel]]] = {}
    for kernel in kernels:
        bins = groups.setdefault(
            (_origin(kernel), *((target, _origin(form)) for target, form in kernel.variants)), [[]]
        )
        for members in bins:
            # Those of one unit have a function each, on every target.
            pairs = (
                pair for each in members for pair in zip(each.forms, kernel.forms, strict=True)
            )
            if not any(one.entry == other.entry for one, other in pairs):
                members.append(kernel)
                break
        else:
            bins.append([kernel])
    units = [tuple(each) for bins in groups.values() for each in bins]
    stems = [_stem(members) for members in units]
    bases = [_identifier(stem) for stem in stems]
    plans: list[Plan] = []
    taken: set[str] = set()
    for unit, stem, base in zip(units, stems, bases, strict=True):
        shared = bases.count(base) > 1
        if shared:
            # Named after a kernel too, whatever the order: a number would lead a later build with
            # `objects=` to the objects of another source.
            base = f"{base}_{min(kernel.name for kernel in unit)}"[:MAX_NAME_LENGTH]
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        plans.append(Plan(name, (name,) if shared or stem == name else (name, stem), unit))
    return plans


def _origin(kernel: Kernel) -> tuple[object, ...]:
    """What a form of a kernel is built from."""
    return (kernel.source, kernel.objects, kernel.include_dirs, kernel.options)


def _identifier(stem: str) -> str:
    return re.sub(r"\W", "_", stem, flags=re.ASCII)[:MAX_NAME_LENGTH]


def _stem(members: Sequence[Kernel]) -> str:
    source = members[0].source
    # Path(".cu") has that as its stem, as hidden files do.
    return (source.stem if source is not None else members[0].name) or "kernels"


def check_kernels(
    kernels: Declarations,
) -> tuple[list[Kernel], tuple[Choice, ...]]:
    """The kernels, those of choices among them, each once; and the choices."""
    items = check_callees(kernels)
    if not items:
        raise DeclarationError(
            "No kernel is given.",
            expected="at least one cd.Kernel",
            next_step="pass the declared kernels: kernels=[simple_mul].",
        )
    choices = tuple(item for item in items if isinstance(item, Choice))
    by_name = {kernel.name: kernel for item in items for kernel in kernels_of(item)}
    return list(by_name.values()), choices


def check_callees(kernels: Any) -> list[Kernel | Choice]:
    """The kernels and choices that are given, each once; of functions, the kernels of them."""
    given = [kernels] if isinstance(kernels, Kernel | Choice | Function) else several(kernels)
    if given is None:
        raise no_kernel(kernels)
    found = [item.kernel() if isinstance(item, Function) else item for item in given]
    for item in found:
        if not isinstance(item, Kernel | Choice):
            raise no_kernel(item)
    return Names(found).items


def no_kernel(value: object) -> DeclarationError:
    """The error for what is given as a kernel and is none."""
    return DeclarationError(
        f"{shown(value)} is not a kernel.",
        expected="cd.Kernel objects",
        next_step="pass the declared kernels: kernels=[simple_mul].",
    )


_NAME_TARGETS = f"leave targets out for {', '.join(DEFAULT_TARGETS)}, or name some of these."


def check_targets(targets: str | Target | Iterable[str | Target] | None) -> list[Target]:
    """The targets, each once: the CUDA targets, best first, and then the CPU.

    None stands for `DEFAULT_TARGETS`.
    """
    if targets is None:
        targets = DEFAULT_TARGETS
    given = [targets] if isinstance(targets, str | Target) else several(targets)
    if given is None:
        raise DeclarationError(
            f"targets is given as {shown(targets)}.",
            expected="a list of texts such as 'cuda:sm_90' and 'cpu'",
            next_step=_NAME_TARGETS,
        )
    found = list(dict.fromkeys(Target.parse(target) for target in given))
    if not found:
        raise DeclarationError(
            "No target is given.",
            expected="at least one of cuda:sm_XX and cpu",
            next_step=_NAME_TARGETS,
        )
    cpus = [target for target in found if target.is_cpu]
    if len(cpus) > 1:
        raise DeclarationError(
            f"{len(cpus)} CPU targets are given: {', '.join(map(str, cpus))}.",
            expected="one: a file holds code for one kind of CPU",
            next_step="keep the least capable of them, or compile one file a CPU.",
        )
    if len(found) > 1 and cpus and cpus[0].checked:
        raise DeclarationError(
            f"The target cpu:checked is given with others: {', '.join(map(str, found))}.",
            expected="cpu:checked by itself: what it compiles is for finding mistakes, not for use",
            next_step="compile a file of its own for cpu:checked.",
        )
    cuda = [target for target in found if target.is_cuda]
    others = [target for target in found if target.backend in GENERATED]
    if others and len(found) > 1:
        raise DeclarationError(
            f"The target {others[0]} is given with others: {', '.join(map(str, found))}.",
            expected="it by itself",
            next_step="compile a file of its own for it.",
        )
    return sorted(cuda, key=lambda target: target.cuda_arch, reverse=True) + cpus + others


def code_left_out(
    kernels: Sequence[Kernel], targets: Sequence[Target]
) -> dict[Target, tuple[str, ...]]:
    """The kernels with code of their own for a GPU that runs code for an earlier one instead.

    By the CUDA targets that are not among those given, the best first.
    """
    found: dict[Target, list[str]] = {}
    for kernel in kernels:
        for target, form in kernel.variants:
            if not target.is_cuda or target in targets:
                continue
            capability = target.cuda_arch.compute_capability
            cuda = (item for item in targets if item.is_cuda)
            taken = next((item for item in cuda if item.cuda_arch.runs_on(capability)), None)
            if taken is None or taken.cuda_arch > target.cuda_arch:
                continue
            if not is_same_code(kernel.for_target(taken), form):
                found.setdefault(target, []).append(kernel.name)
    best = sorted(found, key=lambda target: target.cuda_arch, reverse=True)
    return {target: tuple(found[target]) for target in best}


def warn_of_slow_targets(kernels: Sequence[Kernel], targets: Sequence[Target]) -> None:
    """Say where a GPU is asked for by a name that leaves out code which kernels have for it."""
    for target, names in code_left_out(kernels, targets).items():
        capability = target.cuda_arch.compute_capability
        same = [t for t in targets if t.arch and t.arch.compute_capability == capability]
        if same:
            warnings.warn(
                f"{listed(names)} {'has' if len(names) == 1 else 'have'} code of "
                f"{'its' if len(names) == 1 else 'their'} own for {target}, which {same[0]} leaves "
                f"out: on such a GPU slower code runs ({_MEASURED}). Name {target} as well, or "
                "leave targets out.",
                TargetWarning,
                stacklevel=3,
            )


_MEASURED = (
    "the 16-bit matrix products that ship run at 0.49 to 0.64 of their speed without their code "
    "for sm_90a, from 512 rows on, on an H200"
)
"""By benchmarks/results/gemm_sm80_h200.json and gemm_h200.json; a test computes it from these."""


def check_directory(objects: Path | str) -> Path:
    """The directory of objects built elsewhere."""
    if isinstance(objects, str | os.PathLike) and objects != "":
        return as_path(objects, "objects", DeclarationError)
    raise DeclarationError(
        f"objects is given as {shown(objects)}.",
        expected="a directory of NAME_sm_XX.ptx files",
        next_step="name the directory; single files belong to a kernel's own objects=.",
    )


def check_include_dirs(directories: Sequence[Path | str]) -> tuple[Path, ...]:
    """The directories that are searched for headers."""
    if is_list(directories):
        return tuple(
            as_path(item, "An include directory", DeclarationError) for item in directories
        )
    raise DeclarationError(
        f"include_dirs is given as {shown(directories)}.",
        expected="a list of directories",
        next_step='put the directory into a list: include_dirs=["include"].',
    )


def check_one_form(kernels: Sequence[Kernel], targets: Sequence[Target]) -> None:
    """Require kernels that are the same on all targets: a fatbin is one object, with one launch."""
    for kernel in kernels:
        target = next((item for item in targets if kernel.for_target(item) is not kernel.own), None)
        if target is not None and len(targets) > 1:
            raise DeclarationError(
                f"Kernel `{kernel.name}` has an implementation for {target}, and a fatbin is one "
                "object for all targets.",
                expected='image="ptx" or "cubin", and form="executable": a variant for each target',
                next_step="leave image and form out, or name targets without it: "
                f"{naming(each for each in targets if each != target)}.",
            )


def check_jobs(jobs: int | None) -> int:
    """How many compilations run at once: as many as this process has CPUs, if not said."""
    if jobs is None:
        return len(os.sched_getaffinity(0))
    number = as_integer(jobs)
    if number is None or number < 1:
        raise DeclarationError(
            f"jobs is given as {shown(jobs)}.",
            expected="a number of compilations, at least 1",
            next_step="correct it, or leave it out for one for each CPU.",
        )
    return min(number, 1024)
