"""The declaration of a device function, which is called inside the code that IREE generates."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel import sources
from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.kernel import check_reference
from custom_dispatch.kernel.launch import BoundKernel
from custom_dispatch.kernel.names import check_name, is_list, is_one_of, shown
from custom_dispatch.kernel.operand import Scalar, Struct, set_fields

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel

_LIBRARIES = ("mlir", "cuda")


@dataclass(frozen=True, init=False)
class Function:
    """A hand-written `__device__` function of numbers, declared: no threads, no memory.

    A model calls it by name, over tensors of any rank, element by element. It becomes a part of the
    loops that IREE generates, for every backend, fused with what stands around the call.

    - `name`: the name by which a model calls it; also the `__device__` function's, without `entry`.
    - `source`: the `.cu` or `.cuh` file, relative to the file that declares the function.
    - `operands`: `cd.Scalar`s and `cd.Struct`s in the order of the C parameters, passed by value or
      by const reference. A struct's numbers are operands of a call, one by one.
    - `result`: what it returns: an element type; a `cd.Scalar`, which names it; or a `cd.Struct`
      with the members of the C struct, each of which is a result.
    - `results`: instead of that, `cd.Scalar`s that it writes through references or pointers, which
      are its last parameters.
    - `library`: what functions such as `expf` are in a model: "mlir" takes MLIR's, which are as
      quick and as exact as IREE makes them; "cuda" takes CUDA's own, number by number.
    - `entry`: the function's C++ name if it is not `name`, such as "ns::scale" or "scale<float>".
    - `include_dirs, options, reference`: as of a kernel.

    Raises `DeclarationError`: an argument is wrong, or the arguments contradict each other.
    """

    name: str
    operands: tuple[Scalar | Struct, ...]
    returned: Scalar | Struct | None
    """What it returns; None if it writes its results."""
    written: tuple[Scalar, ...]
    """What it writes through its last parameters."""
    source: Path
    entry: str
    library: Literal["mlir", "cuda"]
    include_dirs: tuple[Path, ...]
    options: tuple[str, ...]
    reference: Callable[..., Any] | None = field(compare=False, metadata={"not_in_keys": True})

    def __init__(
        self,
        name: str,
        *,
        source: str | os.PathLike[str],
        operands: Sequence[Scalar | Struct],
        result: str | ElementType | Scalar | Struct | None = None,
        results: Sequence[Scalar] = (),
        library: Literal["mlir", "cuda"] = "mlir",
        entry: str | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = (),
        options: Sequence[str] = (),
        reference: Callable[..., Any] | None = None,
    ) -> None:
        check_name(name, "function")
        base = sources.declaring_directory()
        given: Any = () if result is None else (result,)
        if result is not None and not isinstance(result, Scalar | Struct):
            given = (Scalar("result", result),)
        try:
            set_fields(
                self,
                name=name,
                operands=_checked(name, "operands", operands),
                returned=next(iter(_checked(name, "result", given)), None),
                written=_checked(name, "results", results),
                source=sources.check_path(name, "source", source, base),
                entry=sources.check_entry(name, name if entry is None else entry),
                library=library,
                include_dirs=sources.check_include_dirs(name, include_dirs, base),
                options=sources.check_options(name, options),
                reference=check_reference(name, reference),
            )
        except DeclarationError as error:  # of what kernels have, too
            found = error.found.replace(f"Kernel `{name}`", f"Function `{name}`", 1)
            raise error.saying(found, error.next_step.replace("global", "device")) from None
        names = [item.name for item in (*self.arguments, *self.results)]
        twice = [f"`{each}` twice" for each in names if names.count(each) > 1]
        overload = sources.cpp_name(self.entry).parameters is not None
        _require(bool(self.operands), self, "no operands", "one at least: calls have its shape")
        _require(not overload, self, f"parameter types in its entry `{entry}`", "a name alone")
        _require(not twice, self, "".join(twice[:1]), "a name for each operand and result")
        _require(
            is_one_of(library, _LIBRARIES), self, f"library={shown(library)}", '"mlir" or "cuda"'
        )
        _require(
            (self.returned is None) != (not self.written),
            self,
            "both result= and results=" if self.written else "no result",
            "result=, what it returns, or results=, what it writes through its last parameters",
        )

    @property
    def symbol(self) -> str:
        """The name of the `__global__` functions around it."""
        return f"custom_dispatch_{self.name}"

    def kernel(self) -> Kernel:
        """The function as a kernel, of tensors of one shape, which computes each element.

        It is what runs where the function is called by itself. Writes a `.cu` file to the store.
        """
        return self._kernel

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run it now, as a kernel, on the best device: on numbers and arrays of numpy, which are
        broadcast, or on other arrays of one shape. Returns as `Kernel.__call__`.
        """
        return self.kernel()(*arguments, **keywords)

    def on(
        self, device: str = "auto", *, compiler: str = "auto", store: bool = True
    ) -> BoundKernel:
        """The same, to be called on a device of the caller's choice, as `Kernel.on`."""
        return self.kernel().on(device, compiler=compiler, store=store)

    @cached_property
    def _kernel(self) -> Kernel:
        # The room that compiles is above this one, and needed only here.
        room = importlib.import_module("custom_dispatch.toolchain.function_source")
        return room.kernel_form(self)  # type: ignore[no-any-return]

    @cached_property
    def arguments(self) -> tuple[Scalar, ...]:
        """What a call passes, in order: the operands, a struct's numbers one by one."""
        return tuple(number for item in self.operands for number in _numbers(item))

    @cached_property
    def results(self) -> tuple[Scalar, ...]:
        """What a call returns, in order, a struct's numbers one by one."""
        returned = () if self.returned is None else _numbers(self.returned)
        return (*returned, *self.written)

    def call(self, arguments: Sequence[str], results: Sequence[str]) -> str:
        """C++ statements that call the function and keep its results.

        - `arguments`: an expression for each of `Function.arguments`.
        - `results`: for each of `Function.results` the name of a variable of its type.
        """
        rest = iter(arguments)
        passed = [_grouped(item, rest) for item in self.operands]
        passed += [f"custom_dispatch_place({name})" for name in results if self.written]
        call = f"{self.entry}({', '.join(passed)})"
        match self.returned:
            case None:
                return f"{call};"
            case Scalar():
                return f"{results[0]} = {call};"
            case Struct(fields=fields):
                places = (
                    f"custom_dispatch_all.{each.name}" + ("" if index is None else f"[{index}]")
                    for each in fields
                    for index in ([None] if each.count is None else range(each.count))
                )
                taken = (f"{name} = {at};" for name, at in zip(results, places, strict=True))
                return f"{{ auto custom_dispatch_all = {call}; {' '.join(taken)} }}"


def _numbers(item: Scalar | Struct) -> tuple[Scalar, ...]:
    """An operand's numbers, each with a name of its own."""
    if isinstance(item, Scalar):
        return (item,)
    scalars = (leaf.scalar for leaf in item.leaves)
    return tuple(Scalar(each.name.replace(".", "_"), each.dtype) for each in scalars)


def _grouped(item: Scalar | Struct, rest: Iterator[str]) -> str:
    """The C++ expression of an operand: of a struct, its members in braces."""
    if isinstance(item, Scalar):
        return next(rest)
    parts = (
        next(rest)
        if each.count is None
        else f"{{{', '.join(next(rest) for _ in range(each.count))}}}"
        for each in item.fields
    )
    return f"{{{', '.join(parts)}}}"


def _checked(name: str, what: str, given: Any) -> Any:
    """Operands or results, of which each is a number or a struct of such, and no more."""
    kinds: Any = Scalar if what == "results" else Scalar | Struct
    wrong = None if is_list(given) else shown(given)
    for item in () if wrong else given:
        if not isinstance(item, kinds):
            wrong = wrong or shown(item)
        elif getattr(item, "is_split", False):
            wrong = wrong or f"{item}, with buffers or computed numbers"
        elif any(each.value is not None or "f8" in each.dtype.name for each in _numbers(item)):
            wrong = wrong or str(item)
    if wrong is None:
        return tuple(given)
    raise DeclarationError(
        f"Function `{name}`: {what} has {wrong}.",
        expected="a list of cd.Scalar"
        + (" and cd.Struct" if what != "results" else "")
        + ", of types other than floats of 8 bits, and without values",
        next_step=f'write {what}=[cd.Scalar("x", "f32")].',
    )


def _require(condition: bool, function: Function, found: str, expected: str) -> None:
    if not condition:
        raise DeclarationError(
            f"Function `{function.name}` has {found}.",
            expected=expected,
            next_step="correct the declaration.",
        )
