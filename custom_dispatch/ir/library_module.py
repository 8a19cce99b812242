"""A library by itself as one module: its executables, and a public function per kernel."""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.errors import DeclarationError
from custom_dispatch.ir.executable import (
    Executable,
    ObjectReference,
    write_executable,
    write_source,
)
from custom_dispatch.ir.library_ir import executables_of, manifest_attribute
from custom_dispatch.ir.signature import declared_signature
from custom_dispatch.ir.wrapper import Wrapper
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.toolchain.library import Library

FORMS = ("executable", "source")
"""`hal.executable` with conditioned variants, or upstream's `hal.executable.source`."""


def write_library_module(library: Library, reference: ObjectReference, form: str) -> str:
    """The module's text: callable functions named after the kernels.

    Raises
    ------
    DeclarationError
        The form cannot hold the library's targets.
    """
    kernels = library.kernels
    executables = executables_of(library, kernels)
    parts = [write_executables(executables, reference, form)]
    for index, kernel in enumerate(kernels):
        wrapper = Wrapper(
            kernel,
            declared_signature(kernel),
            entry_points(executables, kernel, form),
            with_grid=library.cpu_target is not None,
        )
        attributes = manifest_attribute(library, kernels) if index == 0 else ""
        parts.append(
            wrapper.write(symbol=kernel.name, visibility="public", attributes=attributes, keep=True)
        )
    return "\n".join(parts)


def write_executables(
    executables: Sequence[Executable], reference: ObjectReference, form: str
) -> str:
    """The executables' text in one of the two forms.

    Raises
    ------
    DeclarationError
        The form is unknown, or cannot hold the targets.
    """
    if form == "executable":
        return "\n".join(write_executable(item, reference) for item in executables)
    if form != "source":
        raise DeclarationError(
            f"{form!r} is not a form of IR.",
            expected=" or ".join(FORMS),
            next_step="leave it out for hal.executable with one variant a target.",
        )
    for item in executables:
        if item.cpu is not None:
            raise DeclarationError(
                "The form `source` (hal.executable.source) cannot hold the target cpu: IREE "
                "ignores objects beside code there.",
                expected="CUDA targets only",
                next_step="drop the target cpu, or use the form `executable`.",
            )
        if len(item.objects) != 1:
            raise DeclarationError(
                f"The form `source` (hal.executable.source) is given {len(item.objects)} objects "
                f"of `{item.symbol}`: IREE drops the conditions of this form and would run the "
                "first one on every GPU.",
                expected="one object: for one CUDA target, or a fatbin image for several",
                next_step="give one CUDA target, or use the form `executable`.",
            )
    return "\n".join(write_source(item, reference) for item in executables)


def entry_points(executables: Sequence[Executable], kernel: Kernel, form: str) -> str:
    """How a kernel is named at a dispatch."""
    owner = next(item for item in executables if kernel in item.kernels)
    if form == "source":
        (item,) = owner.objects
        return f"@{owner.symbol}::@{item.symbol(kernel.entry)}"
    return owner.entry_points(kernel)
