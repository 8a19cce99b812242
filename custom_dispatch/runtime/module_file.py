"""Reading a `.vmfb`, before any device is involved.

IREE stores `sync func @f(%input0: tensor<?xf32>, %input1: i32) -> (%output0: tensor<?xf32>)` under
`iree.abi.declaration` in a function's reflection (IREE, compiler/src/iree/compiler/Bindings/
Native/Transforms/WrapEntryPoints.cpp).
"""

from __future__ import annotations

import functools
import io
import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from iree import runtime as rt

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import ModuleFileError, sentence
from custom_dispatch.files import read_bytes
from custom_dispatch.format import keys
from custom_dispatch.format.manifest import Manifest, parse_manifest, why_no_manifest
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.kernel.names import as_path
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.archive import ModulePart, parts_of
from custom_dispatch.runtime.weight_files import NeededParameters, needed_parameters

_FUNCTION = r"sync func @[^(]*\((?P<inputs>.*)\) -> \((?P<outputs>.*)\)"
_VALUE = re.compile(r"%[\w$.-]+:\s*([^%]+?)\s*(?:\{[^}]*\})?\s*(?:,\s*(?=%)|$)")
_TENSOR = r"tensor<((?:(?:\?|\d+)x)*)(\w+)>"

# A model's integers are signless: an array of either signedness fits.
_BY_MLIR = {kind.mlir: kind for kind in reversed(ELEMENT_TYPES.values())}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an argument or result."""

    dtype: ElementType
    sizes: tuple[int | None, ...] | None
    """A tensor's sizes, None for one that is known when called; no tuple at all for a scalar."""

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this type may have a shape."""
        sizes = self.sizes or ()
        return len(sizes) == len(shape) and all(
            size is None or size == actual for size, actual in zip(sizes, shape, strict=True)
        )

    def __str__(self) -> str:
        if self.sizes is None:
            return self.dtype.mlir
        sizes = "".join(f"{'?' if size is None else size}x" for size in self.sizes)
        return f"tensor<{sizes}{self.dtype.mlir}>"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The types of a function's arguments and results."""

    inputs: tuple[ValueType, ...]
    outputs: tuple[ValueType, ...]

    def with_results(self, names: str) -> FunctionType:
        """The same with the results' element types as a front end says them, with commas.

        What is no element type, or one of another kind than the declaration's, is passed over.
        """
        said = [ELEMENT_TYPES.get(name) for name in names.split(",")]
        if len(said) != len(self.outputs):
            return self
        outputs = (
            replace(value, dtype=kind) if kind and kind.mlir == value.dtype.mlir else value
            for value, kind in zip(self.outputs, said, strict=True)
        )
        return replace(self, outputs=tuple(outputs))

    def __str__(self) -> str:
        inputs, outputs = (", ".join(map(str, kinds)) for kinds in (self.inputs, self.outputs))
        return f"({inputs}) -> ({outputs})"


def parse_declaration(text: str) -> FunctionType | None:
    """Read a declaration; None where it has something else than tensors and numbers."""
    match = re.fullmatch(_FUNCTION, text.strip(), re.DOTALL)
    if match is None:
        return None
    inputs = _parse_values(match["inputs"])
    outputs = _parse_values(match["outputs"])
    if inputs is None or outputs is None:
        return None
    return FunctionType(inputs, outputs)


def _parse_values(text: str) -> tuple[ValueType, ...] | None:
    found = []
    position = 0
    while position < len(text):
        match = _VALUE.match(text, position)
        kind = _parse_type(match[1]) if match else None
        if match is None or kind is None:
            return None
        found.append(kind)
        position = match.end()
    return tuple(found)


def _parse_type(text: str) -> ValueType | None:
    if text in _BY_MLIR:
        return ValueType(_BY_MLIR[text], None)
    match = re.fullmatch(_TENSOR, text)
    if match is None or match[2] not in _BY_MLIR:
        return None
    sizes = tuple(None if size == "?" else int(size) for size in match[1].split("x")[:-1])
    return ValueType(_BY_MLIR[match[2]], sizes)


# IREE, runtime/src/iree/vm/bytecode/verifier.c.
_VERSIONS = r"version mismatch; runtime supports (\d+\.\d+), module has (\d+\.\d+)"
_COMPILER = rb'"iree-base-compiler": ?"([\w.+]{1,40})"'
"""As a manifest says it, which is read without IREE here."""
_FEATURES = "required module features"
_ZIP_MAGIC = b"PK\x03\x04"
_DECLARATION = "iree.abi.declaration"


@functools.cache
def vm_instance() -> Any:
    """IREE's VM, made once a process."""
    return rt.VmInstance()


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """The functions of a module through which one of its functions is called: `ir/interface.py`."""

    type: FunctionType
    waiting: Any
    """IREE's function that returns when the work is done."""
    asynchronous: Any | None
    """The one that takes fences, if there is one."""
    into: Any | None
    """The one that takes the buffers to write as well, if there is one."""
    names: tuple[str, ...] = ()
    """The arguments' names, where they have some."""
    updated: tuple[int | None, ...] = ()
    """For `into`: for each result, the argument whose buffer it is."""
    stateless: bool = False
    """Whether calls leave nothing behind."""
    writes: tuple[int, ...] = ()
    """The arguments that every call writes into."""
    optional: frozenset[int] = frozenset()
    """The arguments that may be None: a kernel's optional operands."""
    graph: Any | None = None
    """The one that runs its graph, if it is one."""
    buffers: Any | None = None
    """The one that returns the graph's buffers, if it is one."""


class ModuleFile:
    """A parsed `.vmfb`: its functions and what it says of itself."""

    def __init__(
        self, source: str | os.PathLike[str] | bytes, *, label: str = "the module"
    ) -> None:
        self.path: Path | None = None
        """The file, where it is one."""
        self.content: bytes | None = source if isinstance(source, bytes) else None
        """What is no file."""
        if isinstance(source, bytes):
            self.label, content = label, source
        else:
            path = self.path = as_path(source, "The module", ModuleFileError)
            self.label, content = f"`{path.name}`", read_bytes(path, "The module", ModuleFileError)
        self.size_bytes = len(content)
        self.parts: tuple[ModulePart, ...] = ()
        """What is in it, where it is an archive."""
        self._check_integrity(content)
        try:
            self.vm_module = rt.VmModule.copy_buffer(vm_instance(), content)
            self.name = str(self.vm_module.name)
            names = [name for name in self.vm_module.function_names if not name.startswith("__")]
            self._functions = {name: self.vm_module.lookup_function(name) for name in names}
            self._reflections = {
                name: dict(function.reflection) for name, function in self._functions.items()
            }
        except (*IREE_ERRORS, KeyError) as error:
            raise _refused(sentence(self.label), str(error), content) from error

    def _check_integrity(self, content: bytes) -> None:
        """Check the file's own checksums: IREE does not, and runs or crashes on damaged code.

        A `.vmfb` is a zip archive with a CRC-32 of every part (IREE, compiler/src/iree/compiler/
        Dialect/VM/Target/Bytecode/ArchiveWriter.cpp, the polyglot zip that is written by default).
        """
        if not content.startswith(_ZIP_MAGIC):
            return
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                damaged = archive.testzip()
                self.parts = () if damaged else parts_of(archive)
        except Exception as error:  # noqa: BLE001 - zipfile raises what damaged numbers lead to
            damaged = str(error)
        if damaged is not None:
            raise ModuleFileError(
                f"{sentence(self.label)} is damaged: its checksums do not agree "
                f"with its content ({damaged}).",
                expected="the file as iree-compile or custom-dispatch compile wrote it",
                next_step="copy it again from where it was made, or compile it again.",
            )

    @property
    def manifest(self) -> Manifest | None:
        """What was built in, if this package built it."""
        return parse_manifest(self._said(keys.MANIFEST_KEY))

    @property
    def parameters(self) -> NeededParameters | None:
        """The weights that it needs from another file, where it says so."""
        return needed_parameters(self._said(keys.PARAMETERS_KEY))

    @property
    def memory(self) -> dict[str, int]:
        """The bytes of buffers that its graphs keep, by what they hold; empty without graphs."""
        said = self._said(keys.MEMORY_KEY)
        items = (item.partition("=") for item in said.split(",")) if said else ()
        return {kind: int(count) for kind, _, count in items}

    @property
    def why_no_manifest(self) -> str:
        """Why `manifest` is None, as a sentence."""
        return why_no_manifest(self._said(keys.MANIFEST_KEY))

    def _said(self, key: str) -> str | None:
        """What its functions' reflections say under a key."""
        texts = (reflection.get(key) for reflection in self._reflections.values())
        return next((text for text in texts if text is not None), None)

    def findings(self) -> tuple[Any, ...]:
        """The functions that tell what kernels compiled for cpu:checked have found."""
        return tuple(
            function
            for name, function in self._functions.items()
            if name.startswith(keys.FINDINGS_FUNCTION)
        )

    def functions(self) -> dict[str, EntryPoints]:
        """The functions that can be called with arrays, by name."""
        found = {}
        for name, function in self._functions.items():
            if name.startswith(keys.FINDINGS_FUNCTION) or name.endswith(
                (keys.ASYNC, keys.INTO, keys.GRAPH, keys.BUFFERS)
            ):
                continue
            kind = parse_declaration(self._reflections[name].get(_DECLARATION, ""))
            if kind is not None:
                kind = kind.with_results(self._reflections[name].get(keys.RESULTS_KEY, ""))
                found[name] = self._entry_points(name, kind, function)
        return found

    def _entry_points(self, name: str, kind: FunctionType, function: Any) -> EntryPoints:
        said = self._reflections.get(name + keys.ASYNC, {})
        names = tuple(said[keys.NAMES_KEY].split(",")) if keys.NAMES_KEY in said else ()
        updated = self._reflections.get(name + keys.INTO, {}).get(keys.UPDATED_KEY, "").split(",")
        writes = self._reflections[name].get(keys.UPDATES_KEY, "").split(",")
        is_ours = said.get("iree.abi.model") == "coarse-fences"
        return EntryPoints(
            kind,
            function,
            self._functions.get(name + keys.ASYNC) if is_ours else None,
            self._functions.get(name + keys.INTO) if len(updated) == len(kind.outputs) else None,
            names,
            tuple(int(index) if index.isdigit() else None for index in updated),
            said.get(keys.STATELESS_KEY) == "true",
            tuple(int(index) for index in writes if index.isdigit()),
            graph=self._functions.get(name + keys.GRAPH),
            buffers=self._functions.get(name + keys.BUFFERS),
        )


def _refused(label: str, text: str, content: bytes) -> ModuleFileError:
    """Why IREE does not take a file: of another version, or no module."""
    log = text.splitlines()[0] if text else ""
    versions = re.search(_VERSIONS, text)
    later = _FEATURES in text
    if versions is not None:
        reads, has = (tuple(map(int, version.split("."))) for version in versions.groups())
        later = has > reads
    if versions is None and not later:
        return ModuleFileError(
            f"{label} is not a module that this IREE runtime reads: it is damaged, or something "
            "else than a .vmfb.",
            expected="a .vmfb that iree-compile or custom-dispatch compile wrote",
            next_step="compile it again; IREE says:",
            log=log,
        )
    compiler = re.search(_COMPILER, content)
    iree = "IREE" if compiler is None else f"IREE, {compiler[1].decode()}"
    return ModuleFileError(
        f"{label} was compiled by {'a later' if later else 'an earlier'} {iree}, whose modules "
        "this runtime does not read.",
        expected=f"a module of the IREE that iree-base-runtime {_runtime_version()} belongs to",
        next_step="compile it again with iree-base-compiler of that version, or install the "
        "iree-base-runtime that belongs to its compiler; IREE says:",
        log=log,
    )


def _runtime_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # loaded for this message alone

    try:
        return version("iree-base-runtime")
    except PackageNotFoundError:
        return "here"
