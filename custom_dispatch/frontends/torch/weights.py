"""A PyTorch model's weights as IREE's parameters, and the buffers that it changes as state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from typing import Any

import torch
from iree.compiler import ir
from iree.compiler.extras.fx_importer import FxImporterHooks

from custom_dispatch.frontends.outside_weights import OutsideWeights
from custom_dispatch.frontends.torch.dtypes import bytes_of, weight_of
from custom_dispatch.ir.emitter import Emitter, quote
from custom_dispatch.link import operations
from custom_dispatch.link.dialects.torch_types import builtin_type

_LEAST_SEVERAL = 2
"""Elements: the importer writes a single one into the operation."""


class Weights(FxImporterHooks):  # type: ignore[misc]
    """What the importer asks about each weight that it meets.

    - `program`: the model, for the weights' names.
    - `inline_bytes`: up to which size they become constants of the module.
    - `digests`: digests that are known already, by the weight's storage; more are added.
    - `changed`: those that are states of the module, with the states' names.
    - `outside`, `states`: of the module, which are those of its other functions too.
    """

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        inline_bytes: int,
        digests: dict[Any, tuple[torch.Tensor, str]],
        changed: Mapping[str, str],
        outside: OutsideWeights,
        states: States,
    ) -> None:
        self._inline_bytes = inline_bytes
        self._digests = digests
        self._module: Any = None
        self._names = {
            id(tensor): name
            for name, tensor in [*program.constants.items(), *program.state_dict.items()]
        }
        self._outside = outside
        self._changed = changed
        self._states = states

    def prepare_module(self, module_op: ir.Operation) -> None:
        """Keep the module, where the parameters are declared."""
        self._module = module_op
        self._outside.declared.clear()

    def resolve_literal(self, gni: Any, literal: Any, info: Any) -> Any:
        """A load of a weight's parameter; None for what the importer is to make a constant."""
        if not isinstance(literal, torch.Tensor) or not _is_plain(literal):
            return None
        kind = gni._cc.tensor_to_vtensor_type(literal)
        tensor_type = builtin_type(kind)
        if tensor_type is None:
            return None
        given = None if info is None else info.input_spec.target
        if given is not None and given in self._changed:
            with ir.InsertionPoint(gni._b):
                return self._states.load(self._changed[given], kind)
        is_f8 = literal.is_floating_point() and literal.itemsize == 1  # of which IREE stores none
        if literal.nbytes <= self._inline_bytes and not is_f8:
            is_several = literal.dtype == torch.bfloat16 and literal.numel() >= _LEAST_SEVERAL
            return _inline(gni, literal, kind, tensor_type) if is_several else None
        weight = weight_of(given or self._names.get(id(literal), ""), literal.detach())
        parameter = self._outside.parameter(weight, self._digest(literal))
        with ir.InsertionPoint(gni._b):
            loaded = self._outside.load(self._module, parameter, tensor_type)
            return operations.create("torch_c.from_builtin_tensor", kind, loaded)

    def _digest(self, tensor: torch.Tensor) -> str:
        """Of the bytes; each tensor is read once, however often the model is imported."""
        key = (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device)
        if key not in self._digests:
            # The tensor is kept, so that nothing else comes to lie at its address.
            self._digests[key] = (tensor, hashlib.sha256(bytes_of(tensor)).hexdigest())
        return self._digests[key][1]


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and not tensor.is_meta
        and not isinstance(tensor, torch._subclasses.FakeTensor)
        and not tensor.dtype.is_complex
    )


def _inline(gni: Any, tensor: torch.Tensor, kind: ir.Type, tensor_type: ir.Type) -> Any:
    """A constant whose bytes are in the operation itself.

    The importer makes resources, and IREE's CPU code generation gives those of bf16 the type f32
    without converting them (`arith.constant` then does not verify).
    """
    value = ir.Attribute.parse(f'dense<"0x{bytes(bytes_of(tensor)).hex()}"> : {tensor_type}')
    with ir.InsertionPoint(gni._b):
        return operations.create("torch.vtensor.literal", kind, value=value)


# -- buffers that a model changes, as state of its module


RESET = "reset"
"""The function that gives every state its first value again."""
_COPY = "custom_dispatch.copy."


class States:
    """The buffers of one model that it changes.

    Each is a mutable global of the module:

        util.global private mutable @"custom_dispatch.state.cache" : tensor<1x8x4096xf32>

    A call loads it where it is first used and stores the new value when everything is computed, so
    what a model reads is what was there before, whatever it changes in between. A kernel that
    updates it in place (`cd.InOut`) writes into the global's own memory, and so does IREE's own
    code for an `index_copy_`; else the new value is memory of its own, which the global holds from
    then on. IREE keeps a timepoint beside each global: calls wait for the one before, with fences
    too.

    IREE 3.13 lets globals share memory, in which an update in place of one then shows in the other
    (docs/iree-notes.md): equal constants that are stored are one buffer; a global all of whose
    stores are loads of another one is made that one; and of a global that is updated in place the
    store is forgotten, so that those with the same first value are made one. So first values, and
    whatever else is not computed for one state alone, are stored as copies that IREE cannot see
    through. And `@reset`, which stores the first values again, is a store that IREE does not
    forget.

    - `tensors`: their first values, by name.
    - `inline_bytes`: up to which size such a value is part of the module. One that is the same
      number all over, as an empty cache is, always is.
    - `outside`: takes the others.
    """

    def __init__(
        self, tensors: Mapping[str, torch.Tensor], inline_bytes: int, outside: OutsideWeights
    ) -> None:
        # A model goes on changing its own, whenever it runs in PyTorch.
        self._tensors = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        self._inline_bytes = inline_bytes
        self._outside = outside
        self._types: dict[str, ir.Type] = {}
        self._copies: dict[str, str] = {}
        """By type, the function that copies a tensor."""

    def load(self, name: str, kind: ir.Type) -> Any:
        """What is there before the call, at the insertion point."""
        self._types[name] = kind
        loaded = ir.Operation.create(
            "util.global.load",
            results=[builtin_type(kind)],
            attributes={"global": ir.FlatSymbolRefAttr.get(_symbol(name))},
        ).result
        return operations.create("torch_c.from_builtin_tensor", kind, loaded)

    def store_results(
        self, module: ir.Module, function: str, results: Mapping[int, str], computed: Set[str]
    ) -> None:
        """Store those of a function's results that are states, instead of returning them.

        - `results`: by position, the state that each is the new value of.
        - `computed`: those whose new value is nobody else's.
        """
        with module.context, ir.Location.unknown():
            for op in operations.functions_of(module):
                if operations.name_of(op) == function:
                    self._store(op, results, computed)

    def _store(self, op: ir.Operation, results: Mapping[int, str], computed: Set[str]) -> None:
        block = op.regions[0].blocks[0]
        end = block.operations[len(block.operations) - 1].operation
        values = list(end.operands)
        with ir.InsertionPoint(end):
            for index, name in results.items():
                kind = self._types[name] = values[index].type
                tensor = builtin_type(kind)
                value = operations.create("torch_c.to_builtin_tensor", tensor, values[index])
                if name not in computed:
                    callee = ir.FlatSymbolRefAttr.get(self._copy_of(tensor))
                    value = operations.create("func.call", tensor, value, callee=callee)
                ir.Operation.create(
                    "util.global.store",
                    operands=[value],
                    attributes={"global": ir.FlatSymbolRefAttr.get(_symbol(name))},
                )
            kept = [value for index, value in enumerate(values) if index not in results]
            ir.Operation.create("func.return", operands=kept)
        end.erase()
        operations.set_type(op, operations.type_of(op).inputs, [value.type for value in kept])

    def declare(self, module: ir.Module) -> None:
        """Add the globals, what sets them when a module is loaded, and what does it again."""
        with module.context, ir.Location.unknown():
            self._declare(module, {name: builtin_type(kind) for name, kind in self._types.items()})

    def _declare(self, module: ir.Module, types: Mapping[str, ir.Type]) -> None:
        globals_, body = [], Emitter(1)
        for name, kind in types.items():
            symbol = f"@{quote(_symbol(name))}"
            globals_.append(f"util.global private mutable {symbol} : {kind}")
            value = self._first_value(module, name, kind, body)
            copy = quote(self._copy_of(kind))
            value = body.result(f"func.call @{copy}({value}) : ({kind}) -> {kind}", "own")
            body.line(f"util.global.store {value}, {symbol} : {kind}")
        stores = "\n".join(body.lines)
        copies = [_copy_function(symbol, kind) for kind, symbol in self._copies.items()]
        text = "\n".join([*globals_, *copies])
        text += f"\nutil.initializer {{\n{stores}\n  util.return\n}}\n"
        text += f"func.func @{RESET}() {{\n{stores}\n  return\n}}\n"
        # Parameters are declared in the model alone; what loads them is parsed beside them.
        declared = [str(op) for op in module.body.operations if _is_parameter(op.operation)]
        added = ir.Module.parse("\n".join([*declared, text]), module.context)
        for op in list(added.body.operations)[len(declared) :]:
            module.body.append(op)

    def _copy_of(self, kind: ir.Type) -> str:
        return self._copies.setdefault(str(kind), f"{_COPY}{len(self._copies)}")

    def _first_value(self, module: ir.Module, name: str, kind: ir.Type, body: Emitter) -> str:
        """Write what gives a state's first value; return its name."""
        tensor = self._tensors[name]
        literal = _literal(tensor, self._inline_bytes)
        if literal is not None:
            return body.result(f"arith.constant {literal} : {kind}", "first")
        parameter = self._outside.parameter(weight_of(name, tensor))
        symbol = self._outside.declare(module.operation, parameter, kind)
        return body.result(f"util.global.load @{quote(symbol)} : {kind}", "first")


def _symbol(name: str) -> str:
    return f"{operations.STATE}{name}"


def _copy_function(symbol: str, kind: str) -> str:
    """A function that returns a copy of a tensor which no compiler knows to be one.

    Each element is itself or, if a number that is hidden from the compiler were another one, itself
    with all bits turned over. So no constant of it folds either.
    """
    tensor = ir.RankedTensorType(ir.Type.parse(kind))
    element = tensor.element_type
    is_float = isinstance(element, ir.FloatType)
    bits = f"i{element.width}"
    axes = ", ".join(f"d{axis}" for axis in range(tensor.rank))
    same = f"affine_map<({axes}) -> ({axes})>"
    loops = ", ".join(['"parallel"'] * tensor.rank)
    to_bits = f"%bits = arith.bitcast %item : {element} to {bits}" if is_float else ""
    value, chosen = ("%bits", "%chosen") if is_float else ("%item", "%kept")
    back = f"%kept = arith.bitcast %chosen : {bits} to {element}" if is_float else ""
    return f"""func.func private @{quote(symbol)}(%from: {kind}) -> {kind} {{
  %true = arith.constant true
  %hidden = util.optimization_barrier %true : i1
  %ones = arith.constant {"true" if bits == "i1" else f"-1 : {bits}"}
  %empty = tensor.empty() : {kind}
  %copy = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{loops}]}}
      ins(%from : {kind}) outs(%empty : {kind}) {{
  ^bb0(%item: {element}, %old: {element}):
    {to_bits}
    %turned = arith.xori {value}, %ones : {bits}
    {chosen} = arith.select %hidden, {value}, %turned : {bits}
    {back}
    linalg.yield %kept : {element}
  }} -> {kind}
  return %copy : {kind}
}}"""


def _is_parameter(op: ir.Operation) -> bool:
    return op.name == "util.global" and operations.name_of(op).startswith(operations.PARAMETER)


def _literal(tensor: torch.Tensor, inline_bytes: int) -> str | None:
    """A tensor as an attribute's text; None for what is too large to be one."""
    if tensor.numel() == 0:
        return "dense<>"
    size = tensor.itemsize
    content = bytes_of(tensor)
    if content[:-size] == content[size:]:  # one number
        content = content[:size]
    elif tensor.nbytes > inline_bytes:
        return None
    if tensor.dtype == torch.bool:  # of these, MLIR's bytes are not PyTorch's
        words = ["true" if value else "false" for value in content]
        if len(words) == 1:
            return f"dense<{words[0]}>"
        nested = str(tensor.tolist()).lower()
        return f"dense<{nested}>"
    return f'dense<"0x{bytes(content).hex()}">'
