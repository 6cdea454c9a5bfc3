"""`uvast extract` and `uvast overlay` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from in_process import uvast
from uvast.features import generate_videos, presentation_times


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    generate_videos(folder, n_videos=2, seconds=4.0, width=64, height=48, seed=1)
    return folder


def test_a_folder_of_videos_becomes_features(videos: Path, tmp_path: Path) -> None:
    command = ("extract", videos, "--model", "pixels", "--out", tmp_path / "out")
    first = uvast(*command)
    assert first.returncode == 0, first.stderr
    assert "2 videos in" in first.stdout
    assert first.stdout.count("new") == 2
    assert "extracting pixels, 2/2" in first.stderr
    features = np.load(tmp_path / "out" / "s01_001.npy")
    assert features.shape[1] == 288
    again = uvast(*command, "--json")
    report = json.loads(again.stdout)
    assert {one["state"] for one in report["videos"].values()} == {"kept"}
    assert report["videos"]["s01_001"]["frames"] == len(features)
    assert report["skipped"] == {}


def test_a_bad_video_is_told_at_the_end_and_the_exit_code_is_2(
    videos: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.mp4").write_text("no video")
    paths = (tmp_path / "bad.mp4", videos / "s01_001.mp4")
    options = ("--model", "pixels", "--out", tmp_path / "out", "--processes", 2)
    finished = uvast("extract", *paths, *options)
    assert finished.returncode == 2
    assert "1 video in" in finished.stdout
    assert f"skipped: {tmp_path / 'bad.mp4'}: cannot be read as a video" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert (tmp_path / "out" / "s01_001.npy").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--model", "clip"), "--model: no model 'clip'; choose from pixels, appearance"),
        (("--fps", "fast"), "--fps: 'fast' is not a rate; write for example 15, or source"),
        (("--fps", "0"), "--fps: '0' is not a rate"),
        (("--model", "appearance", "--device", "cuda:77"), "device 'cuda:77' cannot be used"),
        (("--model", "onnx:no.onnx"), "no.toml: does not exist; describe the model's input"),
    ],
)
def test_wrong_options_are_one_sentence(
    videos: Path, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    finished = uvast("extract", videos, "--out", tmp_path / "out", *options)
    assert finished.returncode == 2
    assert sentence in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rate", ["5000000", "inf", "nan", "0"])
def test_a_rate_of_rows_beyond_all_reason_is_no_traceback(tmp_path: Path, rate: str) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    options = ("--model", "table", "--out", tmp_path / "out", "--rows-per-second", rate)
    finished = uvast("extract", tmp_path / "a.csv", *options)
    assert finished.returncode == 2
    assert "--rows-per-second" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_prediction_is_drawn_under_its_video(videos: Path, tmp_path: Path) -> None:
    video = videos / "s01_001.mp4"
    n_frames = len(presentation_times(video))
    (tmp_path / "a.txt").write_text("rest\n" * 40 + "swing\n" * (n_frames - 40))
    command = ("overlay", video, tmp_path / "a.txt", "--out", tmp_path / "drawn.mp4")
    finished = uvast(*command)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == ""
    assert f"the annotated video is in {tmp_path / 'drawn.mp4'}" in finished.stderr
    assert len(presentation_times(tmp_path / "drawn.mp4")) == n_frames
    again = uvast(*command)
    assert again.returncode == 2
    assert "drawn.mp4: exists already; pass --overwrite to replace it" in again.stderr
    assert uvast(*command, "--overwrite").returncode == 0


def test_a_folder_without_the_videos_prediction_is_one_sentence(
    videos: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.txt").write_text("rest\n")
    drawn = tmp_path / "drawn.mp4"
    finished = uvast("overlay", videos / "s01_001.mp4", tmp_path, "--out", drawn)
    assert finished.returncode == 2
    assert "has no prediction of video s01_001; segment that video" in finished.stderr
    assert not drawn.exists()


def test_colours_are_those_of_the_dataset(tiny_path: Path) -> None:
    from uvast.cli.overlay import _styles
    from uvast.data import Dataset
    from uvast.report.palette import class_styles, rgb

    vocabulary = Dataset.open(tiny_path).vocabulary
    found = _styles({"something new"}, tiny_path)
    looks = zip(vocabulary.names, class_styles(vocabulary), strict=True)
    assert all(found[name].colour == rgb(look.colour) for name, look in looks)
    assert "something new" in found
    assert found["background"].colour not in [found[name].colour for name in vocabulary.names[1:]]
