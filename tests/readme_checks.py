"""What the table of docs/checks.md claims: for each row, making the mistake and what happens."""

from __future__ import annotations

import itertools
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.cli.notation import parse_input
from custom_dispatch.cli.run import check_result_files
from custom_dispatch.errors import DeviceError, TargetWarning
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.match.pattern import with_own_names
from custom_dispatch.runtime.access import Access
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.incoming import place
from custom_dispatch.toolchain.images import read_cubin
from custom_dispatch.toolchain.ptxas import assemble

n = cd.dim("n")
X, Y, COUNT = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)
COPY = """\
extern "C" __global__ void copy(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i];
}
"""
PAIR = """\
struct Pair { float a, b; };
extern "C" __global__ void copy(const float* x, Pair pair, float* y, long long count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] * pair.a + pair.b;
}
"""
TWICE = """\
func.func private @copy(tensor<?xf32>) -> tensor<?xf32>
func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = call @copy(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %sum = arith.addf %x, %y : tensor<?xf32>
  %z = call @copy(%sum) : (tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
"""


class Bench:
    """A directory with sources in it, and a GPU that is pretended where a row needs one."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.monkeypatch = monkeypatch
        (root / "copy.cu").write_text(COPY)

    def kernel(self, name: str = "copy", **changed: Any) -> cd.Kernel:
        settings: dict[str, Any] = {
            "source": self.root / "copy.cu",
            "operands": [X, Y, COUNT],
            "block": 64,
            "grid": cd.ceildiv(n, 64),
        }
        return cd.Kernel(name, **(settings | changed))

    def source(self, name: str, text: str) -> Path:
        (self.root / name).write_text(text)
        return self.root / name

    def build(self, name: str = "copy", **changed: Any) -> cd.Library:
        return cd.build(self.kernel(name, **changed), ["cuda:sm_80"])

    def ptx(self, arch: str) -> str:
        library = cd.build(self.kernel(), [f"cuda:{arch}"])
        return next(iter(library.objects)).data.decode()

    def given(self, ptx: str) -> cd.Library:
        objects = {"cuda:sm_80": self.source("given.ptx", ptx)}
        return self.build(source=None, objects=objects)

    def load_on_gpu(self, target: str, capability: int, cuda: tuple[int, int]) -> None:
        """Load a module for a target onto a GPU that is not there."""
        from custom_dispatch.runtime import device, device_choice
        from custom_dispatch.runtime.driver import DriverState

        gpu = cd.devices()[-1].__class__("cuda", "A100", capability)
        for room in (device_choice, device):
            self.monkeypatch.setattr(room, "devices", lambda: (gpu, cd.devices()[-1]))
        self.monkeypatch.setattr(device_choice, "device_problem", lambda _: None)
        driver = DriverState((), cuda, "")
        self.monkeypatch.setattr(device_choice, "driver_state", lambda: driver)
        cd.load(cd.compile(None, self.kernel(), [target]), device="cuda")

    def wild(self) -> None:
        """Time a kernel that writes to where no memory is."""
        from custom_dispatch.cli import group

        self.source("wild.cu", COPY.replace("y[i] =", "y[i + (1LL << 40)] ="))
        (self.root / "wild.py").write_text(
            "import custom_dispatch as cd\n"
            'copy = cd.Kernel("copy", source="wild.cu", block=64, grid=1,\n'
            '    operands=[cd.In("x", "f32", [8]), cd.Out("y", "f32", [8]), '
            'cd.Scalar("count", "i32", 8)])\n'
        )
        words = ["bench", str(self.root / "wild.py"), "--device", "cpu"]
        group.main(words, standalone_mode=False)

    def without_room(self) -> None:
        """Build where no file may have more than 1 KiB, as on a full disk."""
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
        try:
            cd.build(self.kernel(), "cuda:sm_80", store=False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


Row = Callable[[Bench], object]
ROWS: dict[str, Row] = {}


def row(mistake: str) -> Callable[[Row], Row]:
    def register(function: Row) -> Row:
        ROWS[mistake] = function
        return function

    return register


ROWS |= {
    "The source has no function of that name": lambda bench: bench.build("copi"),
    "Another number of parameters": lambda bench: bench.build(operands=[X, Y]),
    "Another size of a parameter": lambda bench: bench.build(
        operands=[X, Y, cd.Scalar("count", "u8")]
    ),
    "Another element type": lambda bench: bench.build(operands=[cd.In("x", "f16", [n]), Y, COUNT]),
    "A result through a pointer to const": lambda bench: bench.build(
        operands=[cd.InOut("x", "f32", [n]), Y, COUNT]
    ),
    "An input that the kernel writes": lambda bench: bench.build(
        source=bench.source(
            "back.cu", COPY.replace("const ", "").replace("y[i] = x[i]", "x[i] = y[i]")
        )
    ),
    "An output that nothing writes": lambda bench: bench.build(
        source=bench.source("unwritten.cu", COPY.replace("y[i] = x[i]", "(void)(y[i] + x[i])"))
    ),
    "A name that is not an identifier": lambda bench: bench.kernel("my.kernel"),
    "Two kernels of one name, as of two packages": lambda bench: cd.build(
        [bench.kernel(), bench.kernel(block=32)], ["cpu"]
    ),
    "A block over 1024 threads": lambda bench: bench.kernel(block=2048),
    "A block over `__launch_bounds__`": lambda bench: bench.build(
        source=bench.source("bounds.cu", COPY.replace(" void", " void __launch_bounds__(32)", 1))
    ),
    "Shared memory over the GPU's limit": lambda bench: bench.build(
        dynamic_shared_memory=200 * 1024
    ),
    "More than 16 buffers": lambda bench: bench.kernel(
        operands=[*(cd.In(f"x{index}", "f32", [n]) for index in range(16)), Y]
    ),
    "A struct declared with other fields": lambda bench: bench.build(
        source=bench.source("pair.cu", PAIR),
        operands=[X, cd.Struct("pair", a="f64", b="f64"), Y, COUNT],
    ),
    "A struct's fields in another order": lambda bench: bench.build(
        source=bench.source("pair.cu", PAIR.replace("float a, b;", "float a; int b;")),
        operands=[X, cd.Struct("pair", b="i32", a="f32"), Y, cd.Scalar("count", "i64", n)],
    ),
    "A kernel that faults on the CPU, in `check`, `bench` and `tune`": lambda bench: bench.wild(),
    "No room for temporary files": lambda bench: bench.without_room(),
    "An output that is also read, by whatever name": lambda bench: cd.emit(
        bench.kernel(),
        "cuda:sm_80",
        output=bench.source("model.mlir", TWICE),
        into=bench.root / "model.mlir",
    ),
    "PTX that does not assemble": lambda bench: bench.given(
        bench.ptx("sm_80").replace("mov.u32", "mvo.u32", 1)
    ),
    "Instructions of a later CUDA release than ptxas'": lambda bench: bench.given(
        bench.ptx("sm_80").replace(".version 9.0", ".version 99.0").replace("mov.u32", "new.u32", 1)
    ),
    "An unknown compiler": lambda bench: bench.kernel().on("cpu", compiler="gcc")(
        numpy.zeros(4, numpy.float32)
    ),
    "PTX for another GPU": lambda bench: bench.given(bench.ptx("sm_90")),
    "No object for the GPU that is here": lambda bench: bench.load_on_gpu(
        "cuda:sm_90", 80, (13, 0)
    ),
    "PTX newer than the driver": lambda bench: bench.load_on_gpu("cuda:sm_80", 80, (12, 4)),
    "A grid over CUDA's limits": lambda bench: bench.kernel(grid=(1, n))(
        numpy.zeros(70000, numpy.float32)
    ),
    "Leading dims that disagree, `[..., n]`": lambda bench: bench.kernel(
        operands=[
            cd.In("x", "f32", [..., n]),
            cd.InOut("y", "f32", [..., n]),
            cd.Scalar("count", "i32", cd.batch * n),
        ]
    )(numpy.zeros((2, 3, 4), numpy.float32), numpy.zeros((3, 2, 4), numpy.float32)),
    "Sizes that the kernel does not take": lambda bench: bench.kernel(requires=[n % 4 == 0])(
        numpy.zeros(7, numpy.float32)
    ),
    "Another dtype or rank": lambda bench: bench.kernel()(numpy.zeros(4)),
    "Four numbers for a struct's array of three": lambda bench: cd.jax.call(
        bench.kernel(operands=[X, Y, cd.Struct("curve", c=("f32", 3)), COUNT])
    )(numpy.zeros(4, numpy.float32), {"c": [1, 2, 3, 4]}),
}


@row("A GPU hidden by `CUDA_VISIBLE_DEVICES`")
def _hidden(bench: Bench) -> None:
    from custom_dispatch.runtime import driver

    bench.monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    raise DeviceError(driver._not_initialised("CUDA_ERROR_NO_DEVICE"))


def _two_gpus(bench: Bench) -> None:
    from custom_dispatch.runtime import device
    from custom_dispatch.runtime.driver import Device, DriverState

    first = Device("cuda", "NVIDIA A100", 80, 80 << 30)
    gpus = (first, Device("cuda", "NVIDIA H200", 90, 141 << 30, 1))
    bench.monkeypatch.setattr(device, "driver_state", lambda: DriverState(gpus, (13, 0), ""))


@row("A GPU that is not here")
def _no_such_gpu(bench: Bench) -> None:
    _two_gpus(bench)
    cd.load(cd.compile(None, bench.kernel(), ["cuda:sm_80"]), "cuda:2")


@row("A target where a device is named")
def _target_as_device(bench: Bench) -> None:
    bench.kernel().on("cuda:sm_80")(numpy.zeros(4, numpy.float32))


@row("An array on another GPU than the program")
def _another_gpu(bench: Bench) -> None:
    del bench
    first = OpenDevice("cuda", None, Access("cuda"), None, True, itertools.count())
    second = OpenDevice("cuda:1", None, Access("cuda:1"), None, True, itertools.count(), 1)
    array = DeviceArray(second, numpy.zeros(4, numpy.float32), ELEMENT_TYPES["f32"])
    place(first, array, ELEMENT_TYPES["f32"], "the array")


@row("A kernel that accesses memory not its own")
def _lost(bench: Bench) -> None:
    error = Access("cuda").ended_by("copy", RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS"), None)
    assert error is not None
    raise error


@row("A process forked after loading")
def _forked(bench: Bench) -> None:
    program = cd.load(cd.compile(None, bench.kernel(), ["cpu"]), "cpu")
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            program.copy(numpy.zeros(4, numpy.float32))
        except DeviceError as error:
            os.write(sender, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    raise DeviceError(os.read(receiver, 4096).decode())


@row("Operands whose sizes disagree")
def _sizes(bench: Bench) -> None:
    source = COPY.replace("float* y", "const float* z, float* y", 1).replace(
        "const const float* z", "const float* z"
    )
    two = bench.kernel(
        source=bench.source("two.cu", source),
        operands=[X, cd.In("z", "f32", [n]), Y, COUNT],
    )
    program = cd.load(cd.compile(None, two, ["cpu"]))
    program.copy(numpy.zeros(4, numpy.float32), numpy.zeros(5, numpy.float32))


@row("A scalar of 64 bits")
def _wide(bench: Bench) -> None:
    wide = bench.kernel(
        source=bench.source("wide.cu", COPY.replace("int count", "long long count")),
        operands=[X, Y, cd.Scalar("count", "i64", n)],
    )
    x = numpy.arange(100, dtype=numpy.float32)
    assert numpy.array_equal(wide.on("cpu")(x), x)


@row("Another order of parameters than IREE's")
def _order(bench: Bench) -> None:
    source = COPY.replace(
        "const float* x, float* y, int count", "float* y, int count, const float* x"
    )
    ordered = bench.kernel(source=bench.source("order.cu", source), operands=[Y, COUNT, X])
    x = numpy.arange(100, dtype=numpy.float32)
    assert numpy.array_equal(ordered.on("cpu")(x), x)


@row("Machine code in another order than IREE's")
def _cubin(bench: Bench) -> None:
    item = next(iter(bench.build().objects))
    path = bench.root / "copy.cubin"
    path.write_bytes(assemble(item.data, item.target.cuda_arch).cubin)
    objects = {"cuda:sm_80": path}
    (adapted,) = bench.build(source=None, objects=objects, operands=[Y, X, COUNT]).objects
    places = [kernel.parameters for kernel in read_cubin(adapted.data).values()]
    assert places == [((8, 8), (0, 8), (16, 4))]


@row("An empty array")
def _empty(bench: Bench) -> None:
    assert bench.kernel()(numpy.zeros(0, numpy.float32)).shape == (0,)


@row("An in-place kernel on the caller's array")
def _in_place(bench: Bench) -> None:
    source = 'extern "C" __global__ void copy(float* x) { x[threadIdx.x] *= 2; }\n'
    twice = bench.kernel(
        source=bench.source("twice.cu", source),
        operands=[cd.InOut("x", "f32", [4])],
        block=4,
        grid=1,
    )
    given = numpy.ones(4, numpy.float32)
    assert twice(given).tolist() == [2, 2, 2, 2]
    assert given.tolist() == [1, 1, 1, 1]


@row("Constant operands only")
def _constants(bench: Bench) -> None:
    model = """\
    func.func private @copy(tensor<4xf32>) -> tensor<4xf32>
    func.func @main() -> tensor<4xf32> {
      %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %y = call @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    """
    module = cd.compile(model, bench.kernel(), ["cuda:sm_80", "cpu"])
    assert cd.load(module, device="cpu").main().tolist() == [1, 2, 3, 4]


@row("f64")
def _f64(bench: Bench) -> None:
    copy = bench.kernel(
        source=bench.source("f64.cu", COPY.replace("float", "double")),
        operands=[cd.In("x", "f64", [n]), cd.Out("y", "f64", [n]), COUNT],
    )
    third = numpy.full(4, 1 / 3)
    assert copy(third).tolist() == third.tolist()


@row("A buffer of one f64")
def _one_f64(bench: Bench) -> None:
    copy = bench.kernel(
        source=bench.source("one.cu", COPY.replace("float", "double")),
        operands=[cd.In("x", "f64", [1]), cd.Out("y", "f64", [1]), cd.Scalar("count", "i32", 1)],
        grid=1,
    )
    assert copy.on("cpu")(numpy.array([1 / 3])).tolist() == [1 / 3]


@row("A shuffle of lanes that the block does not have")
def _absent(bench: Bench) -> None:
    text = COPY.replace("= x[i]", "= __shfl_down_sync(0xffffffff, x[i], 1)")
    copy = bench.kernel(source=bench.source("shuffle.cu", text), block=16, grid=cd.ceildiv(n, 16))
    copy.on("cpu:checked")(numpy.ones(16, numpy.float32))


@row("Targets in any order")
def _order(bench: Bench) -> None:
    targets = ["cuda:sm_80", "cpu", "cuda:sm_90", "cuda:sm_90a"]
    emitted = cd.emit(bench.kernel(), targets, output=bench.root / "copy.mlir")
    text = emitted.path.read_text()
    places = [text.index(f"@{name}") for name in ("sm_90a", "sm_90 ", "sm_80", "cpu")]
    assert places == sorted(places)
    assert text.count("hal.executable.condition") == 3


@row("`cuda:sm_90` for a kernel with code for Hopper, `sm_90a`")
def _slower(bench: Bench) -> None:
    hopper = cd.Implementation(options=["-DHOPPER"])
    kernel = bench.kernel(implementations={"cuda:sm_90a": hopper})
    with pytest.warns(TargetWarning, match="code of its own for cuda:sm_90a, which cuda:sm_90 lea"):
        cd.build(kernel, ["cuda:sm_90"])


@row("Patterns of two kernels of one name")
def _renamed(bench: Bench) -> None:
    patterns = [cd.Pattern(bench.kernel(block=block), TWICE) for block in (32, 64)]
    items = [pattern.item for pattern in with_own_names(patterns, [])]
    assert [item.name for item in items] == ["copy", "copy_2"]


IN_TORCH = """
func.func @scaled(%x: !torch.vtensor<[?],f32>, %f: !torch.float) -> !torch.vtensor<[?],f32> SAID {
  COMPUTES -> !torch.vtensor<[?],f32>
  return %y : !torch.vtensor<[?],f32>
}
"""


def _look_for(bench: Bench, computes: str, said: str = "", more: str = "") -> None:
    """Look for a pattern in the torch dialect in a model that IREE has converted."""
    text = IN_TORCH.replace("SAID", said).replace("COMPUTES", computes) + more
    kernel = bench.kernel(operands=[X, cd.Scalar("f", "f32"), Y, COUNT])
    model = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    cd.compile(model, [], ["cpu"], replace=[cd.Pattern(kernel, text)])


SCALED = "%y = torch.aten.mul.Scalar %x, %f : !torch.vtensor<[?],f32>, !torch.float"


@row("A pattern in the torch dialect that IREE does not convert")
def _not_converted(bench: Bench) -> None:
    _look_for(bench, '%y = torch.operator "torch.aten.none"(%x) : (!torch.vtensor<[?],f32>)')


@row("A pattern in the torch dialect that computes with a number by itself")
def _with_number(bench: Bench) -> None:
    squared = "%g = torch.aten.mul.float %f, %f : !torch.float, !torch.float -> !torch.float\n"
    _look_for(bench, squared + SCALED.replace("%f :", "%g :"))


@row("A pattern in the torch dialect of several functions")
def _two_functions(bench: Bench) -> None:
    _look_for(bench, SCALED, more="func.func private @other()")


@row("Sizes that stand for any and are none")
def _no_sizes(bench: Bench) -> None:
    _look_for(bench, SCALED, "attributes {custom_dispatch.any_sizes = array<i64: 1>}")


@row("The name of a CPU that does not exist")
def _cpu_name(bench: Bench) -> None:
    cd.build(bench.kernel(), ["cpu:foo"])


@row("CUDA and CPU in one file")
def _both(bench: Bench) -> None:
    module = cd.compile(TWICE, bench.kernel(), ["cuda:sm_80", "cpu"])
    program = cd.load(module, device="cpu")
    assert program.twice(numpy.ones(3, numpy.float32)).tolist() == [2, 2, 2]


@row("Files for results that do not fit them")
def _result_files(_: Bench) -> None:
    check_result_files([Path("y.npy")], "f", 2)


@row("`Choice.which` for a dim that the kernels lack")
def _unknown_dim(bench: Bench) -> None:
    cd.Choice("doubled", [bench.kernel()]).which(n=8, m=1, target="cpu")


@row("`Choice.which` for a size that no kernel takes")
def _size_of_none(bench: Bench) -> None:
    cd.Choice("doubled", [bench.kernel(requires=[n % 4 == 0])]).which(n=7, target="cpu")


@row("An input file of a type that numpy does not name")
def _no_type(bench: Bench) -> None:
    numpy.save(bench.root / "x.npy", numpy.ones(2, ml_dtypes.float8_e4m3fn))
    parse_input(f"@{bench.root / 'x.npy'}")


# -- models of PyTorch


class _Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in buffers.items():
            self.register_buffer(name, tensor)

    def forward(self, *arguments: Any) -> Any:
        return self.function(self, *arguments)


@torch.library.custom_op("readme_checks::scale_", mutates_args=("values",))
def _scale_(values: torch.Tensor) -> None:
    values.mul_(2)


def _compile(function: Callable[..., Any], *arguments: torch.Tensor, **buffers: Any) -> Any:
    model = _Model(function, **buffers).eval()
    return cd.torch.compile(model, arguments or (torch.ones(8),), ["cpu"], kernels=[])


def _scaled(_: Any, x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    _scale_(y)
    return y


def _counted(model: Any, x: torch.Tensor) -> torch.Tensor:
    model.count = getattr(model, "count", 0) + 1
    return x * model.count


def _cast(_: Any, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return x @ x


def _trained(_: Bench) -> None:
    model = _Model(lambda _, x: torch.dropout(x, 0.5, train=True))
    cd.torch.compile(model, (torch.ones(8),), ["cpu"], kernels=[])


def _meta(_: Bench) -> None:
    _compile(lambda model, x: x + model.weight, weight=torch.empty(8, device="meta"))


WHOLE = torch.zeros(16)
ROWS |= {
    "A PyTorch model in training mode": _trained,
    "A PyTorch operator that writes into its arguments": lambda _: _compile(_scaled),
    "A branch of a PyTorch model that depends on its data": lambda _: _compile(
        lambda _, x: x if x.sum() > 0 else -x
    ),
    "Complex or packed numbers as an argument": lambda _: _compile(
        lambda _, x: x + 1, torch.ones(8, dtype=torch.complex64)
    ),
    "A sparse tensor as an argument": lambda _: _compile(
        lambda _, x: x.to_dense(), torch.eye(3).to_sparse()
    ),
    "Weights on the device meta": _meta,
    "A PyTorch model that changes its argument": lambda _: _compile(lambda _, x: x.add_(1)),
    "State of a PyTorch model that is not a buffer": lambda _: _compile(_counted),
    "A buffer that changes and shares memory with another": lambda _: _compile(
        lambda model, x: model.part.add_(x) + model.whole.sum(), part=WHOLE[:8], whole=WHOLE
    ),
    "Unsigned integers where IREE computes with signed ones": lambda _: _compile(
        lambda _, x: x // 3, torch.ones(8, dtype=torch.uint8)
    ),
    "Automatic casts in a PyTorch model": lambda _: _compile(_cast, torch.ones(4, 4)),
}


def _run(function: Callable[..., Any], *arguments: torch.Tensor) -> list[torch.Tensor]:
    """What a module gives of a function, beside a call of a kernel."""
    multiply = cd.torch.register(simple_mul, namespace="readme_checks")
    ones = torch.ones(2)
    model = _Model(lambda _, x, *rest: (multiply(x, x), *function(*rest)))
    module = cd.torch.compile(model, (ones, *arguments), ["cpu"])
    results = cd.load(module, device="cpu").main(ones, *arguments)
    return [torch.from_dlpack(result) for result in results[1:]]


@row("An argument that a model scatters into")
def _scattered(_: Bench) -> None:
    x, at = torch.zeros(4, 2), torch.tensor([1])
    (found,) = _run(lambda x, at: (x.index_put((at,), torch.ones(1, 2)),), x, at)
    assert found[1].tolist() == [1, 1]
    assert not x.any()


@row("Two updates of one value that follows from no argument")
def _twice(_: Bench) -> None:
    def scattered(at: torch.Tensor) -> list[torch.Tensor]:
        zeros = torch.zeros(4, 2)
        return [zeros.index_put((at + i,), torch.ones(1, 2)) for i in range(2)]

    found = _run(scattered, torch.tensor([1]))
    assert [each.sum(1).tolist() for each in found] == [[0, 2, 0, 0], [0, 0, 2, 0]]


@row("Attention in the form that IREE makes of it, `online_attention`")
def _online_attention(_: Bench) -> None:
    text = (Path(__file__).parent / "frontends/online_attention.mlir").read_text()
    cd.compile(text, simple_mul, ["cpu"])
