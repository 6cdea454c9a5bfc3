import hashlib
from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset, check_dataset, generate_dataset
from uvast.errors import InputError, OutputError
from uvast.segments import Segmentation, run_starts

SMALL = {"n_videos": 4, "n_classes": 4, "n_frames": 60, "n_features": 3}


def _digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        generate_dataset(tmp_path / name, **SMALL, seed=seed)
    one, two, three = (_digests(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    assert one["mapping.txt"] == three["mapping.txt"]
    assert one["timestamps.json"] != three["timestamps.json"]


def test_a_generated_dataset_is_whole(tmp_path: Path) -> None:
    generate_dataset(tmp_path / "g", **SMALL)
    report = check_dataset(tmp_path / "g")
    assert report.ok
    assert report.statistics.n_videos == 4
    assert report.statistics.n_classes == 4
    assert report.statistics.n_features == 3
    assert 30 < report.statistics.mean_frames < 120
    dataset = Dataset.open(tmp_path / "g")
    assert dataset.vocabulary.background == ("background",)
    assert dataset.spec.frames_per_second == 15
    assert list(dataset.splits) == [1, 2, 3, 4]
    assert list((tmp_path).iterdir()) == [tmp_path / "g"]


def test_subjects_sit_on_one_side(generated: Path) -> None:
    for split in Dataset.open(generated).splits.values():
        assert not {name[:3] for name in split.train} & {name[:3] for name in split.test}


def test_more_classes_than_names(tmp_path: Path) -> None:
    generate_dataset(tmp_path / "g", **{**SMALL, "n_classes": 25})
    names = Dataset.open(tmp_path / "g").vocabulary.names
    assert len(set(names)) == 25
    assert names[-1] == "step_24"


def test_tasks_have_a_grammar(tmp_path: Path) -> None:
    generate_dataset(tmp_path / "g", n_videos=60, n_frames=60, n_features=2, n_tasks=2, seed=2)
    dataset = Dataset.open(tmp_path / "g")
    by_task: dict[str, list[tuple[int, ...]]] = {}
    for name in dataset.names:
        transcript = dataset.source_segmentation(name).transcript
        steps = tuple(transcript[transcript > 0][run_starts(transcript[transcript > 0])].tolist())
        by_task.setdefault(name.split("_")[1], []).append(steps)
    assert set(by_task) == {"task1", "task2"}
    for transcripts in by_task.values():
        assert 1 < len(set(transcripts)) < len(transcripts)
        common = set.intersection(*map(set, transcripts))
        assert len(common) >= 2


def test_a_frame_wise_classifier_over_segments(tmp_path: Path) -> None:
    generate_dataset(tmp_path / "g", seed=0)
    dataset = Dataset.open(tmp_path / "g")
    train = [dataset.video(name) for name in dataset.side(1, "train")]
    features = np.concatenate([video.features for video in train])
    labels = np.concatenate([video.labels for video in train])
    prototypes = np.stack([features[labels == c].mean(axis=0) for c in np.unique(labels)])
    right, n_true, n_predicted = [], 0, 0
    for name in dataset.side(1, "test"):
        video = dataset.video(name)
        scores = video.features @ prototypes.T - (prototypes**2).sum(axis=1) / 2
        predicted = np.unique(labels)[scores.argmax(axis=1)]
        right.append(predicted == video.labels)
        n_true += len(Segmentation.from_labels(video.labels))
        n_predicted += len(Segmentation.from_labels(predicted))
    assert 0.70 < np.concatenate(right).mean() < 0.85
    assert n_predicted > 4 * n_true


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_videos": 1}, "n_videos is 1; choose at least 2"),
        ({"n_classes": 2}, "n_classes is 2; choose at least 3"),
        ({"n_frames": 49}, "n_frames is 49; choose at least 50"),
        ({"n_features": 1}, "n_features is 1; choose at least 2"),
        ({"n_tasks": 0}, "n_tasks is 0; choose at least 1"),
        ({"n_subjects": 1}, "n_subjects is 1; choose at least 2"),
        ({"n_splits": 1}, "n_splits is 1; choose at least 2"),
        ({"seed": -1}, "seed is -1; choose at least 0"),
    ],
)
def test_impossible_sizes(tmp_path: Path, arguments: dict[str, int], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        generate_dataset(tmp_path / "g", **arguments)
    assert str(caught.value) == sentence
    assert not (tmp_path / "g").exists()


def test_an_empty_folder_is_filled_and_another_is_not(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.mkdir()
    generate_dataset(path, **SMALL)
    before = _digests(path)
    with pytest.raises(OutputError) as caught:
        generate_dataset(path, **SMALL, seed=9)
    assert str(caught.value) == f"{path}: exists already; choose a new or empty folder"
    assert _digests(path) == before


def test_the_working_folder_and_a_link_to_a_folder_are_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    generate_dataset(".", **SMALL)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    generate_dataset(tmp_path / "link", **SMALL)
    assert (tmp_path / "link").is_symlink()
    assert _digests(tmp_path / "here") == _digests(tmp_path / "there") != {}
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        *("dataset.toml", "features", "groundTruth", "mapping.txt", "splits", "timestamps.json")
    ]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "folder" / "g"
    with pytest.raises(OutputError) as caught:
        generate_dataset(path, **SMALL)
    assert str(caught.value) == (
        f"{path.parent}: cannot be written (Not a directory); "
        "choose another place or change its permissions"
    )
