"""What an image is, by its bytes; and fatbins made and read back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_sources import SM_90
from hypothesis import given
from hypothesis import strategies as st

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.process import run
from custom_dispatch.toolchain.images import ImageInfo, describe_image
from custom_dispatch.toolchain.locations import find_tool
from custom_dispatch.toolchain.ptxas import assemble, make_fatbin

Ptx = Callable[[str], bytes]

ARCHS = ["sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"]


@pytest.mark.parametrize("name", ARCHS)
def test_ptx_and_cubins_tell_their_architecture(name: str, scale_ptx: Ptx) -> None:
    arch = Arch.parse(name)
    ptx = scale_ptx(name)
    assert describe_image(ptx) == ImageInfo("ptx", (("ptx", arch),))
    assert describe_image(assemble(ptx, arch).cubin) == ImageInfo("cubin", (("cubin", arch),))


@pytest.mark.parametrize(
    ("flags", "arch"), [(0x5A055A, "sm_90"), (0x5A0D5A, "sm_90a"), (0x500550, "sm_80")]
)
def test_cubins_of_cuda_12_tell_their_architecture(flags: int, arch: str) -> None:
    header = bytearray(64)
    header[:9] = b"\x7fELF\x02\x01\x01\x33\x07"
    struct.pack_into("<H", header, 18, 190)
    struct.pack_into("<I", header, 48, flags)
    assert describe_image(bytes(header)).archs == (Arch.parse(arch),)


def test_comments_before_the_version_are_passed_over() -> None:
    ptx = (
        b"// .version 1.0\n// more\n\n  .version 8.0 \r\n.target sm_90a, debug\n.address_size 64\n"
    )
    assert describe_image(ptx).archs == (Arch(90, "a"),)


def test_a_fatbin_holds_what_was_put_in(scale_ptx: Ptx) -> None:
    images = [(Arch.parse(name), scale_ptx(name)) for name in ("sm_80", "sm_90a", "sm_100f")]
    images.append((SM_90, assemble(scale_ptx("sm_90"), SM_90).cubin))
    fatbin = make_fatbin(images)
    info = describe_image(fatbin)
    assert info.kind == "fatbin"
    assert info.members == (
        ("ptx", Arch(80)),
        ("ptx", Arch(90, "a")),
        ("ptx", Arch(100, "f")),
        ("cubin", SM_90),
    )
    assert info.archs == (Arch(100, "f"), Arch(90, "a"), SM_90, Arch(80))
    assert fatbin.count(b".visible .entry scale(") == 3  # uncompressed: older drivers read it


def test_a_compressed_fatbin_of_another_tool_is_read(scale_ptx: Ptx, tmp_path: Path) -> None:
    (tmp_path / "a.ptx").write_bytes(scale_ptx("sm_90a"))
    fatbinary = find_tool("fatbinary").require("")
    made = run(
        [fatbinary, "--create=out", "--compress-all", "--image3=kind=ptx,sm=90a,file=a.ptx"],
        cwd=tmp_path,
    )
    assert made.returncode == 0
    assert describe_image((tmp_path / "out").read_bytes()).members == (("ptx", Arch(90, "a")),)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "The image is not device code: it is empty."),
        (b"hello", "The image is not device code: its first bytes are b'hello'."),
        (b".version 9.0\n", "The image is not device code: its first bytes are b'.version'."),
        (b".version 9.0\n.target texmode\n", "The PTX's `.target` is `texmode`."),
        (b"\x7fELF", "The cubin is damaged or cut short."),
        (b"\x50\xed\x55\xba", "The fatbin is damaged or cut short."),
        (b"\x7fELF" + bytes(60), "The image is an ELF file of machine 0, not device code."),
        (
            bytes.fromhex("50ed55ba 0700 1000") + bytes(8),
            "The fatbin is of container version 7, which is unknown.",
        ),
        (
            bytes.fromhex("50ed55ba 0100 1000") + bytes(8),
            "The fatbin holds neither PTX nor a cubin.",
        ),
    ],
)
def test_what_is_no_image_is_refused_with_a_sentence(data: bytes, found: str) -> None:
    with pytest.raises(PtxError) as caught:
        describe_image(data)
    assert caught.value.found == found
    assert caught.value.expected
    assert caught.value.next_step


def test_a_cubin_of_an_unknown_abi_is_refused(scale_ptx: Ptx) -> None:
    cubin = bytearray(assemble(scale_ptx("sm_90"), SM_90).cubin)
    cubin[8] = 99
    with pytest.raises(PtxError, match="ABI version 99"):
        describe_image(bytes(cubin))


def test_a_fatbin_cut_anywhere_is_refused(scale_ptx: Ptx) -> None:
    fatbin = make_fatbin([(SM_90, scale_ptx("sm_90"))])
    for length in range(4, len(fatbin), 7):
        with pytest.raises(PtxError, match="damaged or cut short"):
            describe_image(fatbin[:length])


@given(st.sampled_from([b"", b"\x7fELF", b"\x50\xed\x55\xba", b".version 9.0\n"]), st.binary())
def test_any_bytes_are_described_or_refused(head: bytes, rest: bytes) -> None:
    try:
        info = describe_image(head + rest)
    except PtxError:
        return
    assert info.members


def test_a_fatbin_refuses_an_image_of_another_architecture_or_kind(scale_ptx: Ptx) -> None:
    with pytest.raises(PtxError) as caught:
        make_fatbin([(Arch(80), scale_ptx("sm_90"))])
    assert caught.value.found == "The image given for sm_80 is for sm_90."
    fatbin = make_fatbin([(SM_90, scale_ptx("sm_90"))])
    with pytest.raises(PtxError, match="The image for sm_90 is itself a fatbin"):
        make_fatbin([(SM_90, fatbin)])
