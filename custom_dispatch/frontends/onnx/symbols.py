"""What an ONNX model says of its sizes, as the torch dialect says it: sizes of one name are equal.

`torch.symbolic_int` names a size, and `torch.bind_symbolic_shape` says which a value has. They are
for whoever looks for patterns, and compute nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from iree.compiler import ir

from custom_dispatch.frontends.onnx.node import tensor_type
from custom_dispatch.link.constants import owner_of
from custom_dispatch.match.sizes import bind_shape, name_size


def bind_sizes(graph: onnx.GraphProto, values: Mapping[str, ir.Value]) -> None:
    """Say the sizes of values whose types leave some open.

    Parameters
    ----------
    graph
        The model's, with the types of all values.
    values
        Those of the function that it was imported as, by name.
    """
    symbols: dict[str, ir.Value] = {}
    types = {
        item.name: tensor_type(item.type)
        for item in [*graph.input, *graph.output, *graph.value_info]
    }
    some = next(iter(values.values()))
    owner = owner_of(some)
    start = ir.InsertionPoint.at_block_begin(some.owner if owner is None else owner.block)
    for of, kind in types.items():
        value = values.get(of)
        if value is None or kind is None or not _is_open(value):
            continue
        own: list[ir.Value] = []
        sizes = []
        for axis, size in enumerate(kind.shape or ()):
            if isinstance(size, int):
                sizes.append(ir.AffineConstantExpr.get(size))
                continue
            name = size or f"{of}.shape[{axis}]"
            if name not in symbols:
                symbols[name] = name_size(name, 0, start)
            if symbols[name] not in own:
                own.append(symbols[name])
            sizes.append(ir.AffineSymbolExpr.get(own.index(symbols[name])))
        owner = owner_of(value)
        bind_shape(value, own, sizes, start if owner is None else ir.InsertionPoint.after(owner))


def _is_open(value: ir.Value) -> bool:
    kind = str(value.type)
    return kind.startswith("!torch.vtensor<[") and "?" in kind
