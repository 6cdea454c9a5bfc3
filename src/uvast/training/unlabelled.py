"""Videos that a run learns from without their labels: which ones, and what a step sees of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.batching import Unlabelled
from uvast.errors import ConfigError, SplitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uvast.config import Config, TrainConfig
    from uvast.data import Batch, Dataset, VideoLoader

SETTING = "train.unlabelled"


def find_unlabelled(
    dataset: Dataset,
    config: TrainConfig,
    split: int | None,
    learned: Sequence[str],
    held_out: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """The videos that `train.unlabelled` refers to; no label is read.

    Args:
        dataset: where the videos are.
        config: says which ones.
        split: the run's split.
        learned: the videos whose labels the run trains or validates on.
        held_out: the videos to score the run on, instead of the split's test side.
    """
    if config.unlabelled == "none":
        return ()
    scored = held_out
    if scored is None and split is not None:
        scored = dataset.side(split, "test")
    if config.unlabelled == "rest":
        sides = {*learned, *(scored or ())}
        if split is not None:  # `held_out` is on the training side: the test side stays out, too
            sides.update(dataset.side(split, "test"))
        return tuple(
            name for name in dataset.names if dataset.has_features(name) and name not in sides
        )
    if scored is None:
        raise ConfigError(
            'is "test", and without a split there is no test side',
            where=SETTING,
            remedy=f"pass --split, or set {SETTING}=rest to learn from all videos without labels",
        )
    both = next((name for name in scored if name in learned), None)
    if both is not None:
        raise SplitError(
            f"video {both} is both learned from and held out",
            where=dataset.path,
            remedy="hold out other videos",
        )
    return tuple(scored)


def unlabelled_notes(config: Config, names: Sequence[str]) -> tuple[str, ...]:
    """What the user must know if a run has found no such videos."""
    if config.train.unlabelled == "none" or names:
        return ()
    return (
        f"there are no unlabelled videos: {config.model.kind} learns from its labelled ones alone",
    )


def beside(
    loader: VideoLoader, names: Sequence[str], *, seed: int, epoch: int, epochs: int
) -> tuple[VideoLoader, Iterator[float]]:
    """The unlabelled videos of an epoch: one batch for each of the loader's.

    Videos come in a random order, again and again, so that each batch is full. They depend only on
    the arguments, with any number of processes.

    Args:
        loader: of the labelled videos.
        names: the unlabelled videos.
        seed: of their order.
        epoch: counted from 0.
        epochs: of the whole training.

    Returns:
        A loader whose epoch 0 has this process's batches, and the progress at each of them.
    """
    n_batches = len(loader)
    drawn = islice(_again(names, seed), n_batches * loader.batch_size)
    others = replace(
        loader,
        names=tuple(drawn),
        segmentations=None,
        timestamps=None,
        shuffle=False,
        bucketing=False,
        chunk_fraction=0.0,
        frame_dropping=0.0,
        augmentation=None,
    )
    own = range(loader.rank, n_batches, loader.n_ranks)
    return others, ((epoch + index / n_batches) / epochs for index in own)


def paired(
    batches: Iterable[Batch], others: Iterable[Batch], progress: Iterable[float]
) -> Iterator[Batch]:
    """Each batch with the unlabelled one beside it."""
    for batch, other, share in zip(batches, others, progress, strict=True):
        yield replace(batch, unlabelled=Unlabelled(other.features, other.mask, share))


def _again(names: Sequence[str], seed: int) -> Iterator[str]:
    """All names in a random order, then all in another, endlessly."""
    generator = np.random.default_rng(seed)
    while True:
        for index in generator.permutation(len(names)):
            yield names[index]
