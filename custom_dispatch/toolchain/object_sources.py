"""Where the objects of a plan come from: its source, which is compiled, or files."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from custom_dispatch.errors import DeclarationError, PtxError, SourceError
from custom_dispatch.files import exists, is_directory, read_bytes
from custom_dispatch.format.manifest import ModuleSource
from custom_dispatch.kernel.geometry import Block
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch, Target, naming
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest, make_visible
from custom_dispatch.toolchain.descriptor import fields_of
from custom_dispatch.toolchain.entry_point import EntryPoint, find_entries, read_notes, split_notes
from custom_dispatch.toolchain.images import describe_image, read_cubin
from custom_dispatch.toolchain.library import Form, Object
from custom_dispatch.toolchain.plan import Plan
from custom_dispatch.toolchain.stored_build import StoredBuild

SUFFIXES = (".ptx", ".cubin", ".fatbin")
"""In order of preference: PTX also runs on later GPUs."""


def read_object(name: str, target: Target, path: Path) -> Object:
    """Read an object file, and see by its bytes what it is; its entries are those of remarks."""
    data = read_bytes(path, "The object", PtxError)
    notes = data
    try:
        image = describe_image(data)
    except PtxError as error:
        raise error.saying(f"`{path}`: {error.found}") from error
    if image.kind == "ptx":
        data = data.rstrip(b"\0")  # nvcc and NVRTC may leave C's terminator in the file
    else:
        data, notes = split_notes(data)
    entries = read_notes(notes)
    return Object(name, target, image.kind, data, str(path), entries=entries)


def is_ptx(path: Path) -> bool:
    """Whether an object file is PTX, by its bytes."""
    return read_object("object", _ANY_TARGET, path).kind == "ptx"


def entry_names(item: Object) -> tuple[str, ...]:
    """The entries of an object; none of a fatbin, whose parts may be compressed."""
    if item.kind == "ptx":
        found = _ENTRY.findall(item.data.decode("utf-8", "replace"))
        return tuple(dict.fromkeys(found))
    return tuple(read_cubin(item.data)) if item.kind == "cubin" else ()


def stated_block(item: Object, entry: str) -> Block | None:
    """The block that an entry of an object is compiled for, where its code states one."""
    if item.kind != "ptx":
        return read_cubin(item.data)[entry].required_threads if item.kind == "cubin" else None
    return block_in(item.data.decode("utf-8", "replace"), entry)


def block_in(text: str, entry: str) -> Block | None:
    """The same of PTX."""
    head = rf"\.entry\s+{re.escape(entry)}\s*\([^)]*\)[^{{]*\.reqntid\s+([\d\s,]+)"
    found = re.search(head, text)
    sizes = [*map(int, found[1].split(",")), 1, 1] if found else []
    return (sizes[0], sizes[1], sizes[2]) if found else None


_ENTRY = re.compile(r"\.entry\s+([\w$%]+)", re.ASCII)
_ANY_TARGET = Target("cuda", Arch(80))


def find_in_directory(
    directory: Path, names: Sequence[str], image: str = "ptx"
) -> dict[Target, Path]:
    """Look a source's objects up by their names, NAME_sm_XX.ptx; a fatbin serves all that it holds.

    - `names`: the names that the objects may have; the first is preferred.
    - `image`: the kind that is preferred where there are several of one name.
    """
    if not is_directory(directory):
        raise DeclarationError(
            f"The objects' directory `{directory}` "
            f"{'is a file' if exists(directory) else 'does not exist'}.",
            expected="a directory of NAME_sm_XX.ptx files",
            next_step="build them first: cmake --build build --target ptx, or custom-dispatch "
            "build --out DIR.",
        )
    found: dict[Target, Path] = {}
    for name in reversed(names):
        for suffix in (*reversed(SUFFIXES), f".{image}"):
            for path in sorted(directory.glob(f"*{suffix}")):
                stem, separator, arch = path.stem.rpartition("_sm_")
                if not separator or stem != name:
                    continue
                try:
                    found[Target("cuda", Arch.parse(f"sm_{arch}"))] = path
                except DeclarationError:
                    continue  # another file that happens to be named so
    for path in [path for path in found.values() if path.suffix == ".fatbin"]:
        with suppress(PtxError):  # one that is damaged is refused when it is read
            for held in describe_image(read_bytes(path, "The object", PtxError)).archs:
                found.setdefault(Target("cuda", held), path)
    return found


CPU_PTX_ARCH = Arch(80)
"""The architecture whose PTX the CPU runs when no CUDA target is asked for: the oldest one whose
PTX has all of bf16 and asynchronous copies."""

_LINE_INFO = frozenset({"-lineinfo", "--generate-line-info"})


@dataclass(eq=False)
class FromSources:
    """Objects come from compiling each plan's source."""

    stored: StoredBuild
    form: Form
    compiler_name: str
    include_dirs: tuple[Path, ...]
    with_lines: bool
    _compiler: Compiler | None = None

    def cpu_target(self, needed: Sequence[Target]) -> Target | None:
        """The target whose PTX the CPU is to run, where that is none of those needed anyway."""
        return None if any(map(is_plain, needed)) else Target("cuda", CPU_PTX_ARCH)

    def build(self, plan: Plan, target: Target, *, for_cpu: bool) -> Object:
        """The object of a plan for a target, checked."""
        kernel = plan.kernels[0]
        if kernel.source is None:  # pragma: no cover - such plans have another source
            raise TypeError(f"plan {plan.name} has no source")
        if self._compiler is None:
            self._compiler = find_compiler(self.compiler_name)
        compiled = self.stored.compile(
            self._compiler,
            CompileRequest(
                kernel.source,
                target.cuda_arch,
                self._options(kernel),
                (*kernel.include_dirs, *self.include_dirs),
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
        return self.stored.validate(
            item, plan.kernels, kernel.source.name, for_cpu=for_cpu, form=self.form
        )

    def describe(self, plan: Plan, /) -> ModuleSource | None:
        """What a plan is compiled from."""
        kernel = plan.kernels[0]
        if kernel.source is None:  # pragma: no cover - as above
            return None
        content = read_bytes(kernel.source, "The CUDA source", SourceError)
        digest = sha256(content).hexdigest()
        return ModuleSource(kernel.source.name, digest, self._options(kernel), ())

    def _options(self, kernel: Kernel) -> tuple[str, ...]:
        if self.with_lines and not _LINE_INFO.intersection(kernel.options):
            return (*kernel.options, "-lineinfo")
        return kernel.options


@dataclass(frozen=True, eq=False)
class FromFiles:
    """Objects come from files: those that a kernel declares, or those of a directory."""

    stored: StoredBuild
    form: Form
    plan: Plan
    files: dict[Target, Path]
    directory: Path | None

    def cpu_target(self, needed: Sequence[Target]) -> Target | None:
        """As `FromSources.cpu_target`."""
        plain = sorted(filter(is_plain, self.files), key=lambda each: each.cuda_arch)
        ptx = [target for target in plain if is_ptx(self.files[target])]
        if any(target in needed for target in ptx):
            return None
        if ptx:
            return ptx[0]
        raise DeclarationError(
            f"{self._there_is_no('PTX')} for the target cpu.",
            expected=f"PTX of a plain architecture, {self._wanted('sm_80')}: the CPU runs a "
            "kernel's PTX",
            next_step=f"add it{self._or_name(self.files)}.",
        )

    def _or_name(self, targets: Iterable[Target | str]) -> str:
        """The other way out: to name the targets that there is an object for."""
        return f", or name the targets that there are: {naming(targets)}" if self.files else ""

    def build(self, plan: Plan, target: Target, *, for_cpu: bool) -> Object:
        """As `FromSources.build`."""
        path = self.files.get(target)
        if path is None:
            has_ptx = any(is_plain(each) and is_ptx(self.files[each]) for each in self.files)
            there_are: list[Target | str] = [*self.files, *(["cpu"] if has_ptx else [])]
            there = ", ".join(f"{path.name} for {given}" for given, path in self.files.items())
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
        form = replace(self.form, is_foreign=True)
        return self.stored.validate(item, plan.kernels, path.name, for_cpu=for_cpu, form=form)

    def describe(self, _: Plan, /) -> ModuleSource | None:
        """Nothing: as `FromSources.describe`."""
        return None

    def _there_is_no(self, what: str) -> str:
        kernel = f"Kernel `{self.plan.kernels[0].name}`"
        if self.directory is None:
            return f"{kernel} declares no {what}"
        return f"{kernel}: `{self.directory}` holds no {what} of `{self.plan.object_names[0]}`"

    def _wanted(self, arch: str) -> str:
        if self.directory is None:
            return f'objects={{"cuda:{arch}": ...}}'
        return f"`{self.plan.object_names[0]}_{arch}.ptx`"


ObjectSource: TypeAlias = FromSources | FromFiles
"""Where the objects of a plan come from."""


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
