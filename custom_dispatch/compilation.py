"""From kernels and a model to one `.vmfb`, or to the `.mlir` that stock `iree-compile` takes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from custom_dispatch import errors
from custom_dispatch.compiled import CompiledModule, EmittedModule, is_module
from custom_dispatch.files import check_output, write_atomically
from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
from custom_dispatch.ir.stored import remember_module
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Declarations, files_of, kernels_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import as_path, check_switch, is_list, shown
from custom_dispatch.kernel.sources import is_argument
from custom_dispatch.kernel.target import Target
from custom_dispatch.match.pattern import as_list, for_targets, kernels_given, with_own_names
from custom_dispatch.phases import say
from custom_dispatch.store import store_if
from custom_dispatch.toolchain.build import BuildOptions, build
from custom_dispatch.toolchain.library import Library
from custom_dispatch.toolchain.plan import check_callees, check_one_form, check_targets
from custom_dispatch.toolchain.tuned import tuned

if TYPE_CHECKING:
    from custom_dispatch.frontends.mlir import PlacedModel
    from custom_dispatch.link.model import Model

_TRUSTED = ("--verify=false",)
"""For modules that hold nothing but what this package writes. IREE's parser verifies them; to
verify them again after every pass takes a third of the time. A model is verified: passes may make
something of it that does not fit its kernels (an f64 that becomes an f32)."""


def compile(  # noqa: A001 - the public name is cd.compile
    model: Model | None,
    kernels: Declarations | Library,
    targets: Sequence[str | Target] | None = None,
    *,
    replace: Any = (),
    flags: Sequence[str] = (),
    asynchronous: bool = True,
    graph: bool | str = False,
    store: bool = True,
    **options: Unpack[BuildOptions],
) -> CompiledModule:
    """Link kernels into a model and compile it for every target, into one file.

    - `model`: a path, MLIR text or an `iree.compiler.ir.Module`; it stays as it is. None gives a
      module of the kernels alone, each a public function.
    - `kernels`: declared kernels and choices, or a library that `cd.build` returned (then without
      targets). A model needs none: IREE compiles all that no kernel computes.
    - `targets`: "cuda:sm_80", "cuda:sm_90a", "cpu", ...; left out, `cd.DEFAULT_TARGETS`.
    - `replace`: `Pattern`s: their kernels replace what computes the same in the model. They need
      not be among `kernels`. `replaced` of the result lists the places.
    - `flags`: further flags for `iree-compile`. The result is then not kept in the store, because a
      flag may name a file.
    - `asynchronous`: whether the functions of a module of kernels can also be called
      asynchronously, or write into given results. Functions of a model can always be called
      asynchronously.
    - `graph`: whether each function of the model becomes a graph: its commands are recorded when
      the module is loaded, over buffers that stay, and a GPU runs them as one CUDA graph. Sizes
      must be known. See `GraphFunction.replay`. With "where possible" what cannot be one stays as
      it is, on the same state: `no_graph` of the result says which functions, and why.
    - `store`: whether to use the store: reuse what was compiled before, and keep what is new.
    - `**options`: as for `cd.build`: compiler, objects, include_dirs, image, ptx_version,
      fail_on_spill, jobs.

    Raises `ModelError`: the model is not valid MLIR, or IREE cannot compile it; or it cannot be a
    graph.
    Raises `LinkError`: the model and the kernels do not fit together, or a pattern that is required
    is found nowhere.
    Raises `CustomDispatchError`: building the kernels failed; see `cd.build`.
    """
    patterns = as_list(replace)
    _check_flags(flags)
    check_switch(asynchronous, "asynchronous")
    check_switch(store, "store")
    _check_graph(graph, model, flags)
    how = (model, kernels, targets, patterns, flags, asynchronous, store, options)
    refused: dict[str, str] = {}
    while True:
        try:
            made = _compile(*how, graph=bool(graph), plain=[*refused])
            return dataclasses.replace(made, no_graph="\n".join(refused.values()))
        except errors.GraphError as error:
            if graph != WHERE_POSSIBLE:
                raise
            if not error.refused:
                return dataclasses.replace(_compile(*how), no_graph=error.found)
            refused |= error.refused


def _compile(
    model: Model | None,
    kernels: Declarations | Library,
    targets: Sequence[str | Target] | None,
    patterns: list[Any],
    flags: Sequence[str],
    asynchronous: bool,
    store: bool,
    options: BuildOptions,
    *,
    graph: bool = False,
    plain: Sequence[str] = (),
) -> CompiledModule:
    """As `compile`; `plain` are the names of functions that are no graphs, beside others."""
    wanted = kernels if isinstance(kernels, Library) else check_callees(kernels)
    placed: Model | PlacedModel | None = model
    if patterns or (model is not None and wanted and not isinstance(wanted, Library)):
        with store_if(store):
            placed, wanted = _placed(wanted, patterns, model, targets)
    library = _library(wanted, targets, store, options, may_be_empty=model is not None)
    keeps = store and not flags
    ours = device_flags(library)
    given = [*ours, *flags]
    cpu = library.cpu_target.cpu if library.cpu_target else ""

    # A flag may ask for what the compiler has before the code that is kept apart comes in.
    whole = bool(flags)

    @store_if(store)
    def of_kernels() -> bytes:
        # Loaded here, with all that writes code for CPUs: what is kept needs nothing of it.
        from custom_dispatch.ir.executable import embedded
        from custom_dispatch.ir.library_module import write_library_module, write_module_apart

        if whole:
            text = write_library_module(
                library, embedded, "executable", asynchronous=asynchronous, flags=given
            )
            return _compile_module(text.encode(), [*given, *_TRUSTED])
        say("code of the kernels for IREE")
        text, apart = write_module_apart(library, embedded, asynchronous=asynchronous, flags=given)
        return _compile_module(text.encode(), [*given, *_TRUSTED], apart)

    if model is None:
        # The IR follows from the library and this package's code: no need to write it for the key.
        content = remember_module(
            "kernels", (library, ours, asynchronous), cpu, of_kernels, store=keeps
        )
        return CompiledModule(
            content, library.targets, tuple(kernel.name for kernel in library.kernels)
        )
    # Loaded here, with IREE's own parser: calling a kernel that was compiled before needs neither.
    from custom_dispatch.frontends.mlir import link
    from custom_dispatch.ir.executable import embedded
    from custom_dispatch.link.model import refers_to_files

    assert placed is not None  # noqa: S101 - as the model is not
    with_files = refers_to_files(model)
    say("linking kernels into the model")
    with store_if(store):
        linked = link(
            placed,
            library,
            embedded,
            apart=not whole and not with_files,
            graph=graph,
            plain=plain,
            flags=given,
        )
    source = linked.bytecode

    def of_model() -> bytes:
        if linked.graphs:
            from custom_dispatch.link.graph_form import HAL_FLAGS, record_once

            try:
                form = compile_mlir(source, [*given, *HAL_FLAGS], linked.apart)
                return _compile_module(record_once(form), [*given, "--compile-from=hal"])
            except errors.GraphError:
                raise
            except errors.ModelError as error:
                raise error.saying(
                    f"The model cannot be a graph: {error.found}",
                    f"compile it without graph; if that fails too, {error.next_step}",
                    kind=errors.GraphError,
                ) from error
        return _compile_module(source, given, linked.apart)

    parts = (source, linked.apart, ours, linked.graphs)
    content = remember_module("model", parts, cpu, of_model, store=keeps and not with_files)
    return CompiledModule(
        content,
        library.targets,
        tuple(kernel.name for kernel in linked.kernels),
        replaced=linked.replaced,
    )


def _placed(
    kernels: list[Kernel | Choice] | Library,
    patterns: Sequence[Any],
    model: Model | None,
    targets: Sequence[str | Target] | None,
) -> tuple[PlacedModel, list[Kernel | Choice] | Library]:
    """The model with calls where patterns are found, and the kernels to build.

    Those that are given, and those of patterns that are found; of choices, what calls may take.
    """
    if model is None:
        raise errors.DeclarationError(
            "replace is given without a model.",
            expected="a model, in which places are looked for",
            next_step="leave replace out, or pass the model first.",
        )
    from custom_dispatch.frontends.mlir import place
    from custom_dispatch.link.declarations import needed
    from custom_dispatch.match.replace import patterns_of

    built_for = check_targets(kernels.targets if isinstance(kernels, Library) else targets)
    patterns = for_targets(patterns_of(patterns), built_for)
    if isinstance(kernels, Library):
        for kernel in (pattern.item for pattern in patterns):
            # A choice by measurements may lack some of its kernels.
            held_choice = kernel.name in [choice.name for choice in kernels.choices]
            if not held_choice and not {*kernels_of(kernel)} <= {*kernels.kernels}:
                raise errors.LinkError(
                    f"The library lacks kernel `{kernel.name}`, which a pattern puts into the "
                    "model.",
                    expected="one that was built with the kernel",
                    next_step="build it with the kernel, or pass kernels and targets.",
                )
        return place(model, [*kernels.kernels, *kernels.choices], patterns), kernels
    if patterns:
        patterns = with_own_names(patterns, kernels)
        say(f"looking for the places of {len(patterns)} patterns")
    members = (member for item in kernels for member in kernels_of(item))
    placed = place(model, [*members, *kernels_given(patterns), *kernels], patterns)
    every = {item.name: item for item in (*kernels, *placed.called)}
    return placed, [
        needed(tuned(item, built_for), placed.module, placed.calls, built_for)
        if isinstance(item, Choice)
        else item
        for item in every.values()
        if not (isinstance(item, Kernel) and item.function)  # which has its body by now
    ]


WHERE_POSSIBLE = "where possible"


def _check_graph(graph: bool | str, model: Any, flags: Sequence[str]) -> None:
    if not (isinstance(graph, bool) or (isinstance(graph, str) and graph == WHERE_POSSIBLE)):
        raise errors.DeclarationError(
            f"graph is given as {shown(graph)}.",
            expected=f'True, False or "{WHERE_POSSIBLE}"',
            next_step="write graph=True for a model whose sizes are known.",
        )
    if graph and model is None:
        raise errors.DeclarationError(
            "graph is given without a model.",
            expected="a model, whose functions become graphs",
            next_step="leave graph out: a kernel's own function is one launch.",
        )
    phases = [flag for flag in flags if flag.startswith(("--compile-to", "--compile-from"))]
    if graph and phases:
        raise errors.DeclarationError(
            f"A graph is given with the flag {phases[0]}, and is compiled in phases itself.",
            expected="flags that change how a module is made",
            next_step="leave the flag out, or graph.",
        )


def _check_flags(flags: Sequence[str]) -> None:
    if is_list(flags) and all(map(is_argument, flags)):
        return
    raise errors.DeclarationError(
        f"flags is given as {shown(flags)}.",
        expected='a list of texts, one a flag: ["--iree-opt-level=O3"]',
        next_step="put each flag into a text of its own.",
    )


def _compile_module(
    source: bytes, flags: Sequence[str], apart: Mapping[str, str] | None = None
) -> bytes:
    """As `compile_mlir`, where flags of the user's may ask for something else than a module."""
    content = compile_mlir(source, flags, apart)
    if not is_module(content):
        raise errors.DeclarationError(
            "iree-compile wrote something else than a module, as its flags ask for.",
            expected="flags that change how a module is made",
            next_step="leave out those that end the compiler before, such as --compile-to.",
        )
    return content


def emit(
    kernels: Declarations | Library,
    targets: Sequence[str | Target] | None = None,
    *,
    output: str | os.PathLike[str],
    into: Model | None = None,
    form: str = "executable",
    embed: bool = False,
    store: bool = True,
    **options: Unpack[BuildOptions],
) -> EmittedModule:
    """Write one `.mlir` for stock `iree-compile`, and return the command that compiles it.

    - `output`: the `.mlir` file. Objects are written to the same directory, unless they are
      embedded.
    - `into`: a model to link the kernels into; without one each kernel is a public function.
    - `form`: "executable": `hal.executable` with a conditioned variant for each target. "source":
      `hal.executable.source`, for one CUDA target, or for several through one fatbin image.
    - `embed`: put the objects' bytes into the file.
    - `store, **options`: as for `compile`.

    Raises `DeclarationError`: the form cannot hold the targets.
    Raises `OutputError`: a file cannot be written, or is one of the kernels' or the model's.
    Raises `CustomDispatchError`: as for `compile`.
    """
    from custom_dispatch.ir.executable import by_path, embedded
    from custom_dispatch.ir.library_module import check_form, write_library_module

    check_form(form)
    check_switch(embed, "embed")
    check_switch(store, "store")
    path = as_path(output, "The .mlir file", errors.OutputError)
    model = [Path(into)] if isinstance(into, str | os.PathLike) else []
    wanted = kernels if isinstance(kernels, Library) else check_callees(kernels)
    named = files_of(wanted.kernels if isinstance(wanted, Library) else wanted)
    check_output(path, [*model, *named])
    library = _library(wanted, targets, store, options)
    if form == "source" and len(library.cuda_targets) > 1 and library.cpu_target is None:
        library = _as_fatbin(library)
    reference = embedded if embed else by_path
    if into is None:
        from custom_dispatch.link.model import parse_model

        text = store_if(store)(write_library_module)(library, reference, form)
        parse_model(text)  # proof that it parses and verifies
    else:
        from custom_dispatch.frontends.mlir import link

        text = store_if(store)(link)(into, library, reference, form).text
    written: tuple[Path, ...] = ()
    command = ["iree-compile", str(path), "-o", str(path.with_suffix(".vmfb"))]
    command += device_flags(library)
    if not embed and library.cuda_targets:
        written = library.write(path.parent)
        command.append(f"--iree-hal-executable-object-search-path={path.parent}")
    write_atomically(path, text.encode())
    return EmittedModule(path, text, written, tuple(command))


def _as_fatbin(library: Library) -> Library:
    """Each unit's objects in one fatbin image, of which the driver picks the best part."""
    from custom_dispatch.toolchain.ptxas import join

    check_one_form(library.kernels, library.cuda_targets)
    units = [
        dataclasses.replace(unit, objects=(join(unit.objects),)) if len(unit.objects) > 1 else unit
        for unit in library.units
    ]
    return Library(tuple(units), library.targets, library.choices)


def _library(
    kernels: list[Kernel | Choice] | Library,
    targets: Sequence[str | Target] | None,
    store: bool,
    options: BuildOptions,
    *,
    may_be_empty: bool = False,
) -> Library:
    if may_be_empty and kernels == []:
        return Library((), tuple(check_targets(targets)))
    if isinstance(kernels, Library):
        if targets or options:
            built = ", ".join(map(str, kernels.targets))
            given = "targets" if targets else next(iter(options))
            raise errors.DeclarationError(
                f"A library and {given} are given.",
                expected=f"one of them: the library is built for {built}",
                next_step=f"leave {given} out, or pass the kernels instead of the library.",
            )
        return kernels
    return build(kernels, targets, store=store, **options)
