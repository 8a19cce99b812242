"""Where the objects of a plan come from: its source, which is compiled, or files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from custom_dispatch.errors import DeclarationError, SourceError
from custom_dispatch.files import read_bytes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch, Target, naming
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest
from custom_dispatch.toolchain.demangle import find_entries
from custom_dispatch.toolchain.entry_point import EntryPoint
from custom_dispatch.toolchain.form import Form
from custom_dispatch.toolchain.library import UnitSource
from custom_dispatch.toolchain.object import Object
from custom_dispatch.toolchain.plan import Plan
from custom_dispatch.toolchain.prebuilt import entry_names, is_ptx, read_object
from custom_dispatch.toolchain.question import make_visible
from custom_dispatch.toolchain.stored_build import StoredBuild
from custom_dispatch.toolchain.struct_fields import fields_of

CPU_PTX_ARCH = Arch(80)
"""The architecture whose PTX the CPU runs when no CUDA target is asked for: the oldest one whose
PTX has all of bf16 and asynchronous copies."""

_LINE_INFO = frozenset({"-lineinfo", "--generate-line-info"})


class ObjectSource(Protocol):
    """Where the objects of a plan come from."""

    def cpu_target(self, needed: Sequence[Target]) -> Target | None:
        """The target whose PTX the CPU is to run, where that is none of those needed anyway."""
        ...

    def build(self, plan: Plan, target: Target, *, for_cpu: bool) -> Object:
        """The object of a plan for a target, checked."""
        ...

    def describe(self, plan: Plan, /) -> UnitSource | None:
        """What a plan is compiled from, if it is."""
        ...


class FromSources:
    """Objects come from compiling each plan's source."""

    def __init__(
        self,
        stored: StoredBuild,
        form: Form,
        compiler: str,
        include_dirs: tuple[Path, ...],
        *,
        with_lines: bool,
    ) -> None:
        self._stored = stored
        self._form = replace(form, lowers=True)
        self._name = compiler
        self._with_lines = with_lines
        self._compiler: Compiler | None = None
        self._include_dirs = include_dirs

    def cpu_target(self, needed: Sequence[Target]) -> Target | None:
        """See `ObjectSource.cpu_target`."""
        return None if any(map(is_plain, needed)) else Target("cuda", CPU_PTX_ARCH)

    def build(self, plan: Plan, target: Target, *, for_cpu: bool) -> Object:
        """See `ObjectSource.build`."""
        kernel = plan.kernels[0]
        if kernel.source is None:  # pragma: no cover - such plans have another source
            raise TypeError(f"plan {plan.name} has no source")
        if self._compiler is None:
            self._compiler = find_compiler(self._name)
        compiled = self._stored.compile(
            self._compiler,
            CompileRequest(
                kernel.source,
                target.cuda_arch,
                self._options(kernel),
                (*kernel.include_dirs, *self._include_dirs),
                tuple(kernel.entry for kernel in plan.kernels),
                fields_of(plan.kernels),
            ),
        )
        _check_distinct(plan, compiled.entries)
        item = Object(
            name=plan.name,
            target=target,
            kind="ptx",
            data=compiled.ptx,
            origin=compiled.compiler,
            log=compiled.log,
            entries=compiled.entries,
        )
        return self._stored.validate(
            item, plan.kernels, kernel.source.name, for_cpu=for_cpu, form=self._form
        )

    def describe(self, plan: Plan, /) -> UnitSource | None:
        """See `ObjectSource.describe`."""
        kernel = plan.kernels[0]
        if kernel.source is None:  # pragma: no cover - as above
            return None
        content = read_bytes(kernel.source, "The CUDA source", SourceError)
        return UnitSource(kernel.source.name, sha256(content).hexdigest(), self._options(kernel))

    def _options(self, kernel: Kernel) -> tuple[str, ...]:
        if self._with_lines and not _LINE_INFO.intersection(kernel.options):
            return (*kernel.options, "-lineinfo")
        return kernel.options


class FromFiles:
    """Objects come from files: those that a kernel declares, or those of a directory."""

    def __init__(
        self,
        stored: StoredBuild,
        form: Form,
        plan: Plan,
        files: dict[Target, Path],
        directory: Path | None,
    ) -> None:
        self._stored = stored
        self._form = form
        self._plan = plan
        self._files = files
        self._directory = directory

    def cpu_target(self, needed: Sequence[Target]) -> Target | None:
        """See `ObjectSource.cpu_target`."""
        plain = sorted(filter(is_plain, self._files), key=_arch)
        ptx = [target for target in plain if is_ptx(self._files[target])]
        if any(target in needed for target in ptx):
            return None
        if ptx:
            return ptx[0]
        raise DeclarationError(
            f"{self._there_is_no('PTX')} for the target cpu.",
            expected=f"PTX of a plain architecture, {self._wanted('sm_80')}: the CPU runs a "
            "kernel's PTX",
            next_step=f"add it{self._or_name(self._files)}.",
        )

    def _or_name(self, targets: Iterable[Target | str]) -> str:
        """The other way out: to name the targets that there is an object for."""
        return f", or name the targets that there are: {naming(targets)}" if self._files else ""

    def build(self, plan: Plan, target: Target, *, for_cpu: bool) -> Object:
        """See `ObjectSource.build`."""
        path = self._files.get(target)
        if path is None:
            has_ptx = any(is_plain(each) and is_ptx(self._files[each]) for each in self._files)
            there_are: list[Target | str] = [*self._files, *(["cpu"] if has_ptx else [])]
            there = ", ".join(f"{path.name} for {given}" for given, path in self._files.items())
            raise DeclarationError(
                f"{self._there_is_no('object')} for target {target}.",
                expected=f"{self._wanted(target.symbol)}; there is {there or 'none of this name'}",
                next_step=f"add that object{self._or_name(there_are)}.",
            )
        item = read_object(plan.name, target, path)
        names = [kernel.entry for kernel in plan.kernels]
        entries = find_entries(names, entry_names(item), item.entries)
        data = make_visible(item.data, entries) if item.kind == "ptx" else item.data
        item = replace(item, data=data, entries=entries)
        return self._stored.validate(
            item, plan.kernels, path.name, for_cpu=for_cpu, form=self._form
        )

    def describe(self, _: Plan, /) -> UnitSource | None:
        """See `ObjectSource.describe`."""
        return None

    def _there_is_no(self, what: str) -> str:
        kernel = f"Kernel `{self._plan.kernels[0].name}`"
        if self._directory is None:
            return f"{kernel} declares no {what}"
        return f"{kernel}: `{self._directory}` holds no {what} of `{self._plan.object_names[0]}`"

    def _wanted(self, arch: str) -> str:
        if self._directory is None:
            return f'objects={{"cuda:{arch}": ...}}'
        return f"`{self._plan.object_names[0]}_{arch}.ptx`"


def _check_distinct(plan: Plan, entries: Sequence[EntryPoint]) -> None:
    """Refuse two spellings of one function: an executable exports it once."""
    names: dict[str, str] = {}
    for entry in entries:
        other = names.setdefault(entry.symbol, entry.name)
        if other != entry.name:
            first, second = (
                next(kernel.name for kernel in plan.kernels if kernel.entry == name)
                for name in (other, entry.name)
            )
            raise DeclarationError(
                f"Kernels `{first}` and `{second}` name one function: `{other}` is `{entry.name}`.",
                expected="one spelling of a function's name",
                next_step="write the same entry= for both.",
            )


def is_plain(target: Target) -> bool:
    """Whether the target's PTX is plain: `a` and `f` code uses instructions of single chips."""
    return target.arch is not None and not target.arch.suffix


def _arch(target: Target) -> Arch:
    return target.cuda_arch
