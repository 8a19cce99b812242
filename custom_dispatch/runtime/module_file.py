"""Reading a `.vmfb`, before any device is involved."""

from __future__ import annotations

import functools
import io
import os
import zipfile
from pathlib import Path
from typing import Any

from iree import runtime as rt

from custom_dispatch.errors import ModuleFileError, sentence
from custom_dispatch.files import read_bytes
from custom_dispatch.ir.findings import FINDINGS_FUNCTION
from custom_dispatch.runtime.declaration import FunctionType, parse_declaration
from custom_dispatch.runtime.manifest import Manifest, manifest_of

_ZIP_MAGIC = b"PK\x03\x04"
_DECLARATION = "iree.abi.declaration"


@functools.cache
def vm_instance() -> Any:
    """IREE's VM, made once a process."""
    return rt.VmInstance()


class ModuleFile:
    """A parsed `.vmfb`: its functions and what it says of itself.

    Raises
    ------
    ModuleFileError
        It is missing, unreadable, or no module that this IREE runtime reads.
    """

    def __init__(
        self, source: str | os.PathLike[str] | bytes, *, label: str = "the module"
    ) -> None:
        if isinstance(source, bytes):
            self.label, content = label, source
        else:
            path = Path(source)
            self.label, content = f"`{path.name}`", read_bytes(path, "The module", ModuleFileError)
        self._check_integrity(content)
        try:
            self.vm_module = rt.VmModule.copy_buffer(vm_instance(), content)
            self.name = str(self.vm_module.name)
            names = [name for name in self.vm_module.function_names if not name.startswith("__")]
            self._functions = {name: self.vm_module.lookup_function(name) for name in names}
            self._reflections = {
                name: dict(function.reflection) for name, function in self._functions.items()
            }
        except (RuntimeError, ValueError, KeyError) as error:
            raise ModuleFileError(
                f"{sentence(self.label)} is not a module that this IREE runtime "
                "reads: it is damaged, or something else than a .vmfb.",
                expected="a .vmfb that iree-compile or custom-dispatch compile wrote",
                next_step="compile it again; IREE says:",
                log=str(error).splitlines()[0] if str(error) else "",
            ) from error

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
        return manifest_of(list(self._reflections.values()))

    def findings(self) -> tuple[Any, ...]:
        """The functions that tell what kernels compiled for cpu:checked have found."""
        return tuple(
            function
            for name, function in self._functions.items()
            if name.startswith(FINDINGS_FUNCTION)
        )

    def functions(self) -> dict[str, tuple[FunctionType, Any]]:
        """The functions that can be called with arrays: their types and VM functions, by name."""
        found = {}
        for name, function in self._functions.items():
            if name.startswith(FINDINGS_FUNCTION):
                continue
            kind = parse_declaration(self._reflections[name].get(_DECLARATION, ""))
            if kind is not None:
                found[name] = (kind, function)
        return found
