"""Making a fatbin, one image for several architectures, with NVIDIA's `fatbinary`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.files import temporary_directory
from custom_dispatch.kernel.target import Arch
from custom_dispatch.process import run
from custom_dispatch.toolchain.image import describe_image
from custom_dispatch.toolchain.locations import find_tool
from custom_dispatch.toolchain.object import Object

# fatbinary's words for the kinds.
_KINDS = {"ptx": "ptx", "cubin": "elf"}


def make_fatbin(images: Sequence[tuple[Arch, bytes]]) -> bytes:
    """Put PTX and cubins into one fatbin, from which the driver takes what fits its GPU.

    Parameters
    ----------
    images
        Each architecture with its PTX or cubin.

    Raises
    ------
    DeclarationError
        There is no image, or two of one kind and architecture.
    PtxError
        An image is neither PTX nor a cubin, or is of another architecture than said.
    ToolNotFoundError
        `fatbinary` is not installed.
    """
    if not images:
        raise DeclarationError(
            "A fatbin without any image was asked for.",
            expected="PTX or a cubin for at least one architecture",
            next_step="name a CUDA target.",
        )
    tool = find_tool("fatbinary").require("nvcc")
    with temporary_directory() as directory:
        arguments = []
        for arch, data in images:
            kind = _checked_kind(arch, data)
            name = f"{arch}.{kind}"
            if (directory / name).exists():
                raise DeclarationError(
                    f"Two images of kind {kind} for {arch} were given for one fatbin.",
                    expected="one of a kind for each architecture",
                    next_step="remove one of them.",
                )
            (directory / name).write_bytes(data.rstrip(b"\0") if kind == "ptx" else data)
            sm = str(arch).removeprefix("sm_")
            arguments.append(f"--image3=kind={_KINDS[kind]},sm={sm},file={name}")
        completed = run(
            # Uncompressed: fatbinary 13.0 compresses in a way that drivers before it cannot read.
            [tool, "--64", "--compress=false", "--create=out.fatbin", *arguments],
            cwd=directory,
        )
        if completed.returncode != 0:
            raise PtxError(
                "fatbinary could not join the images.",
                next_step="build each target again.",
                log=completed.stdout.decode("utf-8", "replace") + completed.stderr,
            )
        return (directory / "out.fatbin").read_bytes()


def join(items: Sequence[Object]) -> Object:
    """One object for several targets: a fatbin of all their images, PTX and machine code.

    Parameters
    ----------
    items
        PTX, cubins, or cubins with the PTX that they were made of.

    Raises
    ------
    DeclarationError
        A kernel has another name in one of the images than in the others.
    PtxError
        An image is itself a fatbin.
    ToolNotFoundError
        `fatbinary` is not installed.
    """
    images = []
    for item in items:
        arch = item.target.cuda_arch
        images.append((arch, item.data))
        images += ((arch, part.data) for part in item.parts)
    lowest = min(items, key=lambda item: item.target.cuda_arch)
    for item in items:
        for entry in lowest.entries:
            if item.symbol(entry.name) != entry.symbol:
                raise DeclarationError(
                    f"`{entry.name}` is `{entry.symbol}` for {lowest.target.symbol} and "
                    f"`{item.symbol(entry.name)}` for {item.target.symbol}.",
                    expected="one symbol in all parts of a fatbin",
                    next_step='build image="ptx" or "cubin", or make its type the same everywhere.',
                )
    log = "\n".join(dict.fromkeys(item.log for item in items if item.log))
    parts = tuple(items)
    return replace(
        lowest, kind="fatbin", data=make_fatbin(images), log=log, resources=(), parts=parts
    )


def _checked_kind(arch: Arch, data: bytes) -> str:
    info = describe_image(data)
    if info.kind not in _KINDS:
        raise PtxError(
            f"The image for {arch} is itself a {info.kind}.",
            expected="PTX or a cubin",
            next_step="give the images inside it one by one.",
        )
    if info.archs != (arch,):
        raise PtxError(
            f"The image given for {arch} is for {info.archs[0]}.",
            expected=f"an image for {arch}",
            next_step=f"name {info.archs[0]}, or build the image for {arch}.",
        )
    return info.kind
