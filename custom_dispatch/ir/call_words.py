"""All that a call passes besides its buffers, as the 32-bit words of IREE's convention."""

from __future__ import annotations

from collections.abc import Mapping

from custom_dispatch.errors import LinkError
from custom_dispatch.ir.arithmetic import Arithmetic, Check
from custom_dispatch.ir.emitter import Emitter
from custom_dispatch.ir.guards import Guards
from custom_dispatch.ir.packing import (
    Words,
    argument_words,
    constant_words,
    index_words,
    struct_words,
)
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar, Struct

_INDEX_BITS = 64
"""Sizes and what is computed from them stay below 2**63, which larger types hold."""


class CallWords:
    """Every scalar, struct and absence of a call of a kernel.

    Parameters
    ----------
    kernel
        The kernel.
    body
        Where to write.
    arithmetic, guards
        What its expressions are, and what has to hold for the call, in the same place.
    """

    def __init__(
        self, kernel: Kernel, body: Emitter, arithmetic: Arithmetic, guards: Guards
    ) -> None:
        self._kernel = kernel
        self._body = body
        self._arithmetic = arithmetic
        self._guards = guards

    def read(
        self, arguments: Mapping[str, str], absent: Mapping[str, str | bool]
    ) -> dict[str, Words]:
        """The words, by operand.

        Parameters
        ----------
        arguments
            The values of the function's arguments, by name.
        absent
            Whether each optional operand is absent: known, or an i1 value.

        Raises
        ------
        LinkError
            A scalar's type does not hold what it is for the model's sizes.
        """
        body = self._body
        words: dict[str, Words] = {}
        for operand in self._kernel.operands:
            match operand:
                case Buffer() if operand.optional:
                    words[operand.name] = (self._presence(operand, absent[operand.name]),)
                case Struct():
                    words[operand.name] = struct_words(body, operand, arguments)
                case Scalar(value=None):
                    argument = arguments[operand.name]
                    words[operand.name] = argument_words(body, argument, operand.dtype)
                case Scalar(value=Expr() as value):
                    words[operand.name] = self._computed(operand, value)
        return words

    def _computed(self, operand: Scalar, expr: Expr) -> Words:
        """A scalar that is an expression of dims."""
        most = operand.dtype.largest
        known = self._arithmetic.known(expr)
        what = f"scalar `{operand.name}` = {expr}"
        if known is None:
            value = self._guards.value(expr)
            if operand.dtype.bits < _INDEX_BITS:
                limit = self._body.index(most)
                holds = self._body.pure(f"arith.cmpi ule, {value}, {limit} : index")
                self._guards.require(Check(holds, f"{what} does not fit {operand.dtype}"))
            return index_words(self._body, value, operand.dtype, operand.name)
        if known <= most:
            return constant_words(self._body, known, operand.dtype)
        raise LinkError(
            f"Kernel `{self._kernel.name}`: {what} is {known} for the model's sizes.",
            expected=f"at most {most}, what {operand.dtype} holds",
            next_step="use a larger type, or smaller tensors.",
        )

    def _presence(self, operand: Buffer, absent: str | bool) -> str:
        """An i32: whether an optional operand is there."""
        if isinstance(absent, bool):
            return self._body.i32(0 if absent else 1)
        one, zero = self._body.i32(1), self._body.i32(0)
        return self._body.pure(f"arith.select {absent}, {zero}, {one} : i32", operand.name)
