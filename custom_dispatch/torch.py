"""Kernels in PyTorch models: `cd.torch`. Loaded, with PyTorch, when it is first touched.

Raises `ToolNotFoundError`: PyTorch is not installed.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.functions import Asked, asked_for
from custom_dispatch.frontends.outside_weights import INLINE_BYTES, check_inline_bytes
from custom_dispatch.frontends.torch import triton_launches
from custom_dispatch.frontends.torch.importer import Imported, export_functions, kernels_in
from custom_dispatch.frontends.torch.operator import register
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.refusals import check_unsigned, compile_error
from custom_dispatch.frontends.torch.replacing import import_with_kernels
from custom_dispatch.frontends.torch.updates import check_updates
from custom_dispatch.frontends.torch.verifying import describe_first, give_values, in_pytorch, run
from custom_dispatch.kernel.declared import Declarations, Names
from custom_dispatch.match.pattern import as_list, for_targets, warn_of_nothing
from custom_dispatch.phases import say
from custom_dispatch.runtime.program import load
from custom_dispatch.store import store_if
from custom_dispatch.toolchain.plan import check_callees, check_targets
from custom_dispatch.verifying import check_results, check_verify, on_the_cpu

if TYPE_CHECKING:
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.kernel.choice import Choice
    from custom_dispatch.kernel.kernel import Kernel
    from custom_dispatch.kernel.target import Target
    from custom_dispatch.toolchain.build import BuildOptions

__all__ = ["Pattern", "compile", "register"]


def compile(  # noqa: A001 - the public name is cd.torch.compile
    model: Any,
    arguments: Sequence[Any] | Mapping[str, Sequence[Any]],
    targets: Sequence[str | Target] | None = None,
    *,
    kernels: Declarations | None = None,
    replace: Any = (),
    dynamic_shapes: Any = None,
    name: str = "main",
    inline_bytes: int | None = INLINE_BYTES,
    verify: bool | float = False,
    graph: bool | str = False,
    flags: Sequence[str] = (),
    store: bool = True,
    **options: Unpack[BuildOptions],
) -> CompiledModule:
    """Export a PyTorch model, link kernels into it, and compile it for every target.

    Its weights stay outside the module; `save` writes them to a file in the same directory.

    - `model`: a `torch.nn.Module`, a method of one, or an exported program (then arguments and
      dynamic_shapes are ignored). It calls kernels as operators, registered by `register` or
      otherwise under their names, and launches those of Triton as ever.
    - `arguments`: example arguments, which determine types and sizes. A mapping from names to such
      gives several functions, which share weights and state: {"prefill_16": (ids,), "step": (id,)}.
      Then model may be a mapping, too, and dynamic_shapes is one.
    - `kernels`: the kernels that it calls; None for all registered ones.
    - `replace`: `Pattern`s, or kernels whose `reference` is PyTorch code: they replace what
      computes the same in the model. `replaced` of the result lists the places.
    - `dynamic_shapes`: as for `torch.export.export`: which sizes may differ from those of the
      arguments.
    - `name`: the name of the module's function, where it is one.
    - `inline_bytes`: weights of at most this many bytes become constants of the module instead;
      None for all weights, which makes one file, and for large models needs much memory to compile.
    - `verify`: whether to run the module on the CPU with these arguments and compare it with the
      model in PyTorch; or the largest relative error, 1e-3. Where they differ, each operation is
      compared.
    - `targets, graph, flags, store, **options`: as for `cd.compile`. With `graph`, buffers that a
      call changes stay where they are.

    Raises `VerificationError`: the module computes something else than the model; the message names
    the first place that differs: a kernel, or IREE's code of an operation.
    Raises `ModelError`: PyTorch cannot export the model, or IREE cannot import or compile it; or it
    changes its arguments other than by kernels in place. Buffers that it changes are the module's
    state.
    Raises `LinkError`: an operator does not fit its kernel's declaration, or a pattern that is
    required is found nowhere.
    Raises `CustomDispatchError`: building the kernels failed; see `cd.build`.
    """
    asked = asked_for(name, model, arguments, dynamic_shapes)
    replace = for_targets(as_list(replace), check_targets(targets))
    most_inline = check_inline_bytes(inline_bytes)
    tolerance = check_verify(verify)
    given = [] if kernels is None else check_callees(kernels)
    wanted: dict[str, list[Any]] = {}
    with warnings.catch_warnings():
        # PyTorch 2.13 deprecates this and does it itself, when it copies exported code.
        leaf = r"`isinstance\(treespec, LeafSpec\)` is deprecated"
        warnings.filterwarnings("ignore", leaf, FutureWarning)
        for one in asked if tolerance is not None else ():
            # Before it is exported, which may change what it holds.
            with triton_launches.run_on_cpu():
                wanted[one.name] = in_pytorch(one.model, one.arguments)
        programs = export_functions(asked)
        called = [kernel for program in programs.values() for kernel in kernels_in(program)]
        called = Names(called).items
        given = _together(given, called)
        say("importing the model")
        with store_if(store):
            imported, replaced, put = import_with_kernels(programs, most_inline, replace, given)
        given = _together(given, put)
        if replaced is not None and not replaced:
            warn_of_nothing(replaced)
        check_unsigned(imported.module)
        for one in asked:
            with one.named_in_errors():
                check_updates(imported.module, one.name, imported.updates[one.name], given)
    try:
        compiled = compile_module(
            imported.module, given, targets, flags=flags, graph=graph, store=store, **options
        )
    except ModelError as error:
        raise compile_error(programs.values(), error) from error
    compiled = dataclasses.replace(compiled, parameters=imported.parameters, replaced=replaced)
    if tolerance is None:
        return compiled

    def for_cpu(changed: Imported) -> CompiledModule:
        found = compile_module(changed.module, given, ["cpu:host"], flags=flags, store=store)
        return dataclasses.replace(found, parameters=changed.parameters)

    def first_difference(one: Asked) -> str:
        moved: dict[Any, Any] = {}
        again, _, _ = import_with_kernels(programs, most_inline, replace, called, moved)
        values = give_values(again, one.name, moved)
        found = run(load(for_cpu(again), "cpu"), one.name, one.arguments)[-len(values) :]
        program = again.updates[one.name].program
        return describe_first(program, values, found, one.arguments, tolerance)

    runs = on_the_cpu(compiled, lambda: for_cpu(imported))
    for one in asked:
        results = run(runs, one.name, one.arguments)
        results = results[len(imported.updates[one.name].arguments) :]
        with one.named_in_errors():
            where = functools.partial(first_difference, one)
            check_results(results, wanted[one.name], tolerance, "PyTorch", where)
    return compiled


def _together(given: list[Kernel | Choice], found: list[Kernel | Choice]) -> list[Kernel | Choice]:
    names = {kernel.name for kernel in given}
    return given + [kernel for kernel in found if kernel.name not in names]
