"""Fixtures of the CPU target's tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from cpu_harness import Launch, Runner, compile_model, model_text, run_launches


@pytest.fixture(scope="session")
def run_ptx() -> Runner:
    """Lower, compile and run PTX on both CPU drivers; checks that they agree."""

    def run(ptx: str, launches: Sequence[Launch], cpu: str = "generic") -> list[list[np.ndarray]]:
        vmfb = compile_model(model_text(ptx, launches, cpu))
        results = run_launches(vmfb, launches, "local-sync")
        again = run_launches(vmfb, launches, "local-task")
        for launch, first, second in zip(launches, results, again, strict=True):
            for a, b in zip(first, second, strict=True):
                if launch.rounding:
                    np.testing.assert_allclose(a, b, rtol=0, atol=launch.rounding)
                else:
                    np.testing.assert_array_equal(a, b, err_msg=launch.entry)
        return results

    return run
