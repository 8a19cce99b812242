"""Kernels in ONNX models: `cd.onnx`. Loaded, with ONNX, when it is first touched.

Raises `ToolNotFoundError`: ONNX is not installed.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from custom_dispatch.compilation import compile as compile_module
from custom_dispatch.frontends import outside_weights
from custom_dispatch.frontends.functions import asked_for, merge
from custom_dispatch.frontends.onnx import importer
from custom_dispatch.frontends.onnx.model import read_model
from custom_dispatch.frontends.onnx.operator import register
from custom_dispatch.frontends.onnx.pattern import Pattern
from custom_dispatch.frontends.onnx.verifying import evaluate
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declarations, Names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.pattern import for_targets
from custom_dispatch.match.replace import patterns_of
from custom_dispatch.phases import say
from custom_dispatch.toolchain.plan import check_callees, check_targets
from custom_dispatch.verifying import check_results, check_verify, on_the_cpu, plain

if TYPE_CHECKING:
    import onnx

    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.kernel.target import Target
    from custom_dispatch.toolchain.build import BuildOptions

__all__ = ["Pattern", "compile", "register"]


def compile(  # noqa: A001 - the public name is cd.onnx.compile
    model: str | os.PathLike[str] | onnx.ModelProto | Mapping[str, Any],
    targets: Sequence[str | Target] | None = None,
    *,
    kernels: Declarations | None = None,
    replace: Pattern | Sequence[Pattern] = (),
    name: str = "main",
    inline_bytes: int | None = outside_weights.INLINE_BYTES,
    verify: bool | float = False,
    graph: bool | str = False,
    flags: Sequence[str] = (),
    store: bool = True,
    **options: Unpack[BuildOptions],
) -> CompiledModule:
    """Import an ONNX model, link kernels into it, and compile it for every target.

    Its large tensors stay outside the module; `save` writes them to a file in the same directory.

    - `model`: a path, with external data in the same directory, or a `ModelProto`. It calls kernels
      as operators of a domain other than ONNX's, registered by `register` or otherwise under their
      names. A function that the model defines for such an operator is ignored. Sizes with a name,
      or without a value, are dynamic. A mapping from names to models gives several functions, which
      share large tensors.
    - `kernels`: the kernels and choices that it calls; None for all registered ones.
    - `replace`: `Pattern`s, whose kernels replace what computes the same in the model. `replaced`
      of the result lists the places.
    - `name`: the name of the module's function, where it is one.
    - `inline_bytes`: tensors of at most this many bytes, at least 128, become constants of the
      module instead; None for all of them, which makes one file, and for large models needs much
      memory to compile.
    - `verify`: whether to run the module on the CPU with random inputs, and compare it with the
      model in ONNX's own evaluator; or the largest relative error, 1e-3. Open sizes are 3 there,
      and integers 0 and 1.
    - `targets, graph, flags, store, **options`: as for `cd.compile`.

    Raises `VerificationError`: the module computes something else than the model.
    Raises `ModelError`: the model is not valid, the type of something in it is not known, or IREE
    cannot import or compile it.
    Raises `LinkError`: a node does not fit its kernel's declaration or is of no kernel, or a
    pattern that is required is found nowhere.
    Raises `CustomDispatchError`: building the kernels failed; see `cd.build`.
    """
    patterns = for_targets(patterns_of(replace), check_targets(targets))
    asked = asked_for(name, model)
    tolerance = check_verify(verify)
    given = None if kernels is None else {item.name: item for item in check_callees(kernels)}
    computed = [each for item in patterns if isinstance(item, Pattern) for each in item.computes]
    searched = {(node.domain, node.op_type) for each in computed for node in each.graph.node}

    def is_kept(domain: str, operator: str) -> bool:
        return (domain, operator) in searched or importer.kernel_of(
            domain, operator, given
        ) is not None

    most_inline = outside_weights.check_inline_bytes(inline_bytes)
    kept = {operator for _, operator in searched}
    nodes: dict[Any, Kernel | Choice] = {}
    compared: dict[str, Any] = {}
    modules: list[Any] = []
    weights = outside_weights.OutsideWeights()
    for one in asked:
        with one.named_in_errors():
            loaded = read_model(one.model, one.name, most_inline, is_kept)
            own = importer.find_kernels(loaded, given)
            nodes |= own
            typed = importer.infer_types(loaded, own)
            if tolerance is not None:
                compared[one.name] = evaluate(one.model, typed, own)
            say("importing the model")
            where = (modules[0].context if modules else None, weights)
            modules.append(importer.import_graph(typed, own, one.name, kept, *where))
    module, parameters = merge(modules), weights.parameters
    weights.describe(module)
    called = Names(nodes.values()).items

    how: Any = {"replace": patterns, "flags": flags, "graph": graph, "store": store, **options}

    def compiled(targets: Sequence[str | Target] | None) -> CompiledModule:
        done = compile_module(module, called, targets, **how)
        return dataclasses.replace(done, parameters=parameters)

    done = compiled(targets)
    if tolerance is not None:
        program = on_the_cpu(done, lambda: compiled(["cpu:host"]))
        for one in asked:
            inputs, wanted = compared[one.name]
            found = program.function(one.name)(*inputs)
            results = list(map(plain, found if isinstance(found, tuple) else (found,)))
            with one.named_in_errors():
                check_results(results, wanted, tolerance, "ONNX's own evaluator")
    return done
