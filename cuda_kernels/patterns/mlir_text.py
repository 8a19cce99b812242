"""Functions in the dialect linalg, as text, the way torch-mlir and IREE's conversions write them.

A tensor's dims are letters, each a size that is open (`?`), or keys of `KNOWN`. What is written
operation by operation over them is a `linalg.generic` whose maps follow from the letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KNOWN = {"1": 1, "H": 16, "S": 32, "M": 64, "L": 128}
"""Dims that are numbers: of one element, sizes of heads that there are kernels for, and half."""


@dataclass(frozen=True)
class Tensor:
    """A value, its dims and its element type."""

    name: str
    dims: str
    dtype: str

    @property
    def type(self) -> str:
        """As MLIR has it."""
        sizes = "".join(f"{KNOWN.get(dim, '?')}x" for dim in self.dims)
        return f"tensor<{sizes}{self.dtype}>"


class Function:
    """A function under way.

    Parameters
    ----------
    operands
        Its tensors: names, dims and element types.
    scalars
        Names of its numbers.
    scalar_type
        Theirs.
    """

    def __init__(
        self,
        operands: Sequence[tuple[str, str, str]],
        scalars: Sequence[str] = (),
        scalar_type: str = "f32",
    ) -> None:
        self.operands = [Tensor(f"%of_{name}", dims, dtype) for name, dims, dtype in operands]
        self._scalars = [f"%{name}: {scalar_type}" for name in scalars]
        self._lines: list[str] = []
        self._known: dict[str, str] = {}
        self._count = 0

    def line(self, text: str) -> None:
        """An operation without a result that is named for it."""
        self._lines.append(text)

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def once(self, text: str) -> str:
        """A value, written where it is first asked for."""
        if text not in self._known:
            self._known[text] = self._name()
            self.line(f"{self._known[text]} = {text}")
        return self._known[text]

    def number(self, value: str, dtype: str) -> str:
        """A constant."""
        return self.once(f"arith.constant {value}" + (f" : {dtype}" if dtype != "i1" else ""))

    def size(self, dim: str) -> str:
        """A letter's size, of the first operand that has it; any size, where none has it."""
        tensor = next((item for item in self.operands if dim in item.dims), None)
        if tensor is None:
            return self.once("ub.poison : index")
        axis = self.number(str(tensor.dims.index(dim)), "index")
        return self.once(f"tensor.dim {tensor.name}, {axis} : {tensor.type}")

    def empty(self, dims: str, dtype: str) -> Tensor:
        """A tensor that nobody wrote."""
        sizes = ", ".join(self.size(dim) for dim in dims if dim not in KNOWN)
        tensor = Tensor("", dims, dtype)
        return Tensor(self.once(f"tensor.empty({sizes}) : {tensor.type}"), dims, dtype)

    def filled(self, value: str, dims: str, dtype: str) -> Tensor:
        """A tensor of one number."""
        number, to = self.number(value, dtype), self.empty(dims, dtype)
        text = f"linalg.fill ins({number} : {dtype}) outs({to.name} : {to.type}) -> {to.type}"
        return Tensor(self.once(text), dims, dtype)

    def size_as_float(self, dim: str, dtype: str) -> tuple[str, str]:
        """A size as an integer, and the operation that makes a float of it."""
        integer = self.once(f"arith.index_cast {self.size(dim)} : index to i64")
        return integer, f"%count = arith.sitofp {integer} : i64 to {dtype}"

    def named(self, text: str, dims: str, dtype: str) -> Tensor:
        """The result of an operation that is given as text."""
        name = self._name()
        self.line(f"{name} = {text}")
        return Tensor(name, dims, dtype)

    def expanded(self, x: Tensor, dims: str, first: int = 0) -> Tensor:
        """A tensor whose dim number `first` is two, the first two of the same place in `dims`."""
        sizes = ", ".join(str(KNOWN.get(dim) or self.size(dim)) for dim in dims)
        to = Tensor("", dims, x.dtype)
        text = (
            f"tensor.expand_shape {x.name} [{_groups(len(x.dims), first)}] output_shape [{sizes}]"
        )
        return self.named(f"{text} : {x.type} into {to.type}", dims, x.dtype)

    def collapsed(self, x: Tensor, dims: str, first: int = 0) -> Tensor:
        """The reverse."""
        to = Tensor("", dims, x.dtype)
        text = f"tensor.collapse_shape {x.name} [{_groups(len(dims), first)}]"
        return self.named(f"{text} : {x.type} into {to.type}", dims, x.dtype)

    def widened(self, x: Tensor) -> Tensor:
        """A tensor of 16 bits in f32."""
        if x.dtype == "f32":
            return x
        return self.generic([x], f"%r = arith.extf %0 : {x.dtype} to f32", x.dims, "f32")

    def narrowed(self, x: Tensor, dtype: str) -> Tensor:
        """A tensor of f32 rounded to 16 bits."""
        if dtype == "f32":
            return x
        return self.generic([x], f"%r = arith.truncf %0 : f32 to {dtype}", x.dims, dtype)

    def generic(
        self,
        inputs: Sequence[Tensor],
        body: str,
        dims: str,
        dtype: str,
        *,
        into: Tensor | None = None,
    ) -> Tensor:
        """An operation on elements %0, %1, ... and, of a reduction, %old; its last line yields %r.

        Parameters
        ----------
        into
            What a reduction begins with.
        """
        loops = inputs[0].dims if into is not None and inputs else dims
        to = into or self.empty(dims, dtype)
        axes = ", ".join(f"d{index}" for index in range(len(loops)))

        def of(tensor: Tensor) -> str:
            if tensor.dims == loops:
                return f"affine_map<({axes}) -> ({axes})>"
            found = ", ".join("0" if dim == "1" else f"d{loops.index(dim)}" for dim in tensor.dims)
            return f"affine_map<({axes}) -> ({found})>"

        maps = ", ".join(map(of, [*inputs, to]))
        kinds = ", ".join(
            '"reduction"' if into is not None and dim not in dims else '"parallel"' for dim in loops
        )
        names = ", ".join(item.name for item in inputs)
        types = ", ".join(item.type for item in inputs)
        arguments = [f"%e{index}: {item.dtype}" for index, item in enumerate(inputs)]
        for index in range(len(inputs)):
            body = body.replace(f"%{index}", f"%e{index}")
        text = (
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs({to.name} : {to.type}) {{\n"
            f"^bb0({', '.join([*arguments, f'%old: {dtype}'])}):\n{body}\n"
            f"linalg.yield %r : {dtype}\n}} -> {to.type}"
        )
        return self.named(text, dims, dtype)

    def text(self, result: Tensor) -> str:
        """The function, which returns one value."""
        arguments = [f"{item.name}: {item.type}" for item in self.operands]
        arguments += self._scalars
        body = "\n".join(self._lines)
        return (
            f"func.func @computes({', '.join(arguments)}) -> {result.type} {{\n{body}\n"
            f"return {result.name} : {result.type}\n}}\n"
        )


def _groups(rank: int, first: int) -> str:
    """The dims that become one, where dim number `first` of that many is of two."""
    groups, axis = [], 0
    for index in range(rank):
        both = index == first
        groups.append(f"[{axis}, {axis + 1}]" if both else f"[{axis}]")
        axis += 2 if both else 1
    return ", ".join(groups)
