"""Where an operation is, by what the model records: the user's source, and a path of names."""

from __future__ import annotations

import re
from pathlib import Path

from iree.compiler import ir

from custom_dispatch.link.operations import NODE
from custom_dispatch.replaced import Place

_FRAME = re.compile(r'(?:"([^"]*)"\()?"([^"]+)":(\d+)')
_NAMES = re.compile(r'^loc\("([^"]*)"\(')
_WRAPPER = re.compile(r"^\w+\(.*\)$|^$")
"""What JAX puts around functions that it transforms: "jit(model)"."""
_OWN = str(Path(__file__).parents[1])


def place_of(op: ir.Operation) -> Place:
    """The innermost line of the user's own source, and the names that lead there.

    JAX records the functions that were called, without its own, and the scopes that the user named
    (`jax.named_scope`, modules of Flax): "jit(model)/block/norm/mul". Those are taken if there are
    any, else the functions.
    """
    text = str(op.location)
    plain = NODE.fullmatch(text)
    if plain is not None:
        return Place(plain[1], "")
    names = _NAMES.search(text)
    scopes = names[1].split("/")[:-1] if names else []
    path = [scope for scope in scopes if not _WRAPPER.match(scope)]
    frames = _FRAME.findall(text)
    # What is further out has called this package.
    own = next((i for i, frame in enumerate(frames) if frame[1].startswith(_OWN)), len(frames))
    frames = frames[:own]
    if not path:
        names_of = (name.rpartition(".")[2] for name, _, _ in reversed(frames))
        path = [name for name in names_of if name and not name.startswith("<")]
    module = "/".join(path)
    if not frames:
        return Place(module, "")
    _, file, line = frames[0]
    # What is parsed without a file's name is "-".
    return Place(module, f"line {line}" if file == "-" else f"{file}:{line}")
