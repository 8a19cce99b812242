"""Parts of an exported model that PyTorch keeps apart, put back where they are called.

What a model does under `torch.no_grad()`, or with automatic casts turned off, is exported as a
graph of its own under an operator that takes a graph (`torch.export`, "higher order operators").
Neither matters to a compiled model, which has no gradients and casts what the graph says.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from custom_dispatch.errors import ModelError

_GRAPHS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
"""Which of their arguments is the graph; those behind it are the graph's own."""
_CASTS_ENABLED = 2


def inline_regions(program: torch.export.ExportedProgram) -> None:
    """Put such graphs in place of their calls.

    Raises
    ------
    ModelError
        Automatic casts are turned on in the model: what they cast is decided as it runs.
    """
    graph = program.graph
    if not any(_index_of(node) for node in graph.nodes):
        return
    while True:
        found = next((node for node in graph.nodes if _index_of(node)), None)
        if found is None:
            break
        _inline(program, found)
    graph.eliminate_dead_code()
    graph.lint()
    program.graph_module.recompile()


def _index_of(node: torch.fx.Node) -> int:
    if not isinstance(node.target, torch._ops.HigherOrderOperator):
        return 0
    return _GRAPHS.get(node.target.name(), 0)


def _inline(program: torch.export.ExportedProgram, call: torch.fx.Node) -> None:
    module, index = program.graph_module, _index_of(call)
    if index == _GRAPHS["wrap_with_autocast"] and call.args[_CASTS_ENABLED]:
        raise ModelError(
            "The model turns automatic casts on (torch.autocast).",
            expected="a model that says its types itself",
            next_step="convert it: model.to(torch.bfloat16), and call it without torch.autocast.",
        )
    inner: Any = getattr(module, str(call.args[index].target))
    names = [node for node in inner.graph.nodes if node.op == "placeholder"]
    values = dict(zip(names, call.args[index + 1 :], strict=True))
    for node in inner.graph.nodes:
        if node.op == "get_attr":
            # A graph in the graph: under a name of this module, to be found there next.
            name = f"{call.name}_{node.target}".replace(".", "_")
            module.add_submodule(name, getattr(inner, str(node.target)))
            with module.graph.inserting_before(call):
                values[node] = module.graph.get_attr(name)
    with module.graph.inserting_before(call):
        results: Any = module.graph.graph_copy(inner.graph, values)
    for use in list(call.users):
        if use.target is not operator.getitem:  # pragma: no cover - PyTorch uses them so alone
            raise TypeError(f"{call} is used by {use}")
        result = results[use.args[1]]
        use.replace_all_uses_with(result)
        program.graph_signature.replace_all_uses(use.name, result.name)
        module.graph.erase_node(use)
    module.graph.erase_node(call)
