"""Checking an object before anything is built on it: it assembles, and is what was declared."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from math import prod

from custom_dispatch.errors import PtxError
from custom_dispatch.format.kernel_resources import KernelResources
from custom_dispatch.kernel.abi import CONSTANT_BYTES
from custom_dispatch.kernel.geometry import max_block_registers, max_shared_bytes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.ptx import conformance
from custom_dispatch.ptx.edits import Edit, apply_edits, limit_registers
from custom_dispatch.ptx.foreign import drop_unread, make_shared_dynamic, ported
from custom_dispatch.ptx.module import Module
from custom_dispatch.ptx.reader import read_module
from custom_dispatch.ptx.rewrite import (
    check_rewritten,
    rewrite_entry,
    rewritten_parameters,
    takes_addresses,
)
from custom_dispatch.toolchain.cubin_parameters import in_order, order_of
from custom_dispatch.toolchain.entry_point import check_types
from custom_dispatch.toolchain.images import CubinKernel, describe_image, fatbin_parts, read_cubin
from custom_dispatch.toolchain.library import Form, Object, stated_version, with_version
from custom_dispatch.toolchain.ptxas import Assembly, assemble

_AS_IT_IS = Form()


def validate(
    item: Object,
    kernels: Sequence[Kernel],
    label: str,
    *,
    for_cpu: bool = False,
    form: Form = _AS_IT_IS,
    reading: AbstractContextManager[object] = nullcontext(),  # noqa: B008 - it has no state
) -> Object:
    """Check an object against the kernels it is for; return it as it will be linked.

    PTX is read and compared with each declaration, as are the types that the compiler told of;
    it is rewritten where a kernel's C signature is not in IREE's form, and assembled as it will be
    linked. A cubin is compared by what its ELF tables say of each kernel, a fatbin by its parts. Of
    a compressed part only the architecture can be read, so an entry that is missing from it is
    found when the file is loaded.

    - `label`: what the object is to the user, for errors: a source's or an object file's name.
    - `for_cpu`: whether only the CPU target is to run it: then the GPU's limits do not hold, and it
      stays PTX.
    - `form`: what PTX becomes; for a fatbin a cubin, to be joined with the others later.
    - `reading`: held while PTX is read, and not while it is assembled.
    """
    arch = item.target.cuda_arch
    if item.kind == "ptx":
        form = Form(is_foreign=form.is_foreign) if for_cpu else form
        return _validate_ptx(item, kernels, label, form, reading, for_cpu=for_cpu)
    for kernel in kernels:
        if not kernel.abi.is_irees:
            point = item.entry_point(kernel.entry)
            order = order_of(kernel.abi)
            if not point.parameters and item.kind == "cubin" and order is not None:
                item = _adapted_cubin(item, kernel, order, label)
                continue
            if not point.parameters:
                raise _not_ptx(item, kernel, label)
            check_rewritten(point.symbol, point.parameters, kernel.name, kernel.abi, label)
        if kernel.max_registers is not None:
            raise PtxError(
                f"Kernel `{kernel.name}`: `{label}` is a {item.kind}, and max_registers="
                f"{kernel.max_registers} is declared.",
                expected="PTX, in which the limit can be stated",
                next_step="give PTX in its place (nvcc -ptx), or leave max_registers out.",
            )
    _check_image_arch(item, kernels[0], arch, label)
    if item.kind == "cubin":
        return _validate_cubin(item, kernels, arch, label)
    for kind, built, content in fatbin_parts(item.data):
        part = replace(item, kind=kind, data=content, target=Target("cuda", built))
        if kind == "cubin":
            _validate_cubin(part, kernels, built, label)
        else:
            _, module = _read(part, kernels[0], label)
            for kernel in kernels:
                conformance.check_module(
                    module, kernel, built, label, symbol=item.symbol(kernel.entry)
                )
    return item


def _not_ptx(item: Object, kernel: Kernel, label: str) -> PtxError:
    return PtxError(
        f"Kernel `{kernel.name}`: `{label}` is a {item.kind}, and the C signature has another form "
        "than IREE's calls.",
        expected="PTX, which can be adapted to them; or a signature of buffers that are read or "
        "updated, then buffers that are only written, then scalars of at most 32 bits; in a cubin "
        "these may have any order",
        next_step="give PTX in its place (nvcc -ptx), or reorder the parameters.",
    )


@contextmanager
def naming(kernel: Kernel, label: str) -> Iterator[None]:
    """Put the kernel and the object's label before errors of readers that know neither."""
    try:
        yield
    except PtxError as error:
        raise error.saying(f"Kernel `{kernel.name}`: `{label}`: {error.found}") from error


def _adapted(item: Object, kernels: Sequence[Kernel], label: str, *, is_foreign: bool) -> Object:
    """The object, whose PTX was compared with the declarations, in IREE's form."""
    arch = item.target.cuda_arch
    text, module = _read(item, kernels[0], label, is_foreign=is_foreign)
    dropped: dict[str, list[Edit]] = {}
    for kernel in kernels if is_foreign else ():
        symbol = item.symbol(kernel.entry)
        module, dropped[symbol] = drop_unread(text, module, symbol, len(kernel.abi.parameters))
    for kernel in kernels:
        conformance.check_module(module, kernel, arch, label, symbol=item.symbol(kernel.entry))
    for point in item.entries:
        for kernel in kernels:
            if kernel.entry == point.name and point.signature is not None:
                check_types(kernel, point.signature, label)
    edits: list[Edit] = []
    for kernel in kernels:
        symbol = item.symbol(kernel.entry)
        entry = module.entry(symbol)
        if not kernel.abi.is_irees or (entry is not None and takes_addresses(entry)):
            with naming(kernel, label):
                edits += rewrite_entry(text, module, symbol, kernel.abi)
            item = _rewritten(item, kernel)
        else:
            edits += dropped.get(symbol, ())
        if is_foreign and entry is not None:
            with naming(kernel, label):
                memory = make_shared_dynamic(text, module, entry, kernel)
                edits += (edit for edit in memory if edit not in edits)
        if kernel.max_registers is not None and entry is not None:
            with naming(kernel, label):
                edits += limit_registers(entry, kernel.max_registers)
    return replace(item, data=apply_edits(text, edits).encode("utf-8"))


def _validate_ptx(
    item: Object,
    kernels: Sequence[Kernel],
    label: str,
    form: Form,
    reading: AbstractContextManager[object],
    *,
    for_cpu: bool,
) -> Object:
    arch, given = item.target.cuda_arch, item.data
    with reading:
        item = _adapted(item, kernels, label, is_foreign=form.is_foreign)
    data = item.data
    with naming(kernels[0], label):
        if form.ptx_version is None:
            assembly = _assemble(data, arch, given, is_foreign=form.is_foreign)
            data = assembly.ptx
        else:
            data = with_version(data, form.ptx_version)
            assembly = _assemble_as(data, arch, form.ptx_version)
    reports = {report.kernel: report for report in assembly.resources}
    for kernel in () if for_cpu else kernels:
        symbol = item.symbol(kernel.entry)
        _check_limits(kernel, arch, reports.get(symbol, KernelResources(symbol)))
    item = replace(item, data=data, resources=assembly.resources)
    if form.image == "ptx":
        return item
    return replace(item, kind="cubin", data=assembly.cubin, parts=(item,))


def _rewritten(item: Object, kernel: Kernel) -> Object:
    """The object with what a kernel's entry takes now."""
    point = item.entry_point(kernel.entry)
    point = replace(point, parameters=rewritten_parameters(point.symbol, kernel.abi))
    return replace(item, entries=(*(e for e in item.entries if e.name != kernel.entry), point))


def _read(
    item: Object, kernel: Kernel, label: str, *, is_foreign: bool = False
) -> tuple[str, Module]:
    try:
        text = item.data.decode("utf-8")
    except UnicodeDecodeError:
        raise PtxError(
            f"Kernel `{kernel.name}`: `{label}` is not PTX: it is not UTF-8 text.",
            next_step="give a file that nvcc -ptx or NVRTC wrote.",
        ) from None
    text = ported(text, item.target.cuda_arch) if is_foreign else text
    with naming(kernel, label):
        return text, read_module(text)


_OF_CUDA_13 = (9, 0)
"""The PTX version that all drivers of CUDA 13 read."""


def _assemble(ptx: bytes, arch: Arch, given: bytes, *, is_foreign: bool) -> Assembly:
    """Assemble PTX of any release, which may have been given for another architecture; that of
    other compilers as PTX that more drivers read, if it is that.
    """
    if is_foreign and (stated_version(ptx) or _OF_CUDA_13) > _OF_CUDA_13:
        with suppress(PtxError):
            return assemble(with_version(ptx, _OF_CUDA_13), arch)
    try:
        return assemble(ptx, arch, lowers=True)
    except PtxError as error:
        built = describe_image(given).archs[0]
        if built.compute_capability != arch.compute_capability or built == arch:
            raise
        raise PtxError(
            f"The PTX is for {built}, and as PTX for {arch} it does not assemble.",
            expected=f"PTX that needs nothing of {built} alone",
            next_step=f"give it for the target cuda:{built}; ptxas says:",
            log=error.log,
        ) from error


def _assemble_as(ptx: bytes, arch: Arch, version: tuple[int, int]) -> Assembly:
    """Assemble PTX whose version was lowered: ptxas judges whether it may be."""
    try:
        return assemble(ptx, arch)
    except PtxError as error:
        raise PtxError(
            f'The PTX does not assemble for {arch} as ptx_version="{version[0]}.{version[1]}".',
            expected="a version that has every instruction and the architecture",
            next_step="raise ptx_version, or leave it out; ptxas says:",
            log=error.log,
        ) from error


def _check_image_arch(item: Object, kernel: Kernel, arch: Arch, label: str) -> None:
    with naming(kernel, label):
        image = describe_image(item.data)
    fits = any(
        _cubin_runs_on(built, arch) if kind == "cubin" else built.runs_on_target(arch)
        for kind, built in image.members
    )
    if not fits:
        there = ", ".join(
            str(built) if item.kind == "cubin" else f"{built} ({kind})"
            for kind, built in image.members
        )
        raise PtxError(
            f"Kernel `{kernel.name}`: `{label}` is a {item.kind} for {there}, but is given "
            f"for {arch}.",
            expected=f"a {item.kind} for {arch}",
            next_step=f"build it with -arch={arch}, or give it for the target it was built for.",
        )


def _cubin_runs_on(built: Arch, arch: Arch) -> bool:
    if built.suffix:
        return built == arch
    return built.machine_code_runs_on(arch.compute_capability)


def _validate_cubin(item: Object, kernels: Sequence[Kernel], arch: Arch, label: str) -> Object:
    with naming(kernels[0], label):
        found = read_cubin(item.data)
    for kernel in kernels:
        entry = found.get(item.symbol(kernel.entry))
        if entry is None:
            raise conformance.no_entry(kernel, tuple(found), label)
        if kernel.abi.is_irees:
            _check_hidden(kernel, entry, label)
        _check_sizes(kernel, entry.parameter_bytes, label)
        conformance.check_block(kernel, entry.max_threads, entry.required_threads, f"`{label}`")
        conformance.check_cluster(kernel, entry.cluster, f"`{label}`")
        _check_limits(kernel, arch, entry.resources)
    return replace(item, resources=tuple(entry.resources for entry in found.values()))


def _adapted_cubin(item: Object, kernel: Kernel, order: Sequence[int], label: str) -> Object:
    """Machine code whose tables say that it takes what IREE passes."""
    symbol = item.symbol(kernel.entry)
    with naming(kernel, label):
        found = read_cubin(item.data)
    if symbol not in found:
        raise conformance.no_entry(kernel, tuple(found), label)
    _check_hidden(kernel, found[symbol], label)
    described = tuple((f"{size} bytes wide", size) for size in found[symbol].parameter_bytes)
    conformance.check_parameters(kernel.name, kernel.abi, described, f"`{label}`")
    return _rewritten(replace(item, data=in_order(item.data, symbol, order)), kernel)


def _check_hidden(kernel: Kernel, entry: CubinKernel, label: str) -> None:
    if not entry.hidden_bytes:
        return
    listed = _listed(entry.parameter_bytes) if entry.parameters else "no"
    raise PtxError(
        f"Kernel `{kernel.name}`: `{label}` lists parameters of {listed} bytes, and the code takes "
        f"{entry.hidden_bytes} bytes more.",
        expected="code that takes its parameters alone: what its producer's host code adds, tensor "
        "maps among it, cannot be passed",
        next_step="compile it without tensor maps, or for an earlier architecture.",
    )


def _check_sizes(kernel: Kernel, sizes: tuple[int, ...], label: str) -> None:
    if kernel.abi.is_irees:
        described = tuple((f"{size} bytes wide", size) for size in sizes)
        conformance.check_parameters(kernel.name, kernel.abi, described, f"`{label}`")
    elif tuple(max(size, CONSTANT_BYTES) for size in sizes) != kernel.abi.passed_bytes:
        raise PtxError(
            f"Kernel `{kernel.name}`: `{label}` has parameters of {_listed(sizes)} bytes, and "
            "remarks behind it that tell of others.",
            expected=f"parameters of {_listed(kernel.abi.passed_bytes)} bytes, as IREE passes them",
            next_step="build it again from the source.",
        )


def _listed(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes))


def _check_limits(kernel: Kernel, arch: Arch, taken: KernelResources) -> None:
    """A block that needs more shared memory or registers than there are does not launch.

    Registers are given to whole warps, 8 for each thread at a time (CUDA C++ Best Practices Guide,
    "Calculating Occupancy"; 256 for each warp).
    """
    static, registers = taken.static_shared_bytes, taken.registers
    total = static + kernel.dynamic_shared_memory
    limit = max_shared_bytes(arch.compute_capability)
    if total > limit:
        raise PtxError(
            f"Kernel `{kernel.name}` uses {total} bytes of shared memory a block for {arch}: "
            f"{static} static and {kernel.dynamic_shared_memory} dynamic.",
            expected=f"at most {limit} bytes, the limit of {arch}",
            next_step=f"use smaller tiles, or name targets without cuda:{arch}.",
        )

    threads = prod(kernel.block)
    total = -(-threads // 32) * 32 * (-(-registers // 8) * 8)
    limit = max_block_registers(arch.compute_capability)
    if total > limit:
        raise PtxError(
            f"Kernel `{kernel.name}`: block {kernel.block} needs {total} registers for {arch}: "
            f"{registers} for each of {threads} threads.",
            expected=f"at most {limit}, what a block of {arch} may use",
            next_step=f"write __launch_bounds__({threads}) in the source, so that the compiler "
            "keeps to it, or use a smaller block.",
        )
