"""What the tests of the store share."""

from __future__ import annotations

from pathlib import Path

import pytest

from custom_dispatch.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store of its own."""
    path = tmp_path / "store"
    path.mkdir(mode=0o700)
    return Store(path, 1 << 20)
