"""PyTorch models as MLIR: exported by PyTorch, imported by what comes with IREE's compiler."""

import copy
import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import torch
from iree.compiler import ir
from iree.compiler.extras.fx_importer import FxImporterHooks
from torch.export.graph_signature import OutputKind
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from custom_dispatch.errors import ModelError, excerpt
from custom_dispatch.frontends.functions import Asked, merge
from custom_dispatch.frontends.outside_weights import INLINE_BYTES, OutsideWeights, describe
from custom_dispatch.frontends.torch import triton_launches
from custom_dispatch.frontends.torch.buffers import shared_states, with_buffers
from custom_dispatch.frontends.torch.decompositions import GROUPED, grouped_mm, in_known_words, own
from custom_dispatch.frontends.torch.dtypes import array_of, element_type_of
from custom_dispatch.frontends.torch.exporting import export
from custom_dispatch.frontends.torch.forms import in_one_form, inline_regions
from custom_dispatch.frontends.torch.graph import changes_a_value
from custom_dispatch.frontends.torch.nodes import Importer, bind_sizes, name_arguments
from custom_dispatch.frontends.torch.operator import registered_kernel
from custom_dispatch.frontends.torch.refusals import check_program, export_error, quiet_tracing
from custom_dispatch.frontends.torch.updates import Updates, make_updates_values, return_updates
from custom_dispatch.frontends.torch.weights import RESET, States, Weights
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.link.arguments import check_arguments
from custom_dispatch.link.corrections.torch_operators import known_operators
from custom_dispatch.link.model import new_context
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.positions import Held
from custom_dispatch.parameters import Parameters
from custom_dispatch.phases import say

_SHIFTS = {"lshift": "left_shift", "rshift": "right_shift"}
# What `a & b` and `a &= b` are in PyTorch, and IREE's conversion knows by another name alone.
_OTHER_NAMES = {
    f"aten::__{letter}{name}__": f"bitwise_{_SHIFTS.get(name, name)}{'_' if letter else ''}"
    for name in ("and", "or", "xor", *_SHIFTS)
    for letter in ("", "i")
}
_KINDS = {"Tensor": ("Tensor",), "Scalar": ("Scalar", "Tensor_Scalar")}

_WRONG = [
    *("torch.aten.grid_sampler", "torch.aten.log_sigmoid", "torch.aten.log_sigmoid_forward"),
    *("torch.aten.scatter.value", "torch.aten.threshold", "torch.aten.topk"),
    *("torch.aten._weight_norm_interface", "torch.aten.pad", "torch.aten.prelu"),
    *("torch.aten.upsample_bilinear2d.vec", "torch.aten.im2col", "torch.aten.col2im"),
    *("torch.aten.elu", "torch.aten.celu", "torch.aten.selu"),
]
"""Operators that IREE converts into what is not the same, or knows and cannot compile, by their
names in the torch dialect."""
Rewrites = Callable[[torch.export.ExportedProgram], None]
_MOST_ROUNDS = 4
"""A decomposition may need another one."""


def export_functions(asked: Sequence[Asked]) -> dict[str, torch.export.ExportedProgram]:
    """Export functions, by name: what one writes is state of all that hold it."""
    states: dict[int, torch.Tensor] = {}
    programs: dict[str, torch.export.ExportedProgram] = {}
    known: dict[str, int] = {}
    while waiting := [one for one in asked if known.get(one.name, -1) < len(states)]:
        for one in waiting:
            with one.named_in_errors():
                given = (one.model, one.arguments, one.dynamic_shapes)
                programs[one.name] = export_model(*given, states)
            known[one.name] = len(states)
    return programs


def export_model(
    model: Any,
    arguments: Sequence[Any],
    dynamic_shapes: Any,
    states: dict[int, torch.Tensor] | None = None,
) -> torch.export.ExportedProgram:
    """Export a model, and see that what comes out can be compiled; `states` as of `export`."""
    method = model
    if inspect.ismethod(model) and isinstance(model.__self__, torch.nn.Module):
        model = model.__self__
    if isinstance(model, torch.export.ExportedProgram):
        program = copy.copy(model)  # what is changed here is not its owner's
        program._graph_module = copy.deepcopy(model.graph_module)
        program._graph_signature = copy.deepcopy(model.graph_signature)
    elif not isinstance(model, torch.nn.Module):
        raise ModelError(
            f"The model is {shown(model)}.",
            expected="a torch.nn.Module, a method of one, or what torch.export.export returns",
            next_step="put a function into the `forward` of a module.",
        )
    else:
        check_arguments(arguments)
        # PyTorch exports a model's `forward` alone, which another one of its methods then is.
        named = nullcontext() if method is model else patch.object(model, "forward", method)
        try:
            with quiet_tracing(), triton_launches.traced(), named:
                say("exporting the model with PyTorch")
                program = export(model, _distinct(arguments), dynamic_shapes, states)
        except ModelError:
            raise
        except Exception as error:  # any code of the model's runs here
            raise export_error(error, model) from error
    inline_regions(program)
    _return_nothing(program)
    check_program(program)
    _use_other_names(program)
    program = with_buffers(program)
    launches = triton_launches.has_launches(program)
    if not launches and any(map(changes_a_value, program.graph.nodes)):
        program = make_updates_values(program) or program
    has_parts = any(map(is_traceable_wrapper_subclass, program.state_dict.values()))
    if has_parts or launches or any(map(changes_a_value, program.graph.nodes)):
        # With an empty table hardly anything is taken apart, updates become new values, and
        # weights that are several tensors (torchao's) become these.
        try:
            with triton_launches.traced():
                program = program.run_decompositions({}, decompose_custom_triton_ops=launches)
        except Exception as error:
            raise export_error(error) from error
        check_program(program)
    if launches:
        triton_launches.call_kernels(program)
    # What nothing reads, such as a pooler, would get kernels that run.
    program.graph_module.graph.eliminate_dead_code()
    program.graph_module.recompile()
    return program


def _return_nothing(program: torch.export.ExportedProgram) -> None:
    """Drop the None of a model that returns nothing, and changes what it holds."""
    specs, output = program.graph_signature.output_specs, program.graph.output_node()
    is_alone = len(specs) == 1 or specs[-2].kind != OutputKind.USER_OUTPUT
    changes = len(specs) > 1 or any(map(changes_a_value, program.graph.nodes))
    if specs and is_alone and changes and getattr(specs[-1].arg, "value", 0) is None:
        output.args = (tuple(output.args[0][:-1]),)
        del specs[-1]


def _use_other_names(program: torch.export.ExportedProgram) -> None:
    """Call operators by the names that IREE knows; nothing else is written anew for that."""
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None:
            in_known_words(node)
        if schema is None or schema.name not in _OTHER_NAMES:
            continue
        packet = getattr(torch.ops.aten, _OTHER_NAMES[schema.name])
        for kind in _KINDS.get(schema.overload_name, ()):
            if kind in packet.overloads():
                node.target = getattr(packet, kind)
                break
    program.graph_module.recompile()


def _distinct(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, with a copy where a tensor is given again.

    PyTorch would take both for one argument for ever, whatever is passed later.
    """
    seen: set[int] = set()

    def copied(item: Any) -> Any:
        if not isinstance(item, torch.Tensor) or id(item) not in seen:
            seen.add(id(item))
            return item
        return item.detach().clone()

    found: tuple[Any, ...] = torch.utils._pytree.tree_map(copied, tuple(arguments))
    return found


def kernels_in(program: torch.export.ExportedProgram) -> list[Kernel | Choice]:
    """The kernels that a model calls through `cd.torch.register`, each once."""
    called = (node.target for node in program.graph.nodes if node.op == "call_function")
    return Names(kernel for each in called if (kernel := registered_kernel(each))).items


@dataclass(frozen=True, slots=True)
class Imported:
    """A model in the torch dialect, with its public functions."""

    module: ir.Module
    parameters: Parameters | None
    """Its weights; None where they are constants of the module."""
    updates: Mapping[str, Updates]
    """By function what was imported, and what that writes into."""
    held: Held
    """What its constants and weights hold."""
    values: Mapping[tuple[torch.fx.Node, int], ir.Value]
    """What became of the results of its nodes."""


def import_programs(
    programs: Mapping[str, torch.export.ExportedProgram],
    inline_bytes: int = INLINE_BYTES,
    *,
    for_patterns: bool = False,
    whole: bool = False,
    rewrites: Sequence[Rewrites] = (),
) -> Imported:
    """The functions of a model, by name, as a module of the torch dialect, and its weights.

    - `inline_bytes`: up to which size a weight becomes a constant of the module.
    - `for_patterns`: whether it is written in the form in which patterns are, with what is known of
      sizes.
    - `whole`: whether products of groups stay one operator, which patterns take and IREE does not.
    - `rewrites`: what then writes other spellings of patterns' functions as these.
    """
    digests: dict[Any, tuple[torch.Tensor, str]] = {}
    changed, first = shared_states([*programs.values()])
    if first and RESET in programs:
        raise ModelError(
            f"The function of a model that changes its buffers is named `{RESET}`.",
            expected=f"another name: `{RESET}` gives the buffers their first values again",
            next_step='cd.torch.compile(..., name="main").',
        )
    found: dict[str, Updates] = {}
    importers: list[Importer] = []
    constants: dict[ir.Value, Callable[[], Any]] = {}
    outside = OutsideWeights()
    states = States(first, inline_bytes, outside)
    for (name, program), mine in zip(programs.items(), changed, strict=True):
        for _ in range(_MOST_ROUNDS):
            updates = return_updates(program, mine)
            weights = Weights(program, inline_bytes, digests, mine, outside, states)
            context = importers[0].module.context if importers else None
            importer = _import(
                updates.program,
                name,
                weights,
                for_patterns=for_patterns,
                rewrites=rewrites,
                context=context,
            )
            table = _decompositions(importer.module, whole=whole)
            if not table:
                break
            try:
                program = program.run_decompositions(table)
            except Exception:  # noqa: BLE001 - then the operators stay, and linking names them
                break
        if updates.states:
            stored = {index: mine[each] for index, each in updates.states.items()}
            own = {mine[each] for each in updates.computed}
            states.store_results(importer.module, name, stored, own)
        importers.append(importer)
        found[name] = updates
        constants |= _constants(updates.program, importer.values, set(mine))
    module = merge([importer.module for importer in importers])
    if first:
        states.declare(module)
    for name, updates in found.items():
        results = [
            kind
            for index, kind in enumerate(_result_types(updates.program))
            if index not in updates.states
        ][len(updates.arguments) :]
        describe(module, name, results, tuple(updates.arguments))
    outside.describe(module)
    values = {key: value for importer in importers for key, value in importer.values.items()}
    return Imported(module, outside.parameters, found, Held(constants), values)


def import_pattern(
    program: torch.export.ExportedProgram, context: ir.Context
) -> tuple[ir.Module, dict[ir.Value, Callable[[], Any]]]:
    """A pattern's function as a model is imported, in a model's context; and what it holds."""
    _use_other_names(program)
    for _ in range(_MOST_ROUNDS):
        importer = _import(
            program, "pattern", FxImporterHooks(), for_patterns=True, context=context
        )
        table = _decompositions(importer.module, whole=True)
        if not table:
            break
        program = program.run_decompositions(table)
    return importer.module, _constants(program, importer.values, set())


def _constants(
    program: torch.export.ExportedProgram,
    values: Mapping[tuple[torch.fx.Node, int], ir.Value],
    changed: Container[str],
) -> dict[ir.Value, Callable[[], Any]]:
    """What reads a program's tensors, by their values in IR."""
    held = {**program.constants, **program.state_dict}
    tensors = {
        spec.arg.name: held[spec.target]
        for spec in program.graph_signature.input_specs
        if spec.target in held and spec.target not in changed
    }
    return {
        value: partial(array_of, tensors[node.name])
        for (node, _), value in values.items()
        if node.op == "placeholder" and isinstance(tensors.get(node.name), torch.Tensor)
    }


def _result_types(program: torch.export.ExportedProgram) -> list[str]:
    """The element type of each result; empty for what is no tensor."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    found = []
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_OUTPUT:
            value = values.get(getattr(spec.arg, "name", ""))
            kind = element_type_of(value.dtype) if isinstance(value, torch.Tensor) else None
            found.append(kind.name if kind else "")
    return found


def _import(
    program: torch.export.ExportedProgram,
    name: str,
    hooks: FxImporterHooks,
    *,
    for_patterns: bool,
    rewrites: Sequence[Rewrites] = (),
    context: ir.Context | None = None,
) -> Importer:
    if for_patterns:
        program = in_one_form(program)
        for rewrite in rewrites:
            rewrite(program)
    importer = Importer(hooks, context or new_context())
    try:
        with importer.module.context:
            importer.import_program(program, func_name=name)
            if for_patterns:
                name_arguments(importer.values)
                bind_sizes(importer.values, program)
    except Exception as error:  # the importer raises whatever its assumptions end in
        raise ModelError(
            "IREE's importer does not take the PyTorch model.",
            next_step="write the model without what it names:",
            log=excerpt(f"{type(error).__name__}: {error}"),
        ) from error
    return importer


def _decompositions(module: ir.Module, *, whole: bool) -> dict[Any, Any]:
    """Decompositions of PyTorch's operators that the torch dialect lacks or IREE gets wrong."""
    operators: list[Any] = []
    with module.context:
        for name in set(map(kind_of, operations_of(module, "torch.operator", *_WRONG))):
            parts = name.split(".")
            if name == f"torch.{GROUPED}" and not whole:
                operators.append(grouped_mm())
            elif parts[:2] == ["torch", "aten"] and name not in known_operators()["with_tensors"]:
                packet = getattr(torch.ops.aten, parts[2])
                operators.append(getattr(packet, parts[3] if len(parts) > 3 else "default"))
    if not operators:
        return {}
    # What the others' decompositions have in them, and PyTorch would not take apart again.
    inner = [torch.ops.aten._native_batch_norm_legit.default]
    found = dict(torch._decomp.get_decompositions([*operators, *inner]))
    composite = _composite()
    found |= {each: composite[each] for each in composite.keys() & set(operators) - found.keys()}
    found |= {each: own()[each] for each in own().keys() & set(operators)}
    return found if any(operator in found for operator in operators) else {}


@cache
def _composite() -> Any:
    """PyTorch's own decompositions; listing them takes it half a second."""
    return torch.export.default_decompositions()
