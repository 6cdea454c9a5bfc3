"""What preset `auto` looks at: the training side of a dataset in a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from uvast.config.auto import DataFacts
from uvast.data.spec import SPEC_FILE
from uvast.errors import ConfigError, SplitError
from uvast.files import is_present, read_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.data.dataset import Dataset
    from uvast.segments import IntArray

SHORT = 0.05
"""The quantile that stands for short segments."""


def read_facts(
    dataset: Dataset,
    names: Sequence[str],
    *,
    supervision: Literal["full", "timestamps"],
    timestamps: Path | str | None = None,
    validation: Sequence[str] = (),
    n_folds: int = 0,
) -> DataFacts:
    """Facts about the samples (see `Dataset.samples`) to learn from.

    Args:
        dataset: where they are.
        names: the samples; those without labels or timestamps are left out.
        supervision: which of the two to read.
        timestamps: the timestamps file; None is the dataset's own.
        validation: the samples held out; all that is read of them is how close their clicks are,
            since these, too, need frames of their own at the model's rate.
        n_folds: inner runs that choose the decoding weights.
    """
    source = dataset.at_rate(1)
    gaps: list[int] = []
    if supervision == "full":
        labelled = [name for name in names if source.has_labels(source.video_of(name))]
        truths = {name: source.source_segmentation(name) for name in labelled or names}
        n_frames = {name: one.n_frames for name, one in truths.items()}
        lengths = {name: one.durations for name, one in truths.items()}
    else:
        both = (*names, *validation)
        found = source.timestamps(timestamps, names={source.video_of(name) for name in both})
        clicks = {name: found[name] for name in names if name in found}
        n_frames = {name: source.source_frames(name) for name in clicks}
        lengths = {name: _gaps(one.frames, n_frames[name]) for name, one in clicks.items()}
        for one in (found[name] for name in both if name in found):
            gaps += np.diff(one.frames)[np.diff(one.transcript) != 0].tolist()
    if not lengths:
        raise SplitError("no videos to train on", where=dataset.path, remedy="check the split")
    pooled = np.concatenate(list(lengths.values()))
    short, typical = np.quantile(pooled, [SHORT, 0.5]).tolist()
    return DataFacts(
        supervision=supervision,
        n_videos=len(lengths),
        n_validation=len(validation),
        n_folds=n_folds,
        n_frames=sum(n_frames.values()),
        longest=max(n_frames.values()),
        n_features=dataset.n_features,
        n_classes=len(dataset.vocabulary),
        short_segment=short,
        typical_segment=typical,
        n_segments=len(pooled),
        most_segments=max(map(len, lengths.values())),
        least_gap=min(gaps, default=None),
        frames_per_second=dataset.spec.frames_per_second,
        sampling_rate=_set_rate(dataset),
    )


def found_supervision(dataset: Dataset, names: Sequence[str]) -> Literal["full", "timestamps"]:
    """What videos have: full labels, unless there are only clicks."""
    if dataset.has_timestamps() and not any(map(dataset.has_labels, names)):
        return "timestamps"
    return "full"


def _gaps(frames: IntArray, n_frames: int) -> IntArray:
    """As many lengths as timestamps: the gaps between them, then the video's two ends together.

    Each end is only a part of its segment: together they count as one length.
    """
    return np.append(np.diff(frames), n_frames - frames[-1] + frames[0])


def _set_rate(dataset: Dataset) -> int | None:
    """The sampling rate if it was set explicitly, even to 1; else None."""
    rate, path = dataset.spec.sampling_rate, dataset.path / SPEC_FILE
    is_set = rate != 1 or (
        is_present(path)
        and "sampling_rate" in read_toml(path, error=ConfigError, remedy="correct it")
    )
    return rate if is_set else None
