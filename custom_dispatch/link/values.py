"""Where a model's values come from, and what the compiler may find them to be.

It folds operations: a product with ones is its other operand, and so is a copy, or what was negated
twice. So a value that an operation computes may turn out to be one that was there before, and in
the same buffer.
"""

import tomllib
from collections.abc import Container, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import as_written
from custom_dispatch.link.operations import functions_of, is_declaration, is_public, last_of
from custom_dispatch.reachable import reachable

_LINALG = "linalg."


@cache
def _known_operations() -> dict[str, Any]:
    """What is known of operations by their names: `values.toml`."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text())


def values_from_outside(module: ir.Module) -> set[ir.Value]:
    """What is computed from an argument of a public function, which nobody knows yet.

    Of an operation with regions, such as a loop, these are its results if an operand is one, and
    the arguments of its regions.
    """
    arguments = (
        argument
        for op in functions_of(module)
        if is_public(op) and not is_declaration(op)
        for argument in op.regions[0].blocks[0].arguments
    )
    return set(reachable(arguments, _computed_from))


def _computed_from(value: ir.Value) -> Iterator[ir.Value]:
    """What is computed from a value in one step."""
    for use in value.uses:
        op = use.owner.operation
        yield from op.results
        parent = op.parent.operation if op.name in _known_operations()["yields"] else None
        if parent is not None and parent.name == "scf.while":  # one half yields to the other
            yield from parent.results
            yield from (each for region in parent.regions for each in region.blocks[0].arguments)
        elif parent is not None:  # as of what reads an element of another tensor
            yield parent.results[use.operand_number]
        for block in (block for region in op.regions for block in list(region.blocks)[:1]):
            arguments = list(block.arguments)
            if op.name.startswith(_LINALG):  # one for each operand, as far as they go
                arguments = arguments[use.operand_number : use.operand_number + 1]
            yield from arguments
        for block in op.successors:
            for index, argument in enumerate(block.arguments):
                if use.operand_number in operands_for(op, block, index):
                    yield argument


def operands_for(branch: ir.Operation, block: ir.Block, index: int) -> list[int]:
    """The operands of a terminator that may become an argument of a block; none if that is unclear.

    MLIR, "cf" dialect: a branch's operands are those of the block; before those of a conditional
    one's blocks stands the condition.
    """
    if branch.name == "cf.br":
        return [index]
    if branch.name != "cf.cond_br":
        return []
    to_first = list(ir.DenseI32ArrayAttr(branch.attributes["operandSegmentSizes"]))[1]
    starts = zip(branch.successors, (1, 1 + to_first), strict=True)
    return [start + index for successor, start in starts if successor == block]


def may_become(value: Any, outside: Container[ir.Value]) -> Sequence[ir.Value] | None:
    """The values of which one may be all that a computed value is; none, where it is a new one.

    - `value`: a tensor, or an element of one inside of an operation of linalg.
    - `outside`: what nobody knows when the model is compiled; the rest may be found to be any
      number.

    Returns: None for what is not computed by arithmetic.
    """
    if isinstance(value.owner, ir.Block):
        owner = value.owner.owner.operation
        is_element = owner.name.startswith(_LINALG)
        return [owner.operands[value.arg_number]] if is_element else None
    op, known = value.owner.operation, _known_operations()
    if op.name in known["new"] or op.name.startswith(tuple(known["never_operands"])):
        return ()
    if op.name.startswith(_LINALG):
        if not op.regions or not list(op.regions[0].blocks):
            return list(op.operands)
        block = op.regions[0].blocks[0]
        return [last_of(block).operands[value.result_number]]
    if op.name in known["neutral"]:
        return _beside_neutral(op, outside)
    if op.name.startswith("math."):
        return list(op.operands) if op.name in known["undone"] else ()
    # Casts and signs may be undone, and of integers anything may.
    return list(op.operands) if op.name.startswith("arith.") else None


def _beside_neutral(op: ir.Operation, outside: Container[ir.Value]) -> list[ir.Value]:
    """The operands beside which the other one may be found to be neutral."""
    (first, second), neutral = op.operands, _known_operations()["neutral"][op.name]
    pairs = [(first, second)]
    if op.name in ("arith.addf", "arith.mulf"):
        pairs.append((second, first))
    return [
        kept
        for kept, other in pairs
        if other not in outside and as_written(other) in (None, neutral)
    ]
