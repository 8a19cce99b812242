"""Kernels in MLIR models: a function declared without a body and named after a kernel becomes one.

    func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

Linking gives that declaration a body that dispatches the kernel, and puts the executables beside
it. The model is parsed and verified by IREE's own parser before and after.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from iree.compiler import ir

from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.files import read_bytes
from custom_dispatch.frontends.entry_function import Preflight, put_in_front
from custom_dispatch.frontends.preflight import (
    find_preflights,
    has_effects,
    has_one_block,
    may_return_empty,
)
from custom_dispatch.frontends.public_functions import open_to_callers
from custom_dispatch.frontends.symbols import (
    callee_of,
    calls_of,
    functions_of,
    is_declaration,
    is_public,
    name_of,
    symbols_of,
    type_of,
)
from custom_dispatch.frontends.torch_converted import tidy_converted
from custom_dispatch.frontends.torch_dialect import convert_torch, is_torch
from custom_dispatch.frontends.usage import kernel_uses
from custom_dispatch.frontends.values import hide_constants, keep_arguments, updated_arguments
from custom_dispatch.ir.executable import ObjectReference, write_apart
from custom_dispatch.ir.library_ir import MANIFEST_KEY, executables_of, manifest
from custom_dispatch.ir.library_module import entry_points, write_executables
from custom_dispatch.ir.signature import (
    Signature,
    Sizes,
    declared_signature,
    function_type,
)
from custom_dispatch.ir.wrapper import Part, Wrapper
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.toolchain.library import Library

Model: TypeAlias = "str | os.PathLike[str] | Any"
"""A path, MLIR text, or a parsed `iree.compiler.ir.Module` (which stays as it is)."""

_UNCHECKED = "custom_dispatch_unchecked_"
_TARGETS = "hal.device.targets"


@dataclass(frozen=True, slots=True)
class LinkedModel:
    """A model with kernels in it."""

    module: ir.Module
    kernels: tuple[Kernel, ...]
    """The kernels that it calls."""
    apart: Mapping[str, str] = field(default_factory=dict)
    """The executables that are to be put in place of the module's own, by symbol."""

    @property
    def text(self) -> str:
        """The module as MLIR text."""
        return f"{self.module}\n"

    @property
    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, which the compiler reads faster."""
        buffer = io.BytesIO()
        self.module.operation.write_bytecode(buffer)
        return buffer.getvalue()


def parse_model(model: Model) -> ir.Module:
    """Read a model into a context of its own.

    Raises
    ------
    ModelError
        The file is missing or unreadable, or its content is not valid MLIR.
    """
    if isinstance(model, ir.Module):
        buffer = io.BytesIO()
        model.operation.write_bytecode(buffer)
        return _parse(buffer.getvalue(), "The model")
    if isinstance(model, str) and ("\n" in model or "{" in model):
        return _parse(model.encode(), "The model")
    path = Path(model)
    return _parse(read_bytes(path, "The model", ModelError), f"`{path}`")


def refers_to_files(model: Model) -> bool:
    """Whether a model may refer to object files: then it is not all that its compilation reads."""
    if isinstance(model, ir.Module):
        buffer = io.BytesIO()
        model.operation.write_bytecode(buffer)
        content = buffer.getvalue()
    elif isinstance(model, str) and ("\n" in model or "{" in model):
        content = model.encode()
    else:
        content = read_bytes(Path(model), "The model", ModelError)
    return b"executable.object" in content


def _parse(content: bytes, what: str) -> ir.Module:
    try:
        source: Any = content if content.startswith(b"ML\xefR") else content.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(
            f"{what} is neither MLIR text nor MLIR bytecode.",
            next_step="give an .mlir file; a compiled .vmfb cannot be linked any more.",
        ) from None
    context = ir.Context()
    with context, ir.Location.unknown():
        try:
            return ir.Module.parse(source)
        except (ir.MLIRError, ValueError) as error:
            raise ModelError(
                f"{what} is not valid MLIR.",
                next_step="correct it where the parser points:",
                log=_diagnostic(error, what),
            ) from None


def _diagnostic(error: Exception, what: str = "") -> str:
    """The parser's or verifier's message, with the file's name where it says "-"."""
    lines = [line for line in str(error).splitlines() if not line.endswith(":")]
    text = "\n".join(line for line in lines if "see current operation" not in line)
    return text.replace('"-":', f'"{what.strip("`")}":') if what.startswith("`") else text


def link(
    model: Model,
    library: Library,
    reference: ObjectReference,
    form: str = "executable",
    *,
    apart: bool = False,
    flags: Sequence[str] = (),
) -> LinkedModel:
    """Put a library's kernels into a model.

    Parameters
    ----------
    model
        It declares each kernel it calls as a private function without a body.
    reference
        How the IR refers to objects: `by_path` or `embedded`.
    form
        "executable" or "source".
    apart
        Keep the CPU variants' code out of the module, for `compile_mlir` to put it in.
    flags
        Those that `iree-compile` will be given, for the manifest.

    Raises
    ------
    ModelError
        The model is not valid MLIR.
    LinkError
        The model and the kernels do not fit together.
    """
    module = parse_model(model)
    if is_torch(module):
        converted = convert_torch(module, {kernel.name: kernel for kernel in library.kernels})
        module = _parse(converted, "The converted model")
        tidy_converted(module)
    with module.context, ir.Location.unknown():
        _check_model(module)
        declarations = _declarations(module)
        used = _used_kernels(module, declarations, library)
        executables = executables_of(library, used)
        taken = {name_of(op) for op in symbols_of(module)}
        for item in executables:
            if item.symbol in taken:
                raise LinkError(
                    f"The model already has a symbol `{item.symbol}`.",
                    expected="a model that was not linked before",
                    next_step="link the original model, or rename the symbol.",
                )
        wrappers = {
            kernel.name: Wrapper(
                kernel,
                _signature(kernel, declarations[kernel.name]),
                entry_points(executables, kernel, form),
                with_grid=library.cpu_target is not None,
            )
            for kernel in used
        }
        kernels = {kernel.name: kernel for kernel in used}
        functions = kernel_uses(module, set(kernels))
        stateless = not has_effects(module, list(wrappers))
        preflights = _preflights(module, wrappers, on_gpu=bool(library.cuda_targets))
        updated = updated_arguments(module, kernels)
        hide_constants(module, kernels)
        unchecked = _call_unchecked(preflights, set(wrappers))
        written = [item.without_code() for item in executables] if apart else executables
        parts = [write_executables(written, reference, form)]
        for name, wrapper in wrappers.items():
            dialect = declarations[name].name.partition(".")[0]
            parts.append(wrapper.write(symbol=name, dialect=dialect))
            if name in unchecked:
                parts.append(wrapper.write(symbol=_UNCHECKED + name, part=Part.DISPATCH))
        added = _parse("\n".join(parts).encode(), "The generated IR")
        _merge(module, declarations, used, added)
        for preflight in preflights:
            put_in_front(module, preflight)
        keep_arguments(module, updated)
        _attach_manifest(module, manifest(library, used, functions, flags))
        open_to_callers(module, stateless=stateless)
        _verify(module)
    kept_apart = write_apart(executables, reference) if apart else {}
    return LinkedModel(module, tuple(used), kept_apart)


def _check_model(module: ir.Module) -> None:
    if _TARGETS in module.operation.attributes:
        raise LinkError(
            f"The model has the attribute `{_TARGETS}`, which overrides the targets asked for.",
            expected="a model without it",
            next_step="remove the attribute from the model.",
        )


def _declarations(module: ir.Module) -> dict[str, ir.Operation]:
    return {name_of(op): op for op in functions_of(module) if is_declaration(op)}


def _used_kernels(
    module: ir.Module, declarations: dict[str, ir.Operation], library: Library
) -> list[Kernel]:
    names = {kernel.name for kernel in library.kernels}
    for op in functions_of(module):
        if name_of(op) in names and not is_declaration(op):
            raise LinkError(
                f"The model defines a function `{name_of(op)}` with a body, which is a kernel's "
                "name.",
                expected="a private function without a body, to be replaced by the kernel",
                next_step="remove the body, or rename the function or the kernel.",
            )
    known = ", ".join(sorted(names))
    for name in declarations:
        # A name with a dot is a function of another VM module, found when the file is loaded.
        if name not in names and "." not in name:
            raise LinkError(
                f"The model declares `{name}` without a body, and no kernel has that name.",
                expected=f"a kernel that is given: {known}",
                next_step="give the kernel too, or correct the name.",
            )
    used = [kernel for kernel in library.kernels if kernel.name in declarations]
    if not used:
        first = library.kernels[0]
        raise LinkError(
            f"The model calls none of the kernels: {known}.",
            expected="a declaration such as "
            f"`func.func private @{first.name}{function_type(first, declared_signature(first))}`",
            next_step="declare and call the kernel in the model.",
        )
    return used


def _signature(kernel: Kernel, declaration: ir.Operation) -> Signature:
    kind = type_of(declaration)
    wanted = f"@{kernel.name}{function_type(kernel, declared_signature(kernel))}"
    if len(kind.inputs) != len(kernel.arguments) or len(kind.results) != len(kernel.outputs):
        raise LinkError(
            f"The model declares `{kernel.name}` with {len(kind.inputs)} operands and "
            f"{len(kind.results)} results.",
            expected=f"{len(kernel.arguments)} and {len(kernel.outputs)}: {wanted}",
            next_step="correct the model's declaration of the kernel.",
        )
    inputs = tuple(
        _sizes(kernel, operand, found, wanted)
        if isinstance(operand, Buffer)
        else _scalar(kernel, operand.name, operand.argument_type, found, wanted)
        for operand, found in zip(kernel.arguments, kind.inputs, strict=True)
    )
    outputs = tuple(
        _sizes(kernel, operand, found, wanted)
        for operand, found in zip(kernel.outputs, kind.results, strict=True)
    )
    return Signature(inputs, outputs)


def _sizes(kernel: Kernel, operand: Buffer, found: ir.Type, wanted: str) -> Sizes:
    fits = (
        isinstance(found, ir.RankedTensorType)
        and found.encoding is None
        and found.rank == operand.rank
        and str(found.element_type) == operand.dtype.mlir
    )
    if not fits:
        raise LinkError(
            f"The model declares `{kernel.name}` with {found} for `{operand.name}`.",
            expected=f"a tensor of rank {operand.rank} and type {operand.dtype.mlir}: {wanted}",
            next_step="correct the model's declaration of the kernel.",
        )
    return tuple(
        None if found.is_dynamic_dim(axis) else found.get_dim_size(axis)
        for axis in range(found.rank)
    )


def _scalar(kernel: Kernel, name: str, kind: str, found: ir.Type, wanted: str) -> Sizes:
    if str(found) != kind:
        raise LinkError(
            f"The model declares `{kernel.name}` with {found} for the scalar `{name}`.",
            expected=f"{kind}: {wanted}",
            next_step="correct the model's declaration of the kernel.",
        )
    return ()


def _merge(
    module: ir.Module,
    declarations: dict[str, ir.Operation],
    used: Sequence[Kernel],
    added: ir.Module,
) -> None:
    # The two modules have contexts of their own; what is added crosses over as text.
    moved = ir.Module.parse(str(added), module.context)
    for kernel in used:
        declarations[kernel.name].erase()
    for op in list(moved.body.operations):
        module.body.append(op)


def _preflights(
    module: ir.Module, wrappers: Mapping[str, Wrapper], *, on_gpu: bool
) -> list[Preflight]:
    """The public functions that have a preflight, and theirs."""
    public = {
        name_of(op): op
        for op in functions_of(module)
        if is_public(op) and not is_declaration(op) and has_one_block(op)
    }
    if not public:
        return []
    # Only IREE's CUDA driver fails on empty tensors, and only a function without effects may not
    # run at all.
    skips = on_gpu and not has_effects(module, list(wrappers))
    wanted = {name: skips and may_return_empty(op) for name, op in public.items()}
    dialects = {name_of(op): op.name.partition(".")[0] for op in functions_of(module)}
    checks = "\n".join(
        wrapper.write(symbol=name, part=Part.CHECKS, dialect=dialects[name])
        for name, wrapper in wrappers.items()
    )
    found = find_preflights(module, checks, wanted)
    return [Preflight(public[name], text, wanted[name]) for name, text in found.items()]


def _call_unchecked(preflights: Sequence[Preflight], names: set[str]) -> set[str]:
    """Let functions with a preflight call kernels without further checks; return which ones."""
    called = set()
    for preflight in preflights:
        for call in calls_of(preflight.function, names):
            name = callee_of(call)
            called.add(name)
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(_UNCHECKED + name)
    return called


def _attach_manifest(module: ir.Module, content: str) -> None:
    """Say what was built in, in the reflection of the first public function."""
    for op in functions_of(module):
        if is_declaration(op) or not is_public(op):
            continue
        entries: dict[str, ir.Attribute] = {}
        if "iree.reflection" in op.attributes:
            entries = {item.name: item.attr for item in op.attributes["iree.reflection"]}
        entries[MANIFEST_KEY] = ir.StringAttr.get(content)
        op.attributes["iree.reflection"] = ir.DictAttr.get(entries)
        return


def _verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise LinkError(
            "The linked module does not verify.",
            next_step="report this with the model and the declaration; the verifier says:",
            log=_diagnostic(error),
        ) from None


def describe_model(model: Model) -> list[tuple[str, str, str]]:
    """The functions of a model: name, type, and what they are to linking.

    Raises
    ------
    ModelError
        The model is not valid MLIR.
    """
    module = parse_model(model)
    rows = []
    for op in functions_of(module):
        kind = str(type_of(op))
        what = "to be linked" if is_declaration(op) else "public" if is_public(op) else "private"
        rows.append((name_of(op), kind, what))
    return rows
