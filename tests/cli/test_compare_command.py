"""`uvast compare` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from in_process import uvast
from uvast.benchmark.engine import SerialEngine

SMALL = [
    part
    for one in ("model.width=8", "model.n_encoder_layers=2", "model.n_stages=1")
    for part in ("--set", one)
]


def test_costs_are_told_first_then_a_table_and_files(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.cli.options.make_engine", lambda *_, **__: SerialEngine())
    options = ("--models", "ms-tcn", "--folds", 2, "--epochs", 1, *SMALL, "--out", tmp_path / "out")
    command = ("compare", tiny_path, *options, "--decodings", "none", "--change")
    finished = uvast(*command, "train.learning_rate=0.01")
    assert finished.returncode == 0, finished.stderr
    said = " ".join(finished.stderr.split())
    assert "4 training videos in 2 folds of whole subjects held out in turn; the test side" in said
    assert "4 runs, 4 of them to train: less than a minute (auto), and the time to decode" in said
    assert "some differences rest on 2 pairs, which says little; add --seeds" in said
    assert said.index("to train") < said.index("comparison.csv")
    assert "frames    train.learning_rate=0.01 [2 runs]" in finished.stdout
    again = uvast(*command, "train.learning_rate=0.01", "--json")
    assert "4 runs, all of them trained already" in again.stderr
    rows = json.loads(again.stdout)
    assert [row["change"] for row in rows] == ["base", "train.learning_rate=0.01"]
    assert json.loads((tmp_path / "out" / "comparison.json").read_text()) == rows


def test_a_wrong_change_is_one_sentence(tiny_path: Path, tmp_path: Path) -> None:
    refused = uvast("compare", tiny_path, "--change", "train.seed=1", "--out", tmp_path / "out")
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert "error: --change: train.seed is not a change to compare; pass --seeds instead" in said
    assert not (tmp_path / "out").exists()
