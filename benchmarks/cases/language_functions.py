"""What `gpu/languages.py` runs: functions of other languages, and the languages' own code of them.

The functions are those of `tests/producers`. How each language passes an array is written out here
once more: launches that are compared must not share the table that is tested.
"""

from __future__ import annotations

import importlib
import io
import math
import re
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custom_dispatch.kernel.target import Arch

MODULES = {"numba": "numba.cuda", "warp": "warp", "cute": "cutlass", "tile": "cuda.tile"}
"""What is imported where a language is installed."""
HOPPER = Arch.parse("sm_90a")


@dataclass(frozen=True)
class Chain:
    """Kernels that follow one another, the first of which takes the last one's result.

    - `steps`: functions, each with its arguments; `v` is the result of the last step.
    - `shapes`: of arguments and results, by name, of sizes by name.
    - `sizes`: the ones that are timed.
    """

    name: str
    steps: tuple[tuple[str, str, tuple[str, ...]], ...]
    shapes: Callable[..., dict[str, tuple[int, ...]]]
    sizes: tuple[dict[str, int], ...]


CHAINS = (
    Chain(
        "saxpy",
        (("saxpy", "v", ("v", "y", "a")),),
        lambda n: {"v": (n,), "y": (n,)},
        ({"n": 1 << 16}, {"n": 1 << 20}, {"n": 1 << 26}),
    ),
    Chain(
        "scale_rows",
        (("scale_rows", "v", ("v", "y")),),
        lambda m, n: {"v": (m, n), "y": (m,)},
        ({"m": 128, "n": 512}, {"m": 1024, "n": 1024}, {"m": 16384, "n": 4096}),
    ),
    Chain(
        "row_sum and scale_rows",
        (("row_sum", "y", ("v",)), ("scale_rows", "v", ("v", "y"))),
        lambda m, n: {"v": (m, n), "y": (m,)},
        ({"m": 128, "n": 512}, {"m": 1024, "n": 1024}, {"m": 16384, "n": 4096}),
    ),
)
FUNCTIONS = ("saxpy", "scale_rows", "row_sum")
FACTOR = 0.5
"""The number `a`."""

_GRIDS: dict[str, dict[str, Callable[..., tuple[int, ...]]]] = {
    "numba": {
        "saxpy": lambda n: (-(-n // 256),),
        "scale_rows": lambda m, n: (-(-m // 16), -(-n // 8)),
        "row_sum": lambda m, **_: (m,),
    },
    "warp": {
        "saxpy": lambda n: (-(-n // 256),),
        "scale_rows": lambda m, n: (-(-m * n // 128),),
        "row_sum": lambda m, n: (-(-m * n // 64),),
    },
    "cute": {
        "saxpy": lambda n: (-(-n // 256),),
        "scale_rows": lambda m, **_: (m,),
        "row_sum": lambda m, **_: (m,),
    },
    "tile": {
        "saxpy": lambda n: (-(-n // 256),),
        "scale_rows": lambda m, n: (-(-m // 8), -(-n // 32)),
        "row_sum": lambda m, **_: (m,),
    },
}
_BLOCKS: dict[str, dict[str, tuple[int, ...]]] = {
    "numba": {"saxpy": (256,), "scale_rows": (16, 8), "row_sum": (128,)},
    "warp": {"saxpy": (256,), "scale_rows": (128,), "row_sum": (64,)},
    "cute": {"saxpy": (256,), "scale_rows": (128,), "row_sum": (128,)},
}
"""CUDA Tile chooses its own."""


@dataclass(frozen=True)
class OwnCode:
    """A function as its language compiles it for Hopper: a cubin."""

    image: bytes
    entry: str
    block: tuple[int, ...]
    shared_bytes: int = 0


def grid_of(language: str, function: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The blocks of the language's own launch, of three axes."""
    return (*_GRIDS[language][function](**sizes), 1, 1)[:3]


def passed(language: str, arguments: Sequence[tuple[int, tuple[int, ...]] | float]) -> list[bytes]:
    """The parameters of the language's own launch, of arrays (an address, a shape) and numbers."""
    found: list[bytes] = []
    for each in arguments:
        if isinstance(each, float):
            found.append(struct.pack("<f", each))
            continue
        address, shape = each
        strides = [math.prod(shape[axis:]) for axis in range(1, len(shape) + 1)]
        if language == "numba":
            numbers = [0, 0, math.prod(shape), 4, address, *shape, *(4 * s for s in strides)]
            found += [struct.pack("<q", number) for number in numbers]
        elif language == "warp":
            sizes = [*shape, 0, 0, 0][:4], [*(4 * s for s in strides), 0, 0, 0][:4]
            found.append(
                struct.pack("<QQ4i4iHHxxxx", address, 0, *sizes[0], *sizes[1], len(shape), 0)
            )
        elif language == "cute":  # the last stride is known to be 1
            fields = f"<Q{len(shape)}i" + "xxxx" * (len(shape) % 2) + f"{len(shape) - 1}q"
            found.append(struct.pack(fields, address, *shape, *strides[:-1]))
        else:
            found += [
                struct.pack("<Q", address),
                *(struct.pack("<i", i) for i in (*shape, *strides)),
            ]
    if language == "warp":
        widest = max((each[1] for each in arguments if not isinstance(each, float)), key=len)
        shape = [*widest, 1][: len(widest) + len(widest) % 2]
        bounds = struct.pack(f"<{len(shape)}IQQ", *shape, math.prod(widest), 1)
        found.insert(0, bounds)
    return found


def function(language: str, name: str) -> Any:
    """A function of `tests/producers`."""
    return getattr(importlib.import_module(f"producers.{language}_kernels"), name)


def own_code(language: str, name: str) -> OwnCode:
    """What the language's own compiler makes of a function, for the launches of its own."""
    made: OwnCode = _COMPILERS[language](name)
    return made


def _assembled(text: str) -> bytes:
    from custom_dispatch.toolchain.ptxas import assemble

    return assemble(text.encode(), Arch.parse("sm_90")).cubin


def _entry(text: str) -> str:
    return re.findall(r"\.entry\s+([\w$]+)", text)[0]


def _numba(name: str) -> OwnCode:
    from numba import cuda, float32

    one, two = float32[::1], float32[:, ::1]
    types = {"saxpy": (one, one, one, float32), "scale_rows": (two, one, two)}
    types["row_sum"] = (two, one)
    text, _ = cuda.compile_ptx(function("numba", name), types[name], device=False, cc=(9, 0))
    return OwnCode(_assembled(text), _entry(text), _BLOCKS["numba"][name])


def _warp(name: str) -> OwnCode:
    import warp

    module = function("warp", name).module
    with tempfile.TemporaryDirectory() as made:
        (path,) = warp.compile_aot_module(
            module, arch=[90], module_dir=made, use_ptx=False, strip_hash=True
        )
        return OwnCode(path.read_bytes(), f"{name}_cuda_kernel_forward", _BLOCKS["warp"][name])


def _cute(name: str) -> OwnCode:
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    m, n = cute.sym_int(), cute.sym_int()
    one, row = (
        make_fake_compact_tensor(cutlass.Float32, (size,), assumed_align=16) for size in (n, m)
    )
    two = make_fake_compact_tensor(cutlass.Float32, (m, n), stride_order=(1, 0), assumed_align=16)
    arguments = {"saxpy": (one, one, one, cutlass.Float32(0)), "scale_rows": (two, row, two)}
    arguments["row_sum"] = (two, row)
    options = "--gpu-arch sm_90a --keep-ptx --keep-cubin"
    with tempfile.TemporaryDirectory() as made:
        options += f" --dump-dir {made}"
        done = cute.compile(function("cute", name), *arguments[name], options=options)
        image, text = bytes(done.__cubin__), done.__ptx__
    shared = 512 if name == "row_sum" else 0
    return OwnCode(image, _entry(text), _BLOCKS["cute"][name], shared)


def _tile(name: str) -> OwnCode:
    import cuda.tile as ct
    from cuda.tile import compilation as tile

    how = {"stride_lower_bound_incl": 0, "alias_groups": (), "may_alias_internally": False}
    one, two = (
        tile.ArrayConstraint(
            ct.float32,
            rank,
            index_dtype=ct.int32,
            stride_constant=((None,) * rank + (1,))[1:],
            base_addr_divisible_by=16,
            **how,
        )
        for rank in (1, 2)
    )
    parameters = {"saxpy": [one, one, one, tile.ScalarConstraint(ct.float32), 256]}
    parameters |= {"scale_rows": [two, one, two, 8, 32], "row_sum": [two, one, 256]}
    convention = tile.CallingConvention.cutile_python_v1()
    signature = tile.KernelSignature(parameters[name], convention, symbol=name)
    made = io.BytesIO()
    kernel = function("tile", name)
    tile.export_kernel(kernel, [signature], made, gpu_code="sm_90", output_format="cubin")
    threads = re.search(rb"\.reqntid (\d+)", made.getvalue())
    assert threads is not None
    return OwnCode(made.getvalue(), name, (int(threads[1]),))


_COMPILERS = {"numba": _numba, "warp": _warp, "cute": _cute, "tile": _tile}


def installed() -> list[str]:
    """The languages that this environment has."""
    found = []
    for language, module in MODULES.items():
        try:
            importlib.import_module(module)
        except ImportError:
            continue
        found.append(language)
    return found


TESTS = Path(__file__).resolve().parents[2] / "tests"
