"""Kernels as operators of ONNX: what its checker, its inference and its evaluator make of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.onnx.node import element_type_of, onnx_type
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from tests.sample_kernels.rows import row_layer_norm

n, m = cd.dim("n"), cd.dim("m")


def kernel_of(name: str, **parts: Any) -> cd.Kernel:
    """A kernel of which nothing is built."""
    parts = {"source": "not-here.cu", "block": 64, "grid": cd.ceildiv(n, 64), **parts}
    return cd.Kernel(name, **parts)


JOINED = kernel_of(
    "joined",
    operands=[
        cd.In("left", "f32", [n, 2]),
        cd.In("right", "f32", [m, 2]),
        cd.In("bias", "bf16", [2], optional=True),
        cd.Out("all", "f32", [n + m, 2]),
        cd.Out("count", "u8", [n]),
        cd.Scalar("scale", "f32"),
        cd.Scalar("flag", "bool"),
    ],
    requires=[n <= 8],
)
cd.onnx.register(JOINED, domain="tests")


def model_of(*nodes: onnx.NodeProto, inputs: Any, outputs: Any) -> onnx.ModelProto:
    """A model; inputs and outputs are shapes by name, of floats."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in inputs.items()],
        [helper.make_tensor_value_info(k, TensorProto.FLOAT, v) for k, v in outputs.items()],
    )
    domains = [helper.make_opsetid(name, 1) for name in ("tests", "custom_dispatch")]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), *domains])


def joined(left: Any, right: Any, **attributes: Any) -> onnx.ModelProto:
    attributes = {"scale": 2.0, "flag": 1} | attributes
    node = helper.make_node(
        "joined", ["l", "r"], ["all", "count"], "here", domain="tests", **attributes
    )
    return model_of(node, inputs={"l": left, "r": right}, outputs={"all": [None, None]})


def inferred(model: onnx.ModelProto) -> dict[str, list[Any]]:
    onnx.checker.check_model(model)
    found = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph
    return {
        item.name: [
            # ONNX gives what nobody knows a name: "unk__3".
            dim.dim_value if dim.HasField("dim_value") else dim.dim_param.partition("__")[0]
            for dim in item.type.tensor_type.shape.dim
        ]
        for item in [*found.output, *found.value_info]
    }


def test_onnx_that_is_not_there_is_named() -> None:
    code = (
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'onnx' else find(name, *more)\n"
        "import custom_dispatch as cd\n"
        "try:\n    cd.onnx\nexcept cd.CustomDispatchError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "ONNX is not installed in this Python environment.",
        "  expected: the package onnx, which `cd.onnx` is for",
        "  next step: pip install -e '.[onnx]' (in the clone).",
    ], done.stderr


def test_declaring_kernels_does_not_load_onnx() -> None:
    code = "import sys, custom_dispatch; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("kind", ELEMENT_TYPES.values(), ids=str)
def test_every_element_type_is_one_of_onnx(kind: Any) -> None:
    assert element_type_of(onnx_type(kind)) == kind


def test_the_schema_says_what_is_declared() -> None:
    schema = onnx.defs.get_schema("joined", domain="tests")
    types = {item.type_param_str: item.allowed_type_strs for item in schema.type_constraints}
    assert [(item.name, *types[item.type_str]) for item in schema.inputs] == [
        ("left", "tensor(float)"),
        ("right", "tensor(float)"),
        ("bias", "tensor(bfloat16)"),
    ]
    assert [(item.name, *types[item.type_str]) for item in schema.outputs] == [
        ("all", "tensor(float)"),
        ("count", "tensor(uint8)"),
    ]
    kinds = {name: item.type.name for name, item in schema.attributes.items()}
    assert kinds == {"scale": "FLOAT", "flag": "INT"}


@pytest.mark.parametrize(
    ("left", "right", "results"),
    [
        ([3, 2], [4, 2], {"all": [7, 2], "count": [3]}),
        (["rows", 2], [4, None], {"all": ["unk", 2], "count": ["rows"]}),
        ([None, "two"], [None, 2], {"all": ["unk", 2], "count": ["unk"]}),
    ],
)
def test_sizes_are_inferred_by_number_and_by_name(left: Any, right: Any, results: Any) -> None:
    assert inferred(joined(left, right)) == results


@pytest.mark.parametrize(
    ("shape", "result"), [(["b", "s", None], ["b", "s", "n"]), ([4, "s", 5], [4, "s", 5])]
)
def test_leading_dims_are_kept(shape: Any, result: Any) -> None:
    cd.onnx.register(row_layer_norm)
    node = helper.make_node(
        "row_layer_norm", ["x", "w"], ["y"], domain="custom_dispatch", epsilon=1e-5
    )
    model = model_of(node, inputs={"x": shape, "w": ["n"]}, outputs={"y": [None] * 3})
    assert inferred(model) == {"y": result}


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ([3], [4, 2], "`joined`: operand `left` has shape [3], which is rank 1."),
        ([3, 3], ["m", 2], "`joined`: operand `left` has size 3 in dimension 1."),
        ([9, 2], [4, 2], "`joined` requires n <= 8, which does not hold for n = 9."),
        ([9, 2], ["m", 2], "`joined` requires n <= 8, which does not hold for n = 9."),
    ],
)
def test_what_does_not_fit_is_said_by_inference(left: Any, right: Any, said: str) -> None:
    with pytest.raises(cd.CustomDispatchError) as caught:
        inferred(joined(left, right))
    assert "Node `here` (tests::joined) does not fit: Kernel `joined`" in str(caught.value)
    assert said in str(caught.value)


def test_the_checker_refuses_an_attribute_that_is_not_declared() -> None:
    with pytest.raises(onnx.checker.ValidationError, match="Unrecognized attribute: other"):
        onnx.checker.check_model(joined([1, 2], [1, 2], other=1))


def test_the_reference_evaluator_runs_the_kernel() -> None:
    node = helper.make_node(
        "row_layer_norm", ["x", "", "b"], ["t"], domain="custom_dispatch", epsilon=0.5
    )
    model = model_of(
        node,
        helper.make_node("Neg", ["t"], ["y"]),
        inputs={"x": [2, 3, 8], "b": [8]},
        outputs={"y": [2, 3, 8]},
    )
    operators: Any = [cd.onnx.register(row_layer_norm)]
    rng = numpy.random.default_rng(0)
    x, b = (rng.standard_normal(size).astype("f4") for size in ((2, 3, 8), 8))
    (found,) = ReferenceEvaluator(model, new_ops=operators).run(None, {"x": x, "b": b})
    assert row_layer_norm.reference is not None
    expected = -row_layer_norm.reference(x, None, b, 0.5)
    numpy.testing.assert_allclose(found, expected, atol=1e-6)


def test_registering_again_is_no_mistake() -> None:
    again = kernel_of("again", operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])])
    cd.onnx.register(again, domain="tests")
    cd.onnx.register(again, domain="tests")
    other = kernel_of("again", operands=[cd.In("x", "f16", [n]), cd.Out("y", "f16", [n])])
    with pytest.raises(DeclarationError) as caught:
        cd.onnx.register(other, domain="tests")
    assert str(caught.value).splitlines() == [
        "ONNX's operator `tests::again` is another kernel.",
        "  expected: a name that is free",
        '  next step: choose another domain: cd.onnx.register(kernel, domain="mine").',
    ]


@pytest.mark.parametrize("domain", ["", "ai.onnx", None])
def test_onnxs_own_domains_are_refused(domain: Any) -> None:
    with pytest.raises(DeclarationError, match="The domain of kernel `joined` is "):
        cd.onnx.register(JOINED, domain=domain)


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"cd\.onnx\.register is given 'joined'"):
        cd.onnx.register("joined")  # type: ignore[arg-type]
