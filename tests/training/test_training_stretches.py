"""Training sees labelled stretches, each as a video of its own, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from uvast.config import Config
from uvast.data import Annotation, Dataset, read_timestamps, write_labelled, write_timestamps
from uvast.errors import LabelError, TimestampError
from uvast.runs import RunFolder
from uvast.training import EpochReport, Plan, resume, train
from uvast.training.samples import samples_of
from uvast.training.watching import Silent

CLICKS = {"supervision.kind": "timestamps", "supervision.method": "k-medoids"}
SHORT = {"train.epochs": 1, "train.alignment_epochs": 1}


class Listener(Silent):
    """Keeps the plan."""

    plan: Plan

    def begin(self, plan: Plan) -> None:
        self.plan = plan


class Stopper(Silent):
    """Ends a run after its first epochs."""

    def epoch(self, report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt


@pytest.fixture
def copied(tiny_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_path, tmp_path / "data"))


def lengthen(path: Path, name: str, before: int, after: int) -> None:
    """Garbage around a video: features, labels and clicks that nobody looked at."""
    dataset = Dataset.open(path)
    generator = np.random.default_rng(0)
    file = dataset.features_path(name)
    features = np.load(file)
    noise = [generator.normal(size=(len(features), n)).astype(np.float32) for n in (before, after)]
    np.save(file, np.concatenate((noise[0], features, noise[1]), axis=1))
    labels = dataset.labels_path(name).read_text()
    text = "unlabelled\n" * before + labels + "take\n" * (after - 1) + "what?\n"
    dataset.labels_path(name).write_text(text)
    n_frames = features.shape[1]
    clicks = dict(read_timestamps(path / "timestamps.json"))
    inside = [Annotation((one.frame or 0) + before, None, one.label) for one in clicks[name]]
    first = [Annotation(before - 1, None, "no class")] if before else []
    last = Annotation(before + n_frames + after - 1, None, "no class")
    write_timestamps(path / "timestamps.json", {**clicks, name: [*first, *inside, last]})
    write_labelled(path / "labelled.json", {name: [(before, before + n_frames)]})


def assert_equal_models(left: Path, right: Path) -> None:
    first, second = (load_file(run / "best.safetensors") for run in (left, right))
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(value.numpy(), second[key].numpy(), err_msg=key)


@pytest.mark.parametrize("changes", [{}, CLICKS], ids=["full", "timestamps"])
@pytest.mark.parametrize(("before", "after"), [(0, 40), (17, 9)], ids=["half", "middle"])
def test_garbage_that_is_unlabelled_changes_nothing(
    tiny_path: Path,
    copied: Path,
    small_config: Config,
    tmp_path: Path,
    changes: dict[str, object],
    before: int,
    after: int,
) -> None:
    config = small_config.replaced(**SHORT, **changes, **{"train.validation": 0.3})
    train(tiny_path, tmp_path / "plain", config=config, split=1)
    info = RunFolder.open(tmp_path / "plain").info
    # one video that is learned from and one that is held out, in turn
    lengthen(copied, info.train[0] if before else info.validation[0], before, after)
    train(copied, tmp_path / "cut", config=config, split=1)
    assert_equal_models(tmp_path / "plain", tmp_path / "cut")
    logs = [RunFolder(tmp_path / name).read_log() for name in ("plain", "cut")]
    times = ("seconds",)
    assert [{k: v for k, v in row.items() if k not in times} for row in logs[0]] == [
        {k: v for k, v in row.items() if k not in times} for row in logs[1]
    ]
    assert RunFolder.open(tmp_path / "cut").info.train == info.train


def test_two_stretches_are_two_samples(copied: Path, small_config: Config, tmp_path: Path) -> None:
    dataset = Dataset.open(copied)
    name = dataset.side(1, "train")[0]
    n_frames = dataset.source_frames(name)
    write_labelled(copied / "labelled.json", {name: [(0, 20), (30, 32), (35, n_frames)]})
    config = small_config.replaced(**SHORT, **{"supervision.refresh_every": 1, **CLICKS})
    listener = Listener()
    train(copied, tmp_path / "run", config=config, split=1, watcher=listener)
    targets = [
        key.removeprefix("target.")
        for key in load_file(tmp_path / "run" / "last.safetensors")
        if key.startswith("target.")
    ]
    mine = [one for one in targets if one.startswith(name)]
    assert sorted(mine) == [f"{name}/0:20", f"{name}/35:{n_frames}"]
    assert listener.plan.n_videos == len(dataset.side(1, "train"))
    n_labelled = 20 + 2 + n_frames - 35
    assert listener.plan.notes == (
        f"1 video is labelled in part, the rest stays out: "
        f"{name} ({n_labelled} of {n_frames} frames)",
        f"1 stretch shorter than 4 frames stays out: {name}/30:32",
    )


@pytest.mark.parametrize(
    ("changes", "lack"), [({}, "labels"), (CLICKS, "timestamps")], ids=["full", "timestamps"]
)
def test_videos_without_labels_stay_out_and_are_listed(
    copied: Path, small_config: Config, tmp_path: Path, changes: dict[str, object], lack: str
) -> None:
    names = Dataset.open(copied).side(1, "train")
    bare = names[1], names[2]
    clicks = json.loads((copied / "timestamps.json").read_text())
    for name in bare:
        (copied / "groundTruth" / f"{name}.txt").unlink()
        del clicks[name]
    (copied / "timestamps.json").write_text(json.dumps(clicks))
    listener, config = Listener(), small_config.replaced(**SHORT, **changes)
    train(copied, tmp_path / "run", config=config, split=1, watcher=listener)
    assert listener.plan.notes == (f"2 videos have no {lack} and stay out: {', '.join(bare)}",)
    assert RunFolder.open(tmp_path / "run").info.train == tuple(n for n in names if n not in bare)


def remove_labels(path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (path / "groundTruth" / f"{name}.txt").unlink()
    (path / "timestamps.json").unlink()


def remove_clicks(path: Path, names: tuple[str, ...]) -> None:
    clicks = json.loads((path / "timestamps.json").read_text())
    kept = {name: its for name, its in clicks.items() if name not in names}
    (path / "timestamps.json").write_text(json.dumps(kept))


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (
            {},
            (
                "1 video has no labels and stays out: {0}",
                "2 videos have no full labels, only clicks, and stay out: {1}, {2}",
            ),
        ),
        (CLICKS, ("1 video has no timestamps and stays out: {0}",)),
        ({"train.unlabelled": "rest"}, ()),
    ],
    ids=["full", "timestamps", "learned from"],
)
def test_videos_with_clicks_alone_are_not_said_to_have_nothing(
    copied: Path, small_config: Config, changes: dict[str, object], sentences: tuple[str, ...]
) -> None:
    names = tuple(Dataset.open(copied).names)
    for name in names[:3]:
        (copied / "groundTruth" / f"{name}.txt").unlink()
    remove_clicks(copied, names[:1])
    config = small_config.replaced(**changes)
    found = samples_of(Dataset.open(copied), config, names, None)
    assert found.notes == tuple(one.format(*names) for one in sentences)
    assert found.videos == names[1 if config.supervision.kind == "timestamps" else 3 :]


def test_clicks_that_cannot_be_read_do_not_matter_to_full_labels(
    copied: Path, small_config: Config
) -> None:
    names = tuple(Dataset.open(copied).names)
    (copied / "groundTruth" / f"{names[0]}.txt").unlink()
    (copied / "timestamps.json").write_text("nonsense")
    found = samples_of(Dataset.open(copied), small_config, names, None)
    assert found.notes == (f"1 video has no labels and stays out: {names[0]}",)


def shorten(path: Path, names: tuple[str, ...]) -> None:
    write_labelled(path / "labelled.json", {name: [(3, 6)] for name in names})


TOO_SHORT = (
    r"has nothing to train on: \d+ stretches shorter than 4 frames stay out: .+; label longer"
)


@pytest.mark.parametrize(
    ("changes", "remove", "error", "sentence"),
    [
        ({}, remove_labels, LabelError, "no labels for any of the videos to train on; label some"),
        (CLICKS, remove_clicks, TimestampError, "no timestamps for any of the videos to train on"),
        ({}, shorten, LabelError, TOO_SHORT),
    ],
    ids=["full", "timestamps", "too short"],
)
def test_nothing_left_is_an_error(
    copied: Path,
    small_config: Config,
    tmp_path: Path,
    changes: dict[str, object],
    remove: Callable[[Path, tuple[str, ...]], None],
    error: type[Exception],
    sentence: str,
) -> None:
    remove(copied, Dataset.open(copied).side(1, "train"))
    with pytest.raises(error, match=sentence):
        train(copied, tmp_path / "run", config=small_config.replaced(**changes), split=1)
    assert not (tmp_path / "run").exists()


def test_a_run_on_stretches_goes_on_where_it_was_stopped(
    copied: Path, small_config: Config, tmp_path: Path
) -> None:
    dataset = Dataset.open(copied)
    name = dataset.side(1, "train")[0]
    write_labelled(copied / "labelled.json", {name: [(0, 20), (25, dataset.source_frames(name))]})
    changes = {"supervision.refresh_every": 1, "train.alignment_epochs": 0, **CLICKS}
    config = small_config.replaced(**changes)
    train(copied, tmp_path / "whole", config=config, split=1)
    with pytest.raises(KeyboardInterrupt):
        train(copied, tmp_path / "run", config=config, split=1, watcher=Stopper())
    resume(tmp_path / "run")
    assert_equal_models(tmp_path / "whole", tmp_path / "run")
    (copied / "labelled.json").write_text(json.dumps({name: []}))
    with pytest.raises(LabelError, match=f"no longer has labels of video {name}"):
        resume(tmp_path / "run")
