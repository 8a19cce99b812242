"""Kernels in MLIR models: a function declared without a body and named after a kernel becomes one.

    func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

Linking gives that declaration a body that dispatches the kernel, and puts the executables beside
it. The model is parsed and verified by IREE's own parser before and after.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from iree.compiler import ir

from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.files import read_bytes
from custom_dispatch.frontends.empty_guard import (
    can_be_guarded,
    has_effects,
    result_sizes,
    write_guard,
    write_sizes_only,
)
from custom_dispatch.ir.emitter import quote
from custom_dispatch.ir.executable import ObjectReference
from custom_dispatch.ir.library_ir import MANIFEST_KEY, executables_of, manifest
from custom_dispatch.ir.library_module import entry_points, write_executables
from custom_dispatch.ir.signature import (
    Signature,
    Sizes,
    declared_signature,
    function_type,
)
from custom_dispatch.ir.wrapper import Wrapper
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, InOut
from custom_dispatch.toolchain.library import Library

Model: TypeAlias = "str | os.PathLike[str] | Any"
"""A path, MLIR text, or a parsed `iree.compiler.ir.Module` (which stays as it is)."""

_FUNCTIONS = ("func.func", "util.func")
_RETURNS = ("func.return", "util.return")
_TARGETS = "hal.device.targets"


@dataclass(frozen=True, slots=True)
class LinkedModel:
    """A model with kernels in it."""

    module: ir.Module
    kernels: tuple[Kernel, ...]
    """The kernels that it calls."""

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
    model: Model, library: Library, reference: ObjectReference, form: str = "executable"
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

    Raises
    ------
    ModelError
        The model is not valid MLIR.
    LinkError
        The model and the kernels do not fit together.
    """
    module = parse_model(model)
    with module.context, ir.Location.unknown():
        _check_model(module)
        declarations = _declarations(module)
        used = _used_kernels(module, declarations, library)
        executables = executables_of(library, used)
        taken = {_name(op) for op in _symbols(module)}
        for item in executables:
            if item.symbol in taken:
                raise LinkError(
                    f"The model already has a symbol `{item.symbol}`.",
                    expected="a model that was not linked before",
                    next_step="link the original model, or rename the symbol.",
                )
        parts = [write_executables(executables, reference, form)]
        sizes_only = []
        for kernel in used:
            declaration = declarations[kernel.name]
            signature = _signature(kernel, declaration)
            wrapper = Wrapper(
                kernel,
                signature,
                entry_points(executables, kernel, form),
                with_grid=library.cpu_target is not None,
            )
            dialect = declaration.name.partition(".")[0]
            parts.append(wrapper.write(symbol=kernel.name, dialect=dialect))
            sizes_only.append(write_sizes_only(kernel, signature, dialect))
        guards = _guards(module, used, "\n".join(sizes_only)) if library.cuda_targets else []
        added = _parse("\n".join(parts).encode(), "The generated IR")
        _merge(module, declarations, used, added)
        for original, sizes in guards:
            _guard(module, original, sizes)
        _keep_arguments(module, used)
        _attach_manifest(module, manifest(library, used))
        _verify(module)
    return LinkedModel(module, tuple(used))


def _check_model(module: ir.Module) -> None:
    if _TARGETS in module.operation.attributes:
        raise LinkError(
            f"The model has the attribute `{_TARGETS}`, which overrides the targets asked for.",
            expected="a model without it",
            next_step="remove the attribute from the model.",
        )


def _symbols(module: ir.Module) -> list[ir.Operation]:
    operations = [op.operation for op in module.body.operations]
    return [op for op in operations if "sym_name" in op.attributes]


def _name(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def _functions(module: ir.Module) -> list[ir.Operation]:
    return [op for op in _symbols(module) if op.name in _FUNCTIONS]


def _is_declaration(op: ir.Operation) -> bool:
    return not op.regions or not op.regions[0].blocks


def _is_public(op: ir.Operation) -> bool:
    if "sym_visibility" not in op.attributes:
        return True
    return str(ir.StringAttr(op.attributes["sym_visibility"]).value) == "public"


def _declarations(module: ir.Module) -> dict[str, ir.Operation]:
    return {_name(op): op for op in _functions(module) if _is_declaration(op)}


def _used_kernels(
    module: ir.Module, declarations: dict[str, ir.Operation], library: Library
) -> list[Kernel]:
    names = {kernel.name for kernel in library.kernels}
    for op in _functions(module):
        if _name(op) in names and not _is_declaration(op):
            raise LinkError(
                f"The model defines a function `{_name(op)}` with a body, which is a kernel's "
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
    kind = ir.FunctionType(ir.TypeAttr(declaration.attributes["function_type"]).value)
    wanted = f"@{kernel.name}{function_type(kernel, declared_signature(kernel))}"
    if len(kind.inputs) != len(kernel.inputs) or len(kind.results) != len(kernel.outputs):
        raise LinkError(
            f"The model declares `{kernel.name}` with {len(kind.inputs)} operands and "
            f"{len(kind.results)} results.",
            expected=f"{len(kernel.inputs)} and {len(kernel.outputs)}: {wanted}",
            next_step="correct the model's declaration of the kernel.",
        )
    inputs = tuple(
        _sizes(kernel, operand, found, wanted)
        if isinstance(operand, Buffer)
        else _scalar(kernel, operand.name, operand.dtype.mlir, found, wanted)
        for operand, found in zip(kernel.inputs, kind.inputs, strict=True)
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


def _guards(
    module: ir.Module, used: Sequence[Kernel], sizes_only: str
) -> list[tuple[ir.Operation, str]]:
    """The functions to keep from running on empty tensors, each with its sizes' function."""
    if has_effects(module, [kernel.name for kernel in used]):
        return []
    public = {
        _name(op): op
        for op in _functions(module)
        if _is_public(op) and not _is_declaration(op) and can_be_guarded(op)
    }
    found = result_sizes(module, sizes_only, list(public)) if public else {}
    return [(public[name], sizes) for name, sizes in found.items()]


def _guard(module: ir.Module, original: ir.Operation, sizes: str) -> None:
    """Move a function's body into a private one, and put a guarded function in its place."""
    text, moved = write_guard(original)
    visibility = {
        "sym_name": ir.StringAttr.get(moved),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    outer = {name: original.attributes[name] for name in ("arg_attrs", "res_attrs",
             "iree.reflection") if name in original.attributes}  # fmt: skip
    name = original.attributes["sym_name"]
    for attribute in outer:
        del original.attributes[attribute]
    for attribute, value in visibility.items():
        original.attributes[attribute] = value
    kind = ir.TypeAttr(original.attributes["function_type"]).value
    body_declaration = f"func.func private @{quote(moved)}{kind}\n"
    added = ir.Module.parse(text + sizes + "\n" + body_declaration, module.context)
    for op in list(added.body.operations):
        if _is_declaration(op.operation):
            continue
        module.body.append(op)
        if op.operation.attributes["sym_name"] == name:
            for attribute, value in outer.items():
                op.operation.attributes[attribute] = value


def _keep_arguments(module: ir.Module, used: Sequence[Kernel]) -> None:
    """Keep every tensor argument of a public function alive until the function returns.

    IREE updates a buffer in place when its value has no later use, and that buffer may be the
    caller's. A use at the very end makes it copy the arguments, and only those: an intermediate
    value that nobody reads any more is still updated where it stands.
    """
    if not any(isinstance(operand, InOut) for kernel in used for operand in kernel.inputs):
        return
    for op in _functions(module):
        if _is_declaration(op) or not _is_public(op):
            continue
        for block in op.regions[0].blocks:
            terminator = block.operations[len(block.operations) - 1].operation
            if terminator.name not in _RETURNS:
                continue
            for argument in op.regions[0].blocks[0].arguments:
                if isinstance(argument.type, ir.RankedTensorType):
                    ir.Operation.create(
                        "util.optimization_barrier",
                        results=[argument.type],
                        operands=[argument],
                        ip=ir.InsertionPoint(terminator),
                    )


def _attach_manifest(module: ir.Module, content: str) -> None:
    """Say what was built in, in the reflection of the first public function."""
    for op in _functions(module):
        if _is_declaration(op) or not _is_public(op):
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
    for op in _functions(module):
        kind = str(ir.TypeAttr(op.attributes["function_type"]).value)
        what = "to be linked" if _is_declaration(op) else "public" if _is_public(op) else "private"
        rows.append((_name(op), kind, what))
    return rows
