"""Families of kernels: compile-time arguments of calls, in every front end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError, LinkError

TOOLS = Path(sys.executable).parent
n = cd.dim("n")
SOURCE = """
template <int WIDTH, bool NEGATIVE>
__global__ void scaled(const float* x, float* y, float by, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
#ifdef MODE_twice
  by *= 2;
#endif
  if (i < n) y[i] = (NEGATIVE ? -x[i] : x[i]) * by * WIDTH + (float)OFFSET;
}
"""


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> cd.Family:
    source = tmp_path_factory.mktemp("family") / "scaled.cu"
    source.write_text(SOURCE)

    def declare(width: int, negative: bool, offset: float = 0.5, mode: str = "plain") -> cd.Kernel:
        return cd.Kernel(
            "scaled",
            source=source,
            entry=f"scaled<{width}, {str(negative).lower()}>",
            options=[f"-DBLOCK={32 * width}", f"-DOFFSET={offset}", f"-DMODE_{mode}"],
            operands=[
                cd.In("x", "f32", [n]),
                cd.Out("y", "f32", [n]),
                cd.Scalar("by", "f32"),
                cd.Scalar("n", "i32", n),
            ],
            block=32 * width,
            grid=cd.ceildiv(n, 32 * width),
            reference=lambda x, by: (-x if negative else x) * by * width + offset,
        )

    return cd.Family(
        "scaled",
        declare,
        width=range(1, 9),
        negative=[False, True],
        offset=[0.5, 1e-5, 3.0],
        mode=["plain", "twice"],
    )


FOUR = "scaled__width_4__negative_false__offset_0d5__mode_plain"
TWO = "scaled__width_2__negative_true__offset_1em05__mode_twice"
X = np.arange(70, dtype=np.float32)
FIRST, SECOND = X * 4 + 0.5, -X * 8 + np.float32(1e-5)
"""What both kernels give for by = 1, and by = 2 in the second."""


def agree(found: Any, second_by: float = 2.0) -> None:
    np.testing.assert_allclose(found[0], FIRST)
    np.testing.assert_allclose(found[1], -X * 4 * second_by + np.float32(1e-5), rtol=1e-6)


# -- calls


def test_a_call_builds_the_kernel_for_its_values(scaled: cd.Family) -> None:
    run = scaled.on("cpu")
    agree([run(X, 1.0, 4, False), run(X, 2.0, mode="twice", width=2, negative=True, offset=1e-5)])
    kernel = scaled.kernel(width=4, negative=False, mode=None)
    assert kernel.name == FOUR
    assert kernel is scaled.kernel(width=np.int64(4), negative=False, offset=0.5, mode="plain")
    assert (kernel.entry, kernel.block) == ("scaled<4, false>", (128, 1, 1))
    np.testing.assert_array_equal(kernel.on("cpu")(X, 1.0), FIRST)


@pytest.mark.parametrize(
    ("values", "found", "expected"),
    [
        ({"width": 4}, "has no value for `negative`.", "one of False, True"),
        ({"width": 9}, "the compile-time argument `width` is 9.", "an int from 1 to 8"),
        ({"width": 4.0}, "the compile-time argument `width` is 4.0.", "an int from 1 to 8"),
        ({"width": True}, "the compile-time argument `width` is True.", "an int from 1 to 8"),
        ({"width": None}, "the compile-time argument `width` is None.", "an int from 1 to 8"),
        (
            {"width": 4, "negative": False, "mode": "x -o /tmp/y"},
            "the compile-time argument `mode` is 'x -o /tmp/y'.",
            "one of 'plain', 'twice'",
        ),
        (
            {"width": 4, "negative": False, "offset": 0.25},
            "the compile-time argument `offset` is 0.25.",
            "one of 0.5, 1e-05, 3.0",
        ),
        (
            {"wdith": 4},
            "has no compile-time argument `wdith`.",
            "width, negative, offset, mode",
        ),
    ],
)
def test_values_that_are_not_listed_are_refused(
    scaled: cd.Family, values: Any, found: str, expected: str
) -> None:
    with pytest.raises(CallError) as caught:
        scaled.kernel(**values)
    assert caught.value.found.removeprefix("Family `scaled`").lstrip(": ") == found
    assert caught.value.expected == expected


def test_calls_with_too_much_are_refused(scaled: cd.Family) -> None:
    with pytest.raises(CallError, match="Family `scaled` is given `width` twice"):
        scaled(X, 1.0, 4, False, width=4)
    with pytest.raises(CallError, match="Family `scaled` is called with 7 arguments"):
        scaled(X, 1.0, 4, False, 0.5, "plain", 3)
    with pytest.raises(CallError, match=f"Kernel `{FOUR}` is called without `by`"):
        scaled(X, width=4, negative=False)


# -- models


def test_an_operator_of_pytorch_takes_them_behind_its_operands(scaled: cd.Family) -> None:
    operator = cd.torch.register(scaled, backward=lambda grad_y, by, width: grad_y * by * width)
    schema = str(torch.ops.custom_dispatch.scaled.default._schema)
    assert schema.endswith(
        "(Tensor x, float by, int width, bool negative, float offset=0.5, "
        'str mode="plain") -> Tensor'
    )

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return operator(x, 1.0, 4, False), operator(x, 2.0, 2, True, 1e-5, mode="twice")

    x = torch.from_numpy(X)
    agree(Model()(x))
    module = cd.torch.compile(Model(), (x,), ["cpu"])
    assert set(module.kernels) == {FOUR, TWO}
    agree(cd.load(module).main(X))
    torch.library.opcheck(operator, (x, 1.0, 4, False))
    leaf = torch.ones(8, requires_grad=True)
    operator(leaf, 3.0, 4, False).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.unique().tolist() == [12.0]
    with pytest.raises(CallError, match="Family `scaled`: the compile-time argument `width` is 9"):
        operator(x, 1.0, 9, False)


def test_a_function_of_jax_takes_them_as_numbers_of_python(scaled: cd.Family) -> None:
    call = cd.jax.call(scaled, backward=lambda grad_y, by, width: grad_y * by * width)

    def model(x: Any) -> Any:
        return call(x, 1.0, 4, False), call(x, 2.0, negative=True, width=2, offset=1e-5,
                                            mode="twice")  # fmt: skip

    agree(jax.jit(model)(X))
    module = cd.jax.compile(model, (X,), ["cpu"])
    assert set(module.kernels) == {FOUR, TWO}
    agree(cd.load(module).main(X))
    slope = jax.grad(lambda x: call(x, 3.0, 4, False).sum())(jnp.ones(8))
    assert np.unique(slope).tolist() == [12.0]

    def foreign(x: Any) -> Any:
        made = jax.ffi.ffi_call("scaled", jax.ShapeDtypeStruct(x.shape, x.dtype))
        one, of_f32 = np.float32(1), np.float32(1e-5)
        return made(x, by=one, width=4, negative=False), made(
            x, by=one, width=2, negative=True, offset=of_f32, mode="twice"
        )

    module = cd.jax.compile(foreign, (X,), ["cpu"], kernels=scaled)
    assert set(module.kernels) == {FOUR, TWO}
    agree(cd.load(module).main(X), 1.0)


def onnx_model(*nodes: dict[str, Any]) -> onnx.ModelProto:
    graph = helper.make_graph(
        [
            helper.make_node("scaled", ["x"], [f"y{i}"], f"node{i}", domain="mine", **attributes)
            for i, attributes in enumerate(nodes)
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [
            helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, ["n"])
            for i in range(len(nodes))
        ],
    )
    versions = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def test_a_node_of_onnx_has_them_as_attributes(scaled: cd.Family) -> None:
    operator = cd.onnx.register(scaled, domain="mine")
    model = onnx_model(
        {"by": 1.0, "width": 4, "negative": 0},
        {"by": 2.0, "width": 2, "negative": 1, "offset": 1e-5, "mode": "twice"},
    )
    onnx.checker.check_model(model, full_check=True)
    module = cd.onnx.compile(model, ["cpu"])
    assert set(module.kernels) == {FOUR, TWO}
    agree(cd.load(module).main(X))
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=[operator])
    agree(evaluator.run(None, {"x": X}))
    with pytest.raises(LinkError) as caught:
        cd.onnx.compile(onnx_model({"by": 1.0, "width": 9, "negative": 0}), ["cpu"])
    assert str(caught.value) == (
        "Node `node0` (mine::scaled): family `scaled`: the compile-time argument `width` is 9.\n"
        "  expected: an int from 1 to 8\n"
        "  next step: correct the attribute, or add the value to the family."
    )


KIND = "!torch.vtensor<[?],f32>"


def torch_text(width: str) -> str:
    return f"""
      func.func @main(%x: {KIND}, %n: !torch.int) -> {KIND} {{
        %by = torch.constant.float 1.0
        %width = {width}
        %negative = torch.constant.bool false
        %none = torch.constant.none
        %mode = torch.constant.str "plain"
        %0 = torch.operator "torch.mine.scaled.default"(%x, %by, %width, %negative, %none, %mode) :
          ({KIND}, !torch.float, !torch.int, !torch.bool, !torch.none, !torch.str) -> {KIND}
          loc("model.py":7:0)
        return %0 : {KIND}
      }}"""


def test_a_model_in_mlir_has_them_as_constants_or_attributes(scaled: cd.Family) -> None:
    module = cd.compile(torch_text("torch.constant.int 4"), scaled, ["cpu"])
    assert module.kernels == (FOUR,)
    np.testing.assert_array_equal(cd.load(module).main(X, 0), FIRST)
    where = "The call of `mine.scaled.default` at model.py:7: "
    for width, found in (
        ("torch.constant.int 0", "family `scaled`: the compile-time argument `width` is 0."),
        ("torch.aten.add.int %n, %n : !torch.int, !torch.int -> !torch.int",
         "the compile-time argument `width` is computed by the model."),
    ):  # fmt: skip
        with pytest.raises(LinkError) as caught:
            cd.compile(torch_text(width), scaled, ["cpu"])
        assert caught.value.found == where + found
    composite = """
      func.func @main(%x: tensor<70xf32>) -> tensor<70xf32> {
        %0 = stablehlo.composite "mine.scaled" %x {
          composite_attributes = {by = 1.0 : f32, width = 4 : i64, negative = false},
          decomposition = @f} : (tensor<70xf32>) -> tensor<70xf32>
        return %0 : tensor<70xf32>
      }
      func.func private @f(%x: tensor<70xf32>) -> tensor<70xf32> {
        return %x : tensor<70xf32>
      }"""
    np.testing.assert_array_equal(cd.load(cd.compile(composite, scaled, ["cpu"])).main(X), FIRST)


def test_a_plain_function_names_a_kernel_of_the_family(scaled: cd.Family) -> None:
    text = """
      func.func private @NAME(tensor<70xf32>, f32) -> tensor<70xf32>
      func.func @main(%x: tensor<70xf32>) -> tensor<70xf32> {
        %by = arith.constant 1.0 : f32
        %0 = call @NAME(%x, %by) : (tensor<70xf32>, f32) -> tensor<70xf32>
        return %0 : tensor<70xf32>
      }"""
    kernel = scaled.kernel(width=4, negative=False)
    program = cd.load(cd.compile(text.replace("NAME", FOUR), kernel, ["cpu"]))
    np.testing.assert_array_equal(program.main(X), FIRST)
    with pytest.raises(LinkError) as caught:
        cd.compile(text.replace("NAME", "scaled"), scaled, ["cpu"])
    assert caught.value.found == (
        "The model declares the function `scaled`, which is a family: nothing says which of its "
        "kernels is meant."
    )
    assert caught.value.next_step == (
        "declare that function, and give the kernel: family.kernel(width=..., negative=..., "
        "offset=..., mode=...)."
    )


def test_where_nothing_says_the_values_a_family_is_refused(scaled: cd.Family) -> None:
    uses: list[Any] = [
        lambda: cd.build([scaled], ["cpu"]),
        lambda: cd.compile(None, scaled, ["cpu"]),
        lambda: cd.Pattern(scaled, "func"),
        lambda: cd.torch.Pattern(scaled, lambda x, by: x * by),
        lambda: cd.jax.Pattern(scaled, lambda x, by: x * by),
        lambda: cd.onnx.Pattern(scaled, "Mul"),
    ]
    for use in uses:
        with pytest.raises(DeclarationError) as caught:
            use()
        assert str(caught.value) == (
            "`scaled` is a family of kernels, and nothing says for which values.\n"
            "  expected: a cd.Kernel or a cd.Choice\n"
            "  next step: pass its kernels: family.kernel(width=..., negative=..., offset=..., "
            "mode=...)."
        )
    with pytest.raises(LinkError, match="The model calls none of the kernels: scaled"):
        cd.compile("func.func @main(%x: f32) -> f32 { return %x : f32 }\n", scaled, ["cpu"])


def test_the_command_line_compiles_models_that_call_them(tmp_path: Path) -> None:
    tmp_path.joinpath("scaled.cu").write_text(SOURCE)
    kernels = tmp_path / "kernels.py"
    kernels.write_text(
        "import custom_dispatch as cd\n"
        'n = cd.dim("n")\n'
        "def declare(width, negative=False):\n"
        '    return cd.Kernel("scaled", source="scaled.cu", block=64, grid=cd.ceildiv(n, 64),\n'
        '        entry=f"scaled<{width}, {str(negative).lower()}>",\n'
        '        options=["-DBLOCK=64", "-DOFFSET=0.5"],\n'
        '        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]),\n'
        '            cd.Scalar("by", "f32"), cd.Scalar("n", "i32", n)])\n'
        'scaled = cd.Family("scaled", declare, width=[4, 8], negative=[False, True])\n'
    )
    model = tmp_path / "model.mlir"
    model.write_text(
        torch_text("torch.constant.int 4")
        .replace(", %none, %mode", "")
        .replace(", !torch.none, !torch.str", "")
    )
    out = tmp_path / "model.vmfb"

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [TOOLS / "custom-dispatch", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    done = run("compile", model, "--kernels", kernels, "--target", "cpu", "-o", out)
    assert done.returncode == 0, done.stderr
    assert "scaled__width_4__negative_false for cpu" in done.stdout
    np.testing.assert_array_equal(cd.load(out).main(X, 0), FIRST)

    # Without a model, all kernels of a small family.
    build = ("build", kernels, "--target", "cuda:sm_80", "--out", tmp_path)
    done = run(*build)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "scaled_sm_80.ptx").read_text().count(" .entry ") == 4
    kernels.write_text(kernels.read_text().replace("width=[4, 8]", "width=range(1, 10)"))
    done = run(*build)
    assert done.returncode == 2
    assert "`scaled` is a family of kernels, and nothing says for which values." in done.stderr
    with kernels.open("a") as file:
        file.write("one = scaled.kernel(width=9)\n")
    done = run(*build)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "scaled: a family of 18 kernels, left out\n"
    assert (tmp_path / "scaled_sm_80.ptx").read_text().count(" .entry ") == 1
