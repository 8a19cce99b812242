"""ONNX models with kernels in them, compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import custom_dispatch as cd
from cuda_kernels.norms.layer_norm import declare
from cuda_kernels.norms.rows import RowForm
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.errors import CallError, LinkError, ModelError
from custom_dispatch.frontends import mlir
from custom_dispatch.frontends.onnx.model import read_model
from tests.places import imported_from_onnx
from tests.sample_kernels.rows import row_layer_norm
from tests.sample_kernels.samples import scale, sum_and_difference

FLOAT = TensorProto.FLOAT
RNG = numpy.random.default_rng(0)
MATRIX = RNG.standard_normal((64, 32)).astype("f4")
SCALE = RNG.standard_normal(32).astype("f4")


def value(name: str, shape: Any, kind: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Any],
    outputs: dict[str, Any],
    *,
    constants: Any = (),
    opset: int = 20,
    kind: int = FLOAT,
    **more: Any,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "a graph",
        [value(name, shape, kind) for name, shape in inputs.items()],
        [value(name, shape, kind) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in dict(constants).items()],
    )
    versions = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10, **more)


def node(operator: str, inputs: Any, outputs: Any, name: str = "", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs, outputs, name, domain="mine", **attributes)


def test_iree_takes_no_open_sizes_for_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of them for patterns is taken out, also where there are none."""
    found: list[str] = []
    convert = mlir.convert_torch

    def noted(module: Any, *given: Any, **named: Any) -> Any:
        found.append(str(module))
        return convert(module, *given, **named)

    monkeypatch.setattr(mlir, "convert_torch", noted)
    negated = helper.make_node("Neg", ["x"], ["y"])
    module = imported_from_onnx(model_of([negated], {"x": ["n", 3]}, {"y": ["n", 3]}))
    assert "torch.bind_symbolic_shape" in str(module)
    mlir.place(module, [])
    assert "torch.operator" in found[0]
    assert "torch.bind_symbolic_shape" not in found[0]
    assert "torch.symbolic_int" not in found[0]


def norm_model() -> onnx.ModelProto:
    """A matrix product, a kernel, and a sum; with a weight of 8 KiB."""
    return model_of(
        [
            helper.make_node("MatMul", ["x", "matrix"], ["t"]),
            node("row_layer_norm", ["t", "", "bias"], ["u"], "norm", epsilon=0.25),
            helper.make_node("Add", ["u", "t"], ["y"]),
        ],
        {"x": ["batch", "rows", 64]},
        {"y": ["batch", "rows", 32]},
        constants={"matrix": MATRIX, "bias": SCALE},
    )


def refusal(kind: type[Exception], model: Any, kernels: Any = scale) -> str:
    with pytest.raises(kind) as caught:
        cd.onnx.compile(model, ["cpu"], kernels=kernels)
    return str(caught.value)


def check_norm(program: Any) -> None:
    x = RNG.standard_normal((2, 3, 64)).astype("f4")
    product = x @ MATRIX
    assert row_layer_norm.reference is not None
    wanted = row_layer_norm.reference(product, None, SCALE, 0.25) + product
    numpy.testing.assert_allclose(program.main(x), wanted, atol=1e-4)


@pytest.mark.parametrize("external", [False, True])
def test_a_model_runs_with_its_kernel_and_its_weights(external: bool, tmp_path: Path) -> None:
    onnx.save(
        norm_model(),
        tmp_path / "model.onnx",
        save_as_external_data=external,
        location="weights.bin",
        size_threshold=0,
    )
    module = cd.onnx.compile(
        tmp_path / "model.onnx", ["cuda:sm_80", "cpu"], kernels=[row_layer_norm]
    )
    assert module.kernels == ("row_layer_norm",)
    assert module.parameters is not None
    assert [(item.name, item.shape) for item in module.parameters.entries] == [("matrix", (64, 32))]
    module.save(tmp_path / "model.vmfb")
    program = cd.load(tmp_path / "model.vmfb", "cpu")
    assert str(program.main.type) == "(tensor<?x?x64xf32>) -> (tensor<?x?x32xf32>)"
    check_norm(program)


def test_a_model_stays_as_it_is_and_may_be_one_file() -> None:
    model = norm_model()
    before = model.SerializeToString(deterministic=True)
    module = cd.onnx.compile(model, ["cpu"], kernels=row_layer_norm, inline_bytes=None)
    assert module.parameters is None
    assert model.SerializeToString(deterministic=True) == before
    check_norm(cd.load(module, "cpu"))


def test_registered_kernels_need_not_be_given() -> None:
    cd.onnx.register(scale, domain="elsewhere")
    model = model_of(
        [helper.make_node("scale", ["x"], ["y"], domain="elsewhere", alpha=0.5, beta=-(2**31))],
        {"x": [5]},
        {"y": [5]},
    )
    model.opset_import.append(helper.make_opsetid("elsewhere", 1))
    program = cd.load(cd.onnx.compile(model, ["cpu"], name="f"), "cpu")
    x = numpy.arange(5, dtype="f4")
    assert scale.reference is not None
    assert (program.f(x) == scale.reference(x, 0.5, -(2**31))).all()


def test_several_results_a_branch_and_a_function_of_the_model() -> None:
    """The kernel is called in a branch, by a function that the model itself defines."""
    both = helper.make_function(
        "own",
        "both",
        ["x"],
        ["s", "d"],
        [node("sum_and_difference", ["x"], ["s", "d"])],
        [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)],
    )

    def branch(name: str, nodes: list[Any]) -> onnx.GraphProto:
        return helper.make_graph(nodes, name, [], [value("out_" + name, ["n"])])

    calls = helper.make_node("both", ["pairs"], ["s", "d"], domain="own")
    model = model_of(
        [
            calls,
            helper.make_node("ReduceSum", ["d", "axes"], ["total"], keepdims=0),
            helper.make_node("Greater", ["total", "zero"], ["positive"]),
            helper.make_node(
                "If",
                ["positive"],
                ["y"],
                then_branch=branch("then", [node("scale", ["s"], ["out_then"], alpha=2.0, beta=1)]),
                else_branch=branch("else", [helper.make_node("Neg", ["s"], ["out_else"])]),
            ),
        ],
        {"pairs": ["n", 2]},
        {"y": ["n"]},
        constants={"axes": numpy.array([0]), "zero": numpy.array(0, "f4")},
        functions=[both],
    )
    model.opset_import.append(helper.make_opsetid("own", 1))
    program = cd.load(cd.onnx.compile(model, ["cpu"], kernels=[scale, sum_and_difference]), "cpu")
    pairs = numpy.array([[1, 0], [5, 2]], "f4")
    assert program.main(pairs).tolist() == [3, 15]
    assert program.main(pairs[:, ::-1].copy()).tolist() == [-1, -7]


def test_what_iree_has_to_know_stays_in_the_module() -> None:
    """Axes and shapes do, however little is to stay."""
    model = norm_model()
    model.graph.initializer.append(numpy_helper.from_array(numpy.array([0, 1]), "axes"))
    assert list(read_model(model, "main", 0, lambda *_: True).weights) == ["matrix"]


def test_an_unsigned_result_says_so() -> None:
    model = norm_model()
    model.graph.node.add().CopyFrom(helper.make_node("Concat", ["a", "a"], ["b"], axis=0))
    model.graph.input.append(value("a", [2], TensorProto.UINT8))
    model.graph.output.append(value("b", [4], TensorProto.UINT8))
    program = cd.load(cd.onnx.compile(model, ["cpu"], kernels=row_layer_norm), "cpu")
    _, result = program.main(numpy.zeros((1, 1, 64), "f4"), numpy.array([200, 2], "u1"))
    assert (result.dtype, result.tolist()) == (numpy.uint8, [200, 2, 200, 2])


def test_an_operator_that_the_model_defines_too_is_the_kernel() -> None:
    """Other tools run the function."""
    function = helper.make_function(
        "mine",
        "simple_mul",
        ["a", "b"],
        ["c"],
        [helper.make_node("Add", ["a", "b"], ["c"])],
        [helper.make_opsetid("", 20)],
    )
    nodes = [node("simple_mul", ["x", "x"], ["y"])]
    model = model_of(nodes, {"x": ["n"]}, {"y": ["n"]}, functions=[function])
    program = cd.load(cd.onnx.compile(model, ["cpu"], kernels=simple_mul), "cpu")
    assert program.main(numpy.array([3, 4], "f4")).tolist() == [9, 16]


def test_an_old_model_is_converted() -> None:
    """IREE knows neither `Slice` nor `Unsqueeze` of ONNX 9, whose sizes were attributes."""
    model = model_of(
        [
            node("simple_mul", ["x", "x"], ["t"]),
            helper.make_node("Slice", ["t"], ["u"], starts=[1], ends=[3]),
            helper.make_node("Unsqueeze", ["u"], ["y"], axes=[0]),
        ],
        {"x": [4]},
        {"y": [1, 2]},
        opset=9,
    )
    program = cd.load(cd.onnx.compile(model, ["cpu"], kernels=simple_mul), "cpu")
    assert program.main(numpy.arange(4, dtype="f4")).tolist() == [[1, 4]]


def test_a_choice_takes_the_kernel_that_fits() -> None:
    norm = cd.Choice("norm", [declare(RowForm("f16")), row_layer_norm])
    operator: Any = cd.onnx.register(norm, domain="chosen")
    model = model_of(
        [helper.make_node("norm", ["x"], ["y"], domain="chosen", epsilon=0.25)],
        {"x": ["n", 8]},
        {"y": ["n", 8]},
    )
    model.opset_import.append(helper.make_opsetid("chosen", 1))
    onnx.checker.check_model(model, full_check=True)
    module = cd.onnx.compile(model, ["cpu"])
    x = RNG.standard_normal((3, 8)).astype("f4")
    (expected,) = ReferenceEvaluator(model, new_ops=[operator]).run(None, {"x": x})
    numpy.testing.assert_allclose(cd.load(module, "cpu").main(x), expected, atol=1e-6)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    lines = refusal(LinkError, model, norm).splitlines()
    assert lines[0] == "Node `-> y` (chosen::norm) fits no kernel of choice `norm`."
    assert [line.partition(":")[0] for line in lines[3:]] == [
        "`layer_norm_f16`",
        "`row_layer_norm`",
    ]


# -- mistakes


def scaled(**attributes: Any) -> onnx.NodeProto:
    return node("scale", ["x"], ["y"], "here", **attributes)


GOOD = scaled(alpha=1.0, beta=1)
DECLARED = (
    "  expected: inputs x; outputs y; attributes alpha (FLOAT), beta (INT)\n"
    "  next step: correct the model, or the kernel's declaration."
)


def misfit(problem: str) -> str:
    return f"Node `here` (mine::scale) does not fit kernel `scale`: {problem}.\n{DECLARED}"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            scaled(alpha=1.0, beta=1, gamma=2),
            misfit("Unrecognized attribute: gamma for operator scale"),
        ),
        (scaled(alpha=1.0), misfit("Required attribute 'beta' is missing")),
        (
            scaled(alpha=1, beta=1),
            misfit("Mismatched attribute type in 'here : alpha'. Expected: 'FLOAT', actual: 'INT'"),
        ),
        (
            scaled(alpha=1.0, beta=2**40),
            "The operator `onnx.scale` at `here` has 1099511627776 for the scalar `beta`.\n"
            "  expected: a number that i32 holds\n"
            "  next step: correct the number, or declare a larger type.",
        ),
        (
            node("scale", ["x", "x"], ["y"], "here", alpha=1.0, beta=1),
            misfit(
                "Node(here) with schema(mine::scale:1) has input size 2 not in range [min=1, max=1]"
            ),
        ),
        (
            node("scale", [""], ["y"], "here", alpha=1.0, beta=1),
            misfit("Node (here)'s input 0 is marked single but has an empty string in the graph"),
        ),
        (
            node("scale", ["x"], ["y", "z"], "here", alpha=1.0, beta=1),
            misfit(
                "Node(here) with schema(mine::scale:1) has output size 2 not in range "
                "[min=1, max=1]"
            ),
        ),
        (
            node("scael", ["x"], ["y"], "", alpha=1.0, beta=1),
            "Node `-> y` (mine::scael) is an operator of no kernel.\n"
            "  expected: an operator of ONNX, or one of the kernels: scale\n"
            "  next step: give the kernel too, or correct the name.",
        ),
        (
            node("Relu", ["x"], ["y"], "here"),
            "Node `here` (mine::Relu) is of a domain that IREE's importer drops: it would be taken "
            "for ONNX's own Relu.\n"
            "  expected: an operator of ONNX, or of a kernel with another name\n"
            "  next step: rename the operator, or write the model without it.",
        ),
    ],
)
def test_a_node_that_does_not_fit_is_named(bad: onnx.NodeProto, said: str) -> None:
    assert refusal(LinkError, model_of([bad], {"x": ["n"]}, {"y": ["n"]})) == said


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TensorProto.DOUBLE, "double"),
        (TensorProto.COMPLEX64, "complex64"),
        (TensorProto.INT4, "int4"),
    ],
)
def test_types_that_a_kernel_does_not_take_are_named(kind: int, name: str) -> None:
    model = model_of([GOOD], {"x": [2]}, {"y": [2]}, kind=kind)
    assert refusal(LinkError, model) == (
        f"Node `here` (mine::scale): its input `x` has elements of type {name}.\n"
        "  expected: float, for the kernel's f32\n"
        "  next step: insert a Cast, or give a kernel of that type."
    )


def test_a_rank_that_does_not_fit_is_named() -> None:
    assert refusal(LinkError, model_of([GOOD], {"x": [2, 2]}, {"y": [2, 2]})) == (
        "Node `here` (mine::scale) does not fit: Kernel `scale`: operand `x` has shape [2, 2], "
        "which is rank 2.\n"
        "  expected: rank 1: [n]\n"
        "  next step: correct the model, or the kernel's declaration."
    )


def test_a_type_that_nobody_knows_is_named_with_its_node() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["t"], "reshape"),
        helper.make_node("Abs", ["t"], ["u"], "abs"),
        node("simple_mul", ["u", "u"], ["y"], "k"),
    ]
    model = model_of(nodes, {"x": ["n"]}, {"y": ["n"]})
    model.graph.input.append(value("shape", ["r"], TensorProto.INT64))
    assert refusal(ModelError, model, simple_mul) == (
        "Node `reshape` (Reshape): the rank of its result `t` is not known.\n"
        "  expected: a node whose results' types follow from its inputs'\n"
        "  next step: say the type in the model: graph.value_info.append("
        'onnx.helper.make_tensor_value_info("t", ...)).'
    )


@pytest.mark.parametrize(
    ("shape", "kind", "said"),
    [
        ([2], TensorProto.STRING, "The input `other` of the ONNX model is of type string."),
        ([2], TensorProto.UINT4, "The input `other` of the ONNX model is of type uint4."),
    ],
)
def test_inputs_that_no_array_fits_are_named(shape: Any, kind: int, said: str) -> None:
    model = model_of([GOOD], {"x": ["n"]}, {"y": ["n"]})
    model.graph.input.append(value("other", shape, kind))
    assert refusal(ModelError, model).splitlines()[0] == said


@pytest.mark.parametrize(
    ("made", "kinds", "said"),
    [
        (
            helper.make_node("Div", ["a", "a"], ["b"], "quotient"),
            (TensorProto.UINT8, TensorProto.UINT8),
            "Node `quotient` (Div) is on uint8, which IREE treats as signed numbers.\n"
            "  expected: signed integers, or floats\n"
            "  next step: insert a Cast to INT64 before it, and one back.",
        ),
        *(
            (
                helper.make_node(name, ["a"] * count, ["b"], "it"),
                (TensorProto.UINT8, kind),
                f"Node `it` ({name}) is on uint8, which IREE treats as signed numbers.\n"
                "  expected: signed integers, or floats\n"
                "  next step: insert a Cast to INT64 before it, and one back.",
            )
            for name, count, kind in (
                ("Abs", 1, TensorProto.UINT8),
                ("Clip", 1, TensorProto.UINT8),
                ("Pow", 2, TensorProto.UINT8),
            )
        ),
        (
            helper.make_node("Cast", ["a"], ["b"], "bytes", to=TensorProto.UINT8),
            (TensorProto.BFLOAT16, TensorProto.UINT8),
            "Node `bytes` (Cast) makes uint8 of bfloat16, which IREE does as if it were signed.\n"
            "  expected: a Cast of signed integers\n"
            "  next step: insert a Cast to INT32 before it.",
        ),
    ],
)
def test_what_iree_takes_for_signed_is_refused(made: Any, kinds: Any, said: str) -> None:
    model = norm_model()
    model.graph.node.append(made)
    model.graph.input.append(value("a", [2], kinds[0]))
    model.graph.output.append(value("b", [2], kinds[1]))
    assert refusal(ModelError, model, row_layer_norm) == said


def test_an_invalid_model_is_refused_with_what_onnx_finds() -> None:
    model = model_of([GOOD], {"x": ["n"]}, {"y": ["n"]})
    del model.opset_import[1]
    assert refusal(ModelError, model).splitlines()[:3] == [
        "The ONNX model is not valid.",
        "  next step: correct what ONNX's own checks find:",
        "No opset import for domain 'mine'",
    ]


def test_an_operator_that_iree_does_not_convert_is_named_with_its_node() -> None:
    nodes = [helper.make_node("Unique", ["x"], ["u"], "unique"), node(
        "scale", ["u"], ["y"], "here", alpha=1.0, beta=1
    )]  # fmt: skip
    assert refusal(LinkError, model_of(nodes, {"x": ["n"]}, {"y": ["n"]})) == (
        "IREE does not convert the operator `onnx.Unique` at `unique`, at least not with these "
        "attributes, inputs and types.\n"
        "  expected: what IREE converts, or a node that a kernel takes\n"
        "  next step: export the model in another way, or replace the node with a kernel: "
        "cd.onnx.Pattern."
    )


def test_a_kernel_with_the_name_of_an_operator_of_onnx_is_refused() -> None:
    model = model_of([node("Relu", ["x"], ["y"], alpha=1.0, beta=1)], {"x": ["n"]}, {"y": ["n"]})
    assert refusal(LinkError, model, scale.with_launch(name="Relu")) == (
        "Kernel `Relu`, of the domain mine, has the name of an operator of ONNX.\n"
        "  expected: a name of its own: IREE's importer drops domains\n"
        '  next step: rename it: kernel.with_launch(name="another").'
    )


def test_files_that_are_no_models_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    assert refusal(ModelError, path) == (
        f"The model `{path}` cannot be read: No such file or directory.\n"
        "  expected: an .onnx file\n"
        "  next step: correct the path."
    )
    path.write_bytes(b"garbage")
    assert refusal(ModelError, path).splitlines()[0] == (
        f"`{path}` is not an ONNX model, or it was cut short."
    )
    path.write_bytes(b"")
    assert refusal(ModelError, path).splitlines()[0] == (
        "The model has no graph, or one without outputs."
    )
    assert refusal(ModelError, 3).splitlines()[0] == "The model is 3."


def test_weights_in_other_files_are_looked_at(tmp_path: Path) -> None:
    path, beside = tmp_path / "model.onnx", tmp_path / "weights.bin"
    onnx.save(
        norm_model(), path, save_as_external_data=True, location=beside.name, size_threshold=0
    )
    model = onnx.load(path, load_external_data=False)
    assert refusal(ModelError, model, row_layer_norm).splitlines()[0] == (
        "The tensor `matrix` is in another file, `weights.bin`."
    )
    beside.write_bytes(beside.read_bytes()[:100])
    assert refusal(ModelError, path, row_layer_norm).splitlines()[0] == (
        f"The tensor `matrix` has 8192 bytes, and `{beside}` has 100, in which it is said to have "
        "8192 from 0 on."
    )
    beside.unlink()
    assert refusal(ModelError, path, row_layer_norm).splitlines()[0] == (
        f"The tensor `matrix` is in `{beside}`, which cannot be read: No such file or directory."
    )
    model.graph.initializer[0].external_data[0].value = "../weights.bin"
    path.write_bytes(model.SerializeToString())
    assert refusal(ModelError, path, row_layer_norm).splitlines()[0] == (
        "The tensor `matrix` is in `../weights.bin`, which is not below the model's directory."
    )


def test_open_sizes_that_differ_are_refused_when_the_model_is_called() -> None:
    """IREE takes them for equal: it would broadcast nothing, and read beside an operand."""
    make = helper.make_node
    model = model_of(
        [
            make("Add", ["a", "b"], ["sum"]),
            make("MatMul", ["sum", "c"], ["product"]),
            make("Relu", ["product"], ["same"]),
            make("Add", ["same", "product"], ["y"]),
            node("simple_mul", ["x", "x"], ["z"]),
        ],
        {**{name: [f"{name}0", f"{name}1"] for name in "abc"}, "x": ["n"]},
        {"y": ["rows", "columns"], "z": ["n"]},
    )
    call = cd.load(cd.onnx.compile(model, ["cpu"], kernels=[simple_mul]), "cpu").main
    x = numpy.ones(4, numpy.float32)

    def given(*shapes: tuple[int, int]) -> list[Any]:
        random = numpy.random.default_rng()
        return [*(random.standard_normal(shape).astype(numpy.float32) for shape in shapes), x]

    a, b, c, _ = arrays = given((3, 5), (3, 5), (5, 2))
    product = (a + b) @ c
    numpy.testing.assert_allclose(call(*arrays)[0], product + product.clip(0), rtol=1e-4, atol=1e-5)
    for shapes in (
        ((1, 5), (3, 5), (5, 2)),
        ((3, 5), (3, 1), (5, 2)),
        ((3, 5), (3, 5), (4, 2)),
    ):
        with pytest.raises(CallError) as caught:
            call(*given(*shapes))
        assert str(caught.value) == (
            "`main` refused the call: model `main`: two operands of an operation differ in a size "
            "that the model leaves open, which IREE does not broadcast.\n"
            "  next step: pass arrays of the same sizes, or state the sizes in the model."
        )


@pytest.mark.parametrize("graph", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_functions_of_one_module_share_tensors(graph: bool) -> None:
    make, kind = onnx.helper, onnx.TensorProto.FLOAT
    weight = numpy.random.default_rng(0).normal(size=(64, 64)).astype("f")

    def model(rows: int, version: int, name: str) -> onnx.ModelProto:
        held = onnx.numpy_helper.from_array(weight, name)
        nodes = [
            make.make_node("MatMul", ["x", name], ["p"]),
            make.make_node("Softsign", ["p"], ["s"]),
        ]
        nodes.append(make.make_node("Softmax" if rows > 1 else "Softsign", ["s"], ["y"]))
        ends = [make.make_tensor_value_info(end, kind, [rows, 64]) for end in "xy"]
        graph = make.make_graph(nodes, "graph", ends[:1], ends[1:], [held])
        return make.make_model(graph, opset_imports=[make.make_opsetid("", version)])

    models = {"prefill": model(5, 18, "w"), "step": model(1, 21, "v")}
    module = cd.onnx.compile(models, ["cpu"], verify=True, graph=graph)
    assert module.parameters is not None
    assert [item.name for item in module.parameters.entries] == ["w"]
    program = cd.load(module, "cpu")
    for (name, each), rows in zip(models.items(), (5, 1), strict=True):
        x = numpy.random.default_rng(1).normal(size=(rows, 64)).astype("f")
        (wanted,) = onnx.reference.ReferenceEvaluator(each).run(None, {"x": x})
        numpy.testing.assert_allclose(program.function(name)(x), wanted, rtol=1e-4, atol=1e-5)
