"""Which actions start and end a video, and which follow which: smoothed counts of transcripts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.durations.result import checked_transcript
from uvast.errors import InputError
from uvast.segments import Segmentation, merge_repeats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from uvast.durations.result import FloatArray


SMOOTHING = 0.5
"""Added to every count except those of self-transitions."""


class CutEnds(NamedTuple):
    """Whether the video goes on before the start, and after the end, of a segmentation."""

    at_start: bool = False
    at_end: bool = False

    def inside(self, segmentation: Segmentation) -> Segmentation:
        """The segments that are seen in full, without those that may go on outside."""
        if not any(self):
            return segmentation
        merged = segmentation.merged()
        whole = slice(int(self.at_start), len(merged) - int(self.at_end))
        return Segmentation(merged.transcript[whole], merged.durations[whole])


@dataclass(frozen=True, eq=False)
class Transitions:
    """Log-probabilities of the first action, of neighbouring actions and of the end.

    Args:
        initial: first actions `(C,)`.
        bigram: `bigram[a, b]` says that b follows a `(C, C)`; the diagonal is `-inf`, since
            neighbours of one action are one segment.
        final: that a video ends after an action `(C,)`; otherwise it goes on by `bigram`. None if
            it may end after any action.
    """

    initial: FloatArray
    bigram: FloatArray
    final: FloatArray | None = None

    def __post_init__(self) -> None:
        """Checks the tables and freezes them."""
        initial = np.array(self.initial, dtype=np.float64)
        bigram = np.array(self.bigram, dtype=np.float64)
        if initial.ndim != 1 or not len(initial) or bigram.shape != (len(initial),) * 2:
            raise InputError(
                f"transitions of shapes {initial.shape} and {bigram.shape}, not (C,) and (C, C)"
            )
        if not (initial.max() < np.inf and bigram.max() < np.inf):
            raise InputError("transitions with NaN or infinite values")
        if not np.isneginf(np.diagonal(bigram)).all():
            raise InputError("a transition from an action to itself", remedy="make it -inf")
        if not np.isfinite(initial).any():
            raise InputError("transitions that allow no first action")
        tables = {"initial": initial, "bigram": bigram}
        if self.final is not None:
            tables["final"] = _checked_ends(self.final, len(initial))
        for name, values in tables.items():
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def fit(
        cls,
        transcripts: Iterable[Segmentation | ArrayLike],
        n_classes: int,
        *,
        ends: bool = False,
        cuts: Iterable[CutEnds] | None = None,
    ) -> Transitions:
        """Counts first actions, neighbours and (with `ends`) last actions, each plus 0.5.

        Repeats in the training segmentations, or transcripts `(S,)`, are merged. Without any, all
        first actions and all changes of action are equally likely. `cuts` says for each one
        where it was cut out of a longer one.
        """
        initial = np.full(n_classes, SMOOTHING)
        bigram = np.full((n_classes, n_classes), SMOOTHING)
        np.fill_diagonal(bigram, 0)
        last, totals = np.full(n_classes, SMOOTHING), np.full(n_classes, 2 * SMOOTHING)
        entries = list(transcripts)
        cuts = [CutEnds()] * len(entries) if cuts is None else cuts
        for entry, cut in zip(entries, cuts, strict=True):
            actions = merge_repeats(entry.transcript if isinstance(entry, Segmentation) else entry)
            if not len(actions):
                continue
            if actions.min() < 0 or actions.max() >= n_classes:
                raise InputError(f"a transcript with classes outside of 0..{n_classes - 1}")
            initial[actions[0]] += not cut.at_start
            np.add.at(bigram, (actions[:-1], actions[1:]), 1)
            last[actions[-1]] += not cut.at_end
            np.add.at(totals, actions[:-1] if cut.at_end else actions, 1)
        final = np.log(last / totals) if ends else None
        return cls(_log_shares(initial), _log_shares(bigram), final)

    @property
    def without_ends(self) -> Transitions:
        """The same transitions, but a video may end after any action."""
        return replace(self, final=None)

    @property
    def following(self) -> FloatArray:
        """Log-probabilities that a video goes on after a, and with b `(C, C)`."""
        if self.final is None:
            return self.bigram
        with np.errstate(divide="ignore"):
            on: FloatArray = self.bigram + np.log(-np.expm1(self.final))[:, None]
        return on

    @property
    def ending(self) -> FloatArray:
        """What the last action adds to a score `(C,)`; 0 if a video may end after any."""
        return np.zeros(self.n_classes) if self.final is None else self.final

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.initial)

    def score(self, transcript: ArrayLike) -> float:
        """The log-probability of a transcript `(S,)` of at least one action."""
        actions = checked_transcript(transcript, self.n_classes)
        inner = self.following[actions[:-1], actions[1:]].sum()
        return float(self.initial[actions[0]] + inner + self.ending[actions[-1]])


def _checked_ends(final: FloatArray, n_classes: int) -> FloatArray:
    values = np.array(final, dtype=np.float64)
    if values.shape != (n_classes,):
        raise InputError(f"ends of shape {values.shape}, not ({n_classes},)")
    if not values.max() <= 0:
        raise InputError("ends that are not log-probabilities")
    return values


def _log_shares(counts: FloatArray) -> FloatArray:
    totals = np.maximum(counts.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
    with np.errstate(divide="ignore"):
        log_shares: FloatArray = np.log(counts / totals)
    return log_shares
