"""In which form objects are built: PTX, machine code or both, and for which PTX version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.kernel.names import is_one_of, shown

IMAGES = ("ptx", "cubin", "fatbin")

_VERSION = re.compile(r"([1-9][0-9]?)\.([0-9])", re.ASCII)
_VERSION_LINE = re.compile(rb"^([ \t]*\.version[ \t]+)(\d+)\.(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Form:
    """What PTX becomes before it is linked."""

    image: str = "ptx"
    """"ptx", "cubin", or "fatbin": one object with PTX and machine code for every CUDA target."""
    ptx_version: tuple[int, int] | None = None
    """The PTX ISA version that it is to say it needs; None for the compiler's own."""
    lowers: bool = False
    """Whether PTX of a later release than ptxas may become PTX of that: what was compiled here, by
    a compiler that pip mixed with another ptxas."""


def check_form(image: str, ptx_version: str | None) -> Form:
    """The form that is asked for.

    Raises
    ------
    DeclarationError
        There is no such image or version.
    """
    if not is_one_of(image, IMAGES):
        raise DeclarationError(
            f"image is given as {shown(image)}.",
            expected=" or ".join(IMAGES),
            next_step="leave it out for PTX, which also runs on later GPUs.",
        )
    if ptx_version is None:
        return Form(image)
    match = _VERSION.fullmatch(ptx_version) if isinstance(ptx_version, str) else None
    if match is None:
        raise DeclarationError(
            f"ptx_version is given as {shown(ptx_version)}.",
            expected='a version of the PTX ISA, as text: "8.0"',
            next_step="give the version that the oldest driver reads, or leave it out.",
        )
    return Form(image, (int(match[1]), int(match[2])))


def with_version(ptx: bytes, version: tuple[int, int]) -> bytes:
    """PTX that says it needs an older version; whether it does, ptxas finds out.

    Raises
    ------
    PtxError
        The PTX states an older version itself.
    """
    match = _VERSION_LINE.search(ptx)
    found = (int(match[2]), int(match[3])) if match is not None else version
    if match is None or found == version:
        return ptx
    if found < version:
        raise PtxError(
            f"The PTX is of version {found[0]}.{found[1]}, below ptx_version="
            f'"{version[0]}.{version[1]}".',
            expected="a version that is lower: drivers read PTX of every version up to their own",
            next_step="lower ptx_version, or leave it out.",
        )
    line = match[1] + f"{version[0]}.{version[1]}".encode()
    return ptx[: match.start()] + line + ptx[match.end() :]
