"""`uvast report` as a user meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from in_process import uvast
from uvast.config import Config
from uvast.training import train

report = partial(uvast, "report")


@pytest.fixture(scope="module")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = small_config.replaced(**{"train.epochs": 1, "train.alignment_epochs": 0})
    return train(tiny_path, tmp_path_factory.mktemp("report") / "run", config=config, split=1).path


def test_a_run_s_page(run: Path, tmp_path: Path) -> None:
    chosen = ("--decodings", "frames, viterbi", "--pseudo-labels")
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
    finished = report(run, "--out", page, "--decodings", "frames")
    assert finished.returncode == 2
    assert "exists already; pass --overwrite" in finished.stderr.replace("\n", " ")
    assert page.read_text() == "my own notes"
    assert report(run, "--out", page, "--decodings", "frames", "--overwrite").returncode == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_something_has_to_be_written(run: Path) -> None:
    finished = report(run)
    assert finished.returncode == 2
    assert "pass --out report.html, --open, --figures DIR or --times CSV" in finished.stderr


def test_the_old_name_of_decodings_still_works(run: Path, tmp_path: Path) -> None:
    finished = report(run, "--out", tmp_path / "report.html", "--ways", "nonsense")
    assert finished.returncode == 2
    assert "--decodings: this model has no decoding 'nonsense'" in finished.stderr
    assert "--ways" not in report("--help").stdout


def test_predictions_are_drawn_and_with_their_dataset_scored(
    tiny_path: Path, tmp_path: Path
) -> None:
    predictions = tmp_path / "predictions"
    shutil.copytree(tiny_path / "groundTruth", predictions)
    times = ("--times", tmp_path / "times.csv")
    finished = report(predictions, "--out", tmp_path / "alone.html", *times)
    assert finished.returncode == 0, finished.stderr
    assert '<section id="scores"' not in (tmp_path / "alone.html").read_text("utf-8")
    assert (tmp_path / "times.csv").read_text().startswith("video,split,source,action,segments,")
    finished = report(predictions, "--dataset", tiny_path, "--out", tmp_path / "r.html", *times)
    assert finished.returncode == 2
    assert "times.csv: exists already; pass --overwrite" in finished.stderr.replace("\n", " ")
    finished = report(predictions, "--dataset", tiny_path, "--out", tmp_path / "r.html")
    assert finished.returncode == 0, finished.stderr
    assert "the mean over 2 splits" in (tmp_path / "r.html").read_text("utf-8")
    finished = report(predictions, "--split", "1", "--out", tmp_path / "split.html")
    assert finished.returncode == 2
    assert "--split: it is not known which dataset; pass --dataset" in finished.stderr


def test_open_without_out_shows_a_temporary_page(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser that writes down what it is asked to open."""
    seen = tmp_path / "seen"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\necho "$@" > {seen}.part\nmv {seen}.part {seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # a process of its own: the browser outlives the command
    command = [sys.executable, "-m", "uvast", "report", str(tiny_path), "--open"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    for _ in range(100):
        if seen.exists():
            break
        time.sleep(0.05)
    page = Path(seen.read_text().strip().removeprefix("file://"))
    assert page.is_relative_to(tmp_path)
    assert f"wrote {page}" in finished.stderr.replace("\n", "")
    assert page.read_text("utf-8").startswith("<!doctype html>")


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
    finished = report(tmp_path, "--out", tmp_path / "r.html", "--decodings", "frames")
    assert finished.returncode == 2
    assert "--decodings works only with a run" in finished.stderr
    assert "Traceback" not in finished.stderr
