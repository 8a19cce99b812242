"""Examples in the torch dialect as IREE converts models, to find them in what it leaves of these.

Numbers of the kernel have values meanwhile: IREE converts some operations with constants alone.
"""

from collections.abc import Mapping

from iree.compiler import ir

from custom_dispatch.errors import DeclarationError, LinkError, ModelError
from custom_dispatch.link import operations
from custom_dispatch.link.constants import element_of, number_of
from custom_dispatch.link.dialects.torch_dialect import convert_torch, tidy_converted
from custom_dispatch.match.example import normalise
from custom_dispatch.match.pattern import Pattern, wrong
from custom_dispatch.match.sizes import ANY_SIZES, any_sizes, drop_sizes
from custom_dispatch.match.traced_texts import kept

TORCH = "torch."
_FLOAT = "!torch.float"
_NAME = "pattern_"


def _value(index: int) -> float:
    """Of a parameter, while it is converted: every float holds it, and nobody writes it."""
    return (index + 0.4375) / 64


def convert_examples(texts: Mapping[str, tuple[Pattern, ir.Module]]) -> dict[str, ir.Module]:
    """Convert modules of the torch dialect as IREE converts models; return each by its text.

    Those are left out of which IREE leaves operations as they are, or that need not be found and
    that it cannot convert.
    """
    with next(iter(texts.values()))[1].context, ir.Location.unknown():
        every = ir.Module.create()
        for index, (pattern, module) in enumerate(texts.values()):
            every.body.append(_prepared(pattern, module, index))
        try:
            converted = ir.Module.parse(
                kept(
                    ["iree-base-compiler"],
                    [*texts],
                    lambda: str(ir.Module.parse(convert_torch(every, {}, has_patterns=True)[0])),
                )
            )
        except (LinkError, ModelError) as error:
            if len(texts) > 1:
                items, half = list(texts.items()), len(texts) // 2
                parts = dict(items[:half]), dict(items[half:])
                return convert_examples(parts[0]) | convert_examples(parts[1])
            if not pattern.required:
                return {}
            raise DeclarationError(
                f"IREE cannot convert the pattern of kernel `{pattern.kernel.name}` from the torch "
                "dialect, to look for it in a model that is converted.",
                expected="operations that IREE converts",
                next_step="write the pattern in linalg, or without what the message names:",
                log=error.log,
            ) from None
        tidy_converted(converted)
        for op in operations.operations_of(
            converted, "cf.assert"
        ):  # of sizes that a match shows to agree
            op.erase()
        for op in operations.functions_of(converted):
            if operations.has_operation(op, TORCH):
                op.erase()
        normalise(converted)
        by_name = {operations.name_of(op): op for op in operations.functions_of(converted)}
        found = {}
        for index, (text, (pattern, module)) in enumerate(texts.items()):
            function = by_name.get(f"{_NAME}{index}")
            if function is not None:
                found[text] = ir.Module.create()
                found[text].body.append(function)
                _free_numbers(pattern, function)
                said = operations.functions_of(module)[0].attributes.get(ANY_SIZES)
                if said is not None:  # IREE drops what it does not know
                    function.attributes[ANY_SIZES] = said
        return found


def _prepared(pattern: Pattern, module: ir.Module, index: int) -> ir.Operation:
    """A copy of a module's function, with values for its numbers."""
    drop_sizes(module)
    functions = operations.functions_of(module)
    if len(functions) != 1:
        raise wrong(pattern.kernel, f"has {len(functions)} functions", "one")
    function = functions[0].operation.clone()
    said = str(function.attributes.get(ANY_SIZES, ""))
    if said and min(any_sizes(said), default=0) < 2:
        expected = "sizes from 2 on: array<i64: 11, 13>"
        raise wrong(pattern.kernel, f"says {said} for `{ANY_SIZES}`", expected)
    function.attributes["sym_name"] = ir.StringAttr.get(f"{_NAME}{index}")
    block = function.regions[0].blocks[0]
    for index, argument in enumerate(block.arguments):
        if str(argument.type) == _FLOAT:
            value = ir.FloatAttr.get_f64(_value(index))
            with ir.InsertionPoint.at_block_begin(block):
                number = operations.create("torch.constant.float", argument.type, value=value)
            argument.replace_all_uses_with(number)
    return function


def _free_numbers(pattern: Pattern, function: ir.Operation) -> None:
    """Take the values for parameters again, in the type in which the function uses them."""
    block = function.regions[0].blocks[0]
    used = {value for op in operations.operations_of(function) for value in op.operands}
    for index, argument in enumerate(block.arguments):
        if argument in used or str(argument.type) != "f64":
            continue
        numbers = [
            op
            for op in operations.operations_of(function, "arith.constant")
            if (element := element_of(op.result)) is not None
            and number_of(element) == _value(index)
        ]
        kinds = {op.result.type for op in numbers}
        if len(kinds) != 1:
            raise wrong(
                pattern.kernel,
                f"computes with its parameter {index} before it uses the number",
                "numbers that are passed on to operations on tensors as they are",
                "fix the scalar: fixed={...}, one pattern for each value.",
            )
        argument.set_type(kinds.pop())
        for op in numbers:
            op.result.replace_all_uses_with(argument)
            op.erase()
    operations.set_type(
        function,
        [argument.type for argument in block.arguments],
        operations.type_of(function).results,
    )
