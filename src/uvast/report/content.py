"""The records a report is made of; page and figures draw them and compute nothing.

Shapes: T frames, S segments, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uvast.evaluation.scores import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from uvast.evaluation import Scores
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary

SCORE_NAMES = tuple(HEADINGS.values())


def score_values(scores: Scores) -> tuple[float, ...]:
    """In the order of `SCORE_NAMES`."""
    return tuple(scores.columns().values())


@dataclass(frozen=True, eq=False)
class VideoResult:
    """One video: the truth and what was made of it, at the source rate.

    Args:
        name: the video.
        true: its ground truth.
        predicted: a segmentation for each way.
        scores: the scores of each way on this video.
        timestamps: the annotated source frames `(S,)`; None without.
    """

    name: str
    true: Segmentation
    predicted: tuple[Segmentation, ...]
    scores: tuple[Scores, ...]
    timestamps: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several ways to segment the same videos.

    Args:
        ways: their names.
        scores: of each way over all videos; with classes and confusion.
        videos: each with one segmentation a way; by name.
        main: the index of the way that is shown first.
    """

    ways: tuple[str, ...]
    scores: tuple[Scores, ...]
    videos: tuple[VideoResult, ...]
    main: int = 0


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The transcript decoder's cross-attention in one video.

    Args:
        title: which run, with or without the loss.
        weights: `(S, T)`, each row scaled to a maximum of 1.
    """

    title: str
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attention:
    """Cross-attention maps of one video.

    Args:
        video: its name.
        true: the segments (or their chunks) that the rows stand for, at the source rate.
        maps: the target first.
    """

    video: str
    true: Segmentation
    maps: tuple[AttentionMap, ...]


@dataclass(frozen=True)
class Chart:
    """Curves over epochs that share their axes.

    Args:
        title: what is drawn.
        epochs: `n` epochs.
        curves: name to `n` values.
    """

    title: str
    epochs: tuple[float, ...]
    curves: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class BenchmarkRow:
    """One line of a benchmark's table.

    Args:
        labels: dataset, model, supervision, decoding.
        n_splits: the splits in the mean.
        n_seeds: the seeds in the mean.
        means: score name to mean; absent where it is not defined.
        spreads: score name to standard deviation over seeds; absent for one seed.
    """

    labels: tuple[str, str, str, str]
    n_splits: int
    n_seeds: int
    means: Mapping[str, float]
    spreads: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Report:
    """Everything a page shows; what is None or empty is left out.

    Args:
        title: what the report is about.
        facts: name to value, for the page's first lines.
        notes: sentences that a reader of the scores has to know.
        vocabulary: the classes; None for a benchmark.
        frames_per_second: of the source, if known.
        comparison: ways of decoding on the test side.
        attention: cross-attention maps.
        pseudo_labels: ways to pseudo-segmentations of training videos.
        charts: training curves.
        files: name to text of the files that configure a run.
        benchmark: the rows of a benchmark's table.
    """

    title: str
    facts: Mapping[str, str]
    notes: tuple[str, ...] = ()
    vocabulary: Vocabulary | None = None
    frames_per_second: float | None = None
    comparison: Comparison | None = None
    attention: Attention | None = None
    pseudo_labels: Comparison | None = None
    charts: tuple[Chart, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    benchmark: tuple[BenchmarkRow, ...] = ()
