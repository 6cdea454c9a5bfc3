"""From frame scores and a transcript to durations, and from frame scores alone to a segmentation.

Pure functions on arrays, usable without any network. Shapes: T frames, S segments, C classes.
"""

from uvast.durations.alignment import alignment
from uvast.durations.boundaries import boundary_scores, cut_at_boundaries
from uvast.durations.fifa import fifa
from uvast.durations.length_model import LengthModel
from uvast.durations.result import LOG_FLOOR, Durations
from uvast.durations.semi_markov import score_parts, segmentation_score, semi_markov
from uvast.durations.smoothing import (
    absorb_short_runs,
    mode_filter,
    smoothed_labels,
    smoothed_transcript,
)
from uvast.durations.transitions import CutEnds, Transitions
from uvast.durations.viterbi import viterbi

__all__ = [
    "LOG_FLOOR",
    "CutEnds",
    "Durations",
    "LengthModel",
    "Transitions",
    "absorb_short_runs",
    "alignment",
    "boundary_scores",
    "cut_at_boundaries",
    "fifa",
    "mode_filter",
    "score_parts",
    "segmentation_score",
    "semi_markov",
    "smoothed_labels",
    "smoothed_transcript",
    "viterbi",
]
