"""Every video at its own scale: when it is chosen, and that training and segmenting agree on it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from checkpoint_contents import contents

import uvast
from uvast.config import Config
from uvast.data import Dataset, generate_dataset, write_labelled, write_spec
from uvast.errors import ConfigError
from uvast.inference.ensemble import make_ensemble
from uvast.inference.inputs import DatasetVideo
from uvast.models.checkpoint import read_scaling
from uvast.runs import RunFolder
from uvast.supervision import full_segmentations
from uvast.training import Plan, resume, train
from uvast.training.levelling import videos_differ
from uvast.training.preparing import LEVELLED
from uvast.training.watching import Silent


class Notes(Silent):
    """What a run says before it begins."""

    def begin(self, plan: Plan) -> None:
        self.notes = plan.notes


def rewrite(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Changes the features `(T, F)` of every video of a dataset."""
    dataset = Dataset.open(path)
    for name in dataset.names:
        values = change(np.array(dataset.video(name).features))
        is_first = dataset.feature_axis == "features-first"
        np.save(dataset.features_path(name), values.T if is_first else values)


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos in which a channel for each class shows when it is on."""
    path = tmp_path_factory.mktemp("alike") / "data"
    shape = {"n_videos": 16, "n_classes": 5, "n_frames": 60, "n_features": 6}
    generate_dataset(path, **shape, n_subjects=8, n_splits=2, seed=3)
    dataset = Dataset.open(path)
    generator = np.random.default_rng(1)
    labels = iter([dataset.video(name).labels for name in dataset.names])
    noise = partial(generator.normal, scale=0.3)
    rewrite(path, lambda old: (np.eye(6)[next(labels)] + noise(size=old.shape)).astype(np.float32))
    return path


@pytest.fixture(scope="module")
def strange(alike: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same videos, each recorded in units of its own, channel by channel."""
    copy = tmp_path_factory.mktemp("strange") / "data"
    shutil.copytree(alike, copy)
    draw = np.random.default_rng(0).normal
    rewrite(copy, lambda old: (old * np.exp(draw(size=6)) + 5 * draw(size=6)).astype(np.float32))
    return copy


@pytest.fixture(scope="module")
def config(small_config: Config) -> Config:
    return small_config.replaced(**{"train.scaling": "auto", "train.alignment_epochs": 0})


@pytest.fixture(scope="module")
def run(strange: Path, config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("levelled") / "run"
    return train(strange, out, config=config.replaced(**{"train.folds": 2}), split=1).path


def targets_of(dataset: Dataset) -> dict:
    return full_segmentations(dataset, dataset.side(1, "train"))


def test_videos_of_strange_units_differ_and_others_do_not(alike: Path, strange: Path) -> None:
    for path, differ in ((strange, True), (alike, False)):
        dataset = Dataset.open(path)
        assert videos_differ(dataset, targets_of(dataset)) == differ


def test_what_only_tells_actions_apart_is_kept(alike: Path, tmp_path: Path) -> None:
    """Levelling would make all videos of a single action look alike."""
    copy = tmp_path / "data"
    shutil.copytree(alike, copy)
    dataset = Dataset.open(copy)
    level = {}
    for index, name in enumerate(dataset.names):
        level[name] = index % 4
        n_frames = dataset.source_frames(name)
        text = f"{dataset.vocabulary.names[level[name]]}\n" * n_frames
        dataset.labels_path(name).write_text(text)
    levels = iter(level.values())
    rewrite(copy, lambda old: (old + 10 * next(levels)).astype(np.float32))
    dataset = Dataset.open(copy)
    assert not videos_differ(dataset, targets_of(dataset))


@pytest.mark.parametrize("n_videos", [1, 2, 3])
def test_a_few_videos_cannot_tell(strange: Path, n_videos: int) -> None:
    dataset = Dataset.open(strange)
    few = dict(list(targets_of(dataset).items())[:n_videos])
    assert not videos_differ(dataset, few)


def test_no_label_of_the_test_side_is_read(strange: Path, tmp_path: Path, config: Config) -> None:
    copy = tmp_path / "data"
    shutil.copytree(strange, copy)
    for name in Dataset.open(copy).side(1, "test"):
        (copy / "groundTruth" / f"{name}.txt").unlink()
    watcher = Notes()
    train(copy, tmp_path / "run", config=config, split=1, watcher=watcher)
    assert LEVELLED in watcher.notes


def test_a_run_and_its_inner_runs_are_levelled(run: Path) -> None:
    scaling = read_scaling(run / "best.safetensors")
    assert scaling is not None
    assert scaling.levels
    assert RunFolder.open(run).config.train.scaling == "auto"
    for number in ("1", "2"):
        assert RunFolder.open(run / "folds" / number).config.train.scaling == "video"


def in_pieces(path: Path) -> dict:
    """What is learned if only stretches of all videos are labelled."""
    dataset = Dataset.open(path)
    names = dataset.side(1, "train")
    spans = {n: [(at, at + 9) for at in range(0, dataset.source_frames(n) - 9, 10)] for n in names}
    write_labelled(path / "labelled.json", spans)
    dataset = Dataset.open(path)
    samples = [sample for name in names for sample in dataset.samples(name)]
    return full_segmentations(dataset, samples)


def test_stretches_of_one_video_are_held_out_together(alike: Path, tmp_path: Path) -> None:
    """Many channels give a video away: its other stretches must not teach its offsets."""
    copy = tmp_path / "data"
    shutil.copytree(alike, copy)
    spec = Dataset.open(copy).spec
    write_spec(copy, replace(spec, group_by=None))
    draw = np.random.default_rng(0).normal
    rewrite(
        copy,
        lambda old: (
            np.hstack([old, 0.3 * draw(size=(len(old), 94))]).astype(np.float32)
            + 5 * draw(size=100).astype(np.float32)
        ),
    )
    whole = Dataset.open(copy)
    assert videos_differ(whole, targets_of(whole))
    targets = in_pieces(copy)
    assert len(targets) > 30
    assert videos_differ(Dataset.open(copy), targets)


def test_a_few_videos_in_many_stretches_cannot_tell(
    strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little gain is asked for."""
    copy = tmp_path / "data"
    shutil.copytree(strange, copy)
    targets = in_pieces(copy)
    dataset = Dataset.open(copy)
    three = dataset.side(1, "train")[:3]
    few = {name: one for name, one in targets.items() if dataset.video_of(name) in three}
    assert len(few) > 3
    monkeypatch.setattr("uvast.training.levelling.LEAST_GAIN", -1.0)
    monkeypatch.setattr("uvast.training.levelling.STANDARD_ERRORS", -1.0)
    assert not videos_differ(dataset, few)


def test_one_scale_for_all_where_videos_are_alike(
    alike: Path, config: Config, tmp_path: Path
) -> None:
    watcher = Notes()
    for scaling in ("auto", True):
        own = config.replaced(**{"train.scaling": scaling})
        train(alike, tmp_path / str(scaling), config=own, split=1, watcher=watcher)
        assert LEVELLED not in watcher.notes
    auto, plain = (contents(tmp_path / name / "best.safetensors") for name in ("auto", "True"))
    assert auto[1] == plain[1]


def test_the_units_of_a_video_do_not_matter(run: Path, strange: Path) -> None:
    """A power of two loses no bit, so that the answer is the same to the bit."""
    model = uvast.load(run)
    dataset = Dataset.open(strange)
    features = dataset.video(dataset.side(1, "test")[0], labels=False).features
    found, other = model.segment(features), model.segment(features * np.float32(1024))
    assert found.segments == other.segments
    assert found.confidence == other.confidence
    assert model.is_familiar(dataset.video(dataset.names[0]))


def test_training_and_segmenting_see_the_same_features(run: Path, strange: Path) -> None:
    model = uvast.load(run)
    dataset = Dataset.open(strange)
    names = dataset.side(1, "test")[:3]
    together = model.encode_batch([dataset.video(name, labels=False) for name in names]).frames
    for name, one in zip(names, together, strict=True):
        seen = model.scaling.scaled(dataset.levelled().video(name).features)
        with torch.inference_mode():
            expected = model.module.encode(torch.from_numpy(seen)[None], None).features[0].numpy()
        np.testing.assert_allclose(one.features, expected, atol=1e-5)
        levelled = dataset.levelled().video(name, labels=False)
        again = model.of_levelled.encode_batch([levelled]).frames[0]
        np.testing.assert_allclose(again.features, one.features, atol=1e-5)


def test_a_stretch_of_a_video_has_the_scale_of_the_whole(strange: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(strange, copy)
    dataset = Dataset.open(copy)
    name = dataset.side(1, "train")[0]
    write_labelled(copy / "labelled.json", {name: [(4, 20)]})
    dataset = Dataset.open(copy).levelled()
    (stretch,) = dataset.samples(name)
    whole = dataset.video(name, labels=False).features
    np.testing.assert_array_equal(dataset.video(stretch).features, whole[4:20])


def test_a_run_that_was_broken_off_ends_with_the_same_weights(
    run: Path, strange: Path, config: Config, tmp_path: Path
) -> None:
    own = config.replaced(**{"train.folds": 2})
    with pytest.raises(StopError):
        train(strange, tmp_path / "run", config=own, split=1, watcher=StopAfter(2))
    resume(tmp_path / "run")
    assert contents(tmp_path / "run" / "best.safetensors") == contents(run / "best.safetensors")


def test_members_of_an_ensemble_keep_their_own_way(
    run: Path, strange: Path, config: Config, tmp_path: Path
) -> None:
    own = config.replaced(**{"train.scaling": True, "train.seed": 1})
    other = train(strange, tmp_path / "other", config=own, split=1).path
    model = uvast.load(make_ensemble([run, other], tmp_path / "both").path)
    dataset = Dataset.open(strange)
    videos = [dataset.video(name, labels=False) for name in dataset.side(1, "test")[:2]]
    both = model.encode_batch(videos).frames
    alone = [uvast.load(one).encode_batch(videos).frames for one in (run, other)]
    for index, one in enumerate(both):
        mean = np.mean([np.exp(frames[index].log_probabilities) for frames in alone], axis=0)
        np.testing.assert_allclose(np.exp(one.log_probabilities), mean, atol=1e-5)
    assert model.segment(videos[0].features).segments


@pytest.mark.parametrize("options", [{"rates": [0.3, 2.0]}, {"phases": True}])
def test_every_view_of_a_video_has_the_scale_of_the_video(
    run: Path, strange: Path, config: Config, tmp_path: Path, options: dict
) -> None:
    """Interpolated frames vary less; an ensemble must not make up for it, as no run does."""
    own = config.replaced(**{"train.seed": 1, "train.sampling_rate": 2})
    one = uvast.load(train(strange, tmp_path / "one", config=own, split=1).path)
    both = uvast.load(make_ensemble([tmp_path / "one"] * 2, tmp_path / "both").path)
    dataset = Dataset.open(strange)
    videos = [DatasetVideo(dataset, name, 2).read() for name in dataset.side(1, "test")[:3]]
    expected, found = (
        model.encode_batch(videos, model.options(**options)).frames for model in (one, both)
    )
    for mine, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(
            np.exp(other.log_probabilities), np.exp(mine.log_probabilities), atol=1e-6
        )


def test_a_model_brings_a_stretch_to_the_scale_of_its_video(
    run: Path, strange: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(strange, copy)
    name = Dataset.open(copy).side(1, "train")[0]
    write_labelled(copy / "labelled.json", {name: [(4, 20)]})
    dataset = Dataset.open(copy)
    (stretch,) = dataset.samples(name)
    model = uvast.load(run)
    both = uvast.load(make_ensemble([run, run], tmp_path / "both").path)
    levelled = dataset.levelled().video(stretch, labels=False)
    (expected,) = model.of_levelled.encode_batch([levelled]).frames
    for one in (model, both):
        (found,) = one.encode_batch([dataset.video(stretch, labels=False)]).frames
        width = expected.features.shape[1]
        np.testing.assert_allclose(found.features[:, :width], expected.features, atol=1e-5)


@pytest.mark.parametrize("value", ["videos", 1, None])
def test_other_values_are_one_sentence(config: Config, value: object) -> None:
    with pytest.raises(ConfigError, match=r"train\.scaling.*not true, false, 'video' or 'auto'"):
        config.replaced(**{"train.scaling": value})
