"""The patterns of the kernels that ship, on a decoder and an encoder as models write them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.attention import declare
from cuda_kernels.patterns.torch import everything
from custom_dispatch.frontends.torch import pattern as torch_pattern
from tests.places import replaced_in_torch

HEADS, KV_HEADS, SIZE = 4, 2, 32
WIDTH = HEADS * SIZE


class Attended(torch.nn.Module):
    """What it gives goes to the next projection: transposed, or reshaped before that."""

    def __init__(self, *, reshaped: bool) -> None:
        super().__init__()
        self.reshaped = reshaped

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        found = functional.scaled_dot_product_attention(
            q, k, k, enable_gqa=q.shape[1] != k.shape[1]
        )
        if self.reshaped:
            found = found.reshape(found.shape[0], -1, q.shape[2], k.shape[3])
        return found.transpose(1, 2).contiguous().reshape(q.shape[0], q.shape[2], -1)


class RmsNorm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + 1e-5)).to(x.dtype)


def half_turned(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def linear(inputs: int, outputs: int) -> torch.nn.Linear:
    return torch.nn.Linear(inputs, outputs, bias=False)


class Decoder(torch.nn.Module):
    """A layer as in Llama."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = RmsNorm(), RmsNorm()
        self.q, self.o = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
        self.k, self.v = linear(WIDTH, KV_HEADS * SIZE), linear(WIDTH, KV_HEADS * SIZE)
        self.gate, self.up, self.down = linear(WIDTH, 64), linear(WIDTH, 64), linear(64, WIDTH)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        y = self.before(x)
        q, k, v = (
            layer(y).view(batch, length, -1, SIZE).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        q, k = q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(attended.transpose(1, 2).reshape(batch, length, -1))
        y = self.after(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Encoder(torch.nn.Module):
    """What is in a sentence encoder, with a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.plain = torch.nn.LayerNorm(WIDTH, elementwise_affine=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        y = self.norm(x)
        q = y.view(*x.shape[:2], -1, SIZE).transpose(1, 2)
        wide = mask[:, None, None, :].expand(x.shape[0], 1, x.shape[1], x.shape[1])
        z = functional.scaled_dot_product_attention(q, q, q, (1.0 - wide) * -1e4)
        z = self.plain(functional.gelu(z.transpose(1, 2).reshape(x.shape)))
        return torch.softmax(functional.gelu(z, approximate="tanh"), dim=-1)


class Attention(torch.nn.Module):
    """With the mask of a padded batch, as BERT and Llama of transformers have it."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout

    def forward(self, q: torch.Tensor, k: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        mask = attended[:, None, None, :].bool().expand(-1, 1, q.shape[2], -1)
        return functional.scaled_dot_product_attention(
            q, k, k, mask, self.dropout, enable_gqa=q.shape[1] != k.shape[1]
        )


def kernels(model: torch.nn.Module, arguments: Any, shapes: Any) -> list[str]:
    report = replaced_in_torch(model.eval(), arguments, [everything], shapes)
    return sorted(item.kernel for item in report)


@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.float32, marks=pytest.mark.thorough), torch.bfloat16]
)
@pytest.mark.parametrize(("dynamic", "tables"), [(False, 1), (True, 2)])
def test_a_decoder_is_made_of_them(dtype: torch.dtype, dynamic: bool, tables: int) -> None:
    name = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    model = Decoder().to(dtype)
    angles = torch.randn(tables, 6, SIZE, dtype=dtype)
    arguments = (torch.randn(2, 6, WIDTH, dtype=dtype), angles, angles.clone())
    length = {1: torch.export.Dim("length", min=2)}
    is_few = name != "f32" and not dynamic  # 12 rows of 16 bits
    linear = f"linear_{name}"
    assert kernels(model, arguments, (length,) * 3 if dynamic else None) == [
        f"add_rms_norm_{name}",
        f"attention_bshd_{name}_32",
        *[linear] * (5 if is_few else 7),
        *([f"linear_swiglu_{name}"] if is_few else []),
        f"rms_norm_{name}",
        f"rotary_bshd_{name}",
        f"rotary_bshd_{name}",
        *([] if is_few else [f"swiglu_{name}"]),
    ]


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_an_encoder_is_made_of_them(dynamic: bool) -> None:
    arguments = (torch.randn(2, 6, WIDTH), torch.ones(2, 6))
    length = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2)}
    assert kernels(Encoder(), arguments, (length,) * 2 if dynamic else None) == [
        "gelu_erf_f32",
        "gelu_tanh_f32",
        "layer_norm_f32",
        "layer_norm_f32",
        "masked_attention_bshd_f32_32",
        "softmax_f32",
    ]


def qk(heads: int) -> tuple[torch.Tensor, ...]:
    attended = torch.ones(2, 6, dtype=torch.int64)
    attended[1, 4:] = 0
    return torch.randn(2, heads, 6, SIZE), torch.randn(2, 2, 6, SIZE), attended


@pytest.mark.parametrize(("dynamic", "heads"), [(False, 2), (True, 4)])
def test_a_mask_of_bools_is_taken_as_it_is(heads: int, dynamic: bool) -> None:
    batch, length = torch.export.Dim("batch", min=2), torch.export.Dim("length", min=2)
    of_heads = {0: batch, 2: length}
    shapes = (of_heads, of_heads, {0: batch, 1: length}) if dynamic else None
    assert kernels(Attention(), qk(heads), shapes) == ["bool_masked_attention_f32_32"]


def test_a_mask_of_bools_gives_pytorchs_numbers() -> None:
    arguments = qk(4)
    wanted = Attention()(*arguments)
    pattern = cd.torch.Pattern(
        declare("f32", SIZE, "bool", tile_keys=32).with_launch(name="with_few_keys"),
        lambda q, k, v, mask: functional.scaled_dot_product_attention(
            q, k, v, mask, enable_gqa=True
        ),
        fixed={"causal": False, "scale": SIZE**-0.5},
        sizes={
            "heads": 4,
            "kv_heads": 2,
            "batch": 6,
            "mask_batches": 6,
            "mask_heads": 1,
            "queries": 14,
            "mask_rows": 14,
        },
    )
    module = cd.torch.compile(Attention().eval(), arguments, ["cpu"], replace=[pattern])
    found = torch.from_dlpack(cd.load(module, "cpu").main(*arguments))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.softmax(x, dim=0),
        lambda x: torch.softmax(x.double(), dim=-1),
        lambda x: functional.layer_norm(x, (2, WIDTH)),
        lambda x: functional.sigmoid(x) * x,
        lambda x: functional.scaled_dot_product_attention(x, x, x),
    ],
)
def test_what_only_looks_alike_stays(function: Any) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    assert kernels(Model(), (torch.randn(3, 2, WIDTH),), None) == []


@pytest.mark.parametrize(
    ("dynamic", "reshaped"), [pytest.param(False, False, marks=pytest.mark.thorough), (True, True)]
)
def test_a_transposition_behind_attention_is_the_kernels(reshaped: bool, dynamic: bool) -> None:
    q, k = torch.randn(2, 4, 6, 64).half(), torch.randn(2, 2, 6, 64).half()
    length = {2: torch.export.Dim("length", min=2)}
    shapes = (length, length) if dynamic else None
    model = Attended(reshaped=reshaped)
    assert kernels(model, (q, k), shapes) == ["attention_by_position_f16_64"]


def test_attention_with_dropout_stays() -> None:
    assert kernels(Attention(dropout=0.1), qk(4), None) == []


def test_the_kernels_themselves_load_no_pytorch() -> None:
    code = (
        "import sys, cuda_kernels.attention.rotary, cuda_kernels.attention.choices\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_a_model_cannot_have_is_not_exported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exports of functions take the time: none of other masks, ranks and optional operands."""
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path))  # one that keeps none of them yet

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(SIZE, bias=False)

        def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
            return self.norm(functional.scaled_dot_product_attention(x, x, x, seen))

    exported: list[tuple[str, tuple[str, ...], int]] = []
    export = torch_pattern._exported

    def noted(pattern: Any, function: Any, names: Any, leading: int, which: int) -> Any:
        exported.append((pattern.kernel.name, names, leading))
        return export(pattern, function, names, leading, which)

    monkeypatch.setattr(torch_pattern, "_exported", noted)
    traced = torch_pattern._traced.__wrapped__  # whatever is known by now
    monkeypatch.setattr(torch_pattern, "_traced", traced)
    given = (torch.randn(2, 3, 5, SIZE), torch.ones(2, 1, 5, 5, dtype=torch.bool))
    found = replaced_in_torch(Model().eval(), given, [everything])
    assert sorted(item.kernel for item in found) == [
        "bool_masked_attention_f32_32",
        "layer_norm_f32",
    ]
    of_attention = {names[3:] for name, names, _ in exported if "attention" in name}
    assert of_attention == {("mask",)}  # the model's has its usual scale
    assert all("bool" in name for name, _, _ in exported if "attention" in name)
    norms = {item for item in exported if "norm" in item[0]}
    assert norms == {("layer_norm_f32_block", ("x", "epsilon", "weight"), 3)}
