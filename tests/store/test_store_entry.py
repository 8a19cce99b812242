"""Reading entries: whatever the bytes, a value that was written, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.store.key import from_bytes, key_of, to_bytes
from custom_dispatch.store.store import read_entry, write_entry
from custom_dispatch.toolchain.library import Object
from custom_dispatch.toolchain.ptxas import KernelResources

KEY = key_of("test", 1)
ENTRY = write_entry(KEY, b"some value")


def test_what_was_written_is_read() -> None:
    assert read_entry(ENTRY, KEY) == b"some value"


def test_an_entry_of_another_key_is_none() -> None:
    assert read_entry(ENTRY, key_of("test", 2)) is None


@given(st.integers(0, len(ENTRY) * 8 - 1))
def test_a_flipped_bit_makes_it_none(bit: int) -> None:
    damaged = bytearray(ENTRY)
    damaged[bit // 8] ^= 1 << bit % 8
    assert read_entry(bytes(damaged), KEY) is None


@given(st.integers(0, len(ENTRY) - 1), st.binary(max_size=4))
def test_cut_short_or_longer_is_none(length: int, more: bytes) -> None:
    assert read_entry(ENTRY[:length], KEY) is None
    assert read_entry(ENTRY + b"x" + more, KEY) is None


@given(st.binary())
def test_other_bytes_are_none(data: bytes) -> None:
    assert read_entry(data, KEY) is None


OBJECT = Object(
    "name", Target("cuda", Arch(90, "a")), "ptx", b"\0\xff", "NVRTC", "log", (KernelResources("k"),)
)


@dataclass(frozen=True)
class Parts:
    number: int
    share: float
    maybe: bytes | None
    pairs: tuple[tuple[str, int], ...]
    table: dict[str, Path]
    empty: tuple[()] = ()


def test_dataclasses_are_read_as_they_were() -> None:
    parts = Parts(1, 0.5, None, (("a", 2),), {"x": Path("y")})
    assert from_bytes(Parts, to_bytes(parts)) == parts
    assert from_bytes(Object, to_bytes(OBJECT)) == OBJECT


@pytest.mark.parametrize(
    ("change", "into"),
    [
        (b'"number":1', b'"number":"'),
        (b'"number":1', b'"number":t'),
        (b'"number"', b'"numbed"'),
        (b'"maybe":null', b'"maybe":9999'),
        (b'"maybe":null', b'"maybe":-001'),
        (b'[["a",2]]', b'[["a","]]'),
        (b'[["a",2]]', b'["a","b"]'),
        (b'[["a",2]]', b'[["a",[]]'),
        (b"[[],", b'[["1"],'),
    ],
)
def test_parts_of_other_types_are_refused(change: bytes, into: bytes) -> None:
    data = to_bytes(Parts(1, 0.5, None, (("a", 2),), {"x": Path("y")}))
    assert change in data
    with pytest.raises(ValueError, match="not a Parts"):
        from_bytes(Parts, data.replace(change, into))


@given(st.binary())
def test_other_bytes_are_no_object(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a Object"):
        from_bytes(Object, data)


@given(st.data())
def test_changed_bytes_are_an_object_or_refused(data: st.DataObject) -> None:
    # Behind a checksum they cannot occur; a reader of its own is not to rely on that.
    content = bytearray(to_bytes(OBJECT))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = from_bytes(Object, bytes(content))
    except ValueError:
        return
    assert type(found) is Object


def test_what_is_no_data_is_not_kept() -> None:
    with pytest.raises(TypeError, match="cannot be kept"):
        to_bytes((print,))
