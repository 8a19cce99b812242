"""Norms and activations of 16 bits in linalg, as PyTorch and ONNX have them there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.patterns import mlir as mlir_patterns
from custom_dispatch.errors import ReplacementWarning
from custom_dispatch.frontends.mlir import place

torch = pytest.importorskip("torch")
functional: Any = torch.nn.functional
PATTERNS = (
    *mlir_patterns.layer_norm,
    *mlir_patterns.rms_norm,
    *mlir_patterns.swiglu,
    *mlir_patterns.gelu,
)


def new_gelu(x: Any) -> Any:
    """`NewGELUActivation` of transformers, which GPT-2 has."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class Everything(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Each of them, of what comes before."""

    def forward(self, x: Any, weight: Any, bias: Any) -> Any:
        size = (x.shape[-1],)
        a = functional.layer_norm(x, size, weight, bias, 1e-5)
        b = functional.layer_norm(a, size, eps=1e-12)
        c = functional.rms_norm(b, size, weight, 1e-6)
        d = functional.silu(c) * x
        e = functional.gelu(d)
        f = functional.gelu(e, approximate="tanh")
        return new_gelu(f), a, b, c, d, e, f


NAMES = ["gelu_erf", "gelu_tanh", "gelu_tanh", "layer_norm", "layer_norm", "rms_norm", "swiglu"]


class Others(torch.nn.Module):  # type: ignore[misc, name-defined]
    """What is nearly one of them."""

    def forward(self, x: Any, weight: Any, bias: Any) -> Any:
        centred = x - x.mean(-1, keepdim=True)
        return (
            0.5 * x * (1.0 + torch.tanh(0.8 * (x + 0.044715 * torch.pow(x, 3.0)))),
            x * torch.sigmoid(1.702 * x) * x,
            centred * torch.rsqrt((centred * centred).mean(-2, keepdim=True) + 1e-5),
            x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + bias[:1]) * weight,
            (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5),
        )


def text_of(module: Any, dtype: Any, *, is_open: bool = False, decompose: bool = False) -> str:
    from iree.compiler.extras.fx_importer import FxImporter

    given = torch.randn(2, 5, 48, dtype=dtype), *torch.randn(2, 48, dtype=dtype)
    rows = ({1: torch.export.Dim("rows")}, None, None) if is_open else None
    program = torch.export.export(module.eval(), given, dynamic_shapes=rows)
    importer = FxImporter()
    importer.import_program(
        program.run_decompositions() if decompose else program, func_name="main"
    )
    return str(importer.module)


def found(text: str) -> list[str]:
    replaced = place(text, [], PATTERNS).replaced
    assert replaced is not None
    return sorted(item.kernel for item in replaced)


@pytest.mark.parametrize(
    ("dtype", "is_open", "decompose"),
    [("bf16", False, False), ("f16", True, False), ("f16", False, True)],
)
def test_what_pytorch_has_is_found(dtype: str, is_open: bool, decompose: bool) -> None:
    of_torch = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    text = text_of(Everything(), of_torch, is_open=is_open, decompose=decompose)
    assert found(text) == [f"{name}_{dtype}" for name in NAMES]


def test_what_only_looks_like_it_is_left() -> None:
    """Another factor, sigmoid, axis, epsilon and variance."""
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
        found(text_of(Others(), torch.float16))


def test_what_comes_out_has_the_epsilon_that_was_written() -> None:
    """In f16 it would be 0, and the norm of equal numbers no number."""

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, weight: Any, bias: Any) -> Any:
            normed = functional.layer_norm(x, (x.shape[-1],), weight, bias, 1e-12)
            return normed, new_gelu(normed)

    module = cd.compile(text_of(Model(), torch.float16), [], ["cpu:host"], replace=PATTERNS)
    assert module.replaced is not None
    assert sorted((item.kernel, dict(item.scalars)) for item in module.replaced) == [
        ("gelu_tanh_f16", {}),
        ("layer_norm_f16", {"epsilon": 1e-12}),
    ]
    random = np.random.default_rng(4)
    x, weight, bias = (
        random.standard_normal(shape).astype(np.float16) for shape in ((2, 5, 48), (48,), (48,))
    )
    x[1, 2] = 3.0
    normed, activated = (np.asarray(each) for each in cd.load(module, "cpu").main(x, weight, bias))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12) * weight + bias
    np.testing.assert_allclose(normed, want, rtol=2**-9, atol=2**-9)
    y = normed.astype(np.float64)
    want = 0.5 * y * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (y + 0.044715 * y**3)))
    np.testing.assert_allclose(activated, want, rtol=2**-10, atol=2**-12)


def test_layer_norm_of_onnx_is_found_where_it_is_in_f32(tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    from iree.compiler.tools.import_onnx.__main__ import main, parse_arguments

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT16
    shapes = {"x": [2, 5, 48], "w": [48], "b": [48], "y": [2, 5, 48], "z": [2, 5, 48]}
    infos = {name: helper.make_tensor_value_info(name, kind, s) for name, s in shapes.items()}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "w", "b"], ["n"], epsilon=1e-6),
        helper.make_node("LayerNormalization", ["n", "w", "b"], ["z"], axis=1),
        helper.make_node("Gelu", ["n"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "main", [infos[name] for name in "xwb"], [infos["y"], infos["z"]]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "model.onnx")
    main(parse_arguments([str(tmp_path / "model.onnx"), "-o", str(tmp_path / "model.mlir")]))
    assert found((tmp_path / "model.mlir").read_text()) == ["gelu_erf_f16", "layer_norm_f16"]
