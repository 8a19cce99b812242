"""Fuzzing the readers with coverage: any bytes are read or refused, and nothing else happens.

    pip install atheris
    python tests/fuzz/readers.py READER [-max_total_time=60]

READER is one of entry, object, ptx, cubin, image, notes, resources, includes. pytest does not
collect this file; the same promises are tested with Hypothesis beside each reader.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["custom_dispatch"]):
    from custom_dispatch.errors import CustomDispatchError
    from custom_dispatch.ptx.reader import read_module
    from custom_dispatch.store.key import from_bytes
    from custom_dispatch.store.store import read_entry
    from custom_dispatch.toolchain.entry_point import read_notes, split_notes
    from custom_dispatch.toolchain.images import describe_image, fatbin_parts, read_cubin
    from custom_dispatch.toolchain.includes import SearchPath, closure_of
    from custom_dispatch.toolchain.library import Object
    from custom_dispatch.toolchain.ptxas import parse_spills

_DIRECTORY = tempfile.TemporaryDirectory()
_PLACE = Path(_DIRECTORY.name)


def _entry(data: bytes) -> None:
    assert read_entry(data, bytes(32)) is None


def _object(data: bytes) -> None:
    with suppress(ValueError):
        assert type(from_bytes(Object, data)) is Object


def _ptx(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for module in (text, f".version 8.0\n.target sm_90\n.address_size 64\n{text}"):
        with suppress(CustomDispatchError):
            read_module(module)


def _cubin(data: bytes) -> None:
    with suppress(CustomDispatchError):
        read_cubin(data)


def _image(data: bytes) -> None:
    with suppress(CustomDispatchError):
        describe_image(data)
    with suppress(CustomDispatchError):
        fatbin_parts(data)


def _notes(data: bytes) -> None:
    code, notes = split_notes(data)
    assert code + notes == data
    for part in (data, notes):
        assert all(entry.symbol for entry in read_notes(part))


def _resources(data: bytes) -> None:
    parse_spills(data.decode("utf-8", "replace"))


def _includes(data: bytes) -> None:
    closure_of(data, _PLACE / "k.cu", (), SearchPath((str(_PLACE),)))


READERS: dict[str, Callable[[bytes], None]] = {
    "entry": _entry,
    "object": _object,
    "ptx": _ptx,
    "cubin": _cubin,
    "image": _image,
    "notes": _notes,
    "resources": _resources,
    "includes": _includes,
}

if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], READERS[sys.argv[1]])
    atheris.Fuzz()
