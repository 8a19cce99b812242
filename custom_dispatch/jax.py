"""Kernels in functions of JAX: `cd.jax`. Loaded, with JAX, when it is first touched.

Raises `ToolNotFoundError`: JAX is not installed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.frontends.functions import asked_for
from custom_dispatch.frontends.jax.exporting import arrays_of, export_functions
from custom_dispatch.frontends.jax.operator import call
from custom_dispatch.frontends.jax.pallas import interpreted
from custom_dispatch.frontends.jax.pattern import Pattern
from custom_dispatch.frontends.jax.rewriting import Rule
from custom_dispatch.frontends.outside_weights import INLINE_BYTES, check_inline_bytes
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declarations, Names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.pattern import as_list, for_targets, warn_of_nothing
from custom_dispatch.match.replace import patterns_of
from custom_dispatch.phases import say
from custom_dispatch.toolchain.plan import check_callees, check_targets
from custom_dispatch.verifying import check_results, check_verify, on_the_cpu, plain

if TYPE_CHECKING:
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.kernel.target import Target
    from custom_dispatch.toolchain.build import BuildOptions

__all__ = ["Pattern", "Rule", "call", "compile"]


def compile(  # noqa: A001 - the public name is cd.jax.compile
    function: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    arguments: Sequence[Any] | Mapping[str, Sequence[Any]],
    targets: Sequence[str | Target] | None = None,
    *,
    kernels: Declarations = (),
    replace: Any = (),
    name: str = "main",
    inline_bytes: int | None = INLINE_BYTES,
    verify: bool | float = False,
    graph: bool | str = False,
    flags: Sequence[str] = (),
    store: bool = True,
    **options: Unpack[BuildOptions],
) -> CompiledModule:
    """Export a function of JAX, link kernels into it, and compile it for every target.

    Large arrays that it holds stay outside the module; `save` writes them to a file in the same
    directory.

    - `function`: a function of arrays, jitted or not. It calls kernels through `cd.jax.call`.
    - `arguments`: example arguments or `jax.ShapeDtypeStruct`s, which determine types and sizes.
      Containers are flattened: each leaf becomes an argument of the module, and likewise for
      results. A mapping from names to such gives several functions, which share the arrays that
      they hold; then function may be a mapping, too.
    - `kernels`: kernels that it calls in other ways: with `jax.ffi.ffi_call`, or as a
      `jax.lax.composite` of their name.
    - `replace`: `Pattern`s, or kernels whose `reference` is JAX code: they replace what computes
      the same in the function. `replaced` of the result lists the places.
    - `name`: the name of the module's function, where it is one.
    - `inline_bytes`: arrays of at most this many bytes become constants of the module instead; None
      for all of them.
    - `verify`: whether to run the module on the CPU with these arguments, which are arrays then,
      and to compare it with the function in JAX; or the largest relative error, 1e-3.
    - `targets, graph, flags, store, **options`: as for `cd.compile`.

    Raises `VerificationError`: the module computes something else than the function.
    Raises `ModelError`: JAX cannot export the function, or IREE cannot compile it.
    Raises `LinkError`: a call does not fit its kernel's declaration, or a pattern that is required
    is found nowhere.
    Raises `CustomDispatchError`: building the kernels failed; see `cd.build`.
    """
    asked = asked_for(name, function, arguments)
    given = check_callees(kernels)
    tolerance = check_verify(verify)
    arrays = {} if tolerance is None else {one.name: arrays_of(one.arguments) for one in asked}
    items = [Pattern(x) if isinstance(x, Kernel | Choice) else x for x in as_list(replace)]
    kind = "cuda" if any(target.is_cuda for target in check_targets(targets)) else "cpu"
    rules = [
        dataclasses.replace(item, groups=(*item.groups, kind))
        for item in items
        if isinstance(item, Rule)
    ]
    others = patterns_of([item for item in items if not isinstance(item, Rule)])
    patterns = for_targets(others, check_targets(targets))
    say("exporting the function with JAX")
    names = [kernel.name for kernel in given]
    exported = export_functions(asked, check_inline_bytes(inline_bytes), names, rules)
    found = Names([*given, *exported.kernels]).items

    how: Any = {"replace": patterns, "flags": flags, "graph": graph, "store": store}

    def compiled_for(targets: Sequence[str | Target] | None, **options: Any) -> CompiledModule:
        made = compile_module(exported.module, found, targets, **how, **options)
        return dataclasses.replace(made, parameters=exported.parameters)

    compiled = compiled_for(targets, **options)
    if tolerance is not None:
        program = on_the_cpu(compiled, lambda: compiled_for(["cpu:host"]))
        for one in asked:
            found_here = program.function(one.name)(*arrays[one.name])
            pair = found_here, interpreted(one.model, one.arguments)
            results, wanted = ([*map(plain, arrays_of([each]))] for each in pair)
            with one.named_in_errors():
                check_results(results, wanted, tolerance, "JAX")
    replaced = compiled.replaced
    if rules:
        first = exported.replaced
        replaced = first if replaced is None else first.and_those(replaced)
        if not replaced:
            warn_of_nothing(replaced)
    return dataclasses.replace(compiled, replaced=replaced)
