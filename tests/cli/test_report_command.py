"""`uvast report` as a user meets it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from uvast.config import Config
from uvast.training import train


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "uvast", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = small_config.replaced(**{"train.epochs": 1, "train.alignment_epochs": 0})
    return train(tiny_path, tmp_path_factory.mktemp("report") / "run", config=config, split=1).path


def test_a_run_s_page(run: Path, tmp_path: Path) -> None:
    chosen = ("--ways", "frames, viterbi", "--pseudo-labels")
    finished = report(run, "--out", tmp_path / "report.html", *chosen)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    for section in ("scores", "videos", "attention", "pseudo-labels", "training", "configuration"):
        assert f'<section id="{section}"' in text


def test_a_file_is_replaced_only_if_asked_for(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("my own notes")
    finished = report(run, "--out", page, "--ways", "frames")
    assert finished.returncode == 2
    assert "exists already; pass --overwrite" in finished.stderr.replace("\n", " ")
    assert page.read_text() == "my own notes"
    assert report(run, "--out", page, "--ways", "frames", "--overwrite").returncode == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_something_has_to_be_written(run: Path) -> None:
    finished = report(run)
    assert finished.returncode == 2
    assert "pass --out report.html or --figures DIR" in finished.stderr.replace("\n", " ")


def test_predictions_need_their_dataset(tiny_path: Path, tmp_path: Path) -> None:
    predictions = tmp_path / "predictions"
    shutil.copytree(tiny_path / "groundTruth", predictions)
    finished = report(predictions, "--out", tmp_path / "r.html")
    assert finished.returncode == 2
    assert "name their dataset with --dataset" in finished.stderr
    finished = report(predictions, "--dataset", tiny_path, "--out", tmp_path / "r.html")
    assert finished.returncode == 0, finished.stderr
    assert "the mean over 2 splits" in (tmp_path / "r.html").read_text("utf-8")


def test_a_benchmark_s_page_and_figures(tmp_path: Path) -> None:
    names = ("f1@10", "f1@25", "f1@50", "edit", "acc")
    row = {"dataset": "d", "model": "m", "supervision": "full", "decoding": "fifa"}
    row |= {"splits": 4, "seeds": 1} | dict.fromkeys(names, 61.5)
    row |= {f"{name} spread": None for name in names}
    (tmp_path / "results.json").write_text(json.dumps([row]))
    finished = report(tmp_path, "--out", tmp_path / "r.html", "--figures", tmp_path / "figures")
    assert finished.returncode == 0, finished.stderr
    assert "wrote 2 figures" in finished.stderr
    assert (tmp_path / "figures" / "benchmark.svg").is_file()
    assert "<strong>61.5</strong>" in (tmp_path / "r.html").read_text("utf-8")
    finished = report(tmp_path, "--figures", tmp_path / "figures")
    assert finished.returncode == 2
    assert "exists already; pass --overwrite" in finished.stderr.replace("\n", " ")


def test_options_of_runs_go_with_runs(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]")
    finished = report(tmp_path, "--out", tmp_path / "r.html", "--ways", "frames")
    assert finished.returncode == 2
    assert "--ways goes with a run" in finished.stderr
    assert "Traceback" not in finished.stderr
