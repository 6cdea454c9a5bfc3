"""The records that make up a report; page and figures only draw them and score nothing.

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

    from uvast.data import Timestamps
    from uvast.evaluation import Scores, Track
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

SCORE_NAMES = tuple(HEADINGS.values())


def score_values(scores: Scores) -> tuple[float, ...]:
    """The scores as numbers, in the order of `SCORE_NAMES`."""
    return tuple(scores.columns().values())


@dataclass(frozen=True)
class FilmStrip:
    """Pictures of a video at the middles of equal parts of its timeline.

    Args:
        pictures: image files of type `uvast.features.pictures.IMAGE_TYPE`.
        shape: the width of each, divided by its height.
    """

    pictures: tuple[bytes, ...]
    shape: float


@dataclass(frozen=True, eq=False)
class Timeline:
    """Everything known about one video, at the source rate.

    Args:
        name: the video.
        tracks: one for each decoding.
        true: its ground truth, if it has one; `UNLABELLED` where nobody looked.
        scores: of each decoding on this video; empty without ground truth.
        clicks: the annotated frames, if there are any.
        split: whose test side it is on; a video on two of them has two timelines.
        in_training: whether the model was trained on it, or its epoch chosen by it.
        strip: pictures of the video, if it could be read.
    """

    name: str
    tracks: tuple[Track, ...]
    true: Segmentation | None = None
    scores: tuple[Scores, ...] = ()
    clicks: Timestamps | None = None
    split: int | None = None
    in_training: bool = False
    strip: FilmStrip | None = None

    @property
    def n_frames(self) -> int:
        """T, the length of every track."""
        return self.tracks[0].segmentation.n_frames


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several decodings (or other methods) of the same videos.

    Args:
        decodings: their names.
        videos: each with one track per decoding, sorted by name.
        scores: of each decoding over the videos with ground truth, with classes and confusion;
            empty if there are none.
        main: the index of the decoding that is shown first.
    """

    decodings: tuple[str, ...]
    videos: tuple[Timeline, ...]
    scores: tuple[Scores, ...] = ()
    main: int = 0


@dataclass(frozen=True, eq=False)
class Attention:
    """Maps of the transcript decoder's cross-attention in one video.

    Args:
        video: its name.
        true: the segments (or their chunks) that the rows stand for, at the source rate.
        maps: title to weights `(S, T)`, each row scaled to a maximum of 1; the target first.
    """

    video: str
    true: Segmentation
    maps: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Chart:
    """Curves over epochs that share their axes: name to one value per epoch.

    `thin` holds the same curves of an ensemble's other members, drawn behind these.
    """

    title: str
    epochs: tuple[float, ...]
    curves: Mapping[str, tuple[float, ...]]
    thin: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class BenchmarkRow:
    """One line of a benchmark's table.

    Its labels are dataset, model, supervision and decoding. Means, and spreads over seeds, are
    keyed by the score's name; undefined ones are absent. The row is whole once no splits or seeds
    are missing.
    """

    labels: tuple[str, str, str, str]
    n_splits: int
    n_seeds: int
    means: Mapping[str, float]
    spreads: Mapping[str, float]
    is_whole: bool = True


@dataclass(frozen=True)
class TextTable:
    """A table of text: a heading, names of columns, and rows that begin with a name."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Report:
    """Everything a page shows; what is None or empty is left out.

    Facts are the page's first lines; notes are sentences that a reader has to know. `comparison`
    compares predictions by decoding, `pseudo_labels` those of training videos by method. The files
    are those that configure a run, name to text. A benchmark has no vocabulary. Two annotators have
    tables of their agreement; `timelines_are` says what a timeline stands for.
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
    agreement: tuple[TextTable, ...] = ()
    timelines_are: str = "Decoding"


@dataclass(frozen=True)
class Compared:
    """One line in the figure of paired differences.

    Args:
        label: what is compared with the base.
        means: score to mean difference.
        half_widths: score to half the interval's width; absent without an interval.
    """

    label: str
    means: Mapping[str, float]
    half_widths: Mapping[str, float]
