"""Put a kernel into a PyTorch model: eagerly, compiled by PyTorch, and shipped.

    python examples/torch_model.py

Needs PyTorch. The file runs on the GPU if PyTorch has one, else on the CPU.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

import custom_dispatch as cd
from cuda_kernels.norms import rms_norm_f32


class FeedForward(torch.nn.Module):
    """A normalised feed-forward layer: the normalisation is the kernel, the rest PyTorch's."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)
        self.norm = cd.torch.register(rms_norm_f32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.up(self.norm(x, self.weight, 1e-6))
        return x + self.down(torch.nn.functional.silu(hidden))


@torch.no_grad()
def main() -> None:
    """Go the whole way."""
    torch.manual_seed(0)
    model, x = FeedForward(64), torch.randn(8, 64)
    expected = x + model.down(
        torch.nn.functional.silu(
            model.up(torch.nn.functional.rms_norm(x, (64,), model.weight, 1e-6))
        )
    )
    torch.testing.assert_close(model(x), expected)
    print("eager: the kernel runs where the tensors are")

    captured = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(captured(x), expected)
    print("torch.compile: one graph")

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.vmfb"
        rows = {0: torch.export.Dim("rows", min=2)}
        cd.torch.compile(model, (x,), dynamic_shapes=(rows,)).save(path)
        # The weights are beside it: model.irpa.
        program = cd.load(path, device="cuda" if torch.cuda.is_available() else "cpu")
        for size in (8, 3):
            result = torch.from_dlpack(program.main(x[:size]))
            torch.testing.assert_close(result.cpu(), expected[:size], rtol=1e-3, atol=1e-3)
        print(f"one module for all devices: {program.main.type}")


if __name__ == "__main__":
    main()
