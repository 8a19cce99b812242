"""Nodes of onnxruntime's own operators, and what onnxruntime computes for them.

`python -m tests.frontends.onnxruntime_cases` writes the results anew where onnxruntime is
installed, which tests do not need: those in the file are of onnxruntime 1.32 on a CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import TensorProto, helper

RESULTS = Path(__file__).with_name("onnxruntime_results.npz")
Arrays = dict[str, numpy.ndarray[Any, Any]]


def node(operator: str, inputs: str, outputs: str = "y", **attributes: Any) -> onnx.NodeProto:
    """A node; names are separated by blanks, and "-" stands for none."""
    names = [[name.strip("-") for name in text.split()] for text in (inputs, outputs)]
    domain = "" if operator == "SimplifiedLayerNormalization" else "com.microsoft"
    return helper.make_node(operator, *names, name="it", domain=domain, **attributes)


def integers(*numbers: Any, kind: str = "i4") -> numpy.ndarray[Any, Any]:
    return numpy.asarray(numbers, kind)


MASK = integers([1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0])
MASK_5 = integers([1, 1, 1, 1, 1], [1, 1, 1, 0, 0])
PAST_MASK = integers([1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1, 1])
SEEN = numpy.tril(numpy.ones((2, 5, 5), "i4"))
PLACES = integers([0, 1, 2, 3, 4], [2, 3, 4, 5, 6], kind="i8")
ROWS = {"x": (2, 3, 8), "s": (2, 3, 8), "g": (8,), "b": (8,), "c": (8,)}
QKV = {"q": (2, 5, 16), "k": (2, 7, 16), "v": (2, 7, 16)}
SELF = dict.fromkeys("qkv", (2, 5, 16))
PAST = {"pk": (2, 2, 3, 8), "pv": (2, 2, 3, 8)}
PROJECTED = {"x": (2, 5, 8), "w": (8, 48), "b": (48,)}
TURNED = {"c": (9, 4), "s": (9, 4)}
IMAGE = {"x": (1, 3, 6, 6), "w": (4, 3, 3, 3), "b": (4,)}
PADS = {"pads": [1, 1, 1, 1]}
GROUPED = {"q": (2, 1, 64), "k": (2, 1, 32), "v": (2, 1, 32)}
CACHE = {"pk": (2, 2, 6, 16), "pv": (2, 2, 6, 16)}
STEP = {"l": integers(6, 4), "t": numpy.asarray(7, "i4")}
PROMPT = {"q": (2, 5, 64), "k": (2, 5, 32), "v": (2, 5, 32)}
WHOLE = {"l": integers(4, 4), "t": numpy.asarray(5, "i4")}
HEADS = {"num_heads": 2}
KV = {"num_heads": 4, "kv_num_heads": 2}


def bits(n: int, groups: int, size: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(n).integers(0, 256, (n, groups, size)).astype("u1")


def zeros(n: int, count: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(n).integers(0, 256, (n, count)).astype("u1")


N4 = {"K": 48, "N": 5, "block_size": 16}
CASES: dict[str, tuple[onnx.NodeProto, dict[str, Any]]] = {
    "skip": (node("SkipLayerNormalization", "x s g b c", "y - - t", epsilon=1e-5), ROWS),
    "skip alone": (
        node("SkipLayerNormalization", "x s g", epsilon=1e-5),
        {"x": (2, 3, 8), "s": (3, 8), "g": (8,)},
    ),
    "skip rms": (node("SkipSimplifiedLayerNormalization", "x s g b", "y - - t"), ROWS),
    "rms": (node("SimplifiedLayerNormalization", "x g", axis=-1, epsilon=1e-5), ROWS),
    "embed": (
        node("EmbedLayerNormalization", "i j w p e g b m", "y n", epsilon=1e-5),
        {
            "i": integers([1, 2, 3], [4, 0, 1]),
            "j": integers([0, 1, 0], [1, 1, 0]),
            "w": (6, 8),
            "p": (5, 8),
            "e": (2, 8),
            "g": (8,),
            "b": (8,),
            "m": integers([1, 1, 1], [1, 0, 0]),
        },
    ),
    "gelu": (node("Gelu", "x"), ROWS),
    "fast": (node("FastGelu", "x b"), ROWS),
    "bias": (node("BiasGelu", "x b"), ROWS),
    "quick": (node("QuickGelu", "x", alpha=1.5), ROWS),
    "product": (
        node("FusedMatMul", "a b", alpha=0.5, transB=1),
        {"a": (2, 3, 4, 5), "b": (2, 3, 6, 5)},
    ),
    "of columns": (node("FusedMatMul", "a b", transA=1), {"a": (5, 4), "b": (5, 6)}),
    "gemm": (
        node("FusedGemm", "a b c", activation="Tanh", transB=1),
        {"a": (3, 5), "b": (4, 5), "c": (4,)},
    ),
    "convolution": (node("FusedConv", "x w b", activation="Relu", **PADS), IMAGE),
    "clipped": (
        node("FusedConv", "x w", activation="Clip", activation_params=[0.0, 0.6]),
        IMAGE,
    ),
    "leaky": (
        node("FusedConv", "x w b", activation="LeakyRelu", activation_params=[0.1]),
        IMAGE,
    ),
    "residual": (
        node("FusedConv", "x w b z", activation="Relu", **PADS),
        {**IMAGE, "z": (1, 4, 6, 6)},
    ),
    "heads": (node("MultiHeadAttention", "q k v b", scale=0.3, **HEADS), {**QKV, "b": (48,)}),
    "masked heads": (
        node("MultiHeadAttention", "q k v - m a", **HEADS),
        {**QKV, "m": MASK, "a": (1, 2, 5, 7)},
    ),
    "lengths": (node("MultiHeadAttention", "q k v - m", **HEADS), {**QKV, "m": integers(7, 4)}),
    "causal heads": (node("MultiHeadAttention", "q k v", unidirectional=1, **HEADS), SELF),
    "causal and masked": (
        node("MultiHeadAttention", "q k v - m", unidirectional=1, **HEADS),
        {**SELF, "m": MASK_5},
    ),
    "past": (
        node("MultiHeadAttention", "q k v - - - pk pv", "y c d", unidirectional=1, **HEADS),
        {**SELF, **PAST},
    ),
    "keys in heads": (
        node("MultiHeadAttention", "q k v", **HEADS),
        {"q": (2, 5, 16), "k": (2, 2, 7, 8), "v": (2, 2, 7, 8)},
    ),
    "attention": (node("Attention", "x w b m", **HEADS), {**PROJECTED, "m": MASK_5}),
    "attention of lengths": (
        node("Attention", "x w b m", **HEADS),
        {**PROJECTED, "m": integers(5, 3)},
    ),
    "attention of pairs": (node("Attention", "x w b m", **HEADS), {**PROJECTED, "m": SEEN}),
    "attention with past": (
        node("Attention", "x w b m p", "y n", unidirectional=1, **HEADS),
        {**PROJECTED, "m": PAST_MASK, "p": (2, 2, 2, 3, 8)},
    ),
    "attention of sizes": (
        node("Attention", "x w b", qkv_hidden_sizes=[16, 16, 8], **HEADS),
        {"x": (2, 5, 8), "w": (8, 40), "b": (40,)},
    ),
    "rotary": (node("RotaryEmbedding", "x p c s"), {"x": (2, 5, 16), "p": PLACES, **TURNED}),
    "neighbours": (
        node("RotaryEmbedding", "x p c s", interleaved=1),
        {"x": (2, 2, 5, 8), "p": PLACES, **TURNED},
    ),
    "from an offset": (
        node("RotaryEmbedding", "x p c s"),
        {"x": (2, 5, 16), "p": integers(3, kind="i8"), **TURNED},
    ),
    "part of a head": (
        node("RotaryEmbedding", "x p c s", num_heads=2, rotary_embedding_dim=8),
        {"x": (2, 5, 32), "p": PLACES, **TURNED},
    ),
    "4 bits": (
        node("MatMulNBits", "x w s - - b", **N4),
        {"x": (2, 3, 48), "w": bits(5, 3, 8), "s": (5, 3), "b": (5,)},
    ),
    "4 bits with zeros": (
        node("MatMulNBits", "x w s z", **{**N4, "K": 40}),
        {"x": (2, 40), "w": bits(5, 3, 8), "s": (5, 3), "z": zeros(5, 2)},
    ),
    "8 bits with zeros": (
        node("MatMulNBits", "x w s z", bits=8, **N4),
        {"x": (2, 48), "w": bits(5, 3, 16), "s": (5, 3), "z": zeros(5, 3)},
    ),
    "grouped step": (
        node("GroupQueryAttention", "q k v pk pv l t c s", "y n o", do_rotary=1, **KV),
        {**GROUPED, **CACHE, **STEP, "c": (9, 8), "s": (9, 8)},
    ),
    "grouped prompt": (
        node("GroupQueryAttention", "q k v - - l t", "y n o", softcap=2.0, **KV),
        {**PROMPT, **WHOLE},
    ),
    "packed window": (
        node("GroupQueryAttention", "q - - pk pv l t", "y n o", local_window_size=3, **KV),
        {"q": (2, 1, 128), **CACHE, **STEP},
    ),
}


def arrays_of(name: str) -> Arrays:
    """The inputs of a case: what it says, and random numbers for shapes."""
    its, given = CASES[name]
    random = numpy.random.default_rng(len(name))
    values = {
        key: random.standard_normal(value).astype("f4") if isinstance(value, tuple) else value
        for key, value in given.items()
    }
    return {key: values[key] for key in its.input if key}


def model_of(name: str, results: dict[str, Any] | None = None) -> onnx.ModelProto:
    """A model of one node, with the shapes of its results where they are given."""
    its = CASES[name][0]
    kinds = {"n": TensorProto.INT32} if its.op_type == "EmbedLayerNormalization" else {}
    return helper.make_model(
        helper.make_graph(
            [its],
            "case",
            [
                helper.make_tensor_value_info(
                    key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
                )
                for key, value in arrays_of(name).items()
            ],
            [
                helper.make_tensor_value_info(
                    key,
                    kinds.get(key, TensorProto.FLOAT),
                    None if results is None else results[key].shape,
                )
                for key in its.output
                if key
            ],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=9,
    )


def results_of(name: str) -> Arrays:
    """What onnxruntime gave."""
    with numpy.load(RESULTS) as found:
        return {key: found[f"{name}/{key}"] for key in CASES[name][0].output if key}


def write() -> None:
    """Run onnxruntime."""
    import onnxruntime  # type: ignore[import-not-found] # not a dependency

    found = {}
    for name in CASES:
        model = model_of(name)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        names = [item.name for item in model.graph.output]
        for key, value in zip(names, session.run(None, arrays_of(name)), strict=True):
            found[f"{name}/{key}"] = value
    numpy.savez_compressed(RESULTS, **found)


if __name__ == "__main__":
    write()
