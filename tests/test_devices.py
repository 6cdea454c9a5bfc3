"""How many cores there are to use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from uvast.devices import n_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("250000 100000", 2), ("50000 100000", 1), ("", 8)],
)
def test_a_container_may_have_a_share_of_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cores: int
) -> None:
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr("uvast.devices.QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert n_cores() == cores
    monkeypatch.setattr("uvast.devices.QUOTA", tmp_path / "none")
    assert n_cores() == 8
