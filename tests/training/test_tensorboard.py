"""Epochs to TensorBoard."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from uvast.training import Plan
from uvast.training.tensorboard import TensorBoard
from uvast.training.watching import Silent


def test_tensorboard_writes_nothing_before_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    fake = SimpleNamespace(SummaryWriter=made.append)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    watcher = TensorBoard(tmp_path, Silent())
    assert made == []
    watcher.begin(Plan("uvast", 1, "cpu", {1: 1}))
    assert made == [tmp_path / "tensorboard"]
