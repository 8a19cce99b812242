"""Functions of Numba, Warp, CuTe DSL and CUDA Tile as kernels: `cd.numba` and so on. Their own
compilers make PTX of them, without a GPU; each language is imported where that is done alone.
"""

import inspect
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError, SourceError, excerpt
from custom_dispatch.files import temporary_directory
from custom_dispatch.installation import require
from custom_dispatch.kernel.consistency import in_order
from custom_dispatch.kernel.expr import Constant, Expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.layouts import Layout, enough_blocks, layouts
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar
from custom_dispatch.kernel.sources import Produced
from custom_dispatch.kernel.target import Arch, Target
from custom_dispatch.toolchain.images import read_sections
from custom_dispatch.toolchain.object_sources import block_in
from custom_dispatch.toolchain.produced import file_of


@dataclass(frozen=True, slots=True)
class Function:
    """A function of another language, for certain types."""

    language: str
    """As `layouts.toml` calls it."""
    function: Any
    parameters: tuple[Any, ...]
    """Operands in the order of its parameters, with constants among them."""
    block: Any

    def produce(self, kernel: str, target: Target) -> Produced:
        """See `Producer.produce`."""
        text, entry = self._compiled(kernel, target.cuda_arch)
        if ".hidden" in text:  # parameters that CUDA Tile's own launches add: tensor maps
            text, entry = self._compiled(kernel, Arch(80))
        text = re.sub(r"^\.target\s+\w+", f".target {target.symbol}", text, flags=re.MULTILINE)
        entry = entry or re.findall(r"\.entry\s+([\w$]+)", text)[0]
        return Produced(file_of(text), entry, block_in(text, entry), 0)

    def given(self, array: Callable[[Buffer], Any], number: Callable[[Scalar], Any]) -> list[Any]:
        """The parameters as the compiler has them, constants as they are."""
        return [
            array(each) if isinstance(each, Buffer)
            else number(each) if isinstance(each, Scalar) else each
            for each in self.parameters
        ]  # fmt: skip

    def _compiled(self, kernel: str, arch: Arch) -> tuple[str, str]:
        try:
            return self._code(arch)
        except Exception as error:  # they raise many kinds, and the user's own code runs in them
            language = layouts()[self.language].language
            raise SourceError(
                f"Kernel `{kernel}`: {language} does not compile it for {arch}.",
                next_step="correct what it says:",
                log=excerpt(str(error) or type(error).__name__),
            ) from error

    def _code(self, arch: Arch) -> tuple[str, str]:
        """PTX, and the kernel's name in it, where that is not its only one."""
        return _COMPILERS[self.language](self, arch)


def _numba(asked: Function, arch: Arch) -> tuple[str, str]:
    import numba
    from numba import cuda

    def number(item: Buffer | Scalar) -> Any:
        return numba.from_dtype(item.dtype.to_numpy())

    types = asked.given(lambda item: numba.types.Array(number(item), item.rank, "C"), number)
    function = getattr(asked.function, "py_func", asked.function)
    cc = divmod(arch.compute_capability, 10)
    return cuda.compile_ptx(function, tuple(types), lineinfo=True, cc=cc)[0], ""


def _warp(asked: Function, arch: Arch) -> tuple[str, str]:
    import warp

    for item, found in zip(asked.parameters, asked.function.adj.args, strict=True):
        kind, rank = getattr(found.type, "dtype", found.type), getattr(found.type, "ndim", 0)
        if (warp.dtype_to_numpy(kind), rank) != (item.dtype.to_numpy(), getattr(item, "rank", 0)):
            raise TypeError(
                f"{found.label} has {rank} dimensions of {kind.__name__}, and is {item}"
            )
    module, archs = asked.function.module, [arch.compute_capability]
    with temporary_directory() as made:
        (path,) = warp.compile_aot_module(module, arch=archs, module_dir=made, use_ptx=True)
        text = path.read_text().rstrip("\0")
    return text, f"{asked.function.get_mangled_name()}_cuda_kernel_forward"


def _cute(asked: Function, arch: Arch) -> tuple[str, str]:
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    known = {name.lower(): getattr(cutlass, name) for name in dir(cutlass)}

    def kind(item: Buffer | Scalar) -> Any:
        return known[item.dtype.numpy_name.replace("_", "").replace("bool", "boolean")]

    def array(item: Buffer) -> Any:
        sizes = (s.value if isinstance(s, Constant) else cute.sym_int() for s in item.shape)
        order = tuple(reversed(range(item.rank)))
        how = {"stride_order": order, "assumed_align": 16}
        return make_fake_compact_tensor(kind(item), tuple(sizes), **how)

    def launched(passed: Any) -> None:  # with constants as they are: jit makes values of numbers
        left = iter(passed)
        each = [next(left) if isinstance(i, Buffer | Scalar) else i for i in asked.parameters]
        asked.function(*each).launch(grid=(1, 1, 1), block=asked.block)

    def launch(function: Any, passed: Any) -> None:
        function(passed)

    launch.__annotations__["function"] = cutlass.Constexpr
    pairs = zip(asked.parameters, asked.given(array, lambda item: kind(item)(0)), strict=True)
    passed = tuple(made for item, made in pairs if isinstance(item, Buffer | Scalar))
    with temporary_directory() as folder:
        options = f"--gpu-arch {arch} --keep-ptx --generate-line-info --dump-dir {folder}"
        done = cute.compile(cute.jit(launch), launched, passed, options=options)
    return done.__ptx__, ""


def _tile(asked: Function, arch: Arch) -> tuple[str, str]:
    import cuda.tile as ct
    from cuda.tile import compilation as tile

    def kind(item: Buffer | Scalar) -> Any:
        return getattr(ct, item.dtype.numpy_name.replace("bool", "bool_"))

    def array(item: Buffer) -> Any:
        strides = ((None,) * item.rank + (1,))[1:]
        how = {"stride_constant": strides, "base_addr_divisible_by": 16, "index_dtype": ct.int32}
        how |= {"may_alias_internally": False, "alias_groups": (), "stride_lower_bound_incl": 0}
        return tile.ArrayConstraint(kind(item), item.rank, **how)

    given = asked.given(array, lambda item: tile.ScalarConstraint(kind(item)))
    convention = tile.CallingConvention.cutile_python_v1()
    signature = tile.KernelSignature(given, convention, symbol="tile_kernel")
    made, code = io.BytesIO(), f"sm_{arch.compute_capability}"
    tile.export_kernel(asked.function, [signature], made, gpu_code=code, output_format="cubin")
    sections = {each.name: each.content for each in read_sections(made.getvalue())}
    text = sections[".nv_debug_ptx_txt"].replace(b"\0", b"\n").decode("utf-8", "replace")
    return re.split(r"^\.nv_", text, flags=re.MULTILINE)[0], "tile_kernel"  # its IR follows


_COMPILERS = {"numba": _numba, "warp": _warp, "cute": _cute, "tile": _tile}


def required(name: str) -> Layout:
    """A language's layout; `ToolNotFoundError` if it is not there, or of an untried release."""
    layout = layouts()[name]
    releases = layout.releases[0], layout.releases[1]
    require(layout.package, layout.language, f"cd.{name}", releases, name)
    return layout


class Language:
    """A language whose functions are kernels. `name`: as `layouts.toml` calls it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def kernel(
        self,
        fn: Any,
        *,
        operands: Sequence[Operand],
        grid: Sequence[Expr | int] | Expr | int | None = None,
        block: Sequence[int] | int | None = None,
        constants: Mapping[str, Any] | None = None,
        dim: Sequence[Expr | int] | Expr | int | None = None,
        name: str | None = None,
        **rest: Any,
    ) -> Kernel:
        """Declare a function as a kernel, which its own compiler compiles when the kernel is built.

        - `fn`: a function as Numba's `cuda.jit` takes it, or one with `wp.kernel`, `cute.kernel` or
          `ct.kernel`.
        - `operands`: `In`, `Out`, `InOut` and `Scalar`, named as the function's parameters, in any
          order. Arrays are dense, in row-major order.
        - `constants`: values of parameters that are `ct.Constant` or `cutlass.Constexpr`.
        - `grid, block, dim, **rest`: as of `cd.prebuilt.kernel`. CUDA Tile chooses its block.
        - `name`: the kernel's name, if it is not the function's.

        Raises `ToolNotFoundError`: the language is not there, or of a release that was not tried.
        Raises `DeclarationError`: operands do not fit the function, or what `cd.Kernel` raises.
        """
        layout = required(self._name)
        function = getattr(fn, "_pyfunc", fn)  # of CUDA Tile
        own = str(getattr(function, "__name__", None) or getattr(fn, "key", "kernel"))
        if not callable(function):
            raise DeclarationError(
                f"cd.{self._name}.kernel is given {shown(fn)}.",
                expected=f"a function of {layout.language}",
                next_step="name the function without launching it.",
            )
        name, known = name or own, inspect.signature(function).parameters
        needed = {each: item.default is inspect.Parameter.empty for each, item in known.items()}
        ordered = {i.name: i for i in in_order(name, operands, needed, constants or {}, own)}
        given: dict[str, Any] = {each: item.default for each, item in known.items()}
        given |= {**ordered, **(constants or {})}
        if grid is None and dim is not None and block is not None:
            grid = enough_blocks(dim, block)
        return Kernel(
            name,
            operands=layout.operands(name, [*ordered.values()], dim),
            grid=grid,  # type: ignore[arg-type] # what is missing is told of
            block=block or (128 if self._name == "tile" else None),  # type: ignore[arg-type]
            producer=Function(self._name, fn, tuple(given.values()), block),
            **rest,
        )


numba, warp, cute, tile = (Language(each) for each in ("numba", "warp", "cute", "tile"))
