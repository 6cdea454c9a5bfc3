"""The objective of the exact decoders, evaluated on any segmentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.durations.result import (
    check_classes,
    checked_alpha,
    checked_log_probabilities,
    checked_transcript,
)
from uvast.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from uvast.durations.length_model import LengthModel
    from uvast.durations.transitions import Transitions
    from uvast.segments import Segmentation


def segmentation_score(
    log_probabilities: ArrayLike,
    segmentation: Segmentation,
    length_model: LengthModel,
    transitions: Transitions | None = None,
    *,
    alpha: float,
) -> float:
    """What `viterbi` (without transitions) and `semi_markov` (with them) maximise.

    Args:
        log_probabilities: frame scores `(T, C)`.
        segmentation: any segmentation of the T frames.
        length_model: scores of segment lengths.
        transitions: scores of the transcript.
        alpha: the power of the frame probabilities.

    Returns:
        The score; `-inf` if the transitions forbid the transcript, as they do repeated actions.
    """
    frames = checked_log_probabilities(log_probabilities)
    n_frames, n_classes = frames.shape
    if segmentation.n_frames != n_frames:
        raise InputError(f"a segmentation of {segmentation.n_frames} frames for {n_frames} frames")
    for name, model in (("length model", length_model), ("transition model", transitions)):
        if model is not None:
            check_classes(name, model.n_classes, n_classes)
    actions = checked_transcript(segmentation.transcript, n_classes, n_frames)
    score = checked_alpha(alpha) * frames[np.arange(n_frames), segmentation.labels].sum()
    score += length_model.score(actions, segmentation.durations).sum()
    if transitions is not None:
        score += transitions.score(actions)
    return float(score)
