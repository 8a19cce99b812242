"""Several kernels for one operation: each call takes the first that it fits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path

TOOLS = Path(sys.executable).parent
n, m = cd.dim("n"), cd.dim("m")
# What each kernel multiplies by says which one it was.
SOURCE = """
template <class T> __device__ void scale(const T* x, T* y, float by, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += x[i] * static_cast<T>(by);
}
extern "C" __global__ void quarters(const float* x, float* y, float by, int n) {
  scale(x, y, by * 4, n);
}
extern "C" __global__ void few(float* y, int n, const float* x, float by) {
  scale(x, y, by * 3, n);
}
extern "C" __global__ void wide(const double* x, double* y, float by, int n) {
  scale(x, y, by * 2, n);
}
"""
Declare = Callable[..., cd.Kernel]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("choice") / "choice.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def choice(source: Path) -> cd.Choice:
    def kernel(name: str, dtype: str, *requires: Any) -> cd.Kernel:
        x, y = cd.In("x", dtype, [..., n]), cd.InOut("y", dtype, [..., n])
        by, count = cd.Scalar("by", "f32"), cd.Scalar("n", "i32", cd.batch * n)
        return cd.Kernel(
            name, source=source, operands=[x, y, by, count], block=64, grid=1, requires=requires
        )

    kernels = [kernel("quarters", "f32", n % 4 == 0), kernel("wide", "f64")]
    return cd.Choice("scale", kernels)


@pytest.fixture(scope="module")
def doubled(source: Path) -> cd.Choice:
    """Two kernels of one type, whose C signatures differ; neither takes 9 elements."""

    def kernel(name: str, condition: Any) -> cd.Kernel:
        x, y = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])
        by, count = cd.Scalar("by", "f32"), cd.Scalar("n", "i32", n)
        text = SOURCE.replace("y[i] += x[i]", "y[i] = x[i]").replace(
            "few(float* y, int n, const float* x, float by)",
            "few(const float* x, float by, float* y, int n)",
        )
        own = source.with_name("doubled.cu")
        own.write_text(text)
        operands = [x, y, by, count] if name == "quarters" else [x, by, y, count]
        return cd.Kernel(
            name, source=own, operands=operands, block=64, grid=1, requires=[condition]
        )

    return cd.Choice("doubled", [kernel("quarters", n % 4 == 0), kernel("few", n <= 7)])


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def model(kind: str, name: str = "doubled") -> str:
    return f"""
      func.func private @{name}({kind}, f32) -> {kind}
      func.func @main(%x: {kind}) -> {kind} {{
        %by = arith.constant 1.0 : f32
        %0 = call @{name}(%x, %by) : ({kind}, f32) -> {kind}
        %1 = call @{name}(%0, %by) : ({kind}, f32) -> {kind}
        return %1 : {kind}
      }}"""


def test_a_call_takes_the_first_kernel_that_it_fits(choice: cd.Choice, doubled: cd.Choice) -> None:
    call = doubled.on("cpu")
    assert [call(ones(size), 1.0)[0] for size in (4, 7, 16)] == [4, 3, 4]
    assert choice.on("cpu")(ones(2, 4), ones(2, 4), 1.0)[0, 0] == 5
    assert choice(by=1.0, y=ones(3, dtype=float), x=ones(3, dtype=float))[0] == 3
    out = ones(7)
    assert call(ones(7), 1.0, out=out) is out
    assert out[0] == 3
    with pytest.raises(CallError) as caught:
        choice(ones(9), ones(9), 1.0)
    assert caught.value.found == "No kernel of choice `scale` takes these arguments."
    assert "Kernel `quarters` requires n % 4 == 0, which does not hold for n = 9" in str(
        caught.value
    )
    assert "Operand `x` of kernel `wide` has dtype float32" in str(caught.value)


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_module_of_kernels_chooses_when_it_is_called(
    doubled: cd.Choice, asynchronous: bool
) -> None:
    module = cd.compile(None, doubled, ["cpu"], asynchronous=asynchronous)
    program = cd.load(module, "cpu")
    assert set(program.functions) == {"quarters", "few", "doubled"}
    assert [program.doubled(ones(size), 1.0)[:1].tolist() for size in (8, 7, 0)] == [[4], [3], []]
    out = program.to_device(ones(7))
    program.doubled(ones(7), 1.0, out=out)
    assert out.to_host().tolist() == [3] * 7
    assert program.quarters(ones(8), 1.0)[0] == 4
    with pytest.raises(CallError) as caught:
        program.doubled(ones(9), 1.0)
    said = "`quarters` takes x[n], y[n] with n % 4 == 0; `few` takes x[n], y[n] with n <= 7."
    assert f"choice `doubled`: no kernel takes these sizes: {said}" in str(caught.value)


def test_a_model_of_open_sizes_chooses_when_it_runs(doubled: cd.Choice) -> None:
    program = cd.load(cd.compile(model("tensor<?xf32>"), doubled, ["cuda:sm_80", "cpu"]), "cpu")
    assert [program.main(ones(size))[:1].tolist() for size in (8, 7, 0, 4)] == [[16], [9], [], [16]]
    with pytest.raises(CallError, match="no kernel takes these sizes"):
        program.main(ones(9))
    assert program.manifest is not None
    (use,) = program.manifest.functions
    assert {str(kernel) for kernel in use.kernels} == {
        "few as often as data says",
        "quarters as often as data says",
    }


def test_nothing_branches_between_two_dispatches(doubled: cd.Choice) -> None:
    library = cd.build(doubled, ["cuda:sm_80"])
    text = link(model("tensor<?xf32>"), library, by_path).text
    start = text.index("func.func private @custom_dispatch_unchecked_doubled(")
    dispatching = text[start : text.index("return", start)]
    assert dispatching.count("flow.dispatch") == 2
    assert "scf.if" not in dispatching


@pytest.mark.parametrize(("size", "kernel", "result"), [(8, "quarters", 16), (7, "few", 9)])
def test_a_model_of_known_sizes_holds_the_kernel_that_it_takes(
    doubled: cd.Choice, size: int, kernel: str, result: int
) -> None:
    module = cd.compile(model(f"tensor<{size}xf32>"), doubled, ["cpu"])
    assert module.kernels == (kernel,)
    program = cd.load(module)
    assert program.main(ones(size)).tolist() == [result] * size
    text = link(model(f"tensor<{size}xf32>"), cd.build(doubled, ["cuda:sm_80"]), by_path).text
    wrapper = text[text.index("func.func private @doubled(") :]
    assert wrapper[: wrapper.index("return")].count("flow.dispatch") == 1


def test_a_model_that_fits_no_kernel_is_refused(choice: cd.Choice, doubled: cd.Choice) -> None:
    with pytest.raises(LinkError) as caught:
        cd.compile(model("tensor<9xf32>"), doubled, ["cpu"])
    assert caught.value.found == "No kernel of choice `doubled` takes the model's sizes."
    assert "Kernel `few` requires n <= 7, which does not hold for n = 9" in str(caught.value)
    with pytest.raises(LinkError) as caught:
        cd.compile(model("tensor<8xf16>"), doubled, ["cpu"])
    assert "No kernel of choice `doubled` takes the types that the model" in caught.value.found
    assert "`few` has tensor<8xf16> for `x` (expected: a tensor of rank 1" in str(caught.value)


def test_dtypes_and_ranks_choose(choice: cd.Choice) -> None:
    def run(kind: str, x: Any) -> Any:
        source = f"""
          func.func private @scale({kind}, {kind}, f32) -> {kind}
          func.func @main(%x: {kind}, %y: {kind}) -> {kind} {{
            %by = arith.constant 1.0 : f32
            %0 = call @scale(%x, %y, %by) : ({kind}, {kind}, f32) -> {kind}
            return %0 : {kind}
          }}"""
        y = np.ones_like(x)
        result = cd.load(cd.compile(source, choice, ["cpu"])).main(x, y)
        assert (y == 1).all()
        return result

    assert (run("tensor<?x?x?xf32>", ones(2, 3, 4)) == 5).all()
    assert (run("tensor<3x?xf64>", ones(3, 5, dtype=float)) == 3).all()
    assert set(cd.load(cd.compile(None, choice, ["cpu"])).functions) == {"quarters", "wide"}


def test_leading_dims_and_updates_in_place_are_chosen_over_too(source: Path) -> None:
    def kernel(name: str, *requires: Any) -> cd.Kernel:
        x, y = cd.In("x", "f32", [..., n]), cd.InOut("y", "f32", [..., n])
        by, count = cd.Scalar("by", "f32"), cd.Scalar("n", "i32", cd.batch * n)
        return cd.Kernel(
            f"{name}_of_rows",
            source=source,
            entry="quarters",
            options=[f"-DWHICH={len(requires)}"],
            operands=[x, y, by, count],
            block=64,
            grid=1,
            requires=requires,
        )

    both = cd.Choice("both", [kernel("quarters", n % 4 == 0), kernel("few")])
    kind = "tensor<?x?x?xf32>"
    text = f"""
      func.func private @both({kind}, {kind}, f32) -> {kind}
      func.func @main(%x: {kind}, %y: {kind}) -> ({kind}, {kind}) {{
        %by = arith.constant 1.0 : f32
        %0 = call @both(%x, %y, %by) : ({kind}, {kind}, f32) -> {kind}
        %1 = call @both(%x, %0, %by) : ({kind}, {kind}, f32) -> {kind}
        return %0, %1 : {kind}, {kind}
      }}"""
    program = cd.load(cd.compile(text, both, ["cpu"]))
    for size in (4, 5):
        x, y = ones(2, 3, size), ones(2, 3, size)
        first, second = program.main(x, y)
        assert (y == 1).all()
        assert (first == 5).all()
        assert (second == 9).all()
    found = r"choice `both`: `x`.shape\[0\] and `y`.shape\[0\] disagree"
    with pytest.raises(CallError, match=found):
        program.main(ones(2, 3, 4), ones(3, 2, 4))


class Model(torch.nn.Module):
    """One operator with tensors of two dtypes."""

    def __init__(self, choice: cd.Choice) -> None:
        super().__init__()
        self.scale = cd.torch.register(choice)

    def forward(self, x: torch.Tensor) -> Any:
        wide = x.double()
        return self.scale(x, x, 1.0), self.scale(wide[0], wide[0], 1.0)


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_an_operator_of_pytorch_is_a_choice(choice: cd.Choice, dynamic: bool) -> None:
    x = torch.ones(3, 4)
    shapes = ({0: torch.export.Dim("rows")},) if dynamic else None
    net = Model(choice)
    assert [result[..., 0].unique().item() for result in net(x)] == [5, 3]
    module = cd.torch.compile(net, (x,), ["cpu"], dynamic_shapes=shapes)
    assert set(module.kernels) == {"quarters", "wide"}
    results = cd.load(module).main(torch.ones(5, 4) if dynamic else x)
    assert [np.unique(result).tolist() for result in results] == [[5], [3]]
    with pytest.raises(CallError, match="No kernel of choice `scale` takes these"):
        net.scale(torch.ones(3, 5), torch.ones(3, 5), 1.0)
    cd.torch.register(choice)
    torch.library.opcheck(net.scale, (x, x.clone(), 1.0))


@jax.enable_x64(True)
def test_a_function_of_jax_is_a_choice(choice: cd.Choice) -> None:
    scale = cd.jax.call(choice)

    def model(x: Any) -> Any:
        wide = x.astype("f8")
        return scale(x, x, 1.0), scale(wide[0], wide[0], by=1.0)

    x = ones(3, 4)
    assert [np.unique(result).tolist() for result in model(jnp.asarray(x))] == [[5], [3]]
    assert [np.unique(result).tolist() for result in jax.jit(model)(x)] == [[5], [3]]
    module = cd.jax.compile(model, (x,), ["cpu"])
    assert set(module.kernels) == {"quarters", "wide"}
    assert [np.unique(result).tolist() for result in cd.load(module).main(x)] == [[5], [3]]
    pairs = jax.vmap(lambda x: scale(x, x, 1.0))(jnp.asarray(ones(2, 3, 4)))
    assert np.unique(pairs).tolist() == [5]
    with pytest.raises(CallError) as caught:
        scale(ones(3, 5), ones(3, 5), 1.0)
    assert caught.value.found == "No kernel of choice `scale` takes these arrays."
    assert "requires n % 4 == 0, which does not hold for n = 5" in caught.value.log
    assert "operand `x` has dtype float32" in caught.value.log


def test_an_operator_that_fits_no_kernel_is_named_with_its_place(choice: cd.Choice) -> None:
    kind = "!torch.vtensor<[3,5],f32>"
    source = f"""
      func.func @main(%x: {kind}) -> {kind} {{
        %by = torch.constant.float 1.0
        %0 = torch.operator "torch.mine.scale"(%x, %x, %by) : ({kind}, {kind}, !torch.float)
          -> {kind} loc("model.py":7:0)
        return %0 : {kind}
      }}"""
    with pytest.raises(LinkError) as caught:
        cd.compile(source, choice, ["cpu"])
    found = "The operator `mine.scale` at model.py:7 fits no kernel of choice `scale`."
    assert caught.value.found == found
    assert "requires n % 4 == 0, which does not hold for n = 5" in str(caught.value)
    assert "`wide`: it has tensor<3x5xf32> for `x`" in str(caught.value)


def test_stock_tools_take_it(doubled: cd.Choice, tmp_path: Path) -> None:
    output = tmp_path / "model.mlir"
    emitted = cd.emit(doubled, ["cuda:sm_80", "cpu"], output=output, into=model("tensor<?xf32>"))
    compiler, *rest = emitted.command
    subprocess.run([TOOLS / compiler, *rest], check=True, capture_output=True)
    done = subprocess.run(
        [TOOLS / "iree-run-module", f"--module={output.with_suffix('.vmfb')}",
         "--device=local-sync", "--function=main", "--input=7xf32=1"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "7xf32=9 9 9 9 9 9 9" in done.stdout


def test_kernels_that_do_not_belong_together_are_refused(declare: Declare) -> None:
    first = declare("first")
    other = declare("other", operands=[cd.In("z", "f32", [n]), cd.Out("y", "f32", [n])], grid=1)
    cases: list[tuple[Any, str]] = [
        ([], "its kernels are given as []"),
        ([first, 5], "5 is not a kernel"),
        ([first, first], "`first` is in it twice"),
        ([declare("both"), first], "a kernel has that name"),
        ([first, other], "the inputs of `other` are In(z)."),
    ]
    for kernels, found in cases:
        with pytest.raises(DeclarationError) as caught:
            cd.Choice("both", kernels)
        assert f"Choice `both`: {found}" in caught.value.found
    assert caught.value.expected == "those of `first`: In(x), Scalar(factor)"
    choice = cd.Choice("both", [first, declare("second")])
    with pytest.raises(DeclarationError, match="Two different kernels are named `both`"):
        cd.build([choice, declare("both")], ["cuda:sm_80"])


def test_the_command_line_takes_choices(tmp_path: Path) -> None:
    (tmp_path / "both.cu").write_text(
        'extern "C" __global__ void copy(const float* x, float* y, int n) {\n'
        "  for (int i = 0; i < n; ++i) y[i] = x[i];\n}\n"
    )
    (tmp_path / "both.py").write_text(
        'import custom_dispatch as cd\nn = cd.dim("n")\n'
        "def kernel(name, *requires):\n"
        '    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), '
        'cd.Scalar("n", "i32", n)]\n'
        '    return cd.Kernel(name, source=__file__.replace(".py", ".cu"), entry="copy",\n'
        "        operands=operands, block=1, grid=1, requires=requires, reference=lambda x: x)\n"
        'both = cd.Choice("both", [kernel("even", n % 2 == 0), kernel("any_size")])\n'
    )
    output = tmp_path / "both.mlir"
    for command in (
        ["emit", "both.py", "--target", "cuda:sm_80", "-o", str(output)],
        ["check", "both.py"],
    ):
        done = subprocess.run(
            [TOOLS / "custom-dispatch", *command], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert 'util.func public @"both"(' in output.read_text()
