"""What a glance at the shipped patterns costs: their functions are traced once for many kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")


def test_a_function_of_heads_of_several_sizes_is_glanced_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from cuda_kernels.patterns.torch import attention
    from custom_dispatch.frontends.torch import replacing
    from custom_dispatch.frontends.torch.pattern import variants

    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path))
    wanted = [f"attention_bf16_{dim}" for dim in (64, 128)]
    patterns = [pattern for pattern in attention if pattern.item.name in wanted]
    traced: list[Any] = []
    trace = replacing._traced_with_sizes

    def counted(*given: Any) -> torch.fx.Graph:
        traced.append(given)
        return trace(*given)

    monkeypatch.setattr(replacing, "_traced_with_sizes", counted)
    replacing.operations_of.cache_clear()
    first, second = (
        [replacing.operations_of(pattern, *each) for each in variants(pattern)]
        for pattern in patterns[:: len(patterns) // 2]
    )
    assert first == second
    assert None not in first
    assert 0 < len(traced) <= len(first)
