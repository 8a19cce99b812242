"""The declaration of a kernel: the one place where everything about it is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel import consistency, geometry, sources
from custom_dispatch.kernel.abi import Abi, abi_of
from custom_dispatch.kernel.evaluation import dims_of
from custom_dispatch.kernel.expr import Condition, Dim, Expr
from custom_dispatch.kernel.geometry import Block, Grid
from custom_dispatch.kernel.launch import Callee
from custom_dispatch.kernel.names import check_name, is_one_of, shown
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar, Scratch, Struct
from custom_dispatch.kernel.sources import (
    Implementation,
    Implementations,
    Launch,
    Produced,
    Producer,
)
from custom_dispatch.kernel.target import Target

if TYPE_CHECKING:
    from custom_dispatch.kernel.function import Function

_CODE = {"source": "a source", "objects": "objects", "producer": "a producer"}
"""Where a kernel's code comes from, and what errors call it."""
_WITH_DIMS = ("operands", "grid", "requires", "flops", "bytes_moved")


def _check_source(kernel: str, given: str | os.PathLike[str] | None, base: Path) -> Path | None:
    return None if given is None else sources.check_path(kernel, "source", given, base)


def _check_entry(kernel: str, given: str | None) -> str:
    return kernel if given is None else sources.check_entry(kernel, given)


def check_reference(kernel: str, reference: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """What a kernel, or a function, computes, as a function of Python."""
    if reference is not None and not callable(reference):
        raise DeclarationError(
            f"Kernel `{kernel}`: reference is {shown(reference)}.",
            expected="a function of the kernel's inputs that returns its outputs",
            next_step="name the function without calling it, or leave it out.",
        )
    return reference


def _check_fallback(
    kernel: str, fallback: str | None, reference: Callable[..., Any] | None
) -> str | None:
    known = is_one_of(fallback, ("reference",))
    if fallback is None or (known and reference is not None):
        return fallback
    if not known:
        raise DeclarationError(
            f"Kernel `{kernel}`: fallback is {shown(fallback)}.",
            expected='"reference", which lets the reference run where the kernel cannot',
            next_step="correct it, or leave it out.",
        )
    raise DeclarationError(
        f'Kernel `{kernel}`: fallback is "reference", and there is no reference.',
        expected="reference=, a function of the kernel's inputs that returns its outputs",
        next_step="declare the reference, or leave fallback out.",
    )


def _part(
    check: Callable[..., Any] | None = None, other: str | None = None, *, in_keys: bool = True
) -> Any:
    """A field of a kernel, with the check that reads it where it is given."""
    return field(metadata={"check": check, "with": other, "not_in_keys": not in_keys})


@dataclass(frozen=True, init=False, eq=False)
class Kernel(Callee):
    """A hand-written CUDA kernel, declared.

    A kernel is data: declaring one reads no file and loads neither IREE nor CUDA.

    - `name`: the name by which a model calls it; also the `__global__` function's, without `entry`.
    - `source`: the `.cu` file, relative to the file that declares the kernel.
    - `operands`: `In`, `Out`, `InOut`, `Scratch`, `Scalar` and `Struct`, in the order of the C
      signature.
    - `block`: threads in each block: one to three integers.
    - `grid`: blocks in the grid: one to three dim expressions.
    - `dynamic_shared_memory`: bytes of `extern __shared__` memory.
    - `include_dirs`: directories searched for headers after the source's own, relative to the file
      that declares the kernel.
    - `options`: compiler options, in nvcc's spelling: ["-use_fast_math", "-DTILE=64"].
    - `objects`: objects built elsewhere, by target, instead of a source: {"cuda:sm_90":
      "kernel.ptx"}.
    - `launch_bounds`: the thread limit in the source's `__launch_bounds__`. A larger block is
      refused when the kernel is declared instead of when the PTX is read.
    - `max_registers`: the register limit of each thread, written into the PTX (`.maxnreg`). A low
      limit lets more blocks run at once, or causes spills.
    - `cluster`: blocks in a cluster: one to three integers, as in the source's `__cluster_dims__`.
      The grid must be a multiple of it.
    - `entry`: the `__global__` function's name if it is not `name`: a plain or mangled name, or a
      C++ name such as "ns::scale", "rms_norm<float, 256>" (which is instantiated) or, to choose an
      overload, "scale(const float*, int)".
    - `reference`: what the kernel computes, as a function of the same arguments: numpy in, numpy
      out.
    - `fallback`: "reference" lets calls from Python run the reference, with a warning, if the CPU
      target cannot run the kernel, for instance because it uses `wgmma`. A compiled module cannot
      hold a Python function, so compiling one for the CPU is still refused.
    - `requires`: conditions on dims that must all hold for a call: `[n % 4 == 0, n <= 8192]`. Other
      calls are refused; a `Choice` then takes another kernel.
    - `flops`: floating-point operations of one call, as an expression of dims: `2 * m * n * k`.
      Only `custom-dispatch bench` and `profile` read it.
    - `bytes_moved`: bytes that one call reads and writes at least, if that is not every `In` and
      `Out` once and every `InOut` twice: `2 * rows * width * 4` of a kernel that writes some rows
      of a cache. Only `bench` and `profile` read it.
    - `implementations`: other code for single targets: `{"cuda:sm_90a":
      cd.Implementation(source=...)}`. It is used for exactly that target, "cpu" for every CPU.
      Other targets and "cpu:checked" use the kernel's main code. A call must fit the grids of all.
    - `producer`: what makes the code when the kernel is built, instead of a source: the compiler of
      another language. `cd.triton.kernel` gives it.
    - `function`: the function that it computes, element by element. `Function.kernel` gives it.

    Raises `DeclarationError`: an argument is wrong, or the arguments contradict each other.
    Raises `SignatureError`: the C signature cannot be adapted to IREE's calling convention.
    """

    # A new keyword is a parameter of `__init__` with its documentation, a field, in the order in
    # which mistakes are told, and a line of `Launch` or `TargetParts` if another form of the kernel
    # may replace it. A field's check takes the kernel's name and what is given; and what that is to
    # be compared with, a part that comes before it, or the directory that paths are relative to.
    name: str = _part(lambda _, given: check_name(given, "kernel"))
    operands: tuple[Operand, ...] = _part(consistency.check_operands)
    block: Block = _part(geometry.check_block)
    grid: Grid = _part(geometry.check_grid)
    source: Path | None = _part(_check_source, "base")
    objects: tuple[tuple[Target, Path], ...] = _part(sources.check_objects, "base")
    producer: Producer | None = _part(lambda _, given: given)
    include_dirs: tuple[Path, ...] = _part(sources.check_include_dirs, "base")
    options: tuple[str, ...] = _part(sources.check_options)
    dynamic_shared_memory: int = _part(geometry.check_dynamic_shared_memory)
    max_registers: int | None = _part(geometry.check_max_registers)
    entry: str = _part(_check_entry)
    # No function has a fixed form, and none of these changes what is built.
    reference: Callable[..., Any] | None = _part(check_reference, in_keys=False)
    fallback: str | None = _part(_check_fallback, "reference", in_keys=False)
    requires: tuple[Condition, ...] = _part(consistency.check_requires)
    flops: Expr | None = _part(partial(geometry.check_amount, "flops", "what is computed"))
    bytes_moved: Expr | None = _part(partial(geometry.check_amount, "bytes_moved", "what is moved"))
    implementations: Implementations = _part(sources.check_implementations, "base", in_keys=False)
    launch_bounds: int | None = _part(geometry.check_launch_bounds, "block")
    function: Function | None = _part(lambda _, given: given)
    cluster: Block | None = _part(geometry.check_cluster, "grid")
    variants: tuple[tuple[Target, Kernel], ...] = _part()
    """The kernel as it is on each target with an implementation of its own."""
    abi: Abi = _part()

    def __init__(
        self,
        name: str,
        *,
        operands: Sequence[Operand],
        block: Sequence[int] | int,
        grid: Sequence[Expr | int] | Expr | int,
        source: str | os.PathLike[str] | None = None,
        objects: Mapping[str, str | os.PathLike[str]] | None = None,
        include_dirs: Sequence[str | os.PathLike[str]] = (),
        options: Sequence[str] = (),
        dynamic_shared_memory: int = 0,
        launch_bounds: int | None = None,
        max_registers: int | None = None,
        cluster: Sequence[int] | int | None = None,
        entry: str | None = None,
        reference: Callable[..., Any] | None = None,
        fallback: str | None = None,
        requires: Sequence[Condition] = (),
        flops: Expr | int | None = None,
        bytes_moved: Expr | int | None = None,
        implementations: Mapping[str, Implementation] | None = None,
        producer: Producer | None = None,
        function: Function | None = None,
    ) -> None:
        given = {part: value for part, value in locals().items() if part != "self"}
        self._take(given, sources.declaring_directory())

    def _take(self, given: Mapping[str, Any], base: Path) -> None:
        """Check parts and take them; then see that all go together.

        - `given`: every part by name, or those that differ from what the kernel has.
        - `base`: the directory that paths are relative to.
        """
        for part in fields(self):
            check, other = part.metadata.get("check"), part.metadata.get("with")
            if check is None or (part.name not in given and other not in given):
                continue
            value = given[part.name] if part.name in given else getattr(self, part.name)
            rest = () if other is None else (base if other == "base" else getattr(self, other),)
            name = vars(self).get("name", "")  # it is the first part
            object.__setattr__(self, part.name, check(name, value, *rest))
        there = [name for name in _CODE if getattr(self, name)]
        if len(there) != 1:
            has = f"both {' and '.join(_CODE[name] for name in there)}"
            raise DeclarationError(
                f"Kernel `{self.name}` has {has if there else 'neither a source nor objects'}.",
                expected="one of them",
                next_step='give source="kernel.cu" or objects={"cuda:sm_90": "kernel.ptx"}.',
            )
        if not given.keys().isdisjoint(_WITH_DIMS):
            consistency.check_dims(self.name, self.operands, self.requires, self._expressions)
        if "operands" in given:
            object.__setattr__(self, "abi", abi_of(self.name, tuple(given["operands"])))
        object.__setattr__(self, "variants", tuple(map(self._variant, self.implementations)))

    @cached_property
    def inputs(self) -> tuple[Operand, ...]:
        """What a call passes, in order: every `In`, `InOut`, value-less `Scalar` and `Struct`."""
        return consistency.inputs_of(self.operands)

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """The tensors among them."""
        return tuple(operand for operand in self.inputs if isinstance(operand, Buffer))

    @property
    def arguments(self) -> tuple[Buffer | Scalar, ...]:
        """The arguments of a model's function, in order: the inputs, with a struct's numbers one by
        one.
        """
        found: list[Buffer | Scalar] = []
        for operand in self.inputs:
            match operand:
                case Struct():
                    found += (leaf.scalar for leaf in operand.leaves)
                case _:
                    found.append(operand)
        return tuple(found)

    @cached_property
    def outputs(self) -> tuple[Buffer, ...]:
        """What a call returns, in order: every `Out` and `InOut`."""
        return consistency.outputs_of(self.operands)

    @cached_property
    def scratches(self) -> tuple[Scratch, ...]:
        """What IREE allocates for a call alone, in order."""
        return tuple(operand for operand in self.operands if isinstance(operand, Scratch))

    @cached_property
    def has_leading_dims(self) -> bool:
        """Whether operands have `...` in their shapes."""
        return any(isinstance(item, Buffer) and item.batched for item in self.operands)

    @cached_property
    def own(self) -> Kernel:
        """The kernel as it is wherever it has no other implementation."""
        return self._again(implementations=None) if self.implementations else self

    def for_target(self, target: Target | None) -> Kernel:
        """The kernel as it runs on a target, without implementations for other targets.

        Where there is no target, that is its own form. Every CPU takes the implementation for
        `cpu`, but for `cpu:checked`.
        """
        wanted = None if target is None else target.implemented
        return next((kernel for other, kernel in self.variants if other == wanted), self.own)

    @property
    def forms(self) -> tuple[Kernel, ...]:
        """Every form of the kernel: its own first, then those for single targets."""
        return (self.own, *(kernel for _, kernel in self.variants))

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Every dim of the declaration, each once, in order of appearance."""
        return dims_of(*(expr for expr, _ in self._expressions))

    @property
    def _expressions(self) -> list[tuple[Expr, str]]:
        amounts = {"flops": self.flops, "bytes_moved": self.bytes_moved}
        return consistency.expressions_of(self.operands, self.grid, self.requires, amounts)

    def with_launch(self, *, name: str | None = None, **launch: Unpack[Launch]) -> Kernel:
        """The same kernel with another launch; what is left out stays as it is.

        Implementations for single targets keep what they replace.

        The source is compiled again only if `options` differ, which is necessary if the block size
        is a macro or a template argument of the source.

        - `name`: another name, needed if a model calls both kernels.
        - `block, grid, dynamic_shared_memory, launch_bounds, max_registers, cluster, options`: as
          for a kernel. If the grid depends on the block size, pass a new grid as well.

        Raises `DeclarationError`: an argument is wrong, or does not fit the rest of the
        declaration.
        """
        changes = sources.given_parts(launch, Launch, "Kernel.with_launch")
        return self._again(**changes if name is None else {"name": name, **changes})

    def with_code(self, made: Mapping[Target, Produced]) -> Kernel:
        """The same kernel with code that its producer made for targets, instead of the producer.

        The first target's is the kernel's own; the others are implementations, where their launch
        is another.
        """
        first, *rest = made.items()
        own = first[1]
        others = {
            str(target): Implementation(
                entry=item.entry, block=item.block, dynamic_shared_memory=item.dynamic_shared_memory
            )
            for target, item in rest
            if (item.entry, item.block, item.dynamic_shared_memory)
            != (own.entry, own.block, own.dynamic_shared_memory)
        }
        others |= {str(target): item for target, item in self.implementations}
        return self._again(
            producer=None,
            objects={str(target): item.path for target, item in made.items()},
            entry=own.entry,
            block=own.block or self.block,
            dynamic_shared_memory=own.dynamic_shared_memory or self.dynamic_shared_memory,
            implementations=others or None,
        )

    def requiring(self, conditions: Sequence[Condition]) -> Kernel:
        """The same kernel with further requirements."""
        return self._again(requires=(*self.requires, *conditions)) if conditions else self

    def _again(self, **changes: Any) -> Kernel:
        """The same declaration with some of its parts replaced."""
        found = object.__new__(Kernel)
        for part in fields(self):
            if part.name != "variants":
                object.__setattr__(found, part.name, getattr(self, part.name))
        found._take(changes, Path())  # paths that are there are absolute
        return found

    def _variant(self, implementation: tuple[Target, Implementation]) -> tuple[Target, Kernel]:
        target, item = implementation
        others: dict[str, Any] = {"implementations": None}
        if "source" in item.given or "objects" in item.given:
            others |= dict.fromkeys(_CODE)
        with sources.naming(self.name, target):
            return target, self._again(**{**others, **item.given})

    def __repr__(self) -> str:
        return f"Kernel({self.name}({', '.join(map(str, self.operands))}))"
