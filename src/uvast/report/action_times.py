"""Time spent in each action: how often, how long in total and each time, and what share."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import printable
from uvast.files import write_text
from uvast.segments import UNLABELLED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uvast.report.content import Report, Timeline
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

ALL_VIDEOS = "all videos"
TRUTH = "ground truth"
COLUMNS = (
    *("video", "split", "source", "action", "segments", "share"),
    *("frames", "mean_frames", "seconds", "mean_seconds"),
)


@dataclass(frozen=True)
class ActionTime:
    """The time spent in one action: how often, how long in total, and its share of all frames."""

    action: int
    n_segments: int
    n_frames: int
    share: float

    @property
    def mean_frames(self) -> float:
        """Mean frames each time."""
        return self.n_frames / self.n_segments


def action_times(videos: Sequence[Segmentation], vocabulary: Vocabulary) -> list[ActionTime]:
    """The time spent in each action that occurs, over all videos together."""
    n_segments, n_frames = np.zeros((2, len(vocabulary)), dtype=np.int64)
    for video in videos:
        merged = video.merged()
        known = merged.transcript != UNLABELLED
        np.add.at(n_segments, merged.transcript[known], 1)
        np.add.at(n_frames, merged.transcript[known], merged.durations[known])
    total = int(n_frames.sum())
    return [
        ActionTime(action, int(n_segments[action]), int(n_frames[action]), n_frames[action] / total)
        for action in np.flatnonzero(n_segments).tolist()
    ]


def write_action_times(report: Report, path: Path) -> None:
    """Writes a table of all actions in each video, and in all videos together, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(report))
    write_text(path, text.getvalue())


def _rows(report: Report) -> Iterator[tuple[object, ...]]:
    assert report.comparison is not None, "asked for"
    assert report.vocabulary is not None, "a comparison has classes"
    rate = report.frames_per_second
    videos = report.comparison.videos
    once = list({one.name: one for one in reversed(videos)}.values())  # may be in several splits
    blocks: list[tuple[str, object, Sequence[Timeline]]] = [(ALL_VIDEOS, "", once)]
    blocks += [
        (printable(one.name), "" if one.split is None else one.split, [one]) for one in videos
    ]
    for name, split, timelines in blocks:
        sources = [(TRUTH, [one.true for one in timelines if one.true is not None])]
        for index, decoding in enumerate(report.comparison.decodings):
            tracks = [one.tracks[index].segmentation for one in timelines]
            sources.append((printable(decoding), tracks))
        for source, segmentations in sources:
            for one in action_times(segmentations, report.vocabulary):
                frames = (one.n_frames, f"{one.mean_frames:.2f}")
                lengths = (one.n_frames, one.mean_frames)
                seconds = ["" if rate is None else f"{length / rate:.3f}" for length in lengths]
                label = report.vocabulary.names[one.action]
                share = f"{one.share:.6f}"
                yield (name, split, source, label, one.n_segments, share, *frames, *seconds)
