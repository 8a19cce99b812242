"""Kernels in the places of a PyTorch model that compute what they do.

A glance shows whether a model has the operations of a pattern at all: PyTorch takes tenths of a
second to export one, and the kernels that ship have dozens, most of which a model has nothing of.
The operations alone are seen ten times as fast.
"""

import copy
import functools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from iree.compiler import ir
from torch.fx.experimental.proxy_tensor import make_fx

from custom_dispatch.frontends.torch.decompositions import FORMS
from custom_dispatch.frontends.torch.forms import VIEWS
from custom_dispatch.frontends.torch.graph import (
    CONVERSIONS,
    arguments_of,
    may_be_identity,
    tensor_of,
)
from custom_dispatch.frontends.torch.importer import Imported, import_programs
from custom_dispatch.frontends.torch.pattern import (
    TORCH,
    Pattern,
    as_pattern,
    described,
    example_values,
    variants,
)
from custom_dispatch.frontends.torch.refusals import quiet_tracing
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link import operations
from custom_dispatch.match.near_misses import NEAR
from custom_dispatch.match.pattern import as_list, kernels_given, with_own_names
from custom_dispatch.match.replace import replace_places
from custom_dispatch.match.text import Searched
from custom_dispatch.match.traced import Computes
from custom_dispatch.match.traced_texts import kept_text
from custom_dispatch.phases import say
from custom_dispatch.replaced import Replaced


def put_kernels(
    imported: Imported,
    patterns: Sequence[Any],
    called: Iterable[Kernel | Choice],
    moved: dict[ir.Value, ir.Value] | None = None,
) -> tuple[Replaced, list[Kernel | Choice]]:
    """Put kernels into an imported model; return what was done, and the kernels.

    - `called`: what the model calls by name: patterns' kernels get other names.
    - `moved`: as for `replace_places`.
    """
    patterns = with_own_names(patterns, called)
    report = replace_places(
        imported.module,
        glanced(patterns, imported, Searched(imported.module, ())),
        held=imported.held,
        optional="cd.torch.Pattern(kernel, ..., required=False)",
        moved=moved,
    )
    names = {item.kernel for item in report}
    return report, kernels_given(each for each in patterns if each.item.name in names)


def import_with_kernels(
    programs: Mapping[str, torch.export.ExportedProgram],
    inline_bytes: int,
    items: Any,
    called: Sequence[Kernel | Choice],
    moved: dict[ir.Value, ir.Value] | None = None,
) -> tuple[Imported, Replaced | None, list[Kernel | Choice]]:
    """Import a model, and put kernels into it if there are items; as of both functions."""
    if not items:
        return import_programs(programs, inline_bytes), None, []
    say("looking for the places of patterns in the model")
    patterns = [as_pattern(item) for item in as_list(items)]
    rules: dict[Any, None] = {}
    for index, rule in enumerate(pattern.rewrites for pattern in patterns):
        gives_way = getattr(rule, "gives_way_to", None)
        if rule and not (gives_way and any(map(gives_way, patterns[:index]))):
            rules[rule] = None
    for whole in (True, False):
        rewrites = [*rules] if whole else []
        imported = import_programs(
            programs, inline_bytes, for_patterns=True, whole=whole, rewrites=rewrites
        )
        report, put = put_kernels(imported, patterns, called, moved)
        operators = operations.operations_of(imported.module, "torch.operator")
        if not any(operations.kind_of(op).startswith(f"torch.{FORMS}.") for op in operators):
            break  # what stands for several operations is known to no one else
    return imported, report, put


aten = torch.ops.aten
Form = tuple[str, str, str]
"""An operation, and what it is given but need not be: tensors, whether of bools, and numbers."""
_VIEWS = {*VIEWS, *CONVERSIONS, aten.square.default, aten.pow.Tensor_Scalar}
"""What models and patterns may write in several ways, or leave out."""


def glanced(patterns: Sequence[Any], imported: Imported, model: Searched) -> list[Any]:
    """The patterns that a model may have, each with those functions of it that it may have.

    Functions that it has most of can only be near misses: they are kept where no function of the
    same kernel and operations is there whole. Required patterns stay whole, to say what is wrong.
    """
    forms = forms_of(dict.fromkeys(node for node, _ in imported.values))
    traced = [each for each in patterns if isinstance(each, Pattern)]
    optional = [each for each in traced if not each.required and model.may_hold(each)]
    for pattern in optional:
        # What is written another way becomes the first function, which others may have parts of.
        later = [each for each in variants(pattern) if each[0] is not pattern.computes[0]]
        if any(_share(forms, pattern, *each) == 1 for each in later):
            for each in variants(pattern):
                forms |= operations_of(pattern, *each) or frozenset()
    whole = {
        pattern: [each for each in variants(pattern) if _share(forms, pattern, *each) == 1]
        for pattern in optional
    }
    told = {_told(pattern, *each) for pattern, every in whole.items() for each in every}
    tensors = frozenset(form[:2] for form in forms)
    found = []
    for pattern in patterns:
        if not isinstance(pattern, Pattern):  # a text takes no time to trace
            found += [pattern] * (pattern.required or model.may_hold(pattern))
            continue
        looked_at = whole.get(pattern)
        if not looked_at and not pattern.required:
            every = variants(pattern) if pattern in whole else ()
            new = [each for each in every if _told(pattern, *each) not in told]
            looked_at = [each for each in new if _share(tensors, pattern, *each) >= NEAR]
        if looked_at or pattern.required:
            one = copy.copy(pattern)
            one._keep(looked_at=looked_at)
            found.append(one)
    return found


def _told(pattern: Pattern, *variant: Any) -> tuple[str, frozenset[str]]:
    return pattern.item.name, frozenset(form[0] for form in operations_of(pattern, *variant) or ())


def _share(
    forms: Collection[tuple[str, ...]], pattern: Pattern, function: Computes, names: tuple[str, ...]
) -> float:
    """How much of the operations of a function a model has; all where they are not known."""
    wanted = operations_of(pattern, function, names)
    if not wanted:
        return 1
    length = len(next(iter(forms), ()))
    return sum(form[:length] in forms for form in wanted) / len(wanted)


def forms_of(nodes: Iterable[torch.fx.Node]) -> frozenset[Form]:
    """The operations of a graph but for views."""
    return frozenset(
        (str(node.target), _given(node, "Optional[Tensor]"), _given(node, "Optional[float]"))
        for node in nodes
        if isinstance(node.target, torch._ops.OpOverload) and node.target not in _VIEWS
    )


@functools.lru_cache(maxsize=1024)
def operations_of(
    pattern: Pattern, function: Computes, names: tuple[str, ...]
) -> frozenset[Form] | None:
    """A function's operations, but for those that may be none; None where PyTorch cannot say."""
    # Of f32 in the place of f16 and bf16, which differ in conversions: so kernels of all share it.
    values = [
        value.float() if getattr(value, "dtype", None) in (torch.float16, torch.bfloat16) else value
        for value in example_values(pattern, names)
    ]

    def trace() -> str | None:
        try:
            graph = _traced_with_sizes(function, names, values)
        except Exception:  # noqa: BLE001 - any code of the pattern's runs here; tracing it says what is wrong
            return None
        forms = forms_of(
            node
            for node in graph.nodes
            if not may_be_identity(node.target)
            # Conditions on positions are compared by value, with whatever operations they are made.
            and getattr(tensor_of(node), "dtype", torch.float32).is_floating_point
        )
        return json.dumps(sorted(forms))

    # Kernels for heads of several sizes share it: what is broadcast decides, and ranks.
    any_sizes = [
        torch.empty([min(size, 2) for size in value.shape], dtype=value.dtype)
        if isinstance(value, torch.Tensor)
        else value
        for value in values
    ]
    text = kept_text(TORCH, function, ("operations", described(names, any_sizes)), trace)
    if text is None:
        return None
    return frozenset(map(tuple, json.loads(text)))


def _traced_with_sizes(
    function: Computes, names: Sequence[str], values: Sequence[Any]
) -> torch.fx.Graph:
    """The operations of a function of these arguments; raises whatever its code does.

    That takes a twentieth of the time of a trace with symbols.
    """
    with torch.no_grad(), quiet_tracing(with_places=False):
        module = make_fx(
            lambda *given: function(**dict(zip(names, given, strict=True))),
            tracing_mode="fake",
            pre_dispatch=True,
            _allow_non_fake_inputs=True,
        )(*values)
    found: torch.fx.Graph = module.graph
    return found


def _given(node: torch.fx.Node, kind: str) -> str:
    values = arguments_of(node)
    given = (
        (argument.name, values.get(argument.name))
        for argument in node.target._schema.arguments
        if str(argument.type) == kind
    )
    return " ".join(
        f"{name} of bools" if getattr(tensor_of(value), "dtype", None) == torch.bool else name
        for name, value in given
        if value is not None
    )
