"""The records that scoring returns: scores of videos, of classes, of a whole dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.segments import IntArray

ScoreProtocol = Literal["standard", "legacy"]

PROTOCOLS: tuple[ScoreProtocol, ...] = get_args(ScoreProtocol)
"""`standard`: ends are exclusive; `legacy`: the last segment ends one frame early."""

THRESHOLDS = (10, 25, 50)
"""The overlap thresholds of F1@k, in percent."""

HEADINGS: Mapping[str, str] = MappingProxyType(
    {name.lower(): name for name in (*(f"F1@{k}" for k in THRESHOLDS), "Edit", "Acc")}
)
"""Column to heading, in the order of tables: `f1@10` is printed as F1@10."""


@dataclass(frozen=True)
class ClassScores:
    """F1 of one class by threshold in percent; NaN where neither side has a segment of it."""

    name: str
    f1: Mapping[int, float]
    n_true: int
    n_predicted: int

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON; an undefined F1 is None."""
        f1 = {f"f1@{k}": or_none(value) for k, value in self.f1.items()}
        return {**f1, "true": self.n_true, "predicted": self.n_predicted}


@dataclass(frozen=True)
class Scores:
    """The scores of one video, of one side of a split, or their mean over splits, in percent.

    Args:
        acc: right frames over all frames, pooled over videos; NaN for bare transcripts, like F1.
        edit: the edit score, the mean over videos; in a partly labelled one, each stretch counts.
        f1: threshold in percent (10, 25, 50) to F1, pooled over videos.
        protocol: how the last segment ends.
        n_videos: the videos scored; for a mean over splits, their sum.
        per_class: F1 of each class that is not background, if asked for.
        confusion: frames `(C, C)`, rows are true classes and columns predicted ones, if asked for.
    """

    acc: float
    edit: float
    f1: Mapping[int, float]
    protocol: ScoreProtocol
    n_videos: int
    per_class: tuple[ClassScores, ...] | None = None
    confusion: IntArray | None = field(default=None, compare=False, repr=False)

    @property
    def quality(self) -> float:
        """Orders videos: the sum of Acc, Edit and the F1s, where they are defined."""
        return math.fsum(self.columns().values())

    @property
    def selection(self) -> float:
        """What model selection and calibration maximise: the mean of Acc, Edit and F1@50."""
        return float(np.mean([self.acc, self.edit, self.f1[50]]))

    def columns(self) -> dict[str, float]:
        """Column to number, in the order of `HEADINGS`; only `edit` for bare transcripts."""
        f1 = {f"f1@{threshold}": self.f1[threshold] for threshold in THRESHOLDS}
        values = {**f1, "edit": self.edit, "acc": self.acc}
        return {column: value for column, value in values.items() if not math.isnan(value)}

    def as_dict(self) -> dict[str, object]:
        """For JSON: `acc`, `edit`, `f1@10`, `f1@25`, `f1@50`, `protocol`, `videos`, extras."""
        values: dict[str, object] = {"acc": or_none(self.acc), "edit": self.edit}
        values |= {f"f1@{threshold}": or_none(value) for threshold, value in self.f1.items()}
        values |= {"protocol": self.protocol, "videos": self.n_videos}
        if self.per_class is not None:
            values["per_class"] = {one.name: one.as_dict() for one in self.per_class}
        if self.confusion is not None:
            values["confusion"] = self.confusion.tolist()
        return values


@dataclass(frozen=True)
class VideoScores:
    """The scores of one video on its own, and its length at the original frame rate.

    `split` is the one it was scored for, if there are any; `in_training` says whether the model was
    trained on it, or its epoch was chosen by it.
    """

    video: str
    n_frames: int
    scores: Scores
    split: int | None = None
    in_training: bool = False

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        split = {} if self.split is None else {"split": self.split}
        scores = self.scores.as_dict()
        del scores["protocol"], scores["videos"]
        length = {"frames": self.n_frames, "in_training": self.in_training}
        return {"video": self.video, **split, **length, **scores}


def score_row(columns: Mapping[str, float]) -> list[str]:
    """Numbers as tables print them, in the order of `HEADINGS`."""
    return [f"{columns[column]:.1f}" for column in HEADINGS]


def worst_first(videos: Sequence[VideoScores]) -> tuple[VideoScores, ...]:
    """Videos by increasing quality; ties by name and split."""
    return tuple(sorted(videos, key=lambda one: (one.scores.quality, one.video, one.split or 0)))


def mean_scores(scores: Sequence[Scores]) -> Scores:
    """The mean over splits.

    A class's F1 is the mean over the splits where it is defined; confusions are summed. Extras
    that some split lacks are left out.
    """
    if not scores:
        raise InputError("no scores to average")
    protocols = sorted({one.protocol for one in scores})
    if len(protocols) > 1:
        raise InputError(f"scores of different protocols cannot be averaged: {protocols}")
    per_class = [one.per_class for one in scores if one.per_class is not None]
    confusions = [one.confusion for one in scores if one.confusion is not None]
    return Scores(
        acc=_mean([one.acc for one in scores]),
        edit=_mean([one.edit for one in scores]),
        f1={k: _mean([one.f1[k] for one in scores]) for k in THRESHOLDS},
        protocol=protocols[0],
        n_videos=sum(one.n_videos for one in scores),
        per_class=_mean_per_class(per_class) if len(per_class) == len(scores) else None,
        confusion=np.sum(confusions, axis=0) if len(confusions) == len(scores) else None,
    )


def _mean_per_class(splits: Sequence[tuple[ClassScores, ...]]) -> tuple[ClassScores, ...]:
    if len({tuple(one.name for one in split) for split in splits}) > 1:
        raise InputError("scores of different classes cannot be averaged")
    return tuple(
        ClassScores(
            name=same[0].name,
            f1={k: _mean([one.f1[k] for one in same]) for k in THRESHOLDS},
            n_true=sum(one.n_true for one in same),
            n_predicted=sum(one.n_predicted for one in same),
        )
        for same in zip(*splits, strict=True)
    )


def _mean(values: Sequence[float]) -> float:
    """The mean of the values that are numbers; NaN if there are none."""
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def file_suffix(protocol: ScoreProtocol) -> str:
    """Sets files of scores by one protocol apart from another's; empty for the standard one."""
    return "" if protocol == "standard" else f"-{protocol}"


def or_none(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
