"""Kernels of one name, as packages have them that know nothing of each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy
import onnx
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.link.declarations import Callees
from custom_dispatch.link.model import parse_model
from custom_dispatch.match.pattern import with_own_names
from custom_dispatch.match.replace import replace_places

n = cd.dim("n")
X = numpy.arange(4, dtype=numpy.float32)
WANTED = numpy.sin(X + 1) * 2


@pytest.fixture(scope="module")
def acts(tmp_path_factory: pytest.TempPathFactory) -> list[cd.Kernel]:
    """`act` adds one in one package, and doubles in the other."""
    kernels = []
    for what in ("+ 1", "* 2"):
        source = tmp_path_factory.mktemp("package") / "act.cu"
        source.write_text(
            'extern "C" __global__ void act(const float* x, float* y, int n) {\n'
            f"  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] {what};\n}}\n"
        )
        operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)]
        kernels.append(cd.Kernel("act", source=source, operands=operands, block=32, grid=1))
    return kernels


def body(text: str, name: str) -> str:
    return f"""
func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %two = arith.constant dense<2.0> : tensor<4xf32>
{text}
  return %y : tensor<4xf32>
}}"""


ADDED = body("  %y = arith.addf %x, %one : tensor<4xf32>", "added")
DOUBLED = body("  %y = arith.mulf %x, %two : tensor<4xf32>", "doubled")
MODEL = body(
    "  %0 = arith.addf %x, %one : tensor<4xf32>\n  %1 = math.sin %0 : tensor<4xf32>\n"
    "  %y = arith.mulf %1, %two : tensor<4xf32>",
    "main",
)


def test_patterns_of_mlir_put_both_into_a_model(acts: list[cd.Kernel]) -> None:
    patterns = [cd.Pattern(acts[0], ADDED), cd.Pattern(acts[1], DOUBLED)]
    module = cd.compile(MODEL, [], ["cpu"], replace=patterns)
    assert [item.kernel for item in module.replaced] == ["act", "act_2"]
    assert module.kernels == ("act", "act_2")
    numpy.testing.assert_allclose(cd.load(module, device="cpu").main(X), WANTED, rtol=1e-6)


def test_what_a_model_calls_keeps_its_name(acts: list[cd.Kernel]) -> None:
    model = """
func.func private @act(tensor<4xf32>) -> tensor<4xf32>""" + MODEL.replace(
        "math.sin %0", "call @act(%0)"
    ).replace("call @act(%0) : tensor<4xf32>", "call @act(%0) : (tensor<4xf32>) -> tensor<4xf32>")
    module = cd.compile(model, acts[1], ["cpu"], replace=[cd.Pattern(acts[0], ADDED)])
    assert module.kernels == ("act", "act_2")
    numpy.testing.assert_array_equal(cd.load(module, device="cpu").main(X), (X + 1) * 2 * 2)


@pytest.mark.thorough
def test_patterns_and_calls_of_jax(acts: list[cd.Kernel]) -> None:
    patterns = [cd.jax.Pattern(acts[0], lambda x: x + 1), cd.jax.Pattern(acts[1], lambda x: x * 2)]
    called = cd.jax.call(acts[1])
    module = cd.jax.compile(
        lambda x: called(jnp.sin(x + 1)) - 1, (X,), ["cpu"], replace=patterns[:1]
    )
    assert set(module.kernels) == {"act", "act_2"}
    numpy.testing.assert_allclose(cd.load(module, device="cpu").main(X), WANTED - 1, rtol=1e-6)
    exported = cd.jax.compile(lambda x: jnp.sin(x + 1) * 2, (X,), ["cuda:sm_80"], replace=patterns)
    assert [item.kernel for item in exported.replaced] == ["act", "act_2"]
    other = cd.jax.call(acts[0])
    with pytest.raises(DeclarationError, match="Two different kernels are named `act`"):
        cd.jax.compile(lambda x: called(other(x)), (X,), ["cpu"])
    numpy.testing.assert_array_equal(called(other(jnp.array(X))), (X + 1) * 2)


GRAPH = '<ir_version: 9, opset_import: ["": 17, "a": 1, "b": 1]> g (float[4] x) => (float[4] y) '
NUMBERS = "<float one = {1.0}, float two = {2.0}> "


def graph(text: str) -> Any:
    return onnx.parser.parse_model(f"{GRAPH}{NUMBERS}{{ {text} }}")


@pytest.mark.thorough
def test_patterns_and_nodes_of_onnx(acts: list[cd.Kernel]) -> None:
    patterns = [
        cd.onnx.Pattern(acts[0], graph("y = Add(x, one)")),
        cd.onnx.Pattern(acts[1], graph("y = Mul(x, two)")),
    ]
    for text, given, kernels in (
        ("p = Add(x, one) q = Sin(p) y = Mul(q, two)", patterns, ()),
        ("p = Add(x, one) q = Sin(p) y = a.act(q)", patterns[:1], [acts[1]]),
    ):
        module = cd.onnx.compile(graph(text), ["cpu"], replace=given, kernels=kernels)
        assert set(module.kernels) == {"act", "act_2"}
        numpy.testing.assert_allclose(cd.load(module, device="cpu").main(X), WANTED, rtol=1e-6)
    for domain, kernel in zip("ab", acts, strict=True):
        cd.onnx.register(kernel, domain)
    for kernels in (acts, None):
        with pytest.raises(DeclarationError, match="Two different kernels are named `act`"):
            cd.onnx.compile(graph("p = a.act(x) y = b.act(p)"), ["cpu"], kernels=kernels)


def test_a_build_and_what_a_model_is_given_have_each_name_once(
    acts: list[cd.Kernel], tmp_path: Path
) -> None:
    wanted = (
        f"Two different kernels are named `act`: a kernel of {acts[0].source} and a kernel of "
        f"{acts[1].source}.\n"
        "  expected: a name for each: a module tells kernels by their names\n"
        '  next step: rename one: kernel.with_launch(name="another"), or '
        'cd.Choice("another", ...), and call it by that name.'
    )
    output = tmp_path / "act.mlir"
    for attempt in (
        lambda: cd.build(acts, ["cuda:sm_80"]),
        lambda: cd.compile(None, acts, ["cuda:sm_80"]),
        lambda: cd.compile(MODEL, acts, ["cuda:sm_80"]),
        lambda: cd.compile(MODEL, acts, ["cuda:sm_80"], replace=[cd.Pattern(acts[0], ADDED)]),
        lambda: cd.emit(acts, ["cuda:sm_80"], output=output),
    ):
        with pytest.raises(DeclarationError) as caught:
            attempt()
        assert str(caught.value) == wanted
    assert not output.exists()
    renamed = cd.build([acts[0], acts[1].with_launch(name="another")], ["cuda:sm_80"])
    assert [kernel.name for kernel in renamed.kernels] == ["act", "another"]


def test_calls_run_the_kernel_that_they_are_made_on(acts: list[cd.Kernel]) -> None:
    for _ in range(2):
        numpy.testing.assert_array_equal(acts[0].on("cpu")(X), X + 1)
        numpy.testing.assert_array_equal(acts[1].on("cpu")(X), X * 2)


def test_a_choice_is_renamed_with_its_kernels_rules_and_table(acts: list[cd.Kernel]) -> None:
    def choice(kernel: cd.Kernel) -> cd.Choice:
        few = kernel.with_launch(name="few", block=64)
        return cd.Choice("pick", [few, kernel.with_launch(name="many")], rules={"few": [n < 9]})

    patterns = [
        cd.Pattern(choice(acts[0]), ADDED),
        cd.Pattern(choice(acts[1]), DOUBLED),
        cd.Pattern(choice(acts[0]), ADDED, required=False),  # the first, declared anew
        cd.Pattern(acts[0].with_launch(name="few"), ADDED, required=False),
    ]
    items = [pattern.item for pattern in with_own_names(patterns, [])]
    assert [item.name for item in items] == ["pick", "pick_2", "pick", "few_3"]
    assert items[2] is items[0]
    assert [kernel.name for kernel in items[1].kernels] == ["few_2", "many_2"]
    assert {name: str(rule[0]) for name, rule in items[1].rules.items()} == {"few_2": "n < 9"}
    report = replace_places(parse_model(MODEL), with_own_names(patterns[:2], []), Callees([]))
    assert [item.kernel for item in report] == ["pick", "pick_2"]
