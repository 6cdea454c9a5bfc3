"""Durations from the alignment decoder's assignment of frames to segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

from uvast.durations.result import Durations, check_room, checked_log_probabilities
from uvast.errors import InputError
from uvast.segments import round_durations

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_BLOCK = 2**14
"""Frames at a time: `(T, S)` is large for a long video, and several copies of it are larger."""


def alignment(assignment_logits: ArrayLike, tau: float = 1e-4) -> Durations:
    """Column sums of the softmax over segments of `logits / tau`, rounded to frames.

    The logits `(T, S)` say how well each frame fits each segment; a smaller tau makes the
    assignment harder. The score is the log-probability of this assignment at temperature 1, at
    which the alignment decoder is trained.
    """
    logits = checked_log_probabilities(assignment_logits, -np.inf, name="assignment logits")
    n_frames, n_segments = logits.shape
    check_room(n_segments, n_frames)
    if not 0 < tau < np.inf:
        raise InputError(f"the temperature tau is {tau}, not a positive number")
    if np.isneginf(logits.max(axis=1)).any():
        raise InputError("a frame that fits no segment: its assignment logits are all -inf")
    blocks = [slice(start, start + _BLOCK) for start in range(0, n_frames, _BLOCK)]
    shares = np.zeros(n_segments)
    for rows in blocks:
        shares += np.exp(log_softmax(logits[rows] / tau, axis=1)).sum(axis=0)
    durations = round_durations(shares, n_frames)
    segment_of_frame = np.repeat(np.arange(n_segments), durations)[:, None]
    score = 0.0
    for rows in blocks:
        logs = log_softmax(logits[rows], axis=1)
        score += float(np.take_along_axis(logs, segment_of_frame[rows], axis=1).sum())
    return Durations(durations, score)
