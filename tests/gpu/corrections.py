"""What IREE alone computes wrongly, on a GPU: sums of 16 bits, large angles, NaN.

Two halves, both with PyTorch: `build DIRECTORY` needs this package's compilers and no GPU; then,
where there is a GPU, `run DIRECTORY`. Inputs are random and fresh in every run; results are held
against PyTorch's in f64, and allowed twice the error that PyTorch's own have on the CPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from gpu.halves import options

Tensor = torch.Tensor
FILE = "corrections.vmfb"
_INTEGERS = torch.tensor([2**62 + 1, -(2**62) - 3, -7])


class Model(torch.nn.Module):
    """One of our kernels beside operations that are written anew."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(64, eps=1e-6)

    def forward(
        self, x: Tensor, half: Tensor, gaps: Tensor, angles: Tensor, weight: Tensor
    ) -> dict[str, Tensor]:
        nn = torch.nn.functional
        return {
            "our kernel": self.norm(x),
            "sum of 16 bits": half.sum(-1),
            "norm of 16 bits": nn.layer_norm(half, half.shape[-1:]),
            "cumsum of 16 bits": torch.cumsum(half, -1),
            "product of 16 bits": half @ weight,
            "sine": torch.sin(angles),
            "cosine": torch.cos(angles),
            "logsigmoid": nn.logsigmoid(60 * x),
            "asinh": torch.asinh(x),
            "atan2": torch.atan2(x, 0 * x),
            "gelu": nn.gelu(x, approximate="tanh"),
            "clamp of NaN": torch.clamp(gaps, -1, 1),
            "relu6 of NaN": nn.relu6(gaps),
            "maximum of NaN": torch.maximum(gaps, gaps.flip(0)),
            "argmax of NaN": gaps.argmax(-1),
            "sort of NaN": torch.sort(gaps, -1)[0],
            "fmod": torch.fmod(angles, 0.75),
            "fmod of 16 bits": torch.fmod(half, half.flip(0) - 7),
            "floor of a quotient": torch.floor_divide(angles, 0.75),
            "large integers": (_INTEGERS + x[0, 0].long()) // torch.tensor([3, -7, 2**53]) % 1000,
            "sum with a factor": torch.add(half, half.flip(0), alpha=-4000.0) / 64,
        }


def inputs() -> tuple[Tensor, ...]:
    """Sums of the second leave f16's exact numbers; the third has NaN."""
    gaps = torch.randn(4, 9)
    gaps[1, 3] = torch.nan
    half, weight = 20 * torch.rand(3, 4096), torch.randn(4096, 16)
    return torch.randn(5, 64), half.half(), gaps, 2e5 * (torch.rand(1000) - 0.5), weight.half()


def build(directory: Path) -> None:
    """One module, for GPUs alone."""
    from cuda_kernels.patterns import torch as torch_patterns

    directory.mkdir(parents=True, exist_ok=True)
    module = cd.torch.compile(
        Model().eval(),
        inputs(),
        ["cuda:sm_80", "cuda:sm_90a"],
        replace=torch_patterns.everything,
    )
    module.save(directory / FILE)


@torch.no_grad()
def run(directory: Path, device: str) -> int:
    """Compare each result; 1 if one is wrong."""
    given = inputs()
    found = cd.load(directory / FILE, device).main(*given)
    here = Model().eval()(*given)
    exact = Model().eval().double()(*(item.double() for item in given))
    failed = 0
    for name, ours in zip(here, found, strict=True):
        wanted = exact[name].double()
        own, theirs = (
            (torch.from_numpy(np.array(item, np.float64)) - wanted).nan_to_num().abs().max()
            for item in (ours, here[name])
        )
        same_nans = bool((np.isnan(np.array(ours, np.float64)) == wanted.isnan().numpy()).all())
        largest = wanted.nan_to_num().abs().max()
        is_right = same_nans and own <= 2 * theirs + 2e-7 * largest
        failed += not is_right
        print(f"{'ok' if is_right else 'FAILED':7}{name:20}error {own:.1e}, PyTorch's {theirs:.1e}")
    print(f"{len(here) - failed} of {len(here)} ok")
    return int(failed > 0)


if __name__ == "__main__":
    asked = options(__doc__)
    if asked.half == "build":
        build(asked.directory)
        sys.exit()
    sys.exit(run(asked.directory, asked.device))
