"""What a path is, and what a run's files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uvast.errors import CorruptFileError, MissingFileError
from uvast.report import report_benchmark, report_kind
from uvast.report.sources import training_charts
from uvast.runs import RunFolder

LOG = """stage,epoch,learning_rate,loss,frame,segment,alignment,validation_acc,validation_score
1,1,0.1,3.0,1.0,2.0,,,
1,2,0.1,2.0,0.5,1.5,,50.0,50.0
2,1,0.1,0.7,,,0.7,60.0,60.0
"""


def read_log(path: Path, log: str = LOG) -> list[dict[str, float]]:
    (path / "log.csv").write_text(log)
    return RunFolder(path).read_log()


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


def test_a_benchmark_may_have_results_of_another_protocol_alone(tmp_path: Path) -> None:
    (tmp_path / "results-legacy.json").write_text("[]")
    assert report_kind(tmp_path) == "benchmark"
    assert report_benchmark(tmp_path).facts["Protocol"] == "legacy"
    (tmp_path / "results.json").write_text("[]")
    assert report_benchmark(tmp_path).facts["Protocol"] == "standard"
    with pytest.raises(MissingFileError, match=r"results\.json: does not exist; run the benchmark"):
        report_benchmark(tmp_path / "absent")


def test_each_loss_of_each_stage_has_a_chart(tmp_path: Path) -> None:
    charts = {one.title: one for one in training_charts(read_log(tmp_path))}
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
    log = read_log(tmp_path, LOG.replace("1.5", "nan").replace("0.7", "inf"))
    charts = {one.title: one for one in training_charts(log)}
    assert charts["Stage 1: segment"].epochs == (1.0,)
    assert "Stage 2: alignment" not in charts


def test_a_run_without_a_finished_epoch_has_no_charts(tmp_path: Path) -> None:
    header = LOG.splitlines()[0] + "\n"
    assert training_charts(read_log(tmp_path, header)) == ()


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"dataset": "d"}]', "0.model is missing; run the benchmark again"),
        ('{"dataset": "d"}', "not a list"),
        ('[{"dataset": 3}]', "0.dataset is 3, not text"),
        ("[1e999]", "not"),
        ("[" * 5000, "results.json"),
        ("", "results.json: is not valid JSON"),
    ],
)
def test_broken_results_are_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(CorruptFileError) as caught:
        report_benchmark(tmp_path)
    assert message in str(caught.value)
