"""What a path is, and what a run's files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uvast.errors import CheckpointError, CorruptFileError, MissingFileError
from uvast.report import report_benchmark, report_kind
from uvast.report.sources import RunFiles, training_charts

LOG = """stage,epoch,learning_rate,loss,frame,segment,alignment,validation_acc,validation_score
1,1,0.1,3.0,1.0,2.0,,,
1,2,0.1,2.0,0.5,1.5,,50.0,50.0
2,1,0.1,0.7,,,0.7,60.0,60.0
"""
RUN = {"dataset": "d", "split": 1, "supervision": "full", "timestamps": None, "train": ["v"]}


def write_run(path: Path, values: dict[str, object], log: str = LOG) -> Path:
    (path / "run.json").write_text(json.dumps(values))
    (path / "config.toml").write_text("[model]\n")
    (path / "log.csv").write_text(log)
    return path


def test_a_folder_is_told_by_its_files(tmp_path: Path) -> None:
    assert report_kind(tmp_path) == "predictions"
    (tmp_path / "results.json").write_text("[]")
    assert report_kind(tmp_path) == "benchmark"
    (tmp_path / "run.json").write_text("{}")
    assert report_kind(tmp_path) == "run"
    with pytest.raises(MissingFileError, match="is a file, not a folder"):
        report_kind(tmp_path / "run.json")
    with pytest.raises(MissingFileError, match="does not exist"):
        report_kind(tmp_path / "absent")


def test_each_loss_of_each_stage_has_a_chart(tmp_path: Path) -> None:
    charts = {
        one.title: one for one in training_charts(RunFiles.read(write_run(tmp_path, RUN)).log)
    }
    assert list(charts) == [
        "Stage 1: loss",
        "Stage 1: frame",
        "Stage 1: segment",
        "Stage 1: validation",
        "Stage 2: alignment",
        "Stage 2: validation",
    ]
    assert charts["Stage 1: frame"].epochs == (1.0, 2.0)
    assert charts["Stage 1: frame"].curves == {"frame": (1.0, 0.5)}
    assert charts["Stage 1: validation"].epochs == (2.0,)
    assert charts["Stage 1: validation"].curves == {"acc": (50.0,)}


def test_epochs_that_diverged_are_left_out(tmp_path: Path) -> None:
    log = RunFiles.read(
        write_run(tmp_path, RUN, LOG.replace("1.5", "nan").replace("0.7", "inf"))
    ).log
    charts = {one.title: one for one in training_charts(log)}
    assert charts["Stage 1: segment"].epochs == (1.0,)
    assert "Stage 2: alignment" not in charts


def test_a_run_without_a_finished_epoch_has_no_charts(tmp_path: Path) -> None:
    header = LOG.splitlines()[0] + "\n"
    assert training_charts(RunFiles.read(write_run(tmp_path, RUN, header)).log) == ()
    (tmp_path / "log.csv").unlink()
    assert RunFiles.read(tmp_path).log == ()


def test_broken_files_are_named(tmp_path: Path) -> None:
    write_run(tmp_path, RUN, LOG.replace("3.0", "three"))
    with pytest.raises(CorruptFileError, match=r"log\.csv, line 2: loss is .three., not a number"):
        RunFiles.read(tmp_path)
    write_run(tmp_path, {"dataset": "d"})
    with pytest.raises(CheckpointError, match=r"run\.json.*is not a run description"):
        RunFiles.read(tmp_path)


def test_a_benchmark_s_rows_are_read(tmp_path: Path) -> None:
    names = ("f1@10", "f1@25", "f1@50", "edit", "acc")
    row = {"dataset": "d", "model": "m", "supervision": "full", "decoding": "fifa"}
    row |= {"splits": 4, "seeds": 2}
    row |= {name: 50.0 + i for i, name in enumerate(names)}
    row |= {f"{name} spread": None for name in names} | {"acc spread": 0.5}
    (tmp_path / "results.json").write_text(json.dumps([row]))
    (found,) = report_benchmark(tmp_path).benchmark
    assert found.labels == ("d", "m", "full", "fifa")
    assert found.means == {"F1@10": 50, "F1@25": 51, "F1@50": 52, "Edit": 53, "Acc": 54}
    assert found.spreads == {"Acc": 0.5}
    (tmp_path / "results.json").write_text("[]")
    assert report_benchmark(tmp_path).notes == ("No cell of this benchmark is finished.",)
    (tmp_path / "results.json").write_text('[{"dataset": "d"}]')
    with pytest.raises(CorruptFileError, match="is not a benchmark's results"):
        report_benchmark(tmp_path)
