"""Random weights for the products of `cuda_kernels.quantised`, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cuda_kernels.quantised.packing import dequantise_q4_k, dequantise_q8_0


@dataclass(frozen=True)
class Weights:
    """Random weights [n, k] as a kernel takes them."""

    n: int
    k: int
    group: int
    operands: tuple[Any, ...]
    wide: Callable[[], Any]
    """The same in double precision."""
    summed: Callable[[], Any] | None = None
    """The magnitudes that 4-bit products add up, numbers and zeros times their scales; [n, k]."""


def weights_of(
    layout: str, kind: str, n: int, k: int, group: int = 32, offset: int = 0, drawn: str = "cuda"
) -> Weights:
    """Random ones, drawn on a device, beginning `offset` elements after an aligned address."""
    import torch

    dtype = {"f16": torch.float16, "bf16": torch.bfloat16}[kind]

    def placed(value: Any) -> Any:
        if value.device.type == "cuda" and not offset:
            return value
        memory = torch.zeros(value.numel() + offset, dtype=value.dtype, device=value.device)
        memory[offset:].copy_(value.reshape(-1))
        return memory.cuda()[offset:].view(value.shape)

    def random(*shape: int) -> Any:
        return torch.randn(*shape, device=drawn)

    if layout in ("fp8", "fp8_blocks"):
        eights = random(n, k).to(torch.float8_e4m3fn)
        scales = random(n) if layout == "fp8" else random(-(-n // 128), -(-k // 128))
        scales = scales.exp()

        def each() -> Any:
            if layout == "fp8":
                return scales.double()[:, None]
            wide = scales.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
            return wide[:n, :k]

        bits = placed(eights.view(torch.uint8))
        return Weights(n, k, group, (bits, scales.cuda()), lambda: eights.double() * each())
    if layout in ("int8", "int8_groups"):
        numbers = torch.randint(-128, 128, (n, k), dtype=torch.int8, device=drawn)
        by_group = random(n, k // group if layout == "int8_groups" else 1) * 0.002
        operands = (numbers, by_group if layout == "int8_groups" else by_group[:, 0])
        return Weights(
            n,
            k,
            group,
            tuple(map(placed, operands)),
            lambda: (
                numbers.view(*by_group.shape, -1).double() * by_group.double()[..., None]
            ).view(n, k),
        )
    if layout.startswith("int4"):
        packed = torch.randint(0, 256, (n, k // 2), dtype=torch.uint8, device=drawn)
        scales, zeros = (
            (random(n, k // group) * 0.02).to(dtype),
            random(n, k // group).to(dtype) + 8,
        )
        numbers = torch.stack((packed & 15, packed >> 4), -1).view(n, -1, group)
        middle = zeros.double()[..., None] if layout.endswith("zeros") else 8.0
        factors = scales.double()[..., None]
        operands = (packed, scales, zeros) if layout.endswith("zeros") else (packed, scales)
        return Weights(
            n,
            k,
            group,
            tuple(map(placed, operands)),
            lambda: ((numbers.double() - middle) * factors).view(n, k),
            lambda: ((numbers.double() + abs(middle)) * scales.double()[..., None].abs()).view(
                n, k
            ),
        )
    if layout in ("q8_0", "q4_k"):
        size, numbers_of, block = (32, 1, 34) if layout == "q8_0" else (256, 2, 144)
        shape = (n, k // size, block - 2 * numbers_of)
        packed = torch.randint(0, 256, shape, dtype=torch.uint8, device=drawn)
        halves = (random(n, k // size, numbers_of) * 0.002).half()
        blocks = torch.cat((halves.view(torch.uint8), packed), -1)
        dequantise = {"q8_0": dequantise_q8_0, "q4_k": dequantise_q4_k}[layout]

        def of_numpy() -> Any:
            return torch.from_numpy(dequantise(blocks.cpu().numpy())).to(drawn)

        return Weights(n, k, group, (placed(blocks),), of_numpy)
    packed = torch.randint(0, 256, (n, k // 32, 16), dtype=torch.uint8, device=drawn)
    halves = (random(n, k // 32, 1 if layout == "q4_0" else 2) * 0.02).half()
    numbers = torch.cat((packed & 15, packed >> 4), -1)

    def wide() -> Any:
        scale = halves.double()[..., :1]
        if layout == "q4_0":
            return ((numbers.double() - 8.0) * scale).view(n, k)
        return (numbers.double() * scale + halves.double()[..., 1:]).view(n, k)

    def summed() -> Any:
        zero = 8.0 if layout == "q4_0" else 0.0
        return ((numbers.double() + zero) * halves.double()[..., :1].abs()).view(n, k)

    blocks = placed(torch.cat((halves.view(torch.uint8), packed), -1))
    return Weights(n, k, group, (blocks,), wide, summed)
