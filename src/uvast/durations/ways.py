"""One call for every way to get durations, so that they swap freely.

A way is a frozen record of its settings. Called with frame scores and a transcript, and with the
alignment decoder's logits where there are any, it returns `Durations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from uvast.durations.alignment import alignment
from uvast.durations.fifa import Optimiser, fifa
from uvast.durations.result import checked_log_probabilities, checked_transcript
from uvast.durations.viterbi import viterbi
from uvast.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from uvast.durations.length_model import LengthModel
    from uvast.durations.result import Durations


class DurationWay(Protocol):
    """Durations of a transcript."""

    def __call__(
        self,
        log_probabilities: ArrayLike,
        transcript: ArrayLike,
        *,
        assignment_logits: ArrayLike | None = None,
    ) -> Durations:
        """Durations `(S,)` of a transcript.

        Args:
            log_probabilities: frame scores `(T, C)`.
            transcript: actions `(S,)`.
            assignment_logits: the alignment decoder's output `(T, S)`.
        """
        ...


@dataclass(frozen=True)
class ViterbiWay:
    """The settings of `viterbi`."""

    length_model: LengthModel | None = None
    frame_sampling: int = 1
    alpha: float = 1.0

    def __call__(
        self,
        log_probabilities: ArrayLike,
        transcript: ArrayLike,
        *,
        assignment_logits: ArrayLike | None = None,  # noqa: ARG002  # no use for them here
    ) -> Durations:
        """See `viterbi`."""
        return viterbi(
            log_probabilities,
            transcript,
            length_model=self.length_model,
            frame_sampling=self.frame_sampling,
            alpha=self.alpha,
        )


@dataclass(frozen=True)
class FifaWay:
    """The settings of `fifa`; it starts from the alignment where there is one, else uniform."""

    length_model: LengthModel | None = None
    sharpness: float = 80.0
    length_weight: float = 0.0
    sum_weight: float = 1.0
    optimiser: Optimiser = "fast"
    n_steps: int | None = None
    step_size: float | None = None
    tolerance: float | None = None

    def __call__(
        self,
        log_probabilities: ArrayLike,
        transcript: ArrayLike,
        *,
        assignment_logits: ArrayLike | None = None,
    ) -> Durations:
        """See `fifa`."""
        initial = None
        if assignment_logits is not None:
            initial = _aligned(log_probabilities, transcript, assignment_logits).durations
        return fifa(
            log_probabilities,
            transcript,
            initial,
            mean_durations=None if self.length_model is None else self.length_model.means,
            sharpness=self.sharpness,
            length_weight=self.length_weight,
            sum_weight=self.sum_weight,
            optimiser=self.optimiser,
            n_steps=self.n_steps,
            step_size=self.step_size,
            tolerance=self.tolerance,
        )


@dataclass(frozen=True)
class AlignmentWay:
    """The settings of `alignment`."""

    tau: float = 1e-4

    def __call__(
        self,
        log_probabilities: ArrayLike,
        transcript: ArrayLike,
        *,
        assignment_logits: ArrayLike | None = None,
    ) -> Durations:
        """See `alignment`."""
        if assignment_logits is None:
            raise InputError(
                "no assignment logits to align by",
                remedy="train stage 2, or choose viterbi or fifa",
            )
        return _aligned(log_probabilities, transcript, assignment_logits, self.tau)


def _aligned(
    log_probabilities: ArrayLike,
    transcript: ArrayLike,
    assignment_logits: ArrayLike,
    tau: float = AlignmentWay.tau,
) -> Durations:
    """`alignment`, once the logits are seen to be of these frames and this transcript."""
    frames = checked_log_probabilities(log_probabilities)
    actions = checked_transcript(transcript, frames.shape[1], len(frames))
    logits = np.asarray(assignment_logits)
    if logits.shape != (len(frames), len(actions)):
        raise InputError(
            f"assignment logits of shape {logits.shape} for {len(frames)} frames and "
            f"{len(actions)} actions"
        )
    return alignment(logits, tau)
