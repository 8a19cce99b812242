"""Assembling PTX with ptxas, and joining images with fatbinary.

ptxas is the one judge of PTX without a driver: the driver holds the same assembler.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from custom_dispatch.errors import CustomDispatchError, DeclarationError, PtxError
from custom_dispatch.files import temporary_directory
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.installation import install_step
from custom_dispatch.kernel.target import Arch
from custom_dispatch.meanings import meaning_of
from custom_dispatch.process import run
from custom_dispatch.toolchain.compiler import unsupported_arch
from custom_dispatch.toolchain.images import describe_image, read_cubin
from custom_dispatch.toolchain.library import Object, with_version
from custom_dispatch.toolchain.locations import find_tool, release
from custom_dispatch.toolchain.nvcc import tool_version


@dataclass(frozen=True, slots=True)
class Assembly:
    """What ptxas made of a piece of PTX."""

    cubin: bytes
    resources: tuple[KernelResources, ...]
    """One for each `.entry`, in ptxas' order."""
    log: str
    """Warnings and performance advice; usually empty."""
    ptx: bytes
    """What was assembled."""


def assemble(ptx: bytes, arch: Arch, *, lowers: bool = False) -> Assembly:
    """Assemble PTX for one architecture.

    `lowers`: whether PTX of a later CUDA release may be taken for PTX of ptxas' own, which is then
    the judge of whether it is.
    """
    ptxas = find_tool("ptxas").require("nvcc")
    with temporary_directory() as directory:
        # Names without a directory, so that ptxas' messages hold no temporary path.
        (directory / "kernel.ptx").write_bytes(ptx.rstrip(b"\0"))
        completed = run(
            [ptxas, "-v", f"-arch={arch}", "kernel.ptx", "-o", "kernel.cubin"], cwd=directory
        )
        # ptxas says most on stdout, some on stderr.
        log = completed.stdout.decode("utf-8", "replace") + completed.stderr
        if completed.returncode != 0:
            later = _LATER.search(log) if lowers else None
            if later is not None:
                return _assemble_lowered(ptx, arch, ptxas, later)
            raise _failure(ptx, arch, ptxas, log)
        cubin = (directory / "kernel.cubin").read_bytes()
        # Here, where a cubin that was cut short is the disk's fault.
        return Assembly(cubin, _resources(log, cubin), _remarks(log), ptx)


_LATER = re.compile(r"Unsupported \.version (\S+); current version is '(\d+)\.(\d+)'", re.ASCII)


def _assemble_lowered(ptx: bytes, arch: Arch, ptxas: Path, later: re.Match[str]) -> Assembly:
    known = int(later[2]), int(later[3])
    try:
        return assemble(with_version(ptx, known), arch)
    except PtxError as error:
        version = tool_version(ptxas)
        raise PtxError(
            f"The PTX is of a later CUDA release (version {later[1]}) than ptxas {version}, which "
            f"reads up to {known[0]}.{known[1]}, and as such PTX it does not assemble for {arch}.",
            expected=f"a compiler and a ptxas of one release; nvidia-cuda-nvrtc {release(version)}",
            next_step=f"correct the source where ptxas' message points, or {install_step('cuda')}",
            log=error.log,
        ) from error


_ENTRY = re.compile(r"Compiling entry function '([^']*)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(
    r"\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", re.ASCII
)
_NOISE = re.compile(
    r"ptxas info\s*: (?:Used \d+ registers.*|Compile time = .*|\d+ bytes gmem.*)", re.ASCII
)


def parse_spills(log: str) -> dict[str, tuple[int, int]]:
    """The bytes of spill stores and loads of each kernel, as `ptxas -v` printed them: what a cubin
    does not tell.
    """
    found: dict[str, tuple[int, int]] = {}
    function = ""
    for line in log.splitlines():
        if (match := _ENTRY.search(line)) is not None:
            found[match[1]] = 0, 0
        elif (match := _PROPERTIES.search(line)) is not None:
            # Functions that kernels call follow the kernels, under their own names.
            function = match[1]
        elif function in found and (match := _STACK.search(line)) is not None:
            found[function] = int(match[1]), int(match[2])
    return found


def _resources(log: str, cubin: bytes) -> tuple[KernelResources, ...]:
    kernels = read_cubin(cubin)
    return tuple(
        replace(kernels[name].resources, spill_stores_bytes=stores, spill_loads_bytes=loads)
        for name, (stores, loads) in parse_spills(log).items()
    )


def _remarks(log: str) -> str:
    patterns = (_ENTRY, _PROPERTIES, _STACK, _NOISE)
    lines = (line for line in log.splitlines() if not any(p.search(line) for p in patterns))
    return "\n".join(lines).strip()


_LINE = re.compile(r"ptxas kernel\.ptx, line (\d+);", re.ASCII)
_NEEDS = re.compile(r"requires \.target sm_(\d+) or higher", re.ASCII)
_ABORTED = "Ptx assembly aborted due to errors"


def _failure(ptx: bytes, arch: Arch, ptxas: Path, log: str) -> CustomDispatchError:
    log = "\n".join(line for line in log.splitlines() if _ABORTED not in line).strip()
    if f"Value '{arch}' is not defined" in log:
        help_text = run([ptxas, "--help"], timeout_seconds=60).stdout.decode("utf-8", "replace")
        known = {int(capability) for capability in re.findall(r"'sm_(\d+)'", help_text)}
        names = [f"sm_{capability}" for capability in sorted(known)]
        return unsupported_arch(arch, f"ptxas {tool_version(ptxas)}", names)
    later = max((Arch(int(number)) for number in _NEEDS.findall(log)), default=arch)
    hint = "correct it where ptxas' message points"
    words = {
        "arch": str(arch),
        "version": tool_version(ptxas),
        "where": _where(ptx, log),
        "step": f"{hint} (usually an `asm` in the source):"
        if later == arch
        else f"build for cuda:{later} or later (the target cpu takes the PTX of the oldest plain "
        f"CUDA target), or {hint}:",
    }
    return meaning_of(Path(__file__).with_name("ptxas_failures.toml"), log, PtxError, log, **words)


def _where(ptx: bytes, log: str) -> str:
    match = _LINE.search(log)
    if match is None:
        return ""
    before = ptx.decode("utf-8", "replace").splitlines()[: int(match[1])]
    kernels = re.findall(r"\.entry\s+([\w$%]+)", "\n".join(before))
    kernel = f"kernel `{kernels[-1]}`, " if kernels else ""
    return f": {kernel}line {match[1]}"


# fatbinary's words for the kinds.
_KINDS = {"ptx": "ptx", "cubin": "elf"}


def make_fatbin(images: Sequence[tuple[Arch, bytes]]) -> bytes:
    """Put PTX and cubins into one fatbin, from which the driver takes what fits its GPU.

    `images`: each architecture with its PTX or cubin.
    """
    tool = find_tool("fatbinary").require("nvcc")
    with temporary_directory() as directory:
        arguments = []
        for arch, data in images:
            kind = _checked_kind(arch, data)
            name = f"{arch}.{kind}"
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

    `items`: PTX, cubins, or cubins with the PTX that they were made of.
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
