"""`uvast train` and `uvast segment` as a user meets them."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uvast.config import Config


def uvast(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "uvast", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    (folder / "config.toml").write_text(small_config.as_toml())
    config = ("--config", folder / "config.toml", "--set", "train.epochs=2", "--stage", "1")
    finished = uvast("train", tiny_path, "--split", 1, *config, "--out", folder / "run")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    assert "stage 1: loss" in finished.stderr
    assert ", 2/2" in finished.stderr
    assert "the model is in" in finished.stderr
    return folder / "run"


def test_predictions_are_written_in_every_format_and_can_be_scored(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    formats = ("--format", "txt,csv,json")
    finished = uvast("segment", run, tiny_path, "--split", 1, "--out", tmp_path, *formats)
    assert finished.returncode == 0, finished.stderr
    name = min(tmp_path.glob("*.json")).stem
    labels = (tmp_path / f"{name}.txt").read_text().splitlines()
    written = json.loads((tmp_path / f"{name}.json").read_text())
    rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
    assert written["video"] == name
    assert written["frames"] == len(labels) == int(rows[-1]["end"])
    assert [row["label"] for row in rows] == written["transcript"]
    for segment in written["segments"]:
        assert set(labels[segment["start"] : segment["end"]]) == {segment["label"]}
    scored = uvast("evaluate", tmp_path, tiny_path, "--split", 1, "--json")
    assert json.loads(scored.stdout)["videos"] == len(list(tmp_path.glob("*.json")))


def test_predictions_are_only_replaced_on_request(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    command = ("segment", run, tiny_path, "--split", 1, "--out", tmp_path)
    assert uvast(*command).returncode == 0
    again = uvast(*command)
    assert again.returncode == 2
    assert "exists already; pass --overwrite to replace it" in again.stderr
    assert uvast(*command, "--overwrite").returncode == 0


def test_a_bad_file_is_skipped_and_the_exit_code_is_one(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    source = min((tiny_path / "features").glob("*.npy"))
    shutil.copy(source, tmp_path / "in" / source.name)
    np.save(tmp_path / "in" / "bad.npy", np.zeros((4, 99), np.float32))
    finished = uvast("segment", run, tmp_path / "in", "--out", tmp_path / "out", "--json")
    assert finished.returncode == 1
    report = json.loads(finished.stdout)
    assert list(report["videos"]) == [source.stem]
    assert "bad.npy: features of shape (4, 99)" in report["skipped"]["bad"]
    assert "skipped: " in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--durations", "alignment"), "need a model with an alignment decoder; train stage 2"),
        (("--durations", "magic"), "decode.durations is 'magic'"),
        (("--set", "beam_width=-1"), "decode.beam_width is -1"),
        (("--transcript", "best", "--durations", "fifa"), "'best' finds its own durations and"),
        (("--durations", "none", "--format", "txt"), "--format: txt has a label a frame, and"),
        (("--format", "docx"), "--format: no format 'docx'; choose from txt, csv, json"),
        (("--split", 9), "has no split 9; choose from 1, 2"),
        (("--device", "cuda:77"), "device 'cuda:77' cannot be used; pass --device cpu"),
    ],
)
def test_wrong_options_are_one_sentence(
    run: Path, tiny_path: Path, tmp_path: Path, arguments: tuple[object, ...], sentence: str
) -> None:
    finished = uvast("segment", run, tiny_path, "--out", tmp_path / "out", *arguments)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "out").exists()


def test_stage_two_is_added_to_a_finished_run(run: Path, tiny_path: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    settings = ("--set", "train.alignment_epochs=1")
    finished = uvast("train", "--resume", tmp_path / "run", "--stage", 2, *settings)
    assert finished.returncode == 0, finished.stderr
    way = ("--durations", "alignment", "--out", tmp_path / "out")
    assert uvast("segment", tmp_path / "run", tiny_path, "--split", 1, *way).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "a dataset and --out are needed"),
        (("DATA", "--out", "OUT", "--stage", "2"), "--stage 2: stage 2 goes on from a trained"),
        (("DATA", "--out", "OUT", "--preset", "none"), "no preset 'none'; choose from"),
        (("DATA", "--out", "OUT", "--set", "train.epoch=1"), "train.epoch: no such setting"),
        (("DATA", "--out", "OUT", "--model", "gpt"), "model.kind = 'gpt': no such model"),
        (("DATA", "--resume", "OUT"), "--resume: a resumed run has its dataset and settings"),
        (("--resume", "OUT"), "run.json"),
        (("absent", "--out", "OUT"), "absent: does not exist"),
    ],
)
def test_wrong_training_commands_are_one_sentence(
    tiny_path: Path, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    places = {"DATA": str(tiny_path), "OUT": str(tmp_path / "out")}
    finished = uvast("train", *(places.get(one, one) for one in arguments))
    assert finished.returncode == 2
    assert sentence in " ".join(finished.stderr.split())
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "out").exists()
