"""What a user reads of a run that saw its test side without labels, from training to scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from in_process import uvast

SMALL = (
    *("--set", "model.width=8", "--set", "model.n_encoder_layers=2", "--set", "model.n_stages=2"),
    *("--epochs", "1"),
)


@pytest.fixture(scope="module")
def run(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run, and what training said."""
    out = tmp_path_factory.mktemp("transductive") / "run"
    done = uvast("train", tiny_path, "--split", 1, "--model", "sstda", *SMALL, "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done.stderr


def test_training_says_so(run: tuple[Path, str]) -> None:
    said = " ".join(run[1].split())
    assert "training sstda on 4 videos and 4 more without their labels (transductive)" in said


def test_a_test_side_needs_a_split(tiny_path: Path, tmp_path: Path) -> None:
    done = uvast("train", tiny_path, "--model", "sstda", *SMALL, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "without a split there is no test side" in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()


def test_scores_and_report_say_so(run: tuple[Path, str], tiny_path: Path, tmp_path: Path) -> None:
    sentence = "All videos scored were seen in training without labels: these scores are "
    predictions, page = tmp_path / "predictions", tmp_path / "page.html"
    assert uvast("segment", run[0], tiny_path, "--split", 1, "--out", predictions).returncode == 0
    manifest = predictions / "segmentation.json"
    assert len(json.loads(manifest.read_text())["unlabelled"]) == 4
    scored = uvast("evaluate", predictions, tiny_path, "--json")
    assert json.loads(scored.stdout)["transductive"] == 4
    assert sentence.lower() in " ".join(scored.stderr.split()).lower()
    for what in (run[0], predictions):
        done = uvast("report", what, "--out", page, "--overwrite")
        assert done.returncode == 0, done.stderr
        assert sentence in page.read_text("utf-8")
    assert uvast("report", run[0], "--out", page, "--overwrite").returncode == 0
    assert "and 4 without their labels (transductive)" in page.read_text("utf-8")
    # the predictions know by themselves
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "model": str(tmp_path / "gone")}))
    scored = uvast("evaluate", predictions, tiny_path, "--json")
    assert json.loads(scored.stdout)["transductive"] == 4
