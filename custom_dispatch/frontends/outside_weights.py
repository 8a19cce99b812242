"""A model's weights as IREE's parameters, declared in the module that is made of it."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.errors import DeclarationError
from custom_dispatch.format.keys import PARAMETERS_KEY, RESULTS_KEY, UPDATES_KEY
from custom_dispatch.ir.emitter import quote
from custom_dispatch.kernel.names import as_integer, shown
from custom_dispatch.link import operations
from custom_dispatch.link.dialects.torch_types import builtin_type
from custom_dispatch.parameters import SCOPE, Parameter, Parameters

INLINE_BYTES = 4096
"""A page of memory. What is smaller takes more as an entry of an archive than it holds, and the
compiler may fold it: scalars, scales, the frequencies of a rotary embedding."""


def check_inline_bytes(value: int | None) -> int:
    """Up to how many bytes a weight becomes a constant of its module.

    `value`: what is given for it; None for all weights, of any size.
    """
    if value is None:
        return sys.maxsize
    found = as_integer(value)
    if found is None or found < 0:
        raise DeclarationError(
            f"inline_bytes is given as {shown(value)}.",
            expected="a number of bytes, or None",
            next_step="give inline_bytes=None for one file that holds all weights.",
        )
    return found


def bytes_of(array: Any) -> memoryview:
    """The elements of an array of numpy, row by row."""
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data


class OutsideWeights:
    """The weights of one module that are left outside of it."""

    def __init__(self) -> None:
        # Weights of the same bytes are one parameter, whatever their names and shapes.
        self._parameters: dict[str, Parameter] = {}
        self._globals: dict[tuple[str, str], str] = {}
        self.declared: set[str] = set()
        """The globals that the module has; none in one that is to be merged with it."""

    @property
    def parameters(self) -> Parameters | None:
        """The weights; None where there are none."""
        return Parameters(tuple(self._parameters.values())) if self._parameters else None

    def describe(self, module: ir.Module) -> None:
        """Let a module say which weights it needs, in the reflection of one function."""
        if self.parameters is not None:
            first = operations.public_functions(module)[0]
            operations.say(first, PARAMETERS_KEY, self.parameters.described())

    def parameter(self, weight: Parameter, digest: str | None = None) -> Parameter:
        """A weight as one of the module's: another one with the same bytes, or this one.

        `digest`: SHA-256 of its bytes, where that is known already.
        """
        sha256 = digest or hashlib.sha256(weight.read()).hexdigest()
        found = self._parameters.get(sha256)
        if found is None:
            taken = {item.name for item in self._parameters.values()}
            name = weight.name or f"constant_{len(taken)}"
            while name in taken:
                name += "_"
            found = self._parameters[sha256] = replace(weight, name=name, sha256=sha256)
        return found

    def load_arguments(
        self, module: ir.Operation, function: ir.Operation, weights: Mapping[int, Parameter]
    ) -> None:
        """Load weights in place of some of a function's arguments, given by their positions."""
        block = function.regions[0].blocks[0]
        for index, weight in weights.items():
            argument = block.arguments[index]
            if list(argument.uses):
                with ir.InsertionPoint.at_block_begin(block):
                    kind: Any = builtin_type(argument.type)
                    loaded = self.load(module, self.parameter(weight), kind)
                    if kind != argument.type:
                        loaded = operations.create(
                            "torch_c.from_builtin_tensor", argument.type, loaded
                        )
                argument.replace_all_uses_with(loaded)
        for index in sorted(weights, reverse=True):
            block.erase_argument(index)
        inputs = [argument.type for argument in block.arguments]
        operations.set_type(function, inputs, operations.type_of(function).results)
        if "arg_attrs" in function.attributes:
            said = enumerate(ir.ArrayAttr(function.attributes["arg_attrs"]))
            kept = [item for index, item in said if index not in weights]
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)

    def load(self, module: ir.Operation, parameter: Parameter, kind: ir.Type) -> Any:
        """A parameter's value, loaded at the insertion point; arguments as of `declare`."""
        symbol = self.declare(module, parameter, kind)
        return ir.Operation.create(
            "util.global.load",
            results=[kind],
            attributes={"global": ir.FlatSymbolRefAttr.get(symbol)},
        ).result

    def declare(self, module: ir.Operation, parameter: Parameter, kind: ir.Type) -> str:
        """The symbol of the global that a parameter is loaded from.

        - `module`: where the parameter is declared, if it is not yet.
        - `kind`: the tensor's type there.
        """
        key = (parameter.sha256, str(kind))
        symbol = self._globals.setdefault(
            key, f"{operations.PARAMETER}{len(self._globals)}.{parameter.name}"
        )
        if symbol not in self.declared:
            self.declared.add(symbol)
            where = f"#flow.parameter.named<{quote(SCOPE)}::{quote(parameter.name)}>"
            added = ir.Module.parse(f"util.global private @{quote(symbol)} = {where} : {kind}")
            first = ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0])
            added.body.operations[0].operation.clone(first)
        return symbol


def describe(
    module: ir.Module,
    name: str,
    results: Sequence[str],
    updates: Sequence[int] = (),
) -> None:
    """Let a model's function say what its type does not, in its reflection.

    - `results`: the element type of each result that it has for callers; empty for what is no
      tensor of one.
    - `updates`: the arguments that it writes into. What it returns first are their new values.
    """
    for op in operations.functions_of(module):
        if operations.name_of(op) == name:
            operations.say(op, RESULTS_KEY, ",".join(results))
            if updates:
                operations.say(op, UPDATES_KEY, ",".join(map(str, updates)))
