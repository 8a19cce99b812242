"""Reading a model: MLIR text, bytecode, a file, or a module that somebody parsed."""

import io
import os
import sys
from functools import cache
from types import ModuleType
from typing import Any, TypeAlias

from iree.compiler import ir
from iree.compiler._mlir_libs import _mlir

from custom_dispatch.errors import ModelError
from custom_dispatch.files import read_bytes
from custom_dispatch.kernel.names import as_path
from custom_dispatch.link.operations import (
    functions_of,
    is_declaration,
    is_public,
    name_of,
    type_of,
)

Model: TypeAlias = "str | os.PathLike[str] | Any"
"""A path, MLIR text, or a parsed `iree.compiler.ir.Module` (which stays as it is)."""


def parse_model(model: Model) -> ir.Module:
    """Read a model into a context of its own."""
    return parse_content(*_content_of(model))


def refers_to_files(model: Model) -> bool:
    """Whether a model may refer to object files: then it is not all that its compilation reads."""
    content, _ = _content_of(model)
    return b"executable.object" in content


def _content_of(model: Model) -> tuple[bytes, str]:
    """A model as text or bytecode, and what errors call it."""
    if isinstance(model, ir.Module):
        buffer = io.BytesIO()
        model.operation.write_bytecode(buffer)
        return buffer.getvalue(), "The model"
    if isinstance(model, str) and ("\n" in model or "{" in model):
        return model.encode("utf-8", "surrogatepass"), "The model"
    path = as_path(model, "The model", ModelError)
    return read_bytes(path, "The model", ModelError), f"`{path}`"


def parse_content(content: bytes, what: str) -> ir.Module:
    """Parse text or bytecode into a context of its own.

    `what`: what it is, for errors.
    """
    try:
        source: Any = content if content.startswith(b"ML\xefR") else content.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(
            f"{what} is neither MLIR text nor MLIR bytecode.",
            next_step="give an .mlir file; a compiled .vmfb cannot be linked any more.",
        ) from None
    with new_context(), ir.Location.unknown():
        try:
            return ir.Module.parse(source)
        except (ir.MLIRError, ValueError) as error:
            raise ModelError(
                f"{what} is not valid MLIR.",
                next_step="correct it where the parser points:",
                log=diagnostic(error, what),
            ) from None


def diagnostic(error: Exception, what: str = "") -> str:
    """The parser's or verifier's message, with the file's name where it says "-"."""
    lines = [line for line in str(error).splitlines() if not line.endswith(":")]
    text = "\n".join(line for line in lines if "see current operation" not in line)
    return text.replace('"-":', f'"{what.strip("`")}":') if what.startswith("`") else text


def describe_model(model: Model) -> list[tuple[str, str, str]]:
    """The functions of a model: name, type, and what they are to linking."""
    module = parse_model(model)
    rows = []
    for op in functions_of(module):
        kind = str(type_of(op))
        what = "to be linked" if is_declaration(op) else "public" if is_public(op) else "private"
        rows.append((name_of(op), kind, what))
    return rows


_WITHOUT_CLASSES = ("chlo", "iree_linalg_ext", "ml_program", "stablehlo", "torch", "torch_c", "ub")


_LOADED = (
    *("arith", "cf", "complex", "flow", "func", "hal", "iree_linalg_ext", "linalg", "math"),
    *("ml_program", "scf", "stablehlo", "tensor", "torch", "torch_c", "util"),
)
"""The dialects of what this package and importers make without a parser, which loads others."""


def new_context() -> ir.Context:
    """A context for a model, without all of the compiler's dialects.

    To load those takes 12 ms, in each of many contexts; these take 3.
    """
    _end_searches()
    return ir.Context(load_on_create_dialects=[*_LOADED])


@cache
def _end_searches() -> None:
    """Let the bindings find a module, without a class in it, for each of these dialects.

    Whoever touches an operation in Python gets an object of its dialect's class, if there is one.
    The bindings look for it by importing `iree.compiler.dialects.DIALECT`, and remember what they
    find, but not what they do not: then they import in vain for each operation that is touched
    (LLVM, mlir/lib/Bindings/Python/Globals.cpp, `PyGlobals::loadDialectModule`), which takes a
    third of the time in which patterns are compared with a model of JAX. So they are given an empty
    module to find.
    """
    for dialect in _WITHOUT_CLASSES:
        name = f"{__name__}.{dialect}"
        sys.modules[name] = ModuleType(name, "It has no classes of operations.")
    _mlir.globals.append_dialect_search_prefix(__name__)
