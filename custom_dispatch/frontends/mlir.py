"""Kernels in MLIR models: a function declared without a body and named after a kernel becomes one.

    func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

Linking gives that declaration a body that dispatches the kernel, and puts the executables beside
it. The model is parsed and verified by IREE's own parser before and after.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from custom_dispatch.errors import LinkError
from custom_dispatch.format.keys import MANIFEST_KEY
from custom_dispatch.ir.executable import Executable, ObjectReference, write_apart
from custom_dispatch.ir.library_ir import executables_of, manifest, workloads_of_choices
from custom_dispatch.ir.library_module import entry_points, write_executables
from custom_dispatch.ir.wrapper import Part, Wrapper
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link import operations, updates_in_place
from custom_dispatch.link.barriers import hide_constants
from custom_dispatch.link.corrections import open_sizes
from custom_dispatch.link.corrections.table import correct
from custom_dispatch.link.declarations import Callees, KernelFunction, kernel_functions, kernel_uses
from custom_dispatch.link.dialects import stablehlo_dialect
from custom_dispatch.link.dialects.torch_dialect import convert_torch, is_torch, tidy_converted
from custom_dispatch.link.functions import define_functions, refuse_doubles
from custom_dispatch.link.model import Model, diagnostic, parse_content, parse_model
from custom_dispatch.link.preflight import (
    Preflight,
    find_preflights,
    has_effects,
    has_one_block,
    may_return_empty,
    put_in_front,
)
from custom_dispatch.link.public_functions import open_to_callers
from custom_dispatch.match.pattern import warn_of_nothing
from custom_dispatch.match.replace import patterns_of, replace_places
from custom_dispatch.match.sizes import drop_sizes
from custom_dispatch.match.text import is_of_linalg
from custom_dispatch.replaced import Replaced
from custom_dispatch.toolchain.library import Library

_UNCHECKED = "custom_dispatch_unchecked_"
_TARGETS = "hal.device.targets"


@dataclass(frozen=True, slots=True)
class LinkedModel:
    """A model with kernels in it."""

    module: ir.Module
    kernels: tuple[Kernel, ...]
    """The kernels that it calls."""
    apart: Mapping[str, str] = field(default_factory=dict)
    """The executables that are to be put in place of the module's own, by symbol."""
    replaced: Replaced | None = None
    """What was replaced in it; None where nothing was asked for."""
    graphs: bool = False
    """Whether functions of it are graphs."""

    @property
    def text(self) -> str:
        """The module as MLIR text."""
        return f"{self.module}\n"

    @property
    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, which the compiler reads faster."""
        buffer = io.BytesIO()
        self.module.operation.write_bytecode(buffer)
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class PlacedModel:
    """A model that calls kernels by functions without a body, none of which is built yet."""

    module: ir.Module
    calls: Mapping[str, Kernel | Choice]
    """The kernels that it calls, by symbol, but for those that it declares itself."""
    called: tuple[Kernel | Choice, ...]
    """All that it calls."""
    replaced: Replaced | None
    """What was replaced in it; None where nothing was asked for."""
    from_torch: bool = False
    """Whether IREE converted it from the torch dialect."""


def place(model: Model, given: Iterable[Kernel | Choice], replace: Any = ()) -> PlacedModel:
    """Find a model's calls of kernels, and put kernels where it computes what they do.

    - `model`: it declares each kernel it calls as a private function without a body.
    - `replace`: patterns: kernels, and what they are to be put in the place of.
    """
    module = parse_model(model)
    calls: Mapping[str, Kernel | Choice] = {}
    by_name = {item.name: item for item in given}
    from_torch, from_onnx = is_torch(module), open_sizes.is_from_onnx(module)
    from_stablehlo = operations.has_operation(module, "stablehlo.")
    patterns = patterns_of(replace)
    # Patterns are in the model's own words: they come before its conversion. Those in the words
    # that it is converted to, or that are converted to these, come after it.
    later = [item for item in patterns if (from_torch or from_stablehlo) and is_of_linalg(item)]
    patterns = [item for item in patterns if item not in later]
    replaced = None
    if from_torch:
        replaced = replace_places(module, patterns) if patterns else None
        if from_onnx:
            drop_sizes(module)
        converted, calls = convert_torch(module, by_name, has_patterns=bool(later))
        module = parse_content(converted, "The converted model")
        tidy_converted(module)
    elif patterns or from_stablehlo:
        callees = Callees(operations.name_of(op) for op in operations.symbols_of(module))
        others: Mapping[str, str] = {}
        if from_stablehlo:
            with module.context, ir.Location.unknown():
                others = stablehlo_dialect.call_kernels(module, by_name, callees)
        replaced = replace_places(module, patterns, callees) if patterns else None
        calls = callees.kernels
        if from_stablehlo:
            converted = stablehlo_dialect.convert_stablehlo(module, others, by_name)
            module = parse_content(converted, "The converted model")
            tidy_converted(module)
    if later:
        callees = Callees(operations.name_of(op) for op in operations.symbols_of(module))
        found = replace_places(module, later, callees)
        replaced = found if replaced is None else replaced.and_those(found)
        calls = {**calls, **callees.kernels}
    if from_onnx:
        with module.context:
            open_sizes.compare_open_sizes(module)
    declared = {
        operations.name_of(op)
        for op in operations.functions_of(module)
        if operations.is_declaration(op)
    }
    functions = {
        symbol: item.function
        for symbol, item in {**by_name, **calls}.items()
        if isinstance(item, Kernel) and item.function is not None
    }
    with module.context, ir.Location.unknown():
        define_functions(module, functions)
    calls = {symbol: item for symbol, item in calls.items() if symbol not in functions}
    known = {item.name: item for item in calls.values()} | by_name
    called = tuple(
        item
        for name, item in known.items()
        if (name in declared and name not in functions) or item in calls.values()
    )
    if replaced is not None and not replaced:
        warn_of_nothing(replaced)
    return PlacedModel(module, calls, called, replaced, from_torch)


def link(
    model: Model | PlacedModel,
    library: Library,
    reference: ObjectReference,
    form: str = "executable",
    *,
    apart: bool = False,
    graph: bool = False,
    plain: Collection[str] = (),
    flags: Sequence[str] = (),
) -> LinkedModel:
    """Put a library's kernels into a model.

    - `model`: it declares each kernel it calls as a private function without a body; or what
      `place` made of such a model, with the library's kernels.
    - `reference`: how the IR refers to objects: `by_path` or `embedded`.
    - `form`: "executable" or "source".
    - `apart`: keep the CPU variants' code out of the module, for `compile_mlir` to put it in.
    - `graph`: let its functions become graphs: see `ir/graph_interface.py`.
    - `plain`: the names of those that do not.
    - `flags`: those that `iree-compile` will be given, for the manifest.
    """
    if not isinstance(model, PlacedModel):
        model = place(model, [*library.kernels, *library.choices])
    module, calls, replaced = model.module, model.calls, model.replaced
    with module.context, ir.Location.unknown():
        _check_model(module)
        functions = kernel_functions(module, library, calls)
        kernels = {symbol: function.kernel for symbol, function in functions.items()}
        called = {kernel.name for function in functions.values() for kernel in function.kernels}
        used = [kernel for kernel in library.kernels if kernel.name in called]
        executables = executables_of(library, used)
        _check_symbols(module, executables)
        wrappers = _wrappers(functions, executables, library, form)
        uses = kernel_uses(module, functions)
        stateless = not has_effects(module, list(wrappers))
        preflights = _preflights(module, wrappers, on_gpu=bool(library.cuda_targets))
        updated = updates_in_place.updated_arguments(module, kernels)
        hide_constants(module, kernels)
        correct(module, from_torch=model.from_torch)
        refuse_doubles(module, library.targets[0])
        updates_in_place.separate_updates(module)
        unchecked = _call_unchecked(preflights, set(wrappers))
        written = [item.without_code() for item in executables] if apart else executables
        parts = [write_executables(written, reference, form)]
        parts += _functions(wrappers, functions, unchecked)
        added = parse_content("\n".join(parts).encode(), "The generated IR")
        _merge(module, functions.values(), added)
        for preflight in preflights:
            put_in_front(module, preflight)
        for op in operations.public_functions(module)[:1]:
            operations.say(op, MANIFEST_KEY, manifest(library, used, uses, flags).as_text())
        kernels |= {_UNCHECKED + symbol: kernels[symbol] for symbol in unchecked}
        if graph:
            in_graphs = {name: each for name, each in updated.items() if name not in plain}
            updated |= updates_in_place.update_copies(module, kernels, in_graphs)
        updates_in_place.keep_arguments(module, updated)
        graphs = open_to_callers(module, kernels, stateless=stateless, graph=graph, plain=plain)
        _verify(module)
    kept_apart = write_apart(executables, reference) if apart else {}
    return LinkedModel(module, tuple(used), kept_apart, replaced, graphs)


def _wrappers(
    functions: Mapping[str, KernelFunction],
    executables: Sequence[Executable],
    library: Library,
    form: str,
) -> dict[str, Wrapper]:
    """The functions through which a model calls kernels, by symbol."""
    return {
        symbol: Wrapper(
            function.name,
            function.orders,
            function.signature,
            {item.name: entry_points(executables, item, form) for item in function.kernels},
            cpu=library.cpu_target,
            of_choices=workloads_of_choices(library),
        )
        for symbol, function in functions.items()
    }


def _functions(
    wrappers: Mapping[str, Wrapper],
    functions: Mapping[str, KernelFunction],
    unchecked: Container[str],
) -> Iterator[str]:
    """The wrappers' text, and that of those parts that are called without checks."""
    for name, wrapper in wrappers.items():
        yield wrapper.write(symbol=name, dialect=functions[name].dialect)
        if name in unchecked:
            yield wrapper.write(symbol=_UNCHECKED + name, part=Part.DISPATCH)


def _check_model(module: ir.Module) -> None:
    if _TARGETS in module.operation.attributes:
        raise LinkError(
            f"The model has the attribute `{_TARGETS}`, which overrides the targets asked for.",
            expected="a model without it",
            next_step="remove the attribute from the model.",
        )


def _check_symbols(module: ir.Module, executables: Iterable[Executable]) -> None:
    taken = {operations.name_of(op) for op in operations.symbols_of(module)}
    for item in executables:
        if item.symbol in taken:
            raise LinkError(
                f"The model already has a symbol `{item.symbol}`.",
                expected="a model that was not linked before",
                next_step="link the original model, or rename the symbol.",
            )


def _merge(module: ir.Module, functions: Iterable[KernelFunction], added: ir.Module) -> None:
    # The two modules have contexts of their own; what is added crosses over as text.
    moved = ir.Module.parse(str(added), module.context)
    for function in functions:
        function.declaration.erase()
    for op in list(moved.body.operations):
        module.body.append(op)


def _preflights(
    module: ir.Module, wrappers: Mapping[str, Wrapper], *, on_gpu: bool
) -> list[Preflight]:
    """The public functions that have a preflight, and theirs."""
    simple = filter(has_one_block, operations.public_functions(module))
    public = {operations.name_of(op): op for op in simple}
    if not public:
        return []
    # Only IREE's CUDA driver fails on empty tensors, and only a function without effects may not
    # run at all.
    skips = on_gpu and not has_effects(module, list(wrappers))
    wanted = {name: skips and may_return_empty(op) for name, op in public.items()}
    dialects = {
        operations.name_of(op): op.name.partition(".")[0] for op in operations.functions_of(module)
    }
    checks = "\n".join(
        wrapper.write(symbol=name, part=Part.CHECKS, dialect=dialects[name])
        for name, wrapper in wrappers.items()
    )
    found = find_preflights(module, checks, wanted)
    return [Preflight(public[name], text, wanted[name]) for name, text in found.items()]


def _call_unchecked(preflights: Sequence[Preflight], names: set[str]) -> set[str]:
    """Let functions with a preflight call kernels without further checks; return which ones."""
    called = set()
    for preflight in preflights:
        open_sizes.drop_comparisons(preflight.function)
        for call in operations.calls_of(preflight.function, names):
            name = operations.callee_of(call)
            called.add(name)
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(_UNCHECKED + name)
    return called


def _verify(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise LinkError(
            "The linked module does not verify.",
            next_step="report this with the model and the declaration; the verifier says:",
            log=diagnostic(error),
        ) from None
