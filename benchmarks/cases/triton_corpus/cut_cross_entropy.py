"""Cross entropy of a product, whose logits are never in memory."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from cut_cross_entropy import linear_cross_entropy

from benchmarks.cases.triton_corpus.checking import BF16, Cases, draw, integers, same

CASES = Cases()


@CASES
def loss() -> None:
    targets = integers(300, 40)
    same(
        lambda e, c: linear_cross_entropy(e, c, targets, filter_eps=None, impl="cce"),
        lambda e, c: F.cross_entropy(e @ c.T, targets),
        draw(40, 64, dtype=torch.bfloat16),
        draw(300, 64, dtype=torch.bfloat16) * 0.1,
        tolerance=BF16,
    )
