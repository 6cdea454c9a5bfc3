"""`uvast train` and `uvast segment` as a user meets them."""

from __future__ import annotations

import copy
import csv
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from in_process import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.inference.output import read_manifest
from uvast.models.checkpoint import read_checkpoint, write_checkpoint


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
    name = min(tmp_path.glob("*.txt")).stem
    labels = (tmp_path / f"{name}.txt").read_text().splitlines()
    written = json.loads((tmp_path / f"{name}.json").read_text())
    rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
    assert written["video"] == name
    assert written["frames"] == len(labels) == int(rows[-1]["end"])
    assert [row["label"] for row in rows] == written["transcript"]
    for segment in written["segments"]:
        assert set(labels[segment["start"] : segment["end"]]) == {segment["label"]}
    scored = uvast("evaluate", tmp_path, tiny_path, "--split", 1, "--json")
    assert json.loads(scored.stdout)["videos"] == len(list(tmp_path.glob("*.txt")))


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.txt")}


def test_a_stopped_command_goes_on_with_what_is_missing(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    command = ("segment", run, tiny_path, "--out", tmp_path)
    assert uvast(*command).returncode == 0
    names = sorted(path.stem for path in tmp_path.glob("*.txt"))
    before = times(tmp_path)
    (tmp_path / f"{names[0]}.txt").unlink()
    (tmp_path / f"{names[1]}.json").unlink()
    again = uvast(*command, "--json")
    assert again.returncode == 0, again.stderr
    assert list(json.loads(again.stdout)["videos"]) == names[:2]
    assert json.loads(again.stdout)["earlier"] == names[2:]
    assert f"{len(names) - 2} of {len(names)} videos segmented earlier" in again.stderr
    after = times(tmp_path)
    assert {name for name in before if after[name] == before[name]} == {
        f"{name}.txt" for name in names[2:]
    }
    idle = uvast(*command)
    assert "8 of 8 videos segmented earlier" in idle.stderr
    assert "segmenting" not in idle.stderr


def test_predictions_of_another_model_or_other_options_stay(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    command = ("segment", run, tiny_path, "--split", 1, "--out", tmp_path)
    assert uvast(*command).returncode == 0
    before = times(tmp_path)
    differently = uvast(*command, "--set", "alpha=0.5")
    assert differently.returncode == 2
    assert "made differently (alpha is 0.0 there, 0.5 here); choose another --out" in (
        differently.stderr
    )
    other = tmp_path / "other.safetensors"
    shutil.copy(run / "last.safetensors", other)
    by_another = uvast("segment", other, tiny_path, "--split", 1, "--out", tmp_path)
    assert by_another.returncode == 2
    assert f"made differently (by another model, {run})" in by_another.stderr
    assert times(tmp_path) == before
    replaced = uvast(*command, "--set", "alpha=0.5", "--overwrite")
    assert replaced.returncode == 0, replaced.stderr
    assert not times(tmp_path).items() & before.items()
    assert read_manifest(tmp_path).options["alpha"] == 0.5


def test_a_file_of_the_same_name_and_files_of_others_are_not_replaced(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    source = min((tiny_path / "features").glob("*.npy"))
    out = tmp_path / "out"
    assert uvast("segment", run, source, "--out", out).returncode == 0
    shutil.copy(source, tmp_path / source.name)
    again = uvast("segment", run, tmp_path / source.name, "--out", out)
    assert again.returncode == 2
    assert "exists already; pass --overwrite to replace it" in again.stderr
    (out / "segmentation.json").unlink()
    unknown = uvast("segment", run, source, "--out", out)
    assert unknown.returncode == 2
    assert "exists already; pass --overwrite to replace it" in unknown.stderr


def test_predictions_of_a_dataset_and_another_file_are_shown_together(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    out, extra = tmp_path / "out", tmp_path / "extra.npy"
    shutil.copy(min((tiny_path / "features").glob("*.npy")), extra)
    assert uvast("segment", run, tiny_path, extra, "--out", out).returncode == 0
    assert read_manifest(out).dataset is None
    shown = uvast("report", out, "--out", tmp_path / "page.html")
    assert shown.returncode == 0, shown.stderr


def test_the_manifest_says_where_predictions_come_from(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    finished = uvast("segment", run, tiny_path, "--out", tmp_path)
    assert finished.returncode == 0, finished.stderr
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    dataset = Dataset.open(tiny_path)
    assert manifest.train == dataset.side(1, "train")
    assert Path(manifest.model) == run
    assert Path(manifest.dataset) == tiny_path
    assert set(manifest.videos) == set(dataset.names)
    weights = (run / "best.safetensors").read_bytes()
    assert manifest.checkpoint == hashlib.sha256(weights).hexdigest()
    assert f"trained on {len(manifest.train)} of 8 videos" in finished.stderr


def test_unseen_videos_come_without_a_warning(run: Path, tiny_path: Path, tmp_path: Path) -> None:
    finished = uvast("segment", run, tiny_path, "--split", 1, "--out", tmp_path)
    assert finished.returncode == 0
    assert "trained on" not in finished.stderr


@pytest.mark.parametrize("place", ["groundTruth", "link", "groundTruth/new"])
def test_the_labels_of_the_dataset_are_never_replaced(
    run: Path, tiny_path: Path, tmp_path: Path, place: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(tiny_path, data)
    (data / "link").symlink_to(data / "groundTruth")
    before = {path: path.read_text() for path in data.glob("groundTruth/*")}
    for inputs in ((data,), tuple((tiny_path / "features").glob("*.npy"))):
        finished = uvast("segment", run, *inputs, "--out", data / place, "--overwrite")
        assert finished.returncode == 2
        assert "is part of the dataset" in finished.stderr
    assert {path: path.read_text() for path in data.glob("groundTruth/*")} == before


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


def test_nothing_but_bad_files_is_exit_code_two(run: Path, tiny_path: Path, tmp_path: Path) -> None:
    command = ("segment", run, tmp_path / "in", "--out", tmp_path / "out")
    (tmp_path / "in").mkdir()
    for name in ("bad", "worse"):
        np.save(tmp_path / "in" / f"{name}.npy", np.zeros((4, 99), np.float32))
    finished = uvast(*command)
    assert finished.returncode == 2
    *reasons, sentence = finished.stderr.splitlines()[-3:]
    assert all(line.startswith("skipped: ") for line in reasons)
    assert sentence == "error: none of the 2 videos can be segmented; the reasons are above"
    # once some of them are done, others may still be bad
    source = min((tiny_path / "features").glob("*.npy"))
    shutil.copy(source, tmp_path / "in" / source.name)
    assert [uvast(*command).returncode for _ in range(2)] == [1, 1]
    for name in ("bad", "worse"):
        (tmp_path / "in" / f"{name}.npy").unlink()
    assert uvast(*command).returncode == 0


def test_a_model_whose_transitions_forbid_everything_is_told_of_in_one_sentence(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    """The transitions are made by hand: a fitted model allows every order of actions."""
    found = read_checkpoint(run / "best.safetensors")
    decoding = copy.deepcopy(found.card.decoding)
    decoding["transitions"]["final"] = [None] * len(decoding["transitions"]["initial"])
    card = replace(found.card, decoding=decoding)
    write_checkpoint(tmp_path / "made.safetensors", found.tensors, card)
    source = min((tiny_path / "features").glob("*.npy"))
    finished = uvast(
        *("segment", tmp_path / "made.safetensors", source, "--out", tmp_path / "out"),
        *("--transcript", "semi-markov", "--set", "ends=true"),
    )
    assert finished.returncode == 2  # the only video is skipped
    assert f"error: {source.stem}: the transitions allow no segmentation of" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--durations", "alignment"), "need a model with an alignment decoder; train stage 2"),
        (("--durations", "magic"), "decode.durations is 'magic'"),
        (("--set", "beam_width=-1"), "decode.beam_width is -1"),
        (("--transcript", "best", "--durations", "fifa"), "'best' finds its own durations and"),
        (("--durations", "none", "--format", "txt"), "--format: txt holds a label for every"),
        (("--format", "docx"), "--format: unknown format 'docx'; choose from txt, csv, json"),
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


def test_features_of_another_kind_are_told_of_everywhere(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    """One video of the test side is in other units: a warning that names its file, no error."""
    data, out = Path(shutil.copytree(tiny_path, tmp_path / "data")), tmp_path / "out"
    name = Dataset.open(data).side(1, "test")[0]
    file = data / "features" / f"{name}.npy"
    command = ("segment", run, data, "--split", 1, "--out")
    assert "far from" not in uvast(*command, tmp_path / "before").stderr
    np.save(file, np.load(file) * 1000)
    told = f"the features in {file} are far from those the model was trained on: check their units"
    finished = uvast(*command, out)
    assert finished.returncode == 0
    assert " ".join(finished.stderr.split()).count(f"warning: {told}") == 1
    assert read_manifest(out).unfamiliar == (name,)
    scored = uvast("evaluate", out, data, "--split", 1)
    assert scored.returncode == 0
    assert " ".join(scored.stderr.split()).count(f"warning: {told}") == 1
    for which in (out, run):
        page = tmp_path / f"{which.name}.html"
        report = uvast("report", which, "--dataset", data, "--split", 1, "--out", page)
        assert report.returncode == 0, report.stderr
        assert f"The features in {file} are far from" in page.read_text("utf-8")
    again = uvast(*command, out, "--overwrite", "--json")
    assert json.loads(again.stdout)["unfamiliar"] == [name]
    np.save(file, np.load(file) / 1000)
    assert uvast(*command, out, "--overwrite").returncode == 0
    assert read_manifest(out).unfamiliar == ()


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
