"""Functions of TileLang as kernels: `cd.tilelang.kernel`.

TileLang makes CUDA C++ of a function, for which it needs no GPU, and says how it is launched.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import add, floordiv, mul, sub
from typing import Any

from custom_dispatch.errors import DeclarationError, excerpt
from custom_dispatch.frontends.languages import Function, required
from custom_dispatch.kernel.consistency import in_order
from custom_dispatch.kernel.expr import Expr, as_expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar
from custom_dispatch.kernel.sources import Produced
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.locations import include_directories

_OPERATORS = {"Add": add, "Sub": sub, "Mul": mul, "FloorDiv": floordiv}


def kernel(
    fn: Any,
    *,
    operands: Sequence[Operand],
    grid: Sequence[Expr | int] | Expr | int | None = None,
    name: str | None = None,
    **rest: Any,
) -> Kernel:
    """Declare a function of TileLang as a kernel, which is compiled when the kernel is built.

    - `fn`: a function with `T.prim_func`. Its launch, and the sizes that it is passed, are its own.
    - `operands`: `In`, `Out`, `InOut` and `Scalar`, named as its parameters, in any order. Arrays
      are dense, in row-major order.
    - `grid`: only where the function's is computed by more than sums, products and quotients.
    - `name, **rest`: as of `cd.Kernel`; the name is the function's otherwise.

    Raises `ToolNotFoundError`: TileLang is not there, or of a release that was not tried.
    Raises `DeclarationError`: operands do not fit the function, or what `cd.Kernel` raises.
    """
    language = required("tilelang").language
    try:
        own, (_, made) = str(fn.attrs["global_symbol"]), _lowered(fn, Arch(80))
    except Exception as error:  # it raises many kinds
        raise DeclarationError(
            f"cd.tilelang.kernel is given {shown(fn)}.",
            expected=f"a function of {language}",
            next_step="give a function with T.prim_func; what was found:",
            log=excerpt(str(error) or type(error).__name__),
        ) from error
    name, passed = name or own, {each.name: str(each.dtype) for each in made.params}
    sizes = _sizes(name, fn, operands) if is_list(operands) else {}
    known = [each for each in sizes if each in passed]
    added = [Scalar(each, passed[each].replace("int", "i"), sizes[each]) for each in known]
    own_names = [fn.buffer_map[each].name if each in fn.buffer_map else each for each in fn.params]
    needed = dict.fromkeys([*map(str, own_names), *passed], True)
    ordered = in_order(name, [*operands, *added] if added else operands, needed, {}, own)
    if grid is None:
        extent = made.attrs["thread_extent"]
        grid = [_computed(name, extent.get(f"blockIdx.{axis}", 1), sizes) for axis in "xyz"]
    producer = _Lowered("tilelang", fn, tuple(ordered), None)
    return Kernel(name, operands=ordered, grid=grid, producer=producer, **_launch(made), **rest)


class _Lowered(Function):
    """A function of TileLang."""

    def produce(self, kernel: str, target: Target) -> Produced:
        """See `Producer.produce`."""
        found = super().produce(kernel, target)
        return replace(found, **_launch(_lowered(self.function, target.cuda_arch)[1]))

    def _code(self, arch: Arch) -> tuple[str, str]:
        from tilelang import env
        from tilelang.contrib import nvrtc

        source, made = _lowered(self.function, arch)
        names = [item.name for item in self.parameters]

        def in_our_order(found: re.Match[str]) -> str:  # its own sorts them
            parts = {each.split()[-1].lstrip("*"): each for each in found[2].split(",")}
            return f"{found[1]}({','.join(parts.pop(name) for name in names)})"

        if sorted(names) != sorted(each.name for each in made.params):
            raise TypeError(
                f"its kernel takes {', '.join(each.name for each in made.params)} there"
            )
        source = re.sub(rf"\b({made.attrs['global_symbol']})\(([^()]*)\)", in_our_order, source)
        folders = (env.TILELANG_TEMPLATE_PATH, env.CUTLASS_INCLUDE_DIR, *include_directories())
        options = ["--std=c++17", *(f"-I{each}" for each in folders)]
        text = nvrtc.compile_cuda(source, "ptx", arch.compute_capability, options)
        return bytes(text).decode().rstrip("\0"), ""


@lru_cache(maxsize=16)
def _lowered(function: Any, arch: Arch) -> tuple[str, Any]:
    """What TileLang makes of a function: CUDA C++, and the kernel's parameters and attributes."""
    import tilelang
    from tilelang import tvm

    target = tvm.target.Target({"kind": "cuda", "arch": f"sm_{arch.compute_capability}"})
    with target:
        made = tilelang.lower(function, target=target)
    if "CUtensorMap" in made.kernel_source:  # its own launches pass such
        return _lowered(function, Arch(80))
    (one,) = made.device_mod.functions.values()
    return made.kernel_source, one


def _launch(made: Any) -> dict[str, Any]:
    """The block and shared memory of a kernel."""
    extent, shared = made.attrs["thread_extent"], made.attrs.get("dyn_shared_memory_buf", 0)
    block = [int(extent.get(f"threadIdx.{axis}", 1)) for axis in "xyz"]
    return {"block": block, "dynamic_shared_memory": int(shared)}


def _sizes(kernel: str, function: Any, operands: Sequence[Operand]) -> dict[str, Expr]:
    """Open sizes of a function by name: what operands have in their place, which are compared."""
    given = {item.name: item for item in operands if isinstance(item, Buffer)}
    buffers = [function.buffer_map[each] for each in function.buffer_map]
    there = [(each, given[each.name]) for each in buffers if each.name in given]
    found: dict[str, Expr] = {}
    for buffer, item in there:
        for size, declared in zip(buffer.shape, item.shape, strict=False):
            if str(size).isidentifier():
                found.setdefault(str(size), declared)
    for buffer, item in there:
        shape = [as_expr(_computed(kernel, size, found)) for size in buffer.shape]
        pairs = zip(shape, item.shape, strict=False)
        fits = len(shape) == item.rank and all(size.is_same(declared) for size, declared in pairs)
        if not fits or str(buffer.dtype) != item.dtype.numpy_name:
            raise DeclarationError(
                f"Kernel `{kernel}`: `{buffer.name}` is {item}.",
                expected=f"{buffer.dtype}[{', '.join(map(str, shape))}], as TileLang has it",
                next_step="correct the operand; sizes of one name are one dim.",
            )
    return found


def _computed(kernel: str, node: Any, sizes: Mapping[str, Expr]) -> Any:
    """An expression of TileLang's."""
    kind = type(node).__name__
    if kind in ("int", "IntImm"):
        return int(node)
    if kind == "Var" and node.name in sizes:
        return sizes[node.name]
    if kind not in _OPERATORS:
        raise DeclarationError(
            f"Kernel `{kernel}`: TileLang computes its grid or a size by {kind}.",
            expected="sums, products and quotients of its arrays' sizes",
            next_step="write grid=[...], or another size.",
        )
    return _OPERATORS[kind](*(_computed(kernel, each, sizes) for each in (node.a, node.b)))
