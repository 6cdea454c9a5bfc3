"""What `best` chooses from: transcripts from several sources, each with its best durations.

The winner has the best sum of segmentation score and weighted decoder log-probability
(docs/method.md, Durations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.durations import segmentation_score, smoothed_transcript, viterbi
from uvast.inference.prediction import DecodedVideo
from uvast.inference.writing import segmentation_log_probabilities
from uvast.models.ensemble import writers
from uvast.segments import IntArray, Segmentation

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from uvast.inference.decoder import Job
    from uvast.inference.priors import Priors
    from uvast.vocabulary import Vocabulary

SMOOTHING_WIDTHS = (1, 9, 25)
"""Widths of the mode filters that read candidates off the frame labels.

Runs that stay shorter than half of the width are absorbed by their neighbours.
"""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Segmentations of one video, each with two scores.

    Args:
        segmentations: K of them, the joint one first.
        scores: segmentation scores `(K,)`.
        decoder_scores: the decoder's log-probabilities of their transcripts `(K,)`.
        cut_off: transcripts that the decoder had to stop before their end.
    """

    segmentations: tuple[Segmentation, ...]
    scores: NDArray[np.float64]
    decoder_scores: NDArray[np.float64]
    cut_off: tuple[IntArray, ...]

    def winner(self, decoder_weight: float) -> DecodedVideo:
        """The best sum of segmentation score and weighted decoder score, the first of equals."""
        total = self.scores + decoder_weight * self.decoder_scores
        winner = self.segmentations[int(total.argmax())]
        complete = not any(np.array_equal(winner.transcript, one) for one in self.cut_off)
        return DecodedVideo(winner.transcript, winner, complete)


def find_candidates(
    model: nn.Module,
    job: Job,
    joint: Segmentation,
    vocabulary: Vocabulary,
    priors: Priors,
    *,
    alpha: float,
    max_segments: int,
) -> Candidates:
    """The joint segmentation, and those of the decoder's and the smoothed frames' transcripts.

    A joint segmentation of more segments than the decoder may write is not for it to judge, and
    has the best segmentation score of all: noise does not cost T x T. Other transcripts longer
    than `max_segments` are left out.
    """
    if len(joint) > max_segments:
        return Candidates((joint,), np.zeros(1), np.zeros(1), ())
    frames = job.frames.log_probabilities
    transcripts = [one.actions for one in job.transcripts] + [
        smoothed_transcript(frames, width=width, least=(width + 1) // 2)
        for width in SMOOTHING_WIDTHS
    ]
    longest = min(len(frames), max_segments)
    distinct = {tuple(t.tolist()): t for t in transcripts if len(t) <= longest}
    distinct.pop(tuple(joint.transcript.tolist()), None)
    found = [joint] + [
        Segmentation(one, viterbi(frames, one, priors.gamma, alpha=alpha).durations)
        for one in distinct.values()
    ]
    scores = [
        segmentation_score(frames, one, priors.gamma, priors.transitions, alpha=alpha)
        for one in found
    ]
    chunks = priors.chunks_of(len(writers(model)))
    decoder_scores = segmentation_log_probabilities(
        model, job.encoded, job.mask, vocabulary, found, chunks
    )
    cut_off = tuple(one.actions for one in job.transcripts if not one.complete)
    return Candidates(tuple(found), np.array(scores), decoder_scores, cut_off)
