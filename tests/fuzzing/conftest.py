"""One sandbox for all tests of the folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from .sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    if not sys.platform.startswith("linux"):
        pytest.skip("the sandbox watches its processes through Linux's /proc")
    made = Sandbox(tmp_path_factory.mktemp("fuzzing"))
    yield made
    made.close()
