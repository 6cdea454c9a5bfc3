"""Which of a dataset's videos, or stretches of them, a run can learn from, and which stay out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.data.faults import some
from uvast.data.labelled import N_LISTED, unlabelled_note
from uvast.durations import CutEnds
from uvast.errors import DataError, LabelError, TimestampError
from uvast.sampling import sampled_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from uvast.config import Config
    from uvast.data import Dataset, Timestamps

LEAST_FRAMES = 4
"""Frames at the model's rate that a stretch needs; a whole video may have fewer."""


@dataclass(frozen=True)
class Samples:
    """What a run can learn from.

    Args:
        by_video: the samples of each video that has some, see `Dataset.samples`.
        notes: which videos and stretches stay out, and why.
    """

    by_video: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    @property
    def videos(self) -> tuple[str, ...]:
        """The videos with samples."""
        return tuple(self.by_video)

    def of(self, videos: Iterable[str]) -> tuple[str, ...]:
        """All samples of some videos."""
        return tuple(sample for video in videos for sample in self.by_video[video])


def samples_of(
    dataset: Dataset, config: Config, videos: Sequence[str], timestamps: Path | str | None
) -> Samples:
    """What a run with these settings can learn from some videos of its training side.

    `timestamps` is a file to use instead of the dataset's own; full labels need none.
    """
    data = dataset.at_rate(config.train.sampling_rate)
    by_clicks = config.supervision.kind == "timestamps"
    clicks = data.timestamps(timestamps, names=videos) if by_clicks else None
    stay_out = config.train.unlabelled != "rest"
    return find_samples(data, videos, clicks, bare_stay_out=stay_out)


def find_samples(
    dataset: Dataset,
    videos: Sequence[str],
    timestamps: Mapping[str, Timestamps] | None,
    *,
    bare_stay_out: bool,
) -> Samples:
    """The samples of some videos; an error if there are none at all.

    Args:
        dataset: where the videos are.
        videos: the videos to look at.
        timestamps: by sample, for timestamp supervision; None for full labels.
        bare_stay_out: whether a note lists videos without labels; False if the run learns from
            them anyway.
    """
    found: dict[str, tuple[str, ...]] = {}
    bare, short, unclicked = [], [], []
    for video in videos:
        samples = dataset.samples(video)
        if timestamps is None:
            has_any = dataset.has_labels(video)
        else:
            has_any = any(sample in timestamps for sample in samples)
        if not has_any:
            bare.append(video)
            continue
        kept = []
        for sample in samples:
            if sample != video and _n_frames(dataset, sample) < LEAST_FRAMES:
                short.append(sample)
            elif timestamps is not None and sample not in timestamps:
                unclicked.append(sample)
            else:
                kept.append(sample)
        if kept:
            found[video] = tuple(kept)
    too_short = _stretches_note(short, f"shorter than {LEAST_FRAMES} frames")
    if videos and not found:
        raise _nothing(dataset, timestamps is None, too_short)
    notes = (
        *_bare_notes(dataset, bare if bare_stay_out else [], is_full=timestamps is None),
        dataset.partial_summary(found),
        too_short,
        _stretches_note(unclicked, "without a timestamp"),
    )
    return Samples(found, tuple(note for note in notes if note is not None))


def cut_ends(dataset: Dataset, sample: str) -> CutEnds:
    """Whether a sample is cut out of its video at its start, and at its end."""
    stretch = dataset.labelled.find(sample)
    if stretch is None:
        return CutEnds(at_start=False, at_end=False)
    return CutEnds(stretch.start > 0, stretch.end < dataset.labelled_frames(stretch.video))


def _n_frames(dataset: Dataset, sample: str) -> int:
    """The length of a sample at the model's rate."""
    return sampled_length(dataset.source_frames(sample), dataset.sampling_rate)


def _bare_notes(
    dataset: Dataset, videos: Sequence[str], *, is_full: bool
) -> tuple[str | None, ...]:
    """Which videos stay out whole, by what they lack."""
    if not is_full:
        return (unlabelled_note(videos, lack="timestamps"),)
    clicked: frozenset[str] = frozenset()
    with suppress(DataError):  # full labels do not need this file
        if videos and dataset.has_timestamps():
            clicked = frozenset(dataset.annotations(dataset.timestamps_path))
    return (
        unlabelled_note([video for video in videos if video not in clicked]),
        unlabelled_note(
            [video for video in videos if video in clicked], lack="full labels, only clicks,"
        ),
    )


def _stretches_note(stretches: Sequence[str], what: str) -> str | None:
    if not stretches:
        return None
    which = "1 stretch" if len(stretches) == 1 else f"{len(stretches)} stretches"
    stays = "stays" if len(stretches) == 1 else "stay"
    return f"{which} {what} {stays} out: {some(stretches, N_LISTED)}"


def _nothing(dataset: Dataset, is_full: bool, too_short: str | None) -> LabelError | TimestampError:
    if too_short is not None:
        return LabelError(
            f"has nothing to train on: {too_short}",
            where=dataset.path,
            remedy="label longer stretches",
        )
    if not is_full:
        return TimestampError(
            "has no timestamps for any of the videos to train on",
            where=dataset.path,
            remedy="annotate one frame of each of their actions",
        )
    if dataset.has_timestamps():
        return LabelError(
            "has timestamps but no labels",
            where=dataset.path,
            remedy="pass --supervision timestamps",
        )
    return LabelError(
        "has no labels for any of the videos to train on",
        where=dataset.path,
        remedy="label some of them",
    )
