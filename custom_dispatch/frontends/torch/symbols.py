"""Sizes that PyTorch leaves open, as dims of a kernel and expressions of them."""

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Max, Min, Mod, PythonMod

from custom_dispatch.kernel.expr import Expr, as_expr, dim, maximum, minimum


class Sizes:
    """The open sizes of some tensors."""

    def __init__(self, shapes: Sequence[Sequence[Any]]) -> None:
        self._known: dict[sympy.Expr, Expr] = {}
        """Dims, by what PyTorch calls them: sizes that a tensor has by itself."""
        for shape in shapes:
            for size in shape:
                if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
                    self._known.setdefault(size.node.expr, dim(str(size.node.expr)))

    def size(self, size: Any, name: str) -> Expr:
        """A size of a tensor; a dim of the given name where it is no expression of others."""
        if isinstance(size, int):
            return as_expr(size)
        found = self.expression(size)
        if found is None:
            found = self._known.setdefault(size.node.expr, dim(name))
        return found

    def expression(self, size: torch.SymInt) -> Expr | None:
        """A number as an expression of dims; None where it is none."""
        try:
            return self._of(size.node.expr)
        except LookupError:
            return None

    def _of(self, whole: sympy.Expr) -> Expr:
        if whole in self._known:
            return self._known[whole]
        match whole:
            case sympy.Integer() if whole >= 0:
                return as_expr(int(whole))
            case sympy.Add():
                less = [each for each in whole.args if each.could_extract_minus_sign()]
                found = as_expr(0)
                for each in whole.args:
                    if each not in less:
                        found = found + self._of(each)
                for each in less:
                    found = found - self._of(-each)
                return found
            case sympy.Mul():
                found = as_expr(1)
                for each in whole.args:
                    found = found * self._of(each)
                return found
            case sympy.Pow() if whole.exp.is_Integer and whole.exp > 0:
                return self._of(sympy.Mul(*[whole.base] * int(whole.exp), evaluate=False))
            case FloorDiv() | CleanDiv():
                return self._of(whole.args[0]) // self._of(whole.args[1])
            case Mod() | PythonMod():
                return self._of(whole.args[0]) % self._of(whole.args[1])
            case Max() | Min():
                found, *rest = map(self._of, whole.args)
                for each in rest:
                    found = (maximum if isinstance(whole, Max) else minimum)(found, each)
                return found
        raise LookupError(str(whole))
