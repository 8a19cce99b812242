"""Losses of Liger, with their gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from liger_kernel import ops

from benchmarks.cases.triton_corpus.checking import TF32, Cases, draw, integers, same

CASES = Cases()
Tensor = torch.Tensor


@CASES
def cross_entropy() -> None:
    target = integers(300, 12)
    target[3] = -100

    def ours(x: Tensor) -> Any:
        return ops.LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.1, "mean")[0]

    same(
        lambda x: ours(x * 1.0),
        lambda x: F.cross_entropy(x, target, ignore_index=-100, label_smoothing=0.1),
        draw(12, 300),
    )


@CASES
def cross_entropy_of_a_product() -> None:
    target = integers(120, 20)
    same(
        lambda x, w, b: ops.LigerFusedLinearCrossEntropyFunction.apply(x, w, target, b)[0],
        lambda x, w, b: F.cross_entropy(x @ w.T + b, target),
        draw(20, 48),
        draw(120, 48),
        draw(120),
        tolerance=TF32,
    )


@CASES
def cross_entropy_and_total_variation() -> None:
    target, teacher = integers(90, 12), draw(12, 90, seed=3)

    def reference(x: Tensor) -> tuple[Tensor, Tensor]:
        distance = 0.5 * (x.softmax(-1) - teacher.double().softmax(-1)).abs().sum(-1)
        return F.cross_entropy(x, target, reduction="none"), distance

    same(lambda x: ops.LigerFusedCETVDFunction.apply(x, teacher, target), reference, draw(12, 90))


@CASES
def kl_divergence() -> None:
    target = draw(8, 130, seed=2).softmax(-1)
    same(
        lambda x: ops.LigerKLDivLossFunction.apply(x.log_softmax(-1), target, "batchmean"),
        lambda x: F.kl_div(x.log_softmax(-1), target.double(), reduction="batchmean"),
        draw(8, 130),
    )


@CASES
def kl_divergence_of_a_product() -> None:
    target = draw(20, 90, seed=2).softmax(-1)
    same(
        lambda x, w: ops.LigerFusedLinearKLDivFunction.apply(x, w, target),
        lambda x, w: F.kl_div((x @ w.T).log_softmax(-1), target.double(), reduction="batchmean"),
        draw(20, 48),
        draw(90, 48),
        tolerance=TF32,
    )


def _jensen_shannon(student: Tensor, teacher: Tensor) -> Tensor:
    mean = ((student.exp() + teacher.exp()) / 2).log()
    one = F.kl_div(mean, student, reduction="batchmean", log_target=True)
    return 0.5 * one + 0.5 * F.kl_div(mean, teacher, reduction="batchmean", log_target=True)


@CASES
def jensen_shannon_divergence() -> None:
    teacher = draw(8, 130, seed=2).log_softmax(-1)
    same(
        lambda x: ops.LigerJSDFunction.apply(x.log_softmax(-1), teacher),
        lambda x: _jensen_shannon(x.log_softmax(-1), teacher.double()),
        draw(8, 130),
    )


@CASES
def jensen_shannon_divergence_of_products() -> None:
    teacher, weight = draw(10, 40, seed=2), draw(90, 40, seed=3)

    def reference(x: Tensor, w: Tensor) -> Tensor:
        other = (teacher.double() @ weight.double().T).log_softmax(-1)
        return _jensen_shannon((x @ w.T).log_softmax(-1), other)

    same(
        lambda x, w: ops.LigerFusedLinearJSDFunction.apply(x, w, teacher, weight),
        reference,
        draw(10, 40),
        draw(90, 40),
        tolerance=TF32,
    )


@CASES
def total_variation_distance() -> None:
    target = draw(8, 130, seed=2).softmax(-1)
    same(
        lambda x: ops.LigerTVDLossFunction.apply(x.softmax(-1), target),
        lambda x: 0.5 * (x.softmax(-1) - target.double()).abs().sum() / 8,
        draw(8, 130),
    )


@CASES
def policy_loss() -> None:
    tokens, advantages = integers(60, 3, 8), draw(3)
    mask = torch.ones(3, 8, dtype=torch.int64)

    def log_probability(x: Tensor) -> Tensor:
        return (x[:, :-1] / 0.9).log_softmax(-1).gather(-1, tokens[..., None])[..., 0]

    old = log_probability(draw(3, 9, 60, seed=5)).detach()
    other = log_probability(draw(3, 9, 60, seed=6)).detach()

    def reference(x: Tensor) -> Tensor:
        now = log_probability(x)
        ratio, gain = (now - old).exp(), advantages[:, None].double()
        step = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
        return step + 0.04 * ((other - now).exp() - (other - now) - 1)

    same(
        lambda x: ops.GrpoLossFunction.apply(
            x * 1.0, old, other, tokens, advantages, mask, 0.9, 0.04, 0.2, 0.2, False,
            "grpo", None, False,
        )[0],
        reference,
        draw(3, 9, 60),
    )  # fmt: skip
