"""`uvast segment RUN new.mp4`: the run knows what made its features."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import uvast as library
from in_process import uvast
from uvast.config import Config
from uvast.errors import ConfigError, InputError
from uvast.features import generate_videos, motion_vocabulary, presentation_times, read_card
from uvast.features.encode import video_writer
from uvast.models.checkpoint import read_checkpoint, write_checkpoint
from uvast.runs import RunFolder

SIZE = {"seconds": 5.0, "width": 64, "height": 48}


@dataclass(frozen=True)
class Place:
    """A run on features of `pixels` at 15 a second, and videos it has not seen."""

    data: Path
    run: Path
    new: Path


def train(data: Path, run: Path, config: Config) -> None:
    settings = run.with_suffix(".toml")
    settings.write_text(config.as_toml())
    options = ("--config", settings, "--stage", 1, "--epochs", 1, "--out", run)
    finished = uvast("train", data, *options)
    assert finished.returncode == 0, finished.stderr


def write_labels(data: Path, truths, rate: float = 15.0) -> None:
    """The true labels at the times of the features."""
    names = motion_vocabulary().names
    (data / "groundTruth").mkdir(parents=True)
    for name, truth in truths.items():
        times = np.array(read_card(data / "features" / f"{name}.json").times)
        frames = np.minimum((times * 30 + 0.5).astype(int), truth.n_frames - 1)
        labels = [names[label] for label in truth.labels[frames]]
        (data / "groundTruth" / f"{name}.txt").write_text("\n".join(labels) + "\n")
    (data / "mapping.txt").write_text("".join(f"{i} {n}\n" for i, n in enumerate(names)))
    (data / "dataset.toml").write_text(f"frames_per_second = {rate}\nsampling_rate = 3\n")


@pytest.fixture(scope="module")
def place(small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("videos")
    data, new = folder / "data", folder / "new"
    truths = generate_videos(folder / "old", n_videos=3, seed=1, **SIZE)
    generate_videos(new, n_videos=2, seed=2, **SIZE)
    for path in new.iterdir():
        path.rename(path.with_name(f"new_{path.name}"))
    made = uvast("extract", folder / "old", "--model", "pixels", "--out", data / "features")
    assert made.returncode == 0, made.stderr
    write_labels(data, truths)
    train(data, folder / "run", small_config)
    return Place(data, folder / "run", new)


def read_folder(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in folder.glob("new_*")
        if path.suffix in (".txt", ".csv", ".json")
    }


def test_videos_are_segmented_as_their_extracted_features_are(place: Place, tmp_path: Path) -> None:
    formats = ("--format", "txt,csv,json")
    straight = uvast("segment", place.run, place.new, "--out", tmp_path / "straight", *formats)
    assert straight.returncode == 0, straight.stderr
    assert "extracting pixels, 2/2" in straight.stderr
    features = tmp_path / "features"
    assert uvast("extract", place.new, "--model", "pixels", "--out", features).returncode == 0
    by_hand = uvast("segment", place.run, features, "--out", tmp_path / "by-hand", *formats)
    assert by_hand.returncode == 0, by_hand.stderr
    found = read_folder(tmp_path / "straight")
    assert len(found) == 6
    assert found == read_folder(tmp_path / "by-hand")
    for path in features.glob("*.npy"):
        kept = tmp_path / "straight" / "features" / path.name
        assert kept.read_bytes() == path.read_bytes()


def test_a_run_says_what_made_its_features(place: Place) -> None:
    info = RunFolder.open(place.run).info
    model = library.load(place.run)
    assert model.extractor == info.extractor
    assert info.extractor is not None
    assert (info.extractor.model, info.extractor.version) == ("pixels", ("1",))
    assert (info.extractor.frames_per_second, info.extractor.widths) == (15.0, (288,))


def test_python_takes_a_video_too(place: Place, tmp_path: Path) -> None:
    model = library.load(place.run)
    video = min(place.new.iterdir())
    alone = model.segment(video)
    assert uvast("segment", place.run, video, "--out", tmp_path).returncode == 0
    written = json.loads((tmp_path / f"{video.stem}.json").read_text())
    assert {"video": video.stem, **alone.as_dict()} == written
    together = library.segment(model, [place.new])
    assert sorted(together) == sorted(path.stem for path in place.new.iterdir())
    assert together[video.stem].as_dict() == alone.as_dict()


def test_python_does_not_care_what_lies_in_the_folder_for_temporary_files(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "splits").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model, video = library.load(place.run), min(place.new.iterdir())
    (together,) = library.segment(model, video).values()
    assert model.segment(video).as_dict() == together.as_dict()


def test_python_takes_one_video_at_a_time(place: Place, tmp_path: Path) -> None:
    model = library.load(place.run)
    with pytest.raises(InputError, match=r"new: holds 2 videos, not one; segment several videos"):
        model.segment(place.new)
    shutil.copy(min(place.new.iterdir()), tmp_path)
    assert model.segment(tmp_path).segments


def test_an_extraction_that_was_followed_by_a_kill_is_kept(place: Place, tmp_path: Path) -> None:
    """The features are there and no prediction is: the state between the two."""
    features = tmp_path / "features"
    assert uvast("extract", place.new, "--model", "pixels", "--out", features).returncode == 0
    before = {path.name: path.stat().st_mtime_ns for path in features.iterdir()}
    command = ("segment", place.run, place.new, "--out", tmp_path)
    assert uvast(*command).returncode == 0
    again = uvast(*command)
    assert "2 of 2 videos segmented earlier" in again.stderr
    otherwise = uvast(*command, "--overwrite", "--transcript", "frames", "--durations", "none")
    assert otherwise.returncode == 0, otherwise.stderr
    assert {path.name: path.stat().st_mtime_ns for path in features.iterdir()} == before


def test_one_bad_video_never_stops_the_others(place: Place, tmp_path: Path) -> None:
    shutil.copytree(place.new, tmp_path / "in")
    (tmp_path / "in" / "bad.mp4").write_text("no video")
    command = ("segment", place.run, tmp_path / "in", "--out", tmp_path / "out", "--json")
    for workers in (0, 2):
        finished = uvast(*command, "--workers", workers)
        assert finished.returncode == 1
        report = json.loads(finished.stdout)
        assert list(report["skipped"]) == ["bad"]
        assert "bad.mp4: cannot be read as a video" in report["skipped"]["bad"]
        assert len(report["videos"]) + len(report["earlier"]) == 2
        assert "Traceback" not in finished.stderr


def test_another_video_of_the_same_name_is_not_taken_for_the_first(
    place: Place, tmp_path: Path
) -> None:
    first, second = sorted(place.new.iterdir())
    other = tmp_path / "in" / first.name
    other.parent.mkdir()
    shutil.copy(second, other)
    out = tmp_path / "out"
    assert uvast("segment", place.run, first, "--out", out).returncode == 0
    before = read_folder(out)
    refused = uvast("segment", place.run, other, "--out", out)
    assert refused.returncode == 2
    assert f"holds another video's ({first}) features; pass --overwrite" in refused.stderr
    assert read_folder(out) == before
    assert uvast("segment", place.run, other, "--out", out, "--overwrite").returncode == 0
    assert read_card(out / "features" / f"{first.stem}.json").source == str(other)


def test_seconds_are_those_of_the_video_at_a_variable_rate(
    place: Place, tmp_path: Path, small_config: Config
) -> None:
    """A model of every frame, and a video whose frames come faster and faster."""
    data = tmp_path / "data"
    (data / "groundTruth").mkdir(parents=True)
    times = np.round(np.cumsum(np.linspace(0.2, 0.02, 60)), 3)
    pictures = np.random.default_rng(0).integers(0, 255, (60, 48, 64, 3), dtype=np.uint8)
    for name in ("first", "second"):
        with video_writer(tmp_path / f"{name}.mp4", width=64, height=48, rate=30.0) as write:
            for picture, seconds in zip(pictures, times.tolist(), strict=True):
                write(picture, seconds)
        labels = ["rest"] * 30 + ["hurry"] * 30
        (data / "groundTruth" / f"{name}.txt").write_text("\n".join(labels) + "\n")
    extraction = ("--model", "pixels", "--fps", "source", "--out", data / "features")
    assert uvast("extract", tmp_path / "first.mp4", *extraction).returncode == 0
    assert uvast("extract", tmp_path / "second.mp4", *extraction).returncode == 0
    train(data, tmp_path / "run", small_config)
    for way in (tmp_path / "first.mp4", data):
        out = tmp_path / f"out-{way.suffix}"
        finished = uvast("segment", tmp_path / "run", way, "--out", out, "--format", "json,csv")
        assert finished.returncode == 0, finished.stderr
        written = json.loads((out / "first.json").read_text())
        rows = list(csv.DictReader((out / "first.csv").read_text().splitlines()))
        shown = presentation_times(tmp_path / "first.mp4")
        edges = [*shown, read_card(data / "features" / "first.json").seconds]
        assert len(written["segments"]) == len(rows) > 0
        for segment, row in zip(written["segments"], rows, strict=True):
            for end in ("start", "end"):
                assert segment[f"{end}_seconds"] == pytest.approx(edges[segment[end]], abs=1e-3)
                assert float(row[f"{end}_seconds"]) == pytest.approx(edges[segment[end]], abs=1e-3)
        assert written["frames_per_second"] == pytest.approx(60 / edges[-1], abs=1e-3)


def test_poses_are_extracted_as_those_of_the_training_were(
    tmp_path: Path, small_config: Config
) -> None:
    data = tmp_path / "data"
    (data / "groundTruth").mkdir(parents=True)
    (tmp_path / "tables").mkdir()
    (tmp_path / "new").mkdir()
    generator = np.random.default_rng(0)
    for place, name in (("tables", "a"), ("tables", "b"), ("new", "c")):
        rows = [
            "x,y,z",
            *(",".join(f"{v:.3f}" for v in row) for row in generator.normal(size=(60, 3))),
        ]
        (tmp_path / place / f"{name}.csv").write_text("\n".join(rows) + "\n")
        if place == "tables":
            (data / "groundTruth" / f"{name}.txt").write_text("rest\n" * 15 + "hurry\n" * 15)
    options = ("--model", "table", "--rows-per-second", 20, "--fps", 10, "--out", data / "features")
    assert uvast("extract", tmp_path / "tables", *options).returncode == 0
    train(data, tmp_path / "run", small_config)
    out = tmp_path / "out"
    finished = uvast("segment", tmp_path / "run", tmp_path / "new", "--out", out)
    assert finished.returncode == 0, finished.stderr
    written = json.loads((out / "c.json").read_text())
    assert (written["frames"], written["frames_per_second"]) == (30, 10.0)
    assert written["segments"][-1]["end_seconds"] == 3.0


@pytest.mark.parametrize("name", ["new.mp4", "poses.csv", "folder"])
def test_a_model_that_does_not_know_its_features_takes_no_videos(
    place: Place, tmp_path: Path, small_config: Config, name: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(place.data, data)
    min((data / "features").glob("*.json")).unlink()
    train(data, tmp_path / "run", small_config)
    assert library.load(tmp_path / "run").extractor is None
    path = tmp_path / name
    shutil.copytree(place.new, path) if name == "folder" else path.write_text("")
    finished = uvast("segment", tmp_path / "run", path, "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert finished.stderr == (
        f"error: {path}: is not a feature file, and the model does not know how the features it "
        "was trained on were made; extract its features in the same way with uvast extract and "
        "segment those, or train on features that uvast extract made\n"
    )
    assert not (tmp_path / "out").exists()


def changed_run(place: Place, folder: Path, **changes: object) -> Path:
    """The run with another record of its extractor."""
    contents = read_checkpoint(place.run / "best.safetensors")
    record = dataclasses.replace(contents.card.extractor, **changes)
    card = dataclasses.replace(contents.card, extractor=record)
    write_checkpoint(folder / "changed.safetensors", contents.tensors, card)
    return folder / "changed.safetensors"


def test_another_version_of_the_extractor_is_an_error(place: Place, tmp_path: Path) -> None:
    run = changed_run(place, tmp_path, version=("0",))
    finished = uvast("segment", run, place.new, "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert finished.stderr.splitlines()[-1] == (
        "error: the features of pixels are version 1 here, but the model was trained on version 0; "
        "use the version of uvast, or the model's file, that made those, or extract the training "
        "videos again and train on them"
    )
    assert not list((tmp_path / "out").rglob("*.npy"))
    with pytest.raises(ConfigError, match="trained on version 0"):
        library.load(run).segment(min(place.new.iterdir()))


def test_the_file_of_a_model_is_found_again_or_asked_for(place: Place, tmp_path: Path) -> None:
    gone = str(tmp_path / "dino.onnx")
    run = changed_run(place, tmp_path, model="onnx:dino.onnx", version=("1 a b",), files=(gone,))
    finished = uvast("segment", run, place.new, "--out", tmp_path / "out")
    assert finished.returncode == 2
    assert finished.stderr == (
        f"error: {gone}: does not exist, but made the features that the model was trained on; put "
        "it back there, with its .toml beside it\n"
    )


def test_an_extractor_of_another_uvast_is_an_error(place: Place, tmp_path: Path) -> None:
    run = changed_run(place, tmp_path, model="telepathy")
    with pytest.raises(ConfigError, match="this version of uvast has no extractor 'telepathy'"):
        library.segment(run, place.new)


def test_features_of_new_videos_never_land_in_a_dataset(place: Place) -> None:
    before = sorted(place.data.rglob("*"))
    finished = uvast("segment", place.run, place.new, "--out", place.data)
    assert finished.returncode == 2
    assert f"{place.data}: is a dataset, and features of other videos would land" in finished.stderr
    assert sorted(place.data.rglob("*")) == before


def test_a_split_goes_with_a_dataset(place: Place, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--split 1 needs a dataset"):
        library.segment(place.run, place.new, split=1)


def test_overlay_and_report_take_what_segment_wrote(place: Place, tmp_path: Path) -> None:
    video = min(place.new.iterdir())
    assert uvast("segment", place.run, video, "--out", tmp_path / "out").returncode == 0
    drawn = tmp_path / "annotated.mp4"
    finished = uvast("overlay", video, tmp_path / "out", "--out", drawn)
    assert finished.returncode == 0, finished.stderr
    assert len(presentation_times(drawn)) == len(presentation_times(video))
    page = uvast("report", tmp_path / "out", "--out", tmp_path / "page.html")
    assert page.returncode == 0, page.stderr
