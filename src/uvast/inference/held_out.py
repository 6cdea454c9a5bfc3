"""How well a model segments a video it has not learned from, for every weight at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.evaluation.metrics import count
from uvast.inference.decoder import Decoder
from uvast.inference.temperature import JudgedFrames, mean_confidence
from uvast.models.ensemble import writers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from uvast.data import Timestamps, Video
    from uvast.inference.candidates import Candidates
    from uvast.inference.decoder import Job
    from uvast.inference.segmenter import Segmenter
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary

POWERS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""The powers of the frame posteriors to try."""

MOST_FRAMES = 2000
"""The most frames of one video that the temperature is fitted on."""


class KnownFrames(NamedTuple):
    """Frames `(N,)`, their classes `(N,)`, and how many frames each stands for `(N,)`."""

    frames: IntArray
    labels: IntArray
    weights: NDArray[np.float64]

    def some(self, most: int) -> KnownFrames:
        """At most `most` of them, evenly spread, weighted to stand for all."""
        n_frames = len(self.frames)
        kept = np.unique(np.linspace(0, n_frames - 1, most).astype(np.int64))
        weights = self.weights[kept] * (n_frames / len(kept))
        return KnownFrames(self.frames[kept], self.labels[kept], weights)


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known about a video, at the model's rate.

    Args:
        segmentation: its segments; with clicks alone, the transcript is true and the durations are
            a guess.
        clicks: the clicked frames, if only their classes are known.
    """

    segmentation: Segmentation
    clicks: Timestamps | None = None

    @property
    def known(self) -> KnownFrames:
        """The frames whose class is known; a click stands for the segment that it is in."""
        one = self.segmentation
        if self.clicks is None:
            return KnownFrames(np.arange(one.n_frames), one.labels, np.ones(one.n_frames))
        frames = self.clicks.frames
        segments = np.searchsorted(one.starts, frames, side="right") - 1
        n_clicks = np.bincount(segments, minlength=len(one))
        return KnownFrames(
            frames, self.clicks.transcript, one.durations[segments] / n_clicks[segments]
        )

    def score(self, found: Segmentation, vocabulary: Vocabulary) -> float:
        """The mean of Acc, Edit and F1@50 of one video; Acc on frames whose class is known."""
        scores = count(found, self.segmentation.merged(), vocabulary).scores()
        if self.clicks is not None:
            known = self.known
            right = found.labels[known.frames] == known.labels
            scores = replace(scores, acc=100 * float(np.average(right, weights=known.weights)))
        return scores.selection


@dataclass(frozen=True, eq=False)
class Ballots:
    """What `best` chooses from in one video, at every power. P is the number of `POWERS`.

    Args:
        candidates: all transcripts, cut at each power; P times K candidates in the same order.
        scores: how good each candidate is at each power `(P, K)`.
        always: which of the K `best` always considers `(K,)`.
        joint: the index of what semi-Markov decoding finds at each power `(P,)`; -1 where that has
            too many segments for the decoder to judge.
    """

    candidates: tuple[Candidates, ...]
    scores: NDArray[np.float64]
    always: NDArray[np.bool_]
    joint: IntArray

    def results(
        self, alpha: int, durations: int, votes: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """The scores `(G,)` of `best` for votes `(G, 4)`; the powers are indices into `POWERS`.

        None if the decoder cannot judge what semi-Markov decoding finds.
        """
        if self.joint[alpha] < 0:
            return None
        heard = self.always.copy()
        heard[[place for place in self.joint[[alpha, durations]] if place >= 0]] = True
        totals = np.where(heard, self.candidates[durations].totals(votes), -np.inf)
        found: NDArray[np.float64] = self.scores[durations][totals.argmax(1)]
        return found


@dataclass(frozen=True, eq=False)
class HeldOut:
    """One held-out video.

    Args:
        alone: scores of semi-Markov decoding at each of the `POWERS` `(P,)`.
        ballots: what `best` chooses from; None for a frame-wise model.
        frames: those whose class is known.
    """

    alone: NDArray[np.float64]
    ballots: Ballots | None
    frames: JudgedFrames

    def best(self, alpha: int, durations: int, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores `(G,)` of `best` for votes `(G, 4)`; the powers are indices into `POWERS`."""
        assert self.ballots is not None, "only a model that writes has ballots"
        found = self.ballots.results(alpha, durations, votes)
        return np.full(len(votes), self.alone[alpha]) if found is None else found


def hold_out(segmenter: Segmenter, video: Video, truth: Truth) -> HeldOut:
    """Encodes a video, searches it once, and judges what all weights would make of it.

    The video's source rate must be the model's.
    """
    encoded = segmenter.encode_batch([video])
    writes = bool(writers(segmenter.module))
    options = segmenter.options(transcript="best" if writes else "semi-markov", alpha=0.0)
    decoder = Decoder(segmenter.module, segmenter.vocabulary, segmenter.priors, options)
    (job,) = decoder.jobs(encoded.encoded, encoded.mask, encoded.frames)
    joint = [decoder.semi_markov(job, power) for power in POWERS]

    def judged(found: Sequence[Segmentation]) -> NDArray[np.float64]:
        return np.array([truth.score(one, segmenter.vocabulary) for one in found])

    known = truth.known.some(MOST_FRAMES)
    logs = encoded.frames[0].log_probabilities
    return HeldOut(
        alone=judged(joint),
        ballots=_ballots(decoder, job, joint, judged) if writes else None,
        frames=JudgedFrames(logs[known.frames], known.labels, known.weights, mean_confidence(logs)),
    )


def _ballots(
    decoder: Decoder,
    job: Job,
    joint: Sequence[Segmentation],
    judged: Callable[[Sequence[Segmentation]], NDArray[np.float64]],
) -> Ballots:
    always = {tuple(one.tolist()) for one in decoder.transcripts(job, ())}
    transcripts = decoder.transcripts(job, joint)
    places = {tuple(one.tolist()): place for place, one in enumerate(transcripts)}
    candidates = tuple(decoder.cut_candidates(job, transcripts, power) for power in POWERS)
    return Ballots(
        candidates=candidates,
        scores=np.stack([judged(one.segmentations) for one in candidates]),
        always=np.array([key in always for key in places]),
        joint=np.array([places.get(tuple(one.transcript.tolist()), -1) for one in joint]),
    )
