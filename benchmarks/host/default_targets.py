"""What leaving targets out costs: CPU time and bytes, beside the target sm_80 alone with the CPU.

CPU time, of this process and of the compilers, is what a busy machine measures well too. Nothing is
taken from the store.

    python -m benchmarks.host.default_targets
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable

import torch

import custom_dispatch as cd
from benchmarks.lib.report import RESULTS, about
from cuda_kernels.norms import rms_norm_bf16, softmax_f32
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.compiled import CompiledModule

TARGETS = {"cuda:sm_80, cpu": ["cuda:sm_80", "cpu"], "left out": None}


class FeedForward(torch.nn.Module):
    """Norm, product, GELU, product and a residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.up, self.down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute it."""
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
        return x + self.down(hidden)


def _seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(item.ru_utime + item.ru_stime for item in used)


def main() -> int:
    """Measure and write."""
    model = FeedForward().eval().to(torch.bfloat16)
    x = torch.randn(128, 256, dtype=torch.bfloat16)
    cases: dict[str, Callable[[list[str] | None], CompiledModule]] = {
        "softmax_f32": lambda targets: cd.compile(None, softmax_f32, targets, store=False),
        "rms_norm_bf16": lambda targets: cd.compile(None, rms_norm_bf16, targets, store=False),
        "a feed-forward block of bf16, 128 x 256": lambda targets: cd.torch.compile(
            model, (x,), targets, replace=torch_patterns.everything, store=False
        ),
    }
    for compile_case in cases.values():
        compile_case(["cuda:sm_80"])  # what is loaded or made once a process
    rows = []
    for what, compile_case in cases.items():
        for said, targets in TARGETS.items():
            before = _seconds()
            module = compile_case(targets)
            row = {"what": what, "targets": said, "cpu_s": round(_seconds() - before, 1)}
            rows.append(row | {"bytes": len(module.bytes)})
            print(rows[-1], flush=True)
    packages = ("custom-dispatch", "iree-base-compiler", "nvidia-cuda-nvrtc", "torch")
    content = {"about": about("default_targets", packages), "rows": rows}
    path = RESULTS / "default_targets.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return 0
