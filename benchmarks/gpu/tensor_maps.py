"""A kernel of TileLang that takes tensor maps, through IREE with maps that a small kernel fills.

`build DIRECTORY` where TileLang is, without a GPU; then `run DIRECTORY [--save FILE]` where there
are a GPU of Hopper's, iree-base-runtime and PyTorch.

TileLang's product of f16 for sm_90a has two parameters of 128 bytes, tensor maps, which its own
launch encodes on the host. IREE passes none. Here the code takes their addresses instead, and two
parameters more: the matrices that the maps are of, which nothing reads, so that IREE knows them to
be in use. One kernel makes the maps before, in memory like any result's. Of a chain of products
each has a new map for the last result; that of the other matrix is made once. Beside that: the own
launch, code for sm_80 (which `cd.tilelang` takes) and cuBLAS. Medians, in us a product.
"""

from __future__ import annotations

import ctypes
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.lib import gpu_command
from benchmarks.lib.gpu_timing import in_graph, median_us, step_us, with_events

SIZES, FEW, MANY, ROUNDS = (512, 1024, 4096), 8, 72, 11
CHECKED, TOLERANCE = 20, 1e-3
"""Calls with new inputs, and the bar of ||error|| / ||result||."""
BOXES = {"a": ((32, 64), "fill_64"), "b": ((64, 32), "fill_128")}
"""Of TileLang's maps: columns and rows of a box, and the swizzle of its rows."""
HERE = Path(__file__).resolve().parent


def with_addresses(text: str) -> str:
    """The product's PTX with addresses of tensor maps in the place of maps."""
    maps = re.findall(r"\.param \.align 64 \.b8 (\w+)\[128\]", text)
    text = re.sub(r"\.param \.align 64 \.b8 (\w+)\[128\]", r".param .u64 \1", text)
    for name in maps:
        (register,) = re.findall(rf"mov\.b64\s+(%rd\d+), {name};", text)
        fence = f"fence.proxy.tensormap::generic.acquire.gpu [{register}], 128;"
        load = f"ld.param.u64 {register}, [{name}];\n\t{fence}"
        text = re.sub(rf"mov\.b64\s+%rd\d+, {name};", load, text)
        text = re.sub(
            rf"cvta\.param\.u64\s+(%rd\d+), {register};", rf"mov.b64 \1, {register};", text
        )
    first = rf"(\.param \.u64 {maps[-1]},)"
    return re.sub(first, r"\1\n\t.param .u64 of_a,\n\t.param .u64 of_b,", text)


def build(directory: Path) -> None:
    """Compile the chains, and the own code."""
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    from producers.tilelang_kernels import product as function
    from tilelang import env, lower, tvm
    from tilelang.contrib import nvrtc

    import custom_dispatch as cd
    from custom_dispatch.kernel.target import Arch
    from custom_dispatch.toolchain.locations import include_directories
    from custom_dispatch.toolchain.ptxas import assemble

    directory.mkdir(parents=True, exist_ok=True)
    folders = (env.TILELANG_TEMPLATE_PATH, env.CUTLASS_INCLUDE_DIR, *include_directories())
    options = ["--std=c++17", *(f"-I{each}" for each in folders)]
    texts = {}
    for arch, runs_on in (("sm_90a", "sm_90a"), ("sm_80", "sm_90")):
        target = tvm.target.Target({"kind": "cuda", "arch": arch})
        with target:
            source = lower(function, target=target).kernel_source
        capability = Arch.parse(arch).compute_capability
        text = bytes(nvrtc.compile_cuda(source, "ptx", capability, options)).rstrip(b"\0")
        (directory / f"own_{arch}.cubin").write_bytes(assemble(text, Arch.parse(runs_on)).cubin)
        texts[arch] = text.decode()
    path = directory / "product.ptx"
    path.write_text(with_addresses(texts["sm_90a"]))
    m, n, k = map(cd.dim, "mnk")
    matrices = {"a": [m, k], "b": [k, n]}
    mapped = cd.prebuilt.kernel(
        {"cuda:sm_90a": path},
        name="product",
        operands=[
            *(cd.In(f"{name}_map", "i32", [32]) for name in matrices),
            *(cd.In(name, "f16", shape) for name, shape in matrices.items()),
            cd.Out("c", "f16", [m, n]),
            *(cd.Scalar(str(size), "i32", size) for size in (k, m, n)),
        ],
        block=256,
        grid=(cd.ceildiv(n, 64), cd.ceildiv(m, 64)),
        dynamic_shared_memory=16384,
    )
    fills = [
        cd.Kernel(
            f"fill_{name}",
            source=HERE.parent / "cases/tensor_map.cu",
            entry=entry,
            operands=[
                cd.In("matrix", "f16", [m, n]),
                cd.Out("map", "i32", [32]),
                *(cd.Scalar("columns", "i32", n), cd.Scalar("rows", "i32", m)),
                *(
                    cd.Scalar(f"box_{axis}", "i32", size)
                    for axis, size in zip("xy", box, strict=True)
                ),
            ],
            block=32,
            grid=1,
        )
        for name, (box, entry) in BOXES.items()
    ]
    operands = [*(cd.In(each, "f16", shape) for each, shape in matrices.items())]
    plain = cd.tilelang.kernel(function, operands=[*operands, cd.Out("c", "f16", [m, n])])
    for size in SIZES:
        for graph in (False, True):
            ending = f"_{size}{'_graph' * graph}.vmfb"
            made = cd.compile(model(size, True), [mapped, *fills], ["cuda:sm_90a"], graph=graph)
            made.save(directory / f"maps{ending}")
            made = cd.compile(model(size, False), plain, ["cuda:sm_80"], graph=graph)
            made.save(directory / f"sm_80{ending}")


def model(size: int, mapped: bool) -> str:
    """Chains of one product, of a few and of many."""
    kind, map_ = f"tensor<{size}x{size}xf16>", "tensor<32xi32>"
    taken = f"({map_}, {map_}, {kind}, {kind})" if mapped else f"({kind}, {kind})"
    lines = [f"func.func private @product{taken} -> {kind}"]
    if mapped:
        lines += [f"func.func private @fill_{each}({kind}) -> {map_}" for each in "ab"]
    for count in (1, FEW, MANY):
        lines.append(f"func.func @steps_{count}(%v: {kind}, %y: {kind}) -> {kind} {{")
        if mapped:
            lines.append(f"  %map = call @fill_b(%y) : ({kind}) -> {map_}")
        value = "%v"
        for turn in range(count):
            given = f"{value}, %y"
            if mapped:
                lines.append(f"  %map{turn} = call @fill_a({value}) : ({kind}) -> {map_}")
                given = f"%map{turn}, %map, {given}"
            value = f"%v{turn}"
            lines.append(f"  {value} = call @product({given}) : {taken} -> {kind}")
        lines.append(f"  return {value} : {kind}\n}}")
    return "\n".join(lines)


def host_map(context: Any, matrix: Any, box: tuple[int, int], swizzle: int) -> Any:
    """A tensor map that the driver encodes, as TileLang's own launch asks for it."""
    memory = (ctypes.c_char * 256)()
    made = (ctypes.c_char * 128).from_address(-(-ctypes.addressof(memory) // 64) * 64)
    made.memory = memory  # as long as it lives
    rows, columns = matrix.shape
    two, sizes = ctypes.c_uint32 * 2, (ctypes.c_uint64 * 2)(columns, rows)
    pitch, address = (ctypes.c_uint64 * 1)(columns * 2), ctypes.c_void_p(matrix.data_ptr())
    how = (sizes, pitch, two(*box), two(1, 1), 0, swizzle, 2, 0)  # f16, rank 2; 128 bytes into L2
    context.call("cuTensorMapEncodeTiled", ctypes.byref(made), 6, 2, address, *how)
    return made


def own_launches(context: Any, directory: Path, arch: str, places: list[Any], y: Any) -> list[Any]:
    """TileLang's launches from the first of two places into the other, and back."""
    from custom_dispatch.measure.native_launch import NativeLaunch

    found = []
    for a, c in (places, places[::-1]):
        given: list[Any] = [ctypes.c_uint64(each.data_ptr()) for each in (a, y)]
        if arch == "sm_90a":
            swizzles = {"fill_64": 2, "fill_128": 3}
            pairs = zip((a, y), BOXES.values(), strict=True)
            given = [host_map(context, x, box, swizzles[entry]) for x, (box, entry) in pairs]
        sizes = [ctypes.c_int32(len(y))] * 3
        found.append(
            NativeLaunch(
                context,
                (directory / f"own_{arch}.cubin").read_bytes(),
                "product_kernel",
                grid=(len(y) // 64, len(y) // 64, 1),
                block=(256 if arch == "sm_90a" else 128, 1, 1),
                shared_bytes=16384,
                bindings=[*given, ctypes.c_uint64(c.data_ptr()), *sizes],
                constants=(),
            )
        )
    return found


def module_us(path: Path, v: Any, y: Any, *, is_graph: bool) -> tuple[float, float]:
    """Microseconds of a product in a module, and the largest error of calls with new inputs."""
    import torch

    import custom_dispatch as cd

    program = cd.load(path, "cuda")
    one, worst = program.function("steps_1"), 0.0
    for _ in range(CHECKED):
        x = torch.randn_like(v)
        wanted = x.float() @ y.float()
        found = torch.from_dlpack(one(x, y)).float()
        worst = max(worst, float((found - wanted).norm() / wanted.norm()))
    return step_us(program, (v, y), FEW, MANY, ROUNDS, is_graph=is_graph), worst


def run(directory: Path) -> list[dict[str, Any]]:
    """Check, and time each size."""
    import torch

    from custom_dispatch.measure.native_launch import NativeContext

    torch.zeros(1, device="cuda")
    rows = []
    with NativeContext() as context:
        for size in SIZES:
            v, y = (torch.randn(size, size, device="cuda").half() / size**0.5 for _ in "vy")
            places, us, worst = [v.clone(), torch.empty_like(v)], dict[str, float](), 0.0
            for arch in ("sm_90a", "sm_80"):
                launches = own_launches(context, directory, arch, places, y)

                def steps(launches: list[Any] = launches) -> None:
                    for turn in range(MANY - FEW):
                        launches[turn % 2].enqueue(torch.cuda.current_stream().cuda_stream)

                for name, call in (("graph", in_graph(steps)), ("queued", steps)):
                    once = with_events(call)
                    found = statistics.median([once() for _ in range(ROUNDS)][1:])
                    us[f"own {arch} {name}"] = found * 1e6 / (MANY - FEW)
            for what in ("maps", "sm_80"):
                for ending in ("", "_graph"):
                    path = directory / f"{what}_{size}{ending}.vmfb"
                    taken, error = module_us(path, v, y, is_graph=bool(ending))
                    us[f"module {what}{ending}"], worst = taken, max(worst, error)
            us["cuBLAS"] = median_us(with_events(lambda v=v, y=y: torch.mm(v, y)))
            rows.append({"size": size, "us": us, "worst error": worst})
            print(f"{size}: {', '.join(f'{name} {value:.2f}' for name, value in us.items())}")
    return rows


def main() -> int:
    """Build or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    rows = run(given.directory)
    if given.save:
        gpu_command.save(given.save, "gpu.tensor_maps run", rows=rows)
    return int(any(not row["worst error"] <= TOLERANCE for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
