"""Patterns on the command line: `custom-dispatch compile --replace`, of MLIR and ONNX models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_harness import CommandLine
from onnx import TensorProto, helper

import custom_dispatch as cd

MODEL = """
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<2x4xf32>)
    -> (tensor<8xf32>, tensor<2x4xf32>) {
  %0 = arith.mulf %x, %y : tensor<8xf32> loc("model.py":7:0)
  %1 = arith.addf %0, %y : tensor<8xf32>
  %2 = arith.mulf %z, %z : tensor<2x4xf32> loc("model.py":9:0)
  return %1, %2 : tensor<8xf32>, tensor<2x4xf32>
}
"""
PATTERNS = '''
import custom_dispatch as cd
from simple_mul import simple_mul

KIND = "tensor<?xf32>"
TEXT = f"""
func.func @product(%lhs: {KIND}, %rhs: {KIND}) -> {KIND} {{
  %0 = arith.mulf %lhs, %rhs : {KIND}
  return %0 : {KIND}
}}
"""
several = [cd.Pattern(simple_mul, TEXT), cd.onnx.Pattern(simple_mul, "Mul")]
'''
CPU = ("-t", "cpu", "-o", "m.vmfb")


@pytest.fixture
def patterns(work: Path) -> Path:
    (work / "model.mlir").write_text(MODEL)
    (work / "my_patterns.py").write_text(PATTERNS)
    return work


def save_onnx(path: Path, operator: str = "Mul") -> None:
    weight = helper.make_tensor("weight", TensorProto.FLOAT, [2000], [2.0] * 2000)
    graph = helper.make_graph(
        [
            helper.make_node(operator, ["x", "weight"], ["scaled"], "scaled"),
            helper.make_node(operator, ["scaled", "half"], ["y"], "halved"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2000])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2000])],
        [weight, helper.make_tensor("half", TensorProto.FLOAT, [1], [0.5])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


def test_places_in_an_mlir_model_are_replaced_and_listed(patterns: Path, cli: CommandLine) -> None:
    outcome = cli("compile", "model.mlir", "--replace", "my_patterns.py", *CPU)
    outcome.succeeded("m.vmfb: simple_mul for cpu, ")
    assert outcome.appeared == {"m.vmfb"}
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()[1:]]
    assert lines == [
        "",
        "replaced by in at with",
        "simple_mul - model.py:7 -",
        "",
        "not replaced by in at because",
        "simple_mul - model.py:9 arith.mulf gives tensor<2x4xf32>, and in the pattern "
        "tensor<?xf32>",
    ]
    x, y = np.arange(8, dtype=np.float32), np.full(8, 3, np.float32)
    found, _ = cd.load(patterns / "m.vmfb").main(x, y, np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(found, x * y + y)


def test_places_in_an_onnx_model_are_replaced_and_listed(patterns: Path, cli: CommandLine) -> None:
    save_onnx(patterns / "model.ONNX")
    outcome = cli("compile", "model.ONNX", "-r", "my_patterns.py", *CPU)
    outcome.succeeded("m.vmfb: simple_mul for cpu, ", "m.irpa: its weights\n")
    assert outcome.appeared == {"m.vmfb", "m.irpa"}
    said = " ".join(outcome.out.split())
    assert "simple_mul scaled - - not replaced by in at because simple_mul halved -" in said
    assert "`lhs`.shape[0] and `rhs`.shape[0] disagree on dim n: 2000 and 1" in said
    found = cd.load(patterns / "m.vmfb").main(np.ones(2000, np.float32))
    np.testing.assert_array_equal(found, np.ones(2000))


def test_a_module_may_say_which_patterns_are_its_own(patterns: Path, cli: CommandLine) -> None:
    source = patterns / "my_patterns.py"
    source.write_text(PATTERNS + "everything = several[1:]\n")
    cli("compile", "model.mlir", "-r", "my_patterns.py", *CPU).refused(
        "`my_patterns.py` has no pattern for this model, but cd.onnx.Pattern.",
        "expected: module-level cd.Pattern or cd.jax.Pattern objects, or lists of them",
    )


def test_a_model_without_a_place_is_compiled_with_a_warning(
    patterns: Path, cli: CommandLine
) -> None:
    (patterns / "model.mlir").write_text(MODEL.replace("mulf", "addf"))
    optional = PATTERNS.replace("TEXT)", "TEXT, required=False)")
    optional = optional.replace('"Mul")', '"Mul", required=False)')
    (patterns / "optional.py").write_text(optional)
    save_onnx(patterns / "model.onnx", "Add")
    for model in ("model.mlir", "model.onnx"):
        outcome = cli("compile", model, "-r", "optional.py", *CPU)
        outcome.succeeded("m.vmfb: no kernels for cpu, ")
        assert "warning: No pattern is found in the model." in outcome.err
    found = cd.load(patterns / "m.vmfb").main(np.ones(2000, np.float32))
    np.testing.assert_array_equal(found, np.full(2000, 3.5))
    outcome = cli("compile", "model.mlir", *CPU)
    outcome.succeeded("m.vmfb: no kernels for cpu, ")
    assert outcome.err == ""


def test_mistakes_are_refused(patterns: Path, cli: CommandLine) -> None:
    (patterns / "none.py").write_text("x = 1\n")
    (patterns / "number.py").write_text("everything = 3\n")
    for words, said in (
        (("-r", "none.py"), "`none.py` has no pattern for this model."),
        (("-r", "number.py"), "`number.py` has no pattern for this model."),
        (("-r", "missing.py"), "The patterns' file `missing.py` does not exist."),
        (("-r", "no_such_module"), "There is no Python module `no_such_module`."),
    ):
        cli("compile", "model.mlir", *words, *CPU).refused(said)
    (patterns / "model.mlir").write_text(MODEL.replace("8xf32", "8xf64").replace("mulf", "addf"))
    cli("compile", "model.mlir", "-r", "my_patterns.py", *CPU).refused(
        "No place in the model computes what kernel `simple_mul` replaces."
    )
    (patterns / "model.onnx").write_bytes(b"not a model")
    cli("compile", "model.onnx", "-r", "my_patterns.py", *CPU).refused("model.onnx")
    cli("compile", "no.onnx", "-r", "my_patterns.py", *CPU).refused(
        "`no.onnx` cannot be read: No such file or directory."
    )
    for given, shown in (
        (_kernel(), "a value of type cd.Kernel"),
        (None, "None"),
        ([[3]], "3"),
    ):
        with pytest.raises(cd.CustomDispatchError, match=f"replace has {shown} in it"):
            cd.compile(MODEL, [], ["cpu"], replace=given)
    with pytest.raises(cd.CustomDispatchError, match="is one of ONNX, and the model is not"):
        cd.compile(MODEL, [], ["cpu"], replace=cd.onnx.Pattern(_kernel(), "Mul"))


def _kernel() -> cd.Kernel:
    from cuda_kernels.simple_mul import simple_mul

    return simple_mul


def test_a_model_is_verified_where_onnx_can_run_it(patterns: Path, cli: CommandLine) -> None:
    cli("compile", "model.mlir", "--verify", *CPU).refused(
        "--verify is given for `model.mlir`, with which there is nothing to compare it.",
        "expected: an .onnx file, which ONNX runs",
        "leave it out, or give verify=True to cd.torch.compile.",
    )
    save_onnx(patterns / "model.onnx")
    words = ("--replace", "my_patterns.py", "--verify", *CPU)
    cli("compile", "model.onnx", *words).succeeded("m.vmfb: simple_mul for cpu, ")
