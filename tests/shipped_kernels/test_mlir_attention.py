"""Attention that models write out, in linalg: what is taken, what is left, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels.patterns import mlir as mlir_patterns
from custom_dispatch.errors import ReplacementWarning
from custom_dispatch.frontends.mlir import place
from custom_dispatch.replaced import Replaced

torch = pytest.importorskip("torch")
Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]


def weighted(scores: Any, v: Any) -> Any:
    """As transformers has it: softmax in f32, rounded."""
    return torch.softmax(scores, -1, dtype=torch.float32).to(v.dtype) @ v


def scores(q: Any, k: Any) -> Any:
    return q @ k.transpose(-2, -1)


# By name: a function, and the shapes that it takes; odd sizes, and dims of one element.
TAKEN: dict[str, Case] = {
    "shared": (
        lambda q, k, v, m: weighted(scores(q, k) * 32**-0.5 + m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 7, 5)),
    ),
    "one_for_all": (
        lambda q, k, v, m: weighted(scores(q, k) * 0.3 + m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (1, 1, 7, 5)),
    ),
    "one_batch": (
        lambda q, k, v, m: weighted(scores(q, k) / 32**0.5 + m, v),
        ((1, 3, 7, 32), (1, 3, 5, 32), (1, 3, 5, 32), (1, 1, 7, 5)),
    ),
    "one_query": (
        lambda q, k, v, m: weighted(scores(q, k) * 0.3 + m, v),
        ((2, 3, 1, 32), (2, 3, 65, 32), (2, 3, 65, 32), (2, 1, 1, 65)),
    ),
    "key": (
        lambda q, k, v, m: weighted(scores(q, k) / 32**0.5 + m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 1, 5)),
    ),
    "none": (
        lambda q, k, v: weighted(scores(q, k) * 0.3, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32)),
    ),
    "before": (  # as in Whisper and OPT: the scale comes with the queries
        lambda q, k, v, m: weighted(scores(q * 0.3, k) + m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 7, 5)),
    ),
    "flat": (
        lambda q, k, v, m: weighted(scores(q, k) * 0.3 + m, v),
        ((3, 7, 32), (3, 5, 32), (3, 5, 32), (3, 7, 5)),
    ),
}
KERNELS = {
    "shared": "flat_shared_masked_attention",
    "one_for_all": "flat_shared_masked_attention",
    "one_batch": "flat_shared_masked_attention",
    "one_query": "flat_shared_masked_attention",
    "key": "flat_key_masked_attention",
    "none": "flat_attention",
    "before": "flat_shared_masked_attention",
    "flat": "flat_masked_attention",
}
LEFT: dict[str, Case] = {
    "another axis": (
        lambda q, k, v: torch.softmax(scores(q, k) * 0.3, -2) @ v,
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32)),
    ),
    "a mask that is a factor": (
        lambda q, k, v, m: weighted(scores(q, k) * 0.3 * m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 7, 5)),
    ),
    "a mask for each head": (
        lambda q, k, v, m: weighted(scores(q, k) * 0.3 + m, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 3, 7, 5)),
    ),
    "a mask before the scale": (
        lambda q, k, v, m: weighted((scores(q, k) + m) * 0.3, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 7, 5)),
    ),
    "a scale for each head": (
        lambda q, k, v, s: weighted(scores(q, k) * s, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (3, 1, 1)),
    ),
    "another divisor": (
        lambda q, k, v: weighted(scores(q, k) / 5.0, v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32)),
    ),
    "heads of another size": (
        lambda q, k, v: weighted(scores(q, k) * 0.3, v),
        ((2, 3, 7, 48), (2, 3, 5, 48), (2, 3, 5, 48)),
    ),
    "weights that are a result": (
        lambda q, k, v: ((w := torch.softmax(scores(q, k) * 0.3, -1)), w @ v),
        ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32)),
    ),
}


def text_of(cases: dict[str, Case], dtype: Any, *, decompose: bool = False) -> str:
    """All of them, one after another, in the torch dialect; as IREE's tools import them."""
    from iree.compiler.extras.fx_importer import FxImporter

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, *given: Any) -> Any:
            results, rest = [], list(given)
            for function, shapes in cases.values():
                results.append(function(*rest[: len(shapes)]))
                del rest[: len(shapes)]
            return tuple(results)

    given = tuple(torch.randn(*size, dtype=dtype) for _, sizes in cases.values() for size in sizes)
    program = torch.export.export(Model(), given)
    importer = FxImporter()
    importer.import_program(
        program.run_decompositions() if decompose else program, func_name="main"
    )
    return str(importer.module)


def replaced(text: str) -> Replaced:
    found = place(text, [], mlir_patterns.attention).replaced
    assert found is not None
    return found


@pytest.mark.parametrize("dtype", ["f32", pytest.param("bf16", marks=pytest.mark.thorough)])
def test_each_form_is_taken(dtype: str) -> None:
    of_torch = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    found = sorted(item.kernel for item in replaced(text_of(TAKEN, of_torch)))
    assert found == sorted(f"{name}_{dtype}_32" for name in KERNELS.values())


def test_what_only_looks_like_it_is_left() -> None:
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
        replaced(text_of(LEFT, torch.float32))


def attended(name: str, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """In f64."""
    scale = 32**-0.5 if name in ("shared", "key") else 0.3
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    result = q @ k.swapaxes(-1, -2) * scale + (0.0 if mask is None else mask.astype(np.float64))
    powers = np.exp(result - result.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize(
    ("dtype", "names", "error"),
    [
        ("float32", ("shared", "one_for_all", "one_query", "key", "before"), 2e-6),
        pytest.param("float16", ("shared",), 2e-3, marks=pytest.mark.thorough),
    ],
)
def test_what_comes_out(dtype: str, names: tuple[str, ...], error: float) -> None:
    cases = {name: TAKEN[name] for name in names}
    text = text_of(cases, getattr(torch, dtype))
    module = cd.compile(text, [], ["cpu"], replace=mlir_patterns.attention)
    assert module.replaced is not None
    assert len(module.replaced) == len(cases)
    random = np.random.default_rng(8)
    given = [
        [random.standard_normal(shape).astype(dtype) for shape in shapes]
        for _, shapes in cases.values()
    ]
    for _, _, _, mask in given:
        mask[..., 1] = -np.inf  # nobody sees this key
    found = cd.load(module, "cpu").main(*(array for each in given for array in each))
    results = found if isinstance(found, tuple) else (found,)
    for name, arrays, got in zip(cases, given, results, strict=True):
        np.testing.assert_allclose(np.asarray(got), attended(name, *arrays), atol=error, rtol=error)


def decomposed(*mask: int, **options: Any) -> Case:
    def function(*given: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(*given, **options)

    shapes = ((2, 3, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32))
    return function, (*shapes, mask) if mask else shapes


# By name: the case, the kernels in f32 and in 16 bits, and whether these are causal.
DECOMPOSED: dict[str, tuple[Case, str, str, bool]] = {
    "none": (decomposed(), "flat_attention", "attention", False),
    "causal": (decomposed(is_causal=True), "flat_attention", "attention", True),
    "mask": (
        decomposed(2, 1, 7, 5), "flat_shared_masked_attention", "masked_attention", False
    ),
    "key": (decomposed(2, 1, 1, 5), "flat_key_masked_attention", "attention", False),
}  # fmt: skip


@pytest.mark.parametrize(
    "dtype",
    ["float16", *(pytest.param(t, marks=pytest.mark.thorough) for t in ("float32", "bfloat16"))],
)
def test_what_pytorch_decomposes_it_to_is_taken(dtype: str) -> None:
    of = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[dtype]
    cases = {name: case for name, (case, *_) in DECOMPOSED.items()}
    found = replaced(text_of(cases, getattr(torch, dtype), decompose=True))
    assert {(item.kernel, item.scalars["causal"]) for item in found} == {
        (f"{wide if of == 'f32' else narrow}_{of}_32", causal)
        for _, wide, narrow, causal in DECOMPOSED.values()
    }
    assert {item.scalars["scale"] for item in found} == {1.0 if of == "f32" else 32**-0.5}


def test_what_it_is_decomposed_to_in_16_bits_comes_out() -> None:
    cases = {name: case for name, (case, *_) in DECOMPOSED.items()}
    text = text_of(cases, torch.bfloat16, decompose=True)
    module = cd.compile(text, [], ["cpu"], replace=mlir_patterns.attention)
    assert module.replaced is not None
    assert len(module.replaced) == len(cases)
    torch.manual_seed(4)
    given = [[torch.randn(size).bfloat16() for size in shapes] for _, shapes in cases.values()]
    given[2][3][1, :, 3] = -torch.inf  # a query that sees nothing
    results = cd.load(module, "cpu").main(*(tensor for each in given for tensor in each))
    for (function, _), tensors, got in zip(cases.values(), given, results, strict=True):
        want = function(*tensors)
        torch.testing.assert_close(torch.from_dlpack(got), want, rtol=2e-2, atol=2e-2)


def test_decomposed_with_another_scale_is_left_in_16_bits() -> None:
    """The scale's root is a number of the model there, which is none of the kernel's scalars."""
    text = text_of({"scaled": decomposed(2, 1, 7, 5, scale=0.3)}, torch.bfloat16, decompose=True)
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
        replaced(text)


def test_heads_that_share_keys_need_no_copies() -> None:
    """With a mask and causal; any number of heads."""
    attended = torch.nn.functional.scaled_dot_product_attention

    def repeated(q: Any, k: Any, v: Any, mask: Any) -> Any:
        def each(x: Any) -> Any:
            batch, heads, keys, dim = x.shape
            wide = x[:, :, None].expand(batch, heads, 3, keys, dim)
            return wide.reshape(batch, 3 * heads, keys, dim)

        return attended(q, each(k), each(v), mask)

    def shared(q: Any, k: Any, v: Any) -> Any:
        return attended(q, k, v, is_causal=True, enable_gqa=True)

    cases = {
        "masked": (repeated, ((2, 9, 7, 32), (2, 3, 5, 32), (2, 3, 5, 32), (2, 1, 7, 5))),
        "causal": (shared, ((3, 8, 7, 32), (3, 2, 7, 32), (3, 2, 7, 32))),
    }
    text = text_of(cases, torch.float32)
    module = cd.compile(text, [], ["cpu"], replace=mlir_patterns.attention)
    assert module.replaced is not None
    names = sorted(item.kernel for item in module.replaced)
    assert names == ["attention_f32_32", "masked_attention_f32_32"]
    given = [[torch.randn(size) for size in shapes] for _, shapes in cases.values()]
    results = cd.load(module, "cpu").main(*(tensor for each in given for tensor in each))
    for (function, _), tensors, got in zip(cases.values(), given, results, strict=True):
        torch.testing.assert_close(torch.from_dlpack(got), function(*tensors), rtol=1e-5, atol=1e-5)


class Open(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Three heads of 32, and a mask that follows from what comes in."""

    def forward(self, x: Any) -> Any:
        batch, rows, _ = x.shape
        heads = x.reshape(batch, rows, 3, 32).transpose(1, 2)
        mask = x[:, None, :, :1] + x[:, None, None, :, 1]
        return weighted(scores(heads, heads) * 0.3 + mask, heads)


def test_how_many_sentences_and_rows_there_are_may_be_open() -> None:
    from iree.compiler.extras.fx_importer import FxImporter

    sizes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("rows")},)
    program = torch.export.export(Open(), (torch.randn(2, 5, 96),), dynamic_shapes=sizes)
    importer = FxImporter()
    importer.import_program(program, func_name="main")
    module = cd.compile(str(importer.module), [], ["cpu"], replace=mlir_patterns.attention)
    assert module.replaced is not None
    assert [item.kernel for item in module.replaced] == ["flat_shared_masked_attention_f32_32"]
    main = cd.load(module, "cpu").main
    random = np.random.default_rng(9)
    for batch, rows in ((2, 5), (3, 8)):
        x = random.standard_normal((batch, rows, 96)).astype("f4")
        q = x.reshape(batch, rows, 3, 32).swapaxes(1, 2)
        mask = x[:, None, :, :1] + x[:, None, None, :, 1]
        want = attended("open", q, q, q, mask)
        np.testing.assert_allclose(np.asarray(main(x)), want, rtol=2e-6, atol=2e-6)


def test_sentences_of_queries_and_masks_that_nobody_says_are_as_many_are_left() -> None:
    from iree.compiler.extras.fx_importer import FxImporter

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, *given: Any) -> Any:
            return TAKEN["shared"][0](*given)

    shapes = TAKEN["shared"][1]
    batch = torch.export.Dim("batch")
    program = torch.export.export(
        Model(),
        tuple(torch.randn(*shape) for shape in shapes),
        dynamic_shapes=(tuple({0: batch} for _ in shapes),),
    )
    importer = FxImporter()
    importer.import_program(program, func_name="main")
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
        replaced(str(importer.module))
