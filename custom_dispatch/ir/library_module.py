"""A library by itself as one module: its executables, and a public function per kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from custom_dispatch.errors import DeclarationError
from custom_dispatch.format.keys import RESULTS_KEY
from custom_dispatch.ir import executable, library_ir
from custom_dispatch.ir.choice_dispatch import Order, kernels_in, orders_of
from custom_dispatch.ir.emitter import comma, quote
from custom_dispatch.ir.function_body import Value
from custom_dispatch.ir.interface import Interface, write_into
from custom_dispatch.ir.tensor_types import Sizes, common_signature, input_types, output_types
from custom_dispatch.ir.wrapper import Part, Wrapper
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_one_of, shown
from custom_dispatch.kernel.operand import InOut
from custom_dispatch.kernel.target import DEFAULT_TARGETS, naming
from custom_dispatch.toolchain.library import Library

FORMS = ("executable", "source")
"""`hal.executable` with conditioned variants, or upstream's `hal.executable.source`."""


def write_library_module(
    library: Library,
    reference: executable.ObjectReference,
    form: str,
    *,
    asynchronous: bool = True,
    flags: Sequence[str] = (),
) -> str:
    """The module's text: callable functions named after the kernels, and after choices of them.

    A function has one type, so choices of kernels of several dtypes or ranks have none.

    - `asynchronous`: write those that return before their work is done too, and those that write
      into buffers they are given (`ir/interface.py`). They take a sixth more of the compiler's
      time.
    - `flags`: those that `iree-compile` will be given, for the manifest.
    """
    executables = library_ir.executables_of(library, library.kernels)
    return _write_module(library, executables, reference, form, asynchronous, flags)


def write_module_apart(
    library: Library,
    reference: executable.ObjectReference,
    *,
    asynchronous: bool = True,
    flags: Sequence[str] = (),
) -> tuple[str, Mapping[str, str]]:
    """The same module without the CPU variants' code, and the executables with it, by symbol."""
    executables = library_ir.executables_of(library, library.kernels)
    bare = [item.without_code() for item in executables]
    text = _write_module(library, bare, reference, "executable", asynchronous, flags)
    return text, executable.write_apart(executables, reference)


def _write_module(
    library: Library,
    executables: Sequence[executable.Executable],
    reference: executable.ObjectReference,
    form: str,
    asynchronous: bool,
    flags: Sequence[str],
) -> str:
    kernels = library.kernels
    parts = [write_executables(executables, reference, form)]
    of_choices = library_ir.workloads_of_choices(library)
    named: list[tuple[str, tuple[Order, ...]]] = [
        (item.name, (Order.of(item, library.targets),)) for item in kernels
    ]
    named += [
        (choice.name, orders_of(choice, {}, library.targets))
        for choice in library_ir.callable_choices(library)
    ]
    points = {kernel.name: entry_points(executables, kernel, form) for kernel in kernels}
    for index, (name, orders) in enumerate(named):
        members = kernels_in(orders)
        wrapper = Wrapper(
            name,
            orders,
            common_signature(members),
            {kernel.name: points[kernel.name] for kernel in members},
            cpu=library.cpu_target,
            of_choices=of_choices,
            alone=True,
        )
        entries = [f"{RESULTS_KEY} = {quote(_result_types(members))}"]
        if index == 0:
            entries.append(library_ir.manifest_entry(library, kernels, flags))
        reflection = comma(entries)
        if asynchronous:
            parts += _callable(wrapper, reflection)
            continue
        attributes = f"iree.reflection = {{{reflection}}}"
        parts.append(
            wrapper.write(symbol=name, visibility="public", attributes=attributes, keep=True)
        )
    return "\n".join(parts)


def _result_types(kernels: Sequence[Kernel]) -> str:
    """The results' element types, each where all kernels of a choice have the same."""
    types = (
        {item.dtype.name for item in each}
        for each in zip(*(k.outputs for k in kernels), strict=True)
    )
    return ",".join(each.pop() if len(each) == 1 else "" for each in types)


def _callable(wrapper: Wrapper, reflection: str) -> list[str]:
    """A kernel's functions, and what they share."""
    kernel, signature = wrapper.kernel, wrapper.signature
    whole, dispatch, checks = (
        f"{library_ir.SYMBOL_PREFIX}{what}_of_{wrapper.name}"
        for what in ("body", "dispatch", "checks")
    )
    outer = Interface(
        wrapper.name,
        whole,
        _values(input_types(kernel, signature), signature.inputs),
        _values(output_types(kernel, signature), signature.outputs),
        reflection=reflection,
        names=tuple(operand.name for operand in kernel.arguments),
        stateless=True,
    )
    updated = tuple(
        kernel.arguments.index(operand) if isinstance(operand, InOut) else None
        for operand in kernel.outputs
    )
    return [
        wrapper.write(symbol=whole, keep=True),
        outer.write(),
        wrapper.write(symbol=checks, part=Part.CHECKS),
        wrapper.write(symbol=dispatch, part=Part.DISPATCH),
        write_into(replace(outer, body=dispatch), checks, updated),
    ]


def _values(types: Sequence[str], sizes: Sequence[Sizes]) -> tuple[Value, ...]:
    return tuple(
        Value(kind, of if kind.startswith("tensor<") else None)
        for kind, of in zip(types, sizes, strict=True)
    )


def check_form(form: str) -> None:
    """Require one of `FORMS`."""
    if not is_one_of(form, FORMS):
        raise DeclarationError(
            f"{shown(form)} is not a form of IR.",
            expected=" or ".join(FORMS),
            next_step="leave it out for hal.executable with one variant a target.",
        )


def write_executables(
    executables: Sequence[executable.Executable], reference: executable.ObjectReference, form: str
) -> str:
    """The executables' text in one of the two forms."""
    check_form(form)
    if form == "executable":
        return "\n".join(executable.write_executable(item, reference) for item in executables)
    for item in executables:
        one = naming([each.target for each in item.objects[-1:]] or DEFAULT_TARGETS[:1])
        if item.cpu is not None:
            raise DeclarationError(
                "The form `source` (hal.executable.source) cannot hold the target cpu: IREE "
                "ignores objects beside code there.",
                expected="CUDA targets only",
                next_step=f"leave the form out, or name CUDA targets alone, such as {one}.",
            )
        if len(item.objects) != 1:
            raise DeclarationError(
                f"The form `source` (hal.executable.source) is given {len(item.objects)} objects "
                f"of `{item.symbol}`: IREE drops the conditions of this form and would run the "
                "first one on every GPU.",
                expected="one object: for one CUDA target, or a fatbin image for several",
                next_step=f"leave the form out, or name one CUDA target, such as {one}.",
            )
    return "\n".join(executable.write_source(item, reference) for item in executables)


def entry_points(
    executables: Sequence[executable.Executable], kernel: Kernel, form: str
) -> executable.EntryPoints:
    """How a kernel is named at a dispatch."""
    # By name: one of a choice may require more than what was built.
    owner, kernel = next(
        (item, own) for item in executables for own in item.kernels if own.name == kernel.name
    )
    found = owner.entry_points(kernel)
    if form != "source":
        return found
    (item,) = owner.objects
    return replace(found, symbols=(f"@{owner.symbol}::@{executable.entry_symbol(item, kernel)}",))
