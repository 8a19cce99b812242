"""Code that compilers of other languages left in files: `cd.prebuilt`."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from custom_dispatch.errors import DeclarationError, PtxError
from custom_dispatch.files import read_bytes
from custom_dispatch.kernel.consistency import check_operands
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.layouts import enough_blocks, layouts
from custom_dispatch.kernel.names import chosen, is_one_of, shown
from custom_dispatch.kernel.operand import Buffer, Operand
from custom_dispatch.kernel.sources import Produced, check_objects, check_path, declaring_directory
from custom_dispatch.kernel.target import DEFAULT_TARGETS, Target
from custom_dispatch.toolchain.images import describe_image
from custom_dispatch.toolchain.library import Object
from custom_dispatch.toolchain.object_sources import entry_names, read_object, stated_block

__all__ = ["kernel"]


def kernel(
    code: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    operands: Sequence[Operand],
    grid: Sequence[Expr | int] | Expr | int | None = None,
    block: Sequence[int] | int | None = None,
    layout: str = "plain",
    dim: Sequence[Expr | int] | Expr | int | None = None,
    entry: str | None = None,
    name: str | None = None,
    **rest: Any,
) -> Kernel:
    """Declare PTX or a cubin as a kernel, with its arrays as the language that it is of has them.

    The files are read: for their architecture, entry and block. What they hold is compared with
    the operands when the kernel is built.

    - `code`: a file's path, relative to the file that declares the kernel; or paths by target, as
      `objects` of `cd.Kernel`. One file of plain PTX serves the default targets that it runs on.
    - `operands`: as of `cd.Kernel`, in the order of the function's parameters: an array is one
      operand, however many parameters the layout makes of it. Arrays are dense, in row-major order.
    - `grid, block`: as of `cd.Kernel`. Code that states its block needs none.
    - `layout`: "plain" of code whose parameters are the operands; "numba", "warp", "cute" and
      "tile" of what Numba-CUDA, Warp, CuTe DSL and CUDA Tile made. In CuTe's tensors, sizes that
      are numbers are static, and others not.
    - `dim`: sizes of the launch, of Warp's kernels alone; without a `grid` there are enough blocks.
    - `entry`: the function's name in the code, where it has several.
    - `name`: the kernel's name, if it is not that of the file, without `_sm_80` at its end.
    - `**rest`: as of `cd.Kernel`.

    Raises `DeclarationError`: an argument is wrong, the layout is not that of the code, or what
    `cd.Kernel` raises. Raises `PtxError`: a file cannot be read, or it is neither PTX nor a cubin.
    """
    base = declaring_directory()
    if not is_one_of(layout, layouts()):
        raise DeclarationError(
            f"cd.prebuilt.kernel: layout is {shown(layout)}.",
            expected=f"one of {', '.join(layouts())}",
            next_step="name what the code was made with; plain is code that takes the operands.",
        )
    if isinstance(code, Mapping):
        files = dict(check_objects(name or "prebuilt", code, base))
    else:
        path = check_path(name or "prebuilt", "code", code, base)
        files = dict.fromkeys(_targets_of(path), path)
    stem = next((path.stem for path in files.values()), "prebuilt")
    name = name or re.sub(r"_sm_\d+[af]?$", "", stem)
    check_operands(name, operands)
    made = {}
    for target, path in files.items():
        item = read_object(name, target, path)
        names = {each: each for each in entry_names(item) if not each.endswith("_backward")}
        symbol = chosen(f"`{path}` has", names, entry, "kernel", "entry=NAME")
        _check_made_by(item, layout)
        _check_arrays(name, symbol, [each for each in operands if isinstance(each, Buffer)])
        threads = stated_block(item, symbol) if block is None else block
        made[target] = Produced(path, symbol, threads, rest.get("dynamic_shared_memory", 0))
    block = next((each.block for each in made.values()), block)
    if grid is None and dim is not None and block is not None:
        grid = enough_blocks(dim, block)
    return Kernel(
        name,
        operands=layouts()[layout].operands(name, operands, dim),
        grid=grid,  # type: ignore[arg-type] # what is missing is told of
        block=block,  # type: ignore[arg-type]
        objects={str(target): path for target, path in files.items()},
        **rest,
    ).with_code(made)


def _targets_of(path: Path) -> list[Target]:
    """The targets that one file serves: what it is for, and default ones on which PTX runs."""
    kind, arch = describe_image(read_bytes(path, "The code", PtxError)).members[0]
    defaults = map(Target.parse, DEFAULT_TARGETS)
    later = [each for each in defaults if each.arch and arch.runs_on_target(each.arch)]
    return [*dict.fromkeys([Target("cuda", arch), *(later if kind == "ptx" else ())])]


def _check_made_by(item: Object, layout: str) -> None:
    """Refuse code of another language: as many parameters may mean something else there."""
    made_by = [
        name for name, each in layouts().items() if each.mark and each.mark.encode() in item.data
    ]
    if made_by != ([layout] if layouts()[layout].mark else []):
        language = layouts()[made_by[0]].language if made_by else "another compiler"
        raise DeclarationError(
            f"Kernel `{item.name}`: `{item.origin}` is code of {language}, and layout is "
            f"{layout!r}.",
            expected=f"code of {layouts()[layout].language}",
            next_step=f"write layout={made_by[0] if made_by else 'plain'!r}.",
        )


# Numba's names say what they take: ..5ArrayIfLi2E1C7mutable7aligned.. for f32[:, ::1].
_NUMBAS_ARRAY = re.compile(r"5ArrayI\w+?Li(\d+)E1([ACF])")


def _check_arrays(kernel: str, entry: str, buffers: Sequence[Buffer]) -> None:
    found = [(int(rank), order) for rank, order in _NUMBAS_ARRAY.findall(entry)]
    fits = [rank for rank, order in found if rank < 2 or order != "F"]
    if found and fits != [item.rank for item in buffers]:
        said = ", ".join(f"{rank}{' (column-major)' * (order == 'F')}" for rank, order in found)
        raise DeclarationError(
            f"Kernel `{kernel}`: its code takes arrays of {said} dimensions.",
            expected="those of the operands, in row-major order: "
            + ", ".join(f"{item.name} {item.rank}" for item in buffers),
            next_step="correct the shapes, or compile it for types like f4[:, ::1].",
        )
