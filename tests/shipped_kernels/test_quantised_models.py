"""Models whose weights are quantised, by any library: where kernels take the products."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped
from cuda_kernels.patterns.rewriting.dequantised import Dequantised
from cuda_kernels.quantised.fitting import Fitted, fit
from cuda_kernels.quantised.layers import _unpacked
from cuda_kernels.quantised.loading import AWQ_ORDER
from cuda_kernels.quantised.modules import QuantisedLinear
from tests.places import replaced_in_torch

N, K = 96, 256
NUMBERS = torch.Generator().manual_seed(0)


def integers(low: int, high: int, *shape: int) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=NUMBERS)


def scales(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return (torch.rand(shape, generator=NUMBERS) * 0.05 + 0.01).to(dtype)


def words(numbers: torch.Tensor, axis: int, order: Any = range(8)) -> torch.Tensor:
    """Eight numbers of 4 bits along an axis in each i32, the lowest bits first."""
    apart = numbers.unflatten(axis, (-1, 8)).movedim(axis + 1, 0)
    bits = sum(apart[place].long() << 4 * i for i, place in enumerate(order))
    return torch.as_tensor(bits).to(torch.int64).numpy().astype(numpy.uint32).view(numpy.int32)


class Layer(torch.nn.Module):  # type: ignore[misc]
    """A layer whose weight [n, k] is computed of buffers."""

    def __init__(self, **buffers: Any) -> None:
        super().__init__()
        for name, value in buffers.items():
            self.register_buffer(name, torch.as_tensor(value))

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.weight(x.dtype))


class Awq(Layer):
    """As AutoAWQ's packing: along n, in its order; zeros too."""

    def __init__(self) -> None:
        super().__init__(
            qweight=words(integers(0, 16, K, N), 1, AWQ_ORDER),
            qzeros=words(integers(0, 16, K // 64, N), 1, AWQ_ORDER),
            scales=scales(K // 64, N),
        )

    def unpacked(self, packed: torch.Tensor) -> torch.Tensor:
        apart = packed[:, :, None] >> torch.arange(0, 32, 4) & 15
        return apart[:, :, [0, 4, 1, 5, 2, 6, 3, 7]].reshape(len(packed), -1).to(torch.int8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zeros = self.unpacked(self.qzeros).repeat_interleave(64, dim=0)
        each = self.scales.repeat_interleave(64, dim=0)
        return torch.matmul(x.reshape(-1, K), (self.unpacked(self.qweight) - zeros) * each)


class Gptq(Layer):
    """As AutoGPTQ's module in PyTorch's words, with act-order."""

    def __init__(self) -> None:
        super().__init__(
            qweight=words(integers(0, 16, K, N), 0),
            qzeros=words(integers(0, 15, K // 32, N), 1),
            scales=scales(K // 32, N),
            g_idx=torch.arange(K)[torch.randperm(K, generator=NUMBERS)] // 32,
        )
        self.register_buffer("wf", torch.arange(0, 32, 4, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zeros = self.qzeros.unsqueeze(2).expand(-1, -1, 8) >> self.wf.view(1, 1, -1) & 15
        zeros = (zeros.to(torch.int8) + 1).reshape(self.scales.shape)
        weight = self.qweight.unsqueeze(1).expand(-1, 8, -1) >> self.wf.view(1, -1, 1) & 15
        weight = weight.to(torch.int8).reshape(-1, N)
        return torch.matmul(x, self.scales[self.g_idx] * (weight - zeros[self.g_idx]))


class Hqq(Layer):
    """As HQQ: two halves of the rows in a byte, groups as rows, zeros that are floats."""

    def __init__(self) -> None:
        rows = N * K // 64
        super().__init__(
            packed=integers(0, 256, rows // 2, 64).to(torch.uint8),
            scale=scales(rows, 1, dtype=torch.bfloat16),
            zero=(torch.rand(rows, 1, generator=NUMBERS) * 15).to(torch.bfloat16),
        )

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        numbers = torch.cat([(self.packed & 0xF0) >> 4, self.packed & 0x0F], dim=0)
        return ((numbers.to(dtype) - self.zero) * self.scale).reshape(N, K)


class Symmetric(Layer):
    """Signed integers of 4 bits, with a scale for each row."""

    def __init__(self) -> None:
        super().__init__(numbers=integers(-8, 8, N, K).to(torch.int8), scale=scales(N, 1))

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        return self.numbers.to(dtype) * self.scale


class Int8(Layer):
    """As torchao and quanto: the product of integers, and then the scales."""

    def __init__(self) -> None:
        super().__init__(
            numbers=integers(-128, 128, N, K).to(torch.int8),
            scale=scales(N, dtype=torch.float32),
            bias=torch.randn(N, generator=NUMBERS).bfloat16(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x.reshape(-1, K), self.numbers.t().to(x.dtype))
        return (y * self.scale.to(x.dtype)).reshape(*x.shape[:-1], N) + self.bias


class Packed8(Int8):
    """PyTorch's own operator."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, K)
        return torch.ops.aten._weight_int8pack_mm(flat, self.numbers, self.scale.to(x.dtype))


class Packed4(Layer):
    """PyTorch's own operator of 4 bits, whose words are ordered for the processor."""

    def __init__(self) -> None:
        numbers = integers(0, 16, N, K).int()
        middle = torch.rand(K // 64, N, generator=NUMBERS) * 0.1
        super().__init__(
            packed=torch.ops.aten._convert_weight_to_int4pack_for_cpu(numbers, 8),
            both=torch.stack([scales(K // 64, N), middle], dim=-1).bfloat16(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.packed, 64, self.both)


class HqqInPlace(Hqq):
    """As HQQ writes parts into a tensor that is empty at first."""

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        numbers = torch.empty([2 * len(self.packed), 64], dtype=dtype)
        numbers[: len(self.packed)] = (self.packed & 0xF0) >> 4
        numbers[len(self.packed) :] = self.packed & 0x0F
        return ((numbers - self.zero) * self.scale).reshape(N, K)


class Fp8(Layer):
    """A scale for each row."""

    def __init__(self) -> None:
        weight = torch.randn(N, K, generator=NUMBERS).to(torch.float8_e4m3fn)
        super().__init__(numbers=weight, scale=scales(N, 1, dtype=torch.float32))

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        return (self.numbers.float() * self.scale).to(dtype)


class Fp8Blocks(Layer):
    """As DeepSeek: a scale for each 128 x 128, which need not be whole."""

    def __init__(self) -> None:
        weight = torch.randn(N, K, generator=NUMBERS).to(torch.float8_e4m3fn)
        super().__init__(numbers=weight, scale_inv=scales(1, 2, dtype=torch.float32))

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        each = self.scale_inv.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return (self.numbers.to(dtype) * each[:N, :K].to(dtype)).contiguous()


KINDS: dict[type[Layer], str] = {
    Awq: "int4_zeros_f16",
    Gptq: "int4_zeros_f16",
    Hqq: "int4_zeros_bf16",
    HqqInPlace: "int4_zeros_bf16",
    Packed4: "int4_zeros_bf16",
    Symmetric: "int4_f16",
    Int8: "int8_bf16",
    Packed8: "int8_bf16",
    Fp8: "fp8_bf16",
    Fp8Blocks: "fp8_blocks_bf16",
}


class Layers(torch.nn.Module):  # type: ignore[misc]
    """Some of them, each of the x of its type."""

    def __init__(self, *kinds: type[Layer]) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(kind() for kind in kinds)

    def forward(self, half: torch.Tensor, brain: torch.Tensor) -> list[torch.Tensor]:
        is_half = [KINDS[type(layer)].endswith("_f16") for layer in self.layers]
        pairs = zip(self.layers, is_half, strict=True)
        return [layer(half if narrow else brain) for layer, narrow in pairs]


def given() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(3, K, generator=NUMBERS)
    return x.half(), x.bfloat16()


def test_products_of_weights_that_a_model_dequantises_get_kernels() -> None:
    found = replaced_in_torch(Layers(*KINDS), given(), shipped.quantised)
    assert [item.kernel for item in found] == [*KINDS.values()]


@pytest.mark.thorough  # the page on quantised models does so with fp8
def test_models_with_weights_of_every_library_compute_the_same() -> None:
    model = Layers(*KINDS)
    module = cd.torch.compile(model, given(), ["cpu:host"], replace=shipped.everything, verify=4e-3)
    assert {item.kernel for item in module.replaced or ()} == {*KINDS.values()}
    # Packed words are gone, and what was made of them takes no more.
    assert module.parameters is not None
    before = sum(each.nbytes for each in model.buffers() if each.nbytes > 4096)
    assert module.parameters.size_bytes < 1.2 * before


class Sixteens(Symmetric):
    """Groups that no kernel has."""

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        each = self.scale * torch.arange(1, K // 16 + 1).repeat_interleave(16).to(dtype)
        return self.numbers.to(dtype) * each


class Codes(Symmetric):
    """Numbers of a table, as NF4's, which are no multiples of a scale."""

    def weight(self, dtype: torch.dtype) -> torch.Tensor:
        table = torch.linspace(-1, 1, 16).pow(3).to(dtype)
        return table[self.numbers.long() + 8] * self.scale


class Updated(Symmetric):
    """A scale that the model's argument decides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, self.numbers.to(x.dtype) * (self.scale * x[0, 0]))


class Columns(Symmetric):
    """Rows that are not of whole blocks."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x[:, 1:], self.weight(x.dtype)[:, 1:])


def test_weights_that_no_kernel_takes_stay() -> None:
    class Others(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            kinds = (Sixteens, Codes, Updated, Columns)
            self.layers = torch.nn.ModuleList(kind() for kind in kinds)

        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            return [layer(x) for layer in self.layers]

    assert not replaced_in_torch(Others(), given()[:1], shipped.quantised)


# -- layouts


def made_of(found: Fitted, dtype: torch.dtype, k: int) -> torch.Tensor:
    layer = QuantisedLinear(found.layout, found.operands, dtype)
    x = torch.eye(k, dtype=dtype) if found.order is None else torch.eye(k, dtype=dtype)[found.order]
    return layer.dequantised().double() @ x.double()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("low", "high", "zero", "group", "layout"),
    [
        (-8, 8, 0, 32, "int4"),
        (0, 16, 8, 96, "int4"),
        (0, 16, 3, 96, "int4_zeros"),
        (-3, 5, 9, 288, "int4_zeros"),
        (0, 4, 1.5, 32, "int4_zeros"),
        (-128, 128, 0, 288, "int8"),
        (0, 256, 128, 96, "int8_groups"),
        (0, 256, 3, 96, None),
        (-8, 8, 0, 16, None),
        (-128, 128, 0.5, 32, None),
    ],
)
def test_integers_get_the_layout_that_holds_them(
    dtype: torch.dtype, low: int, high: int, zero: float, group: int, layout: str | None
) -> None:
    n, k = 7, 288
    numbers = integers(low, high, n, k)
    numbers[:, :2] = torch.tensor([low, high - 1])
    each = scales(n, k // group, dtype=dtype).float().repeat_interleave(group, 1)
    zeros = torch.full((n, k), float(zero))
    for order in (torch.arange(k), torch.randperm(k, generator=NUMBERS)):
        parts = [part[:, order] for part in (numbers, each, zeros)]
        found = fit(*parts, dtype)
        assert (found.layout if found else None) == layout
        if found:
            want = parts[1].double() * (parts[0] - parts[2])
            rounding = torch.finfo(dtype).eps * want.abs().max()
            assert (made_of(found, dtype, k) - want).abs().max() <= rounding


def test_e4m3_keeps_its_scales_where_f16_does_not() -> None:
    """What is dequantised to subnormal numbers of f16 is less exact than the kernel's weights."""
    numbers = torch.randn(8, 64, generator=NUMBERS).to(torch.float8_e4m3fn)
    numbers[3, 5] = torch.nan
    wide = torch.full((8, 64), 1e-4)
    value = (numbers.float() * wide).half()
    found = fit(numbers, wide, torch.zeros(8, 64), torch.float16, value)
    assert found is not None
    assert found.layout == "fp8"
    value[0, 0] += 1
    assert fit(numbers, wide, torch.zeros(8, 64), torch.float16, value) is None
    value[0, 0] = torch.nan
    assert fit(numbers, wide, torch.zeros(8, 64), torch.float16, value) is None


def test_scales_that_a_type_cannot_hold_are_refused() -> None:
    numbers, zeros = integers(-100, 100, 4, 64), torch.zeros(4, 64)
    numbers[:, 0] = 100
    for scale in (1e5, 1e-9):
        by_row = torch.full((4, 64), scale)
        assert fit(numbers, by_row, zeros, torch.float16) is not None  # these multiply f32 sums
        by_group = by_row * torch.arange(1, 3).repeat_interleave(32)
        assert fit(numbers, by_group, zeros, torch.float16) is None
        assert fit(numbers, by_group, zeros, torch.bfloat16) is not None
    assert fit(numbers.clamp(-8, 7), torch.full((4, 64), 1e5), zeros, torch.float16) is None


def test_weights_that_overflow_in_the_model_stay() -> None:
    """Infinity is in no layout, and must not let other numbers pass for it."""
    numbers, zeros = integers(-8, 8, 4, 64), torch.zeros(4, 64)
    value = numbers.float()
    value[1, 2] = torch.inf
    assert fit(numbers, torch.ones(4, 64), zeros, torch.float16, value) is None


def test_weights_on_a_gpu_are_read_there() -> None:
    """What is made on another device could not be multiplied by them; nothing is computed here."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        packed = torch.zeros(4, 8, dtype=torch.int32, device="cuda")
        numbers = _unpacked(packed, 4, 1, AWQ_ORDER)
        by = torch.ones(4, 1, device="cuda")
        made = Dequantised.of(numbers, torch.float16).scaled(numbers.half() * by, by)
        made = made.less(made.value, by)
        parts = (made.numbers, made.scales, made.zeros)
    assert [part.device.type for part in parts] == ["cuda"] * 3
    assert {part.shape for part in parts} == {(4, 64)}
