"""What every way to get durations returns, and checks of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uvast.errors import InputError

if TYPE_CHECKING:
    from uvast.durations.length_model import LengthModel
    from uvast.durations.transitions import Transitions
    from uvast.segments import IntArray

FloatArray = NDArray[np.float64]

LOG_FLOOR = -1e4
"""Lower log-probabilities, even `-inf`, count as this: sums and differences stay finite, and no
likely path comes near it (the smallest positive float64 has the logarithm -745)."""


@dataclass(frozen=True, eq=False)
class Durations:
    """Durations of a transcript's segments.

    Args:
        durations: frames per segment `(S,)`; positive, summing to T.
        score: what the method maximises, at these durations; comparable only within one method.
    """

    durations: IntArray
    score: float

    def __post_init__(self) -> None:
        """Freezes the durations."""
        frozen = np.array(self.durations, dtype=np.int64)
        frozen.flags.writeable = False
        object.__setattr__(self, "durations", frozen)


def checked_log_probabilities(
    log_probabilities: ArrayLike, floor: float = LOG_FLOOR, *, name: str = "log-probabilities"
) -> FloatArray:
    """Log-probabilities `(T, C)` as float64, checked and raised to at least `floor`."""
    given = np.asarray(log_probabilities)
    values = given.astype(np.float64, copy=False)
    if values.ndim != 2 or not values.size:
        raise InputError(
            f"{name} of shape {values.shape}, not of two dimensions with at least one frame and "
            "one column"
        )
    # One pass finds NaN and inf: both survive the maximum.
    if not values.max() < np.inf:
        raise InputError(f"{name} with NaN or infinite values")
    # In place of a copy that is ours: a long video has many values.
    return np.maximum(values, floor, out=None if np.may_share_memory(values, given) else values)


def checked_transcript(
    transcript: ArrayLike, n_classes: int, n_frames: int | None = None
) -> IntArray:
    """A checked transcript `(S,)` of known classes; with `n_frames`, no longer than the video."""
    actions = np.asarray(transcript)
    if actions.ndim != 1 or not actions.size:
        raise InputError(
            f"a transcript of shape {actions.shape}, not (S,) with at least one action",
            remedy="a video has at least one segment",
        )
    if actions.dtype.kind not in "iu":
        raise InputError(f"a transcript of type {actions.dtype}, not integers")
    if actions.min() < 0 or actions.max() >= n_classes:
        outside = actions.min() if actions.min() < 0 else actions.max()
        raise InputError(f"action {outside} in a transcript, not one of {n_classes} classes")
    if n_frames is not None:
        check_room(len(actions), n_frames)
    return actions.astype(np.int64)


def check_room(n_actions: int, n_frames: int) -> None:
    """Refuses a transcript longer than the video."""
    if n_actions > n_frames:
        raise InputError(
            f"a transcript of {n_actions} actions for {n_frames} frames",
            remedy="every action needs a frame of its own: shorten the transcript",
        )


def check_classes(
    n_classes: int, length_model: LengthModel, transitions: Transitions | None = None
) -> None:
    """Refuses models whose number of classes is not that of the frames."""
    for name, model in (("length model", length_model), ("transition model", transitions)):
        if model is not None and model.n_classes != n_classes:
            raise InputError(f"a {name} of {model.n_classes} classes for frames of {n_classes}")


def checked_cut_scores(cut_scores: ArrayLike | None, n_frames: int) -> FloatArray:
    """The score of a cut before each frame `(T,)`: finite, all 0 for None, always 0 at frame 0."""
    if cut_scores is None:
        return np.zeros(n_frames)
    values = np.array(cut_scores, dtype=np.float64)
    if values.shape != (n_frames,):
        raise InputError(f"scores of cuts of shape {values.shape} for {n_frames} frames")
    if not np.isfinite(values).all():
        raise InputError("scores of cuts with NaN or infinite values")
    values[0] = 0
    return values


def checked_alpha(alpha: float) -> float:
    """The power of the frame probabilities, positive and finite."""
    if not 0 < alpha < np.inf:
        raise InputError(f"alpha is {alpha}, not a positive number")
    return float(alpha)
