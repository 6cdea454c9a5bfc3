"""Samples as an epoch sees them, through the loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from uvast.data import (
    Batch,
    Dataset,
    SampleAugmentation,
    Symmetry,
    VideoLoader,
    fit_scaling,
    write_labelled,
)
from uvast.errors import InputError
from uvast.segments import Segmentation

MADE_NEW = SampleAugmentation(recombination=1.0)
ALL = SampleAugmentation(recombination=0.5, reordering=0.5, speed=2.0, time_warp=1.5)


@pytest.fixture(scope="module")
def dataset(generated: Path) -> Dataset:
    return Dataset.open(generated)


@pytest.fixture(scope="module")
def targets(dataset: Dataset) -> dict[str, Segmentation]:
    return {name: dataset.source_segmentation(name) for name in dataset.names}


def mirror(n_features: int = 8, n_classes: int = 6) -> Symmetry:
    """Every column is negated and the first two classes change places."""
    classes = np.array([1, 0, *range(2, n_classes)])
    signs = -np.ones(n_features, np.float32)
    return Symmetry(np.arange(n_features), signs, np.zeros(n_features, np.float32), classes)


def same(first: list[Batch], second: list[Batch]) -> bool:
    return len(first) == len(second) and all(
        one.names == other.names
        and torch.equal(one.features, other.features)
        and torch.equal(one.targets.segment_of_frame, other.targets.segment_of_frame)
        for one, other in zip(first, second, strict=True)
    )


def epoch(dataset: Dataset, targets: dict, number: int = 0, **options) -> list[Batch]:
    names = options.pop("names", dataset.names)
    return list(VideoLoader(dataset, names, targets, seed=5, **options).epoch(number))


def test_an_epoch_depends_on_nothing_but_seed_and_number(dataset: Dataset, targets: dict) -> None:
    augmentation = replace(ALL, mirroring=0.5, symmetry=mirror())
    options = {"batch_size": 3, "frame_dropping": 0.5, "chunk_fraction": 0.2, "shuffle": True}
    alone = epoch(dataset, targets, 3, augmentation=augmentation, **options)
    again = epoch(dataset, targets, 3, augmentation=augmentation, workers=2, **options)
    assert same(alone, again)
    second = epoch(dataset, targets, 3, augmentation=augmentation, rank=1, n_ranks=2, **options)
    assert same(alone[1::2], second)
    later = epoch(dataset, targets, 4, augmentation=augmentation, **options)
    assert not same(alone, later)


def test_switched_off_it_changes_no_bit(dataset: Dataset, targets: dict) -> None:
    plain = epoch(dataset, targets, frame_dropping=0.5, chunk_fraction=0.2)
    off = epoch(
        dataset,
        targets,
        frame_dropping=0.5,
        chunk_fraction=0.2,
        augmentation=SampleAugmentation(reordering=1.0, mirroring=1.0),
    )
    assert same(plain, off)


def test_one_kind_leaves_the_draws_of_the_others_as_they_are(
    dataset: Dataset, targets: dict
) -> None:
    pieces = epoch(dataset, targets, augmentation=MADE_NEW)
    both = epoch(dataset, targets, augmentation=replace(MADE_NEW, mirroring=1.0, symmetry=mirror()))
    for one, other in zip(pieces, both, strict=True):
        assert torch.equal(other.features, -one.features)
        assert torch.equal(other.targets.segment_of_frame, one.targets.segment_of_frame)
        swapped = torch.tensor([1, 0, 2, 3, 4, 5])[one.targets.transcript]
        assert torch.equal(other.targets.transcript, swapped)


@pytest.mark.parametrize(
    "half",
    [SampleAugmentation(recombination=0.5), SampleAugmentation(mirroring=0.5, symmetry=mirror())],
    ids=["recombined", "mirrored"],
)
def test_probabilities_are_those_of_samples(
    dataset: Dataset, targets: dict, half: SampleAugmentation
) -> None:
    plain, n_changed = epoch(dataset, targets), 0
    for number in range(5):
        pairs = zip(plain, epoch(dataset, targets, number, augmentation=half), strict=True)
        n_changed += sum(not torch.equal(one.features, other.features) for one, other in pairs)
    assert 18 <= n_changed <= 42


def test_nothing_is_taken_from_other_videos_than_the_loader_has(
    generated_copy: Path, targets: dict
) -> None:
    """The features of the rest are not even there."""
    dataset = Dataset.open(generated_copy)
    train = dataset.side(1, "train")
    for name in dataset.side(1, "test"):
        dataset.features_path(name).unlink()
    for number in range(5):
        epoch(dataset, targets, number, names=train, augmentation=replace(ALL, recombination=1.0))


def test_chunks_are_cut_from_the_recombined_sample(dataset: Dataset, targets: dict) -> None:
    whole = epoch(dataset, targets, augmentation=MADE_NEW)
    cut = epoch(dataset, targets, augmentation=MADE_NEW, chunk_fraction=0.1)
    for one, other in zip(whole, cut, strict=True):
        assert torch.equal(one.features, other.features)
        assert torch.equal(one.targets.labels, other.targets.labels)
        target = Segmentation.from_labels(one.targets.labels[0].numpy())
        assert other.targets.transcript[0].tolist() == target.chunked(0.1).transcript.tolist()


def test_scaling_comes_after(dataset: Dataset, targets: dict) -> None:
    scaling = fit_scaling(dataset.video(name) for name in dataset.names)
    augmentation = replace(ALL, recombination=1.0, mirroring=1.0, symmetry=mirror())
    raw = epoch(dataset, targets, augmentation=augmentation)
    scaled = epoch(dataset, targets, augmentation=augmentation, scaling=scaling)
    for one, other in zip(raw, scaled, strict=True):
        np.testing.assert_array_equal(scaling.scaled(one.features[0].numpy()), other.features[0])


def test_labelled_stretches_are_samples_like_any_other(make_dataset) -> None:
    """Frames outside of them, 9 here, are never shown."""
    path = make_dataset({"v": "aabbbbaa", "w": "bbaab"}, n_features=1)
    values = np.array([9, 9, 1, 1, 1, 1, 9, 9], np.float32)
    np.save(path / "features" / "v.npy", values[None])
    np.save(path / "features" / "w.npy", np.array([[1, 1, 0, 0, 1]], np.float32))
    (path / "dataset.toml").write_text('feature_axis = "features-first"')
    write_labelled(path / "labelled.json", {"v": [(2, 6)]})
    dataset = Dataset.open(path)
    samples = ("v/2:6", "w")
    truth = {name: Segmentation.from_labels(dataset.source_labels(name)) for name in samples}
    for number in range(6):
        for batch in epoch(dataset, truth, number, names=samples, augmentation=MADE_NEW):
            assert batch.features.max() <= 1
            blended = (batch.features[0, :, 0] - batch.targets.labels[0]).abs()
            assert blended.max() < 0.5


def test_sub_sampled_videos_keep_their_rate(generated: Path) -> None:
    dataset = Dataset.open(generated).at_rate(3)
    truth = {
        name: Segmentation.from_labels(dataset.source_labels(name)[::3]) for name in dataset.names
    }
    for batch in epoch(dataset, truth, augmentation=ALL):
        assert batch.features.shape[1] == int(batch.lengths) == batch.targets.labels.shape[1]


def test_a_target_that_does_not_fit_is_an_error(make_dataset) -> None:
    dataset = Dataset.open(make_dataset({"v": "a" * 100, "w": "a" * 50}))
    truth = {"v": Segmentation([0], [90]), "w": Segmentation([0], [50])}
    with pytest.raises(InputError, match="video v: a segmentation of 90 frames for 100 frames"):
        epoch(dataset, truth, augmentation=ALL)
    with pytest.raises(InputError, match="videos cannot be augmented without segmentations"):
        VideoLoader(dataset, dataset.names, augmentation=ALL)
