"""What `best` chooses from: transcripts from several sources, each with its best durations.

The winner has the best sum of weighted votes: frames, lengths, bigrams, transcript decoder
(docs/method.md, Durations).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from uvast.durations import score_parts, smoothed_transcript, viterbi
from uvast.inference.prediction import DecodedVideo
from uvast.inference.recipes import best_score
from uvast.inference.weights import ALONE
from uvast.inference.writing import segmentation_log_probabilities
from uvast.models.ensemble import writers
from uvast.segments import IntArray, Segmentation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import nn

    from uvast.durations.result import FloatArray
    from uvast.inference.decoder import Job
    from uvast.inference.priors import Priors
    from uvast.inference.recipes import Recipe
    from uvast.inference.weights import DecodingWeights
    from uvast.vocabulary import Vocabulary

SMOOTHING_WIDTHS = (1, 9, 25)
"""Widths of the mode filters that read candidates off the frame labels.

Runs that stay shorter than half of the width are absorbed by their neighbours.
"""

N_PARTS = 4


@dataclass(frozen=True, eq=False)
class Candidates:
    """Segmentations of one video, each with the parts of its score.

    Args:
        segmentations: K of them, the joint one first.
        parts: log-scores of frames, lengths, transitions and decoder `(K, 4)`, in the order of
            `DecodingWeights.votes`.
        written: the index of the one with the decoder's own transcript; -1 if there is none.
        cut_off: transcripts that the decoder had to stop before their end.
    """

    segmentations: tuple[Segmentation, ...]
    parts: NDArray[np.float64]
    written: int = -1
    cut_off: tuple[IntArray, ...] = ()

    def totals(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sums `(..., K)` of the parts for votes `(..., 4)`.

        A part without a vote does not count, even if it is `-inf`. If the decoder decides alone,
        its own transcript wins.
        """
        totals = np.zeros((*votes.shape[:-1], len(self.parts)))
        for part, vote in zip(self.parts.T, np.moveaxis(votes, -1, 0), strict=True):
            with np.errstate(invalid="ignore"):
                totals += np.where(vote[..., None] == 0, 0.0, vote[..., None] * part)
        is_written = np.arange(len(self.parts)) == self.written
        return np.where((votes[..., -1:] >= ALONE) & is_written, np.inf, totals)

    def winner(self, weights: DecodingWeights) -> DecodedVideo:
        """The candidate with the best weighted sum of its parts; on ties, the first."""
        winner = self.segmentations[int(self.totals(weights.votes).argmax())]
        complete = not any(np.array_equal(winner.transcript, one) for one in self.cut_off)
        return DecodedVideo(winner.transcript, winner, complete)


def lone_candidate(joint: Segmentation) -> Candidates:
    """A joint segmentation that the decoder cannot judge: it has too many segments to write.

    It has the best segmentation score anyway, and noise must not cost T x T.
    """
    return Candidates((joint,), np.zeros((1, N_PARTS)))


def find_transcripts(
    job: Job, joint: Sequence[Segmentation], *, max_segments: int
) -> tuple[IntArray, ...]:
    """The distinct transcripts of joint segmentations, of the decoder and of smoothed frames.

    Those longer than `max_segments`, or than the video, are left out.
    """
    frames = job.frames.log_probabilities
    found = [one.transcript for one in joint] + [one.actions for one in job.transcripts]
    found += [
        smoothed_transcript(frames, width=width, least=(width + 1) // 2)
        for width in SMOOTHING_WIDTHS
    ]
    longest = min(len(frames), max_segments)
    return tuple({tuple(one.tolist()): one for one in found if len(one) <= longest}.values())


def cut_candidates(
    model: nn.Module,
    job: Job,
    transcripts: Sequence[IntArray],
    vocabulary: Vocabulary,
    priors: Priors,
    *,
    power: float,
    cut_scores: FloatArray | None = None,
    recipes: Sequence[Recipe],
) -> Candidates:
    """Transcripts of one video, each with its best durations for frame posteriors to a power.

    The transitions' score is that of the recipe that fits a transcript best.
    """
    frames = job.frames.log_probabilities
    search = partial(viterbi, frames, alpha=power, cut_scores=cut_scores)
    found = [Segmentation(one, search(one, priors.gamma).durations) for one in transcripts]
    parts = partial(score_parts, frames, cut_scores=cut_scores)
    own = [(*parts(one, priors.gamma)[:2], best_score(recipes, one.transcript)) for one in found]
    chunks = priors.chunks_of(len(writers(model)))
    decoder = segmentation_log_probabilities(
        model, job.encoded, job.mask, vocabulary, found, chunks
    )
    written = _as_written(job)
    decoder_parts = [
        max(score, written.get(tuple(one.transcript.tolist()), -np.inf))
        for one, score in zip(found, decoder, strict=True)
    ]
    own_actions = job.transcripts[0].actions
    (places,) = np.nonzero([np.array_equal(one, own_actions) for one in transcripts])
    return Candidates(
        segmentations=tuple(found),
        parts=np.column_stack((own, decoder_parts)),
        written=int(places[0]) if len(places) else -1,
        cut_off=tuple(one.actions for one in job.transcripts if not one.complete),
    )


def _as_written(job: Job) -> dict[tuple[int, ...], float]:
    """The decoder's log-probability of each finished transcript, in the chunks it wrote it in."""
    found: dict[tuple[int, ...], float] = {}
    for one in job.transcripts:
        if one.ended:
            key = tuple(one.actions.tolist())
            found[key] = max(one.log_probability, found.get(key, -np.inf))
    return found
