"""Where an operation is, by what the model records: the user's source, and a path of names."""

from __future__ import annotations

import re

from iree.compiler import ir

from custom_dispatch.replaced import Place

_FILE = re.compile(r'"([^"]+)":(\d+)')
_NAMES = re.compile(r'^loc\("([^"]*)"\(')
_WRAPPER = re.compile(r"^\w+\(.*\)$|^$")
"""What JAX puts around functions that it transforms: "jit(model)"."""


def place_of(op: ir.Operation) -> Place:
    """The innermost line of the user's own source; JAX leaves its own out of what it records.

    Its names are "jit(model)/block/norm/mul": functions that it transforms, the scopes that the
    user named, and the operation.
    """
    text = str(op.location)
    names = _NAMES.search(text)
    scopes = names[1].split("/")[:-1] if names else []
    module = "/".join(scope for scope in scopes if not _WRAPPER.match(scope))
    found = _FILE.search(text)
    if found is None:
        return Place(module, "")
    # What is parsed without a file's name is "-".
    return Place(module, f"line {found[2]}" if found[1] == "-" else f"{found[1]}:{found[2]}")
