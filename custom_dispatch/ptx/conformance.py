"""Comparing a PTX module with a kernel's declaration: everything IREE and CUDA would let through.

IREE never looks into an object, and the CUDA driver finds a kernel by its name and copies as many
parameter bytes as the PTX says. A wrong name, count, size or order therefore compiles, and fails
when the file is loaded or gives wrong numbers.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.abi import Abi
from custom_dispatch.kernel.abi import Parameter as AbiParameter
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Struct
from custom_dispatch.kernel.sources import cpp_name
from custom_dispatch.kernel.target import Arch
from custom_dispatch.ptx.foreign import unread
from custom_dispatch.ptx.module import Entry, Instruction, Module, Parameter, named_by
from custom_dispatch.ptx.rewrite import check_rewritten, is_rewritten
from custom_dispatch.ptx.writes import check_writes
from custom_dispatch.reachable import reachable

_MOST_NAMES = 20
_ARGUMENTS = re.compile(r"<.*>")
_WORDS = re.compile(r"\w+", re.ASCII)


def check_module(
    module: Module, kernel: Kernel, arch: Arch, origin: str, *, symbol: str = ""
) -> None:
    """Check that a module holds a kernel as declared, for an architecture.

    - `origin`: where the module comes from, for errors: a file's name.
    - `symbol`: the entry's name in the module, where it is another than declared.
    """
    _check_target(module, kernel, arch, origin)
    entry = module.entry(symbol or kernel.entry)
    if entry is None:
        raise no_entry(kernel, tuple(entry.name for entry in module.entries), origin)
    if is_rewritten(entry):
        names = [parameter.name for parameter in entry.parameters]
        check_rewritten(entry.name, names, kernel.name, kernel.abi, origin)
    else:
        found = tuple(map(_describe, entry.parameters))
        has_more = len(found) > len(kernel.abi.parameters)
        idle = [parameter.name for parameter in unread(entry)] if has_more else []
        check_parameters(kernel.name, kernel.abi, found, f"`{origin}`", idle)
        _check_parameter_kinds(kernel, entry, origin)
    check_block(kernel, entry.max_threads, entry.required_threads, f"`{origin}`")
    check_cluster(kernel, entry.cluster, f"`{origin}`", is_clustered=entry.is_clustered)
    _check_dynamic_shared_memory(kernel, entry, module, origin)
    check_writes(module, kernel, entry, origin)


def no_entry(kernel: Kernel, names: Sequence[str], origin: str) -> PtxError:
    """The error of an object without the kernel's entry, with the name that was probably meant.

    `names`: the entries that the object has.
    """
    # C++ mangles a name as its length and itself, with the types behind it: _Z5scalePKfPfi.
    parts = _WORDS.findall(_ARGUMENTS.sub("", cpp_name(kernel.entry).function))
    parts = [f"{len(part)}{part}" for part in parts]
    likely = (name for name in names if name.startswith("_Z") and all(p in name for p in parts))
    mangled = next(likely, None)
    similar = difflib.get_close_matches(kernel.entry, names, n=1)
    if mangled is not None:
        hint = f'declare the function `extern "C"`, or give entry="{mangled}".'
    elif similar:
        hint = f"did you mean `{similar[0]}`? Correct the kernel's name, or give entry=."
    else:
        hint = "correct the kernel's name, or the __global__ function's."
    shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return PtxError(
        f"Kernel `{kernel.name}`: `{origin}` has no entry `{kernel.entry}`.",
        expected=f"one of the entries it has: {shown or 'none'}",
        next_step=hint,
    )


def _check_target(module: Module, kernel: Kernel, arch: Arch, origin: str) -> None:
    found = module.target[0] if module.target else "nothing"
    try:
        built_for = Arch.parse(found)
    except ValueError:
        built_for = None
    # PTX of an earlier architecture also runs on a later one; `a` and `f` PTX does not move.
    if built_for is None or not (built_for == arch or built_for.runs_on_target(arch)):
        raise PtxError(
            f"Kernel `{kernel.name}`: `{origin}` is PTX for {found}, but is given for {arch}.",
            expected=f"PTX for {arch}, or plain PTX for an earlier architecture",
            next_step=f"build it with -arch={arch}, or give it for the target it was built for.",
        )
    if module.address_size != 64:
        raise PtxError(
            f"Kernel `{kernel.name}`: `{origin}` has .address_size {module.address_size}.",
            expected=".address_size 64",
            next_step="build it for a 64-bit host (-m64).",
        )


def _describe(parameter: Parameter) -> tuple[str, int]:
    array = "" if parameter.count is None else f"[{parameter.count}]"
    return f".{parameter.type}{array}", parameter.size_bytes


def check_parameters(
    kernel: str, abi: Abi, found: tuple[tuple[str, int], ...], origin: str, idle: Sequence[str] = ()
) -> None:
    """Compare an entry's parameters with a declaration's C signature.

    - `found`: a description and a size in bytes, for every parameter in order.
    - `idle`: where there are more than declared, the names of those that nothing reads.
    """
    wanted = abi.parameters
    if len(found) != len(wanted):
        declared = ", ".join(parameter.operand.name for parameter in wanted)
        names = ", ".join(f"`{name}`" for name in idle)
        raise PtxError(
            f"Kernel `{kernel}`: its entry in {origin} takes {len(found)} parameters"
            + (f", of which nothing reads {names}." if idle else "."),
            expected=f"{len(wanted)}, as declared: {declared}",
            next_step="make the declaration's operands and the C signature agree.",
        )
    for parameter, (description, size) in zip(wanted, found, strict=True):
        if size != parameter.size_bytes:
            expected = f"{parameter.kind} of {parameter.size_bytes} bytes"
            raise _mismatch(kernel, parameter, f"{description}, {size} bytes", origin, expected)


def _mismatch(
    kernel: str, parameter: AbiParameter, found: str, origin: str, expected: str
) -> PtxError:
    return PtxError(
        f"Kernel `{kernel}`: parameter {parameter.index} in {origin} is {found}, where operand "
        f"`{parameter.operand.name}` is declared.",
        expected=expected,
        next_step="make the declaration's operands and the C signature agree in order and type.",
    )


def _check_parameter_kinds(kernel: Kernel, entry: Entry, origin: str) -> None:
    """Tell parameters of equal size apart, as far as PTX says what they are.

    A `.b32` says nothing, and neither do bytes: __half is a struct in C++. Pointers are marked with
    `.ptr` by nvcc and NVRTC 13.0 for sm_100 and later, and by none of them before.
    """
    marked = any(found.pointer_space is not None for found in entry.parameters)
    for parameter, found in zip(kernel.abi.parameters, entry.parameters, strict=True):
        operand = parameter.operand
        wrong = not isinstance(operand, Buffer) and found.pointer_space is not None
        if isinstance(operand, Buffer):
            wrong = found.count is not None or found.type not in ("u64", "b64", "s64")
            wrong |= marked and found.pointer_space is None
        elif isinstance(operand, Struct):
            is_one = operand.is_split and len(operand.fields) == 1  # then C knows no difference
            wrong |= found.count is None and not is_one
            if not wrong and found.align != operand.alignment:
                raise _alignment(kernel, parameter, found, operand, origin)
        elif operand.dtype.is_float:
            wrong |= found.type[0] in "us"
        else:
            wrong |= found.type.startswith("f")
        if wrong:
            description, place = _describe(found)[0], f"`{origin}`"
            raise _mismatch(kernel.name, parameter, description, place, parameter.kind)


def _alignment(
    kernel: Kernel, parameter: AbiParameter, found: Parameter, struct: Struct, origin: str
) -> PtxError:
    """The error of a struct whose fields cannot be those declared, or that has an `__align__`."""
    return PtxError(
        f"Kernel `{kernel.name}`: parameter {parameter.index} in `{origin}` is aligned to "
        f"{found.align} bytes, where the struct `{struct.name}` is declared.",
        expected=f"an alignment of {struct.alignment} bytes",
        next_step="correct the types of its fields"
        + (
            f', or give the alignment: cd.Struct("{struct.name}", {found.align}, ...).'
            if found.align > struct.alignment
            else "."
        ),
    )


def _check_dynamic_shared_memory(kernel: Kernel, entry: Entry, module: Module, origin: str) -> None:
    """Code that uses `extern __shared__` memory needs some, or it writes past the block's."""
    dynamic = {v.name for v in module.variables if v.space == "shared" and v.is_extern}
    if kernel.dynamic_shared_memory or not dynamic:
        return
    used = sorted(dynamic & _reachable_symbols(entry, module))
    if used:
        raise PtxError(
            f"Kernel `{kernel.name}`: `{origin}` uses `{used[0]}`, which is extern __shared__ "
            "memory, but the declaration gives it none.",
            expected="dynamic_shared_memory=, its size in bytes",
            next_step=f"add dynamic_shared_memory=... to the declaration of `{kernel.name}`.",
        )


def _reachable_symbols(entry: Entry, module: Module) -> set[str]:
    """Every name that a kernel uses, and those that functions it calls use."""
    functions = {function.name: function for function in module.functions}

    def used_by(name: str | None) -> Iterator[str]:
        body = entry.body if name is None else functions[name].body if name in functions else ()
        return (name for s in body if isinstance(s, Instruction) for name in named_by(s))

    return set(reachable(used_by(None), used_by))


def check_block(
    kernel: Kernel,
    max_threads: tuple[int, int, int] | None,
    required_threads: tuple[int, int, int] | None,
    origin: str,
) -> None:
    """Compare a declared block with the limits compiled into an object."""
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    if max_threads is not None:
        limit = max_threads[0] * max_threads[1] * max_threads[2]
        if threads > limit:
            raise PtxError(
                f"Kernel `{kernel.name}`: block {kernel.block} has {threads} threads, but "
                f"{origin} was compiled for at most {limit} (.maxntid, __launch_bounds__).",
                expected=f"a block of at most {limit} threads",
                next_step="use a smaller block, or raise __launch_bounds__ in the source.",
            )
    if required_threads is not None and kernel.block != required_threads:
        raise PtxError(
            f"Kernel `{kernel.name}`: block is {kernel.block}, but {origin} was compiled for "
            f"exactly {required_threads} (.reqntid).",
            expected=f"block={required_threads}",
            next_step="correct the block, or the __block_size__ attribute in the source.",
        )


def check_cluster(
    kernel: Kernel, found: tuple[int, int, int] | None, origin: str, *, is_clustered: bool = False
) -> None:
    """Compare a declared cluster with the one compiled into an object.

    IREE launches with `cuLaunchKernel`, which has no parameter for it and keeps to what the object
    states.

    `is_clustered`: whether the object can be launched in clusters only.
    """
    if found == kernel.cluster and (found is not None or not is_clustered):
        return
    if found == (1, 1, 1) and kernel.cluster is None:  # as any launch has
        return
    if found is not None:
        raise PtxError(
            f"Kernel `{kernel.name}`: {origin} was compiled for clusters of {found} blocks "
            f"(.reqnctapercluster, __cluster_dims__), and cluster is {kernel.cluster}.",
            expected=f"cluster={found}",
            next_step="correct the cluster in the declaration, or __cluster_dims__ in the source.",
        )
    stated = "leaves the size of its clusters to the launch" if is_clustered else "states none"
    raise PtxError(
        f"Kernel `{kernel.name}`: cluster is {kernel.cluster}, and {origin} {stated}.",
        expected="__cluster_dims__ with its size in the source: IREE's launches give none",
        next_step="write __global__ void __cluster_dims__(x, y, z), or leave cluster out.",
    )
