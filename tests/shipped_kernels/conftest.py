"""What the tests of shipped kernels share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def random() -> np.random.Generator:
    """Numbers that are the same in every run."""
    return np.random.default_rng(7)
