"""What is read of datasets and files: the model's rate, the source's seconds, the time axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import uvast
from uvast.data import Dataset
from uvast.errors import FeatureError, InputError
from uvast.inference.inputs import find_sources


@pytest.fixture
def other_rates(tiny: Dataset, tmp_path: Path) -> Path:
    """The small dataset as another would describe it."""
    for part in ("features", "groundTruth", "splits", "mapping.txt"):
        (tmp_path / part).symlink_to(tiny.path / part)
    (tmp_path / "dataset.toml").write_text("sampling_rate = 2\nframes_per_second = 7.5\n")
    return tmp_path


def test_a_dataset_of_another_rate_is_seen_at_the_models(
    model: uvast.Segmenter, tiny: Dataset, other_rates: Path
) -> None:
    way = {"transcript": "frames", "durations": "none"}
    expected = uvast.segment(model, tiny.path, split=1, **way)
    found = uvast.segment(model, other_rates, split=1, **way)
    assert {n: one.segmentation for n, one in found.items()} == {
        n: one.segmentation for n, one in expected.items()
    }


def test_seconds_are_the_datasets_else_the_models(
    model: uvast.Segmenter, tiny: Dataset, other_rates: Path
) -> None:
    prediction = next(iter(uvast.segment(model, other_rates, split=1).values()))
    last = prediction.segments[-1]
    assert prediction.as_dict()["frames_per_second"] == 7.5
    assert last.end_seconds == last.end / 7.5
    (other_rates / "dataset.toml").unlink()
    for one in uvast.segment(model, other_rates, split=1).values():
        assert one.frames_per_second == tiny.spec.frames_per_second


def test_a_square_file_has_the_time_axis_of_the_others(tmp_path: Path) -> None:
    square = np.arange(36, dtype=np.float32).reshape(6, 6)  # (T, F)
    for folder, stored, other in (("tf", square, (9, 6)), ("ft", square.T, (6, 9))):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "square.npy", stored)
        np.save(tmp_path / folder / "other.npy", np.zeros(other, np.float32))
        (tmp_path / folder / "torn.npy").write_bytes(b"torn")
        for paths in ([tmp_path / folder], sorted((tmp_path / folder).glob("*.npy"))):
            sources = find_sources(paths, n_features=6, sampling_rate=1)
            (found,) = (one for one in sources if one.name == "square")
            np.testing.assert_array_equal(found.read().features, square)


def test_a_square_file_that_nothing_settles_is_refused(
    model: uvast.Segmenter, tmp_path: Path
) -> None:
    np.save(tmp_path / "square.npy", np.zeros((6, 6), np.float32))
    sentence = r"square.npy: features of shape 6x6 do not show which axis is time; segment it"
    with pytest.raises(FeatureError, match=sentence):
        model.segment(tmp_path / "square.npy")
    assert model.segment(np.zeros((6, 6), np.float32)).segmentation.n_frames == 6
    for name, shape in (("long", (9, 6)), ("wide", (6, 9))):  # they disagree
        np.save(tmp_path / f"{name}.npy", np.zeros(shape, np.float32))
    with pytest.raises(FeatureError, match=sentence):
        uvast.segment(model, tmp_path)


def test_a_folder_without_features_is_said_to_hold_none(tmp_path):
    remedy = "name a folder of feature files or of videos, or a dataset"
    sentence = f"^{tmp_path}: holds no .npy files; {remedy}$"
    with pytest.raises(InputError, match=sentence):
        find_sources([tmp_path], n_features=6, sampling_rate=1)


def test_two_inputs_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "video.npy", np.zeros((3, 6), np.float32))
    with pytest.raises(InputError, match="two inputs are named video"):
        find_sources([tmp_path / "a", tmp_path / "b"], n_features=6, sampling_rate=1)


def test_what_macos_puts_beside_a_file_is_no_video(tmp_path: Path) -> None:
    np.save(tmp_path / "video.npy", np.zeros((3, 6), np.float32))
    (tmp_path / "._video.npy").write_bytes(b"\0")
    (source,) = find_sources([tmp_path], n_features=6, sampling_rate=1)
    assert source.name == "video"


def test_values_that_are_not_finite_are_found_once_in_files_and_arrays(
    model: uvast.Segmenter, tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Path] = []
    for room in ("data.feature_files", "inference.inputs"):
        monkeypatch.setattr(
            f"uvast.{room}.check_finite", lambda features, path: looked_at.append(path)
        )
    features = np.zeros((9, model.n_features), np.float32)
    np.save(tmp_path / "video.npy", features)
    model.segment(features)
    uvast.segment(model, [tmp_path / "video.npy"])
    uvast.segment(model, tiny.path, split=1)
    videos = [tiny.features_path(name) for name in tiny.side(1, "test")]
    assert looked_at[:2] == [Path("features"), tmp_path / "video.npy"]
    assert sorted(looked_at[2:]) == sorted(videos)
    monkeypatch.undo()
    features[4, 0] = np.nan
    np.save(tmp_path / "video.npy", features)
    for given, where in ((features, "features"), (tmp_path / "video.npy", "video.npy")):
        with pytest.raises(FeatureError, match=f"{where}: holds 1 NaN or infinite values"):
            model.segment(given)
