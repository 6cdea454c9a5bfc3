"""Frame confidences that mean what they say: a temperature for each video.

A model that has not met a person before is not equally good with everybody, and it looks less sure
where it is worse, but not by enough: held-out videos at a mean confidence of 0.93 may be right in
93 % of their frames, and those at 0.83 in 65 %. So held-out videos fit two numbers: the temperature
of a usual video, and how much it grows as a video's own mean confidence falls.

Inner runs learn from fewer people than the run that they calibrate, and are more often wrong with a
new one, but no less sure. So a run's temperature is lower than theirs (`learned_from_all`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field
from scipy.special import log_softmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.segments import IntArray

COLDEST, HOTTEST = 0.05, 50.0
STEEPEST = 2.0
FARTHEST = 2.0
"""How many standard deviations from the usual confidence a video's counts at most."""
BLOCK = 2**14
"""Frames at a time."""
CAUTION = 1.0
"""Keeps the slope small unless many videos ask for a larger one."""
LEARNING = 0.25
"""A model that has learned from a share s of the videos errs `s ** -LEARNING` times as often in new
ones (docs/choices.md, "Confidences with few people")."""


@dataclass(frozen=True)
class Temperature:
    """What a video's log-probabilities are divided by before they are shown; above 1, less sure.

    Args:
        usual: the temperature of a video of usual confidence.
        slope: by how much its logarithm grows for a video that is less confident by one `spread`.
        confidence: the mean confidence of held-out videos.
        spread: its standard deviation from video to video; 0 if all videos have one temperature.
    """

    usual: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    slope: Annotated[float, Field(ge=-STEEPEST, le=STEEPEST)] = 0.0
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    spread: Annotated[float, Field(ge=0, le=1)] = 0.0

    def of(self, log_probabilities: NDArray[np.floating[Any]]) -> float:
        """The temperature of a video with these log-probabilities `(T, C)`."""
        return self.at(mean_confidence(log_probabilities)) if self.slope else self.usual

    def at(self, confidence: float) -> float:
        """The temperature of a video of this mean confidence."""
        return self.usual * math.exp(self.slope * self._deviation(confidence))

    def _deviation(self, confidence: float) -> float:
        """How much less confident a video is than usual, in spreads."""
        if not self.spread:
            return 0.0
        return min(max((self.confidence - confidence) / self.spread, -FARTHEST), FARTHEST)


def _of_number(value: object) -> object:
    return {"usual": value} if isinstance(value, int | float) else value


StoredTemperature = Annotated[Temperature, BeforeValidator(_of_number)]
"""As files hold it; those of earlier versions have one number for all videos."""


@dataclass(frozen=True, eq=False)
class JudgedFrames:
    """N frames of a held-out video whose classes are known.

    Args:
        log_probabilities: what a model says about them `(N, C)`.
        labels: their classes `(N,)`.
        weights: how many frames each stands for `(N,)`.
        confidence: the mean confidence of all frames of the video.
    """

    log_probabilities: NDArray[np.float32]
    labels: IntArray
    weights: NDArray[np.float64]
    confidence: float


def mean_confidence(log_probabilities: NDArray[np.floating[Any]]) -> float:
    """The mean probability of each frame's likeliest class, from log-probabilities `(T, C)`."""
    return float(np.exp(log_probabilities.max(1).astype(np.float64)).mean().clip(0, 1))


def tempered(
    log_probabilities: NDArray[np.floating[Any]], temperature: float
) -> NDArray[np.float64]:
    """Log-probabilities `(T, C)` at a temperature; above 1, they are less confident."""
    found = log_probabilities.astype(np.float64)
    if temperature != 1:
        for first in range(0, len(found), BLOCK):  # each step of a log-softmax is another copy
            rows = found[first : first + BLOCK]
            rows[:] = log_softmax(rows / temperature, axis=1)
    return found


def fit_temperature(videos: Sequence[JudgedFrames]) -> Temperature:
    """The temperature with the lowest negative log-likelihood of held-out videos.

    The square of the slope is added, divided by the number of videos: a few of them change little.
    """
    videos = [one for one in videos if len(one.labels)]
    if not videos or videos[0].log_probabilities.shape[1] < 2:
        return Temperature()
    # takes half a second to import: every command that loads a model would pay, and few fit one
    from scipy.optimize import minimize

    logs = np.concatenate([one.log_probabilities for one in videos]).astype(np.float64)
    logs = np.maximum(logs, -1e4)
    labels = np.concatenate([one.labels for one in videos])
    shares = np.concatenate([one.weights for one in videos])
    shares /= shares.sum()
    confidences = np.array([one.confidence for one in videos])
    usual = Temperature(1.0, 0.0, round(float(confidences.mean()), 6), _spread(confidences))
    deviations = np.repeat(
        [usual._deviation(one) for one in confidences], [len(one.labels) for one in videos]
    )
    rows = np.arange(len(labels))

    def cost(place: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """The cost of a logarithm and its slope `(2,)`, and its gradient."""
        scaled = logs * np.exp(-(place[0] + place[1] * deviations))[:, None]
        normed = log_softmax(scaled, axis=1)
        own = normed[rows, labels]
        slope = shares * (scaled[rows, labels] - (np.exp(normed) * scaled).sum(1))
        caution = CAUTION / len(videos)
        value = -(shares * own).sum() + caution * place[1] ** 2
        return float(value), np.array(
            [slope.sum(), (slope * deviations).sum() + 2 * caution * place[1]]
        )

    bounds = [(math.log(COLDEST), math.log(HOTTEST)), (-STEEPEST, STEEPEST)]
    found = minimize(cost, np.zeros(2), jac=True, bounds=bounds, method="L-BFGS-B")
    logarithm, slope = found.x.tolist()
    return Temperature(
        round(math.exp(logarithm), 4), round(slope, 4), usual.confidence, usual.spread
    )


def learned_from_all(
    fitted: Temperature, videos: Sequence[JudgedFrames], share: float
) -> Temperature:
    """The temperature of a model that learns from all videos, including the held-out ones.

    It makes the held-out videos surer, by as much as that model should be right more often.

    Args:
        fitted: what `fit_temperature` has found for models that learned from fewer.
        videos: those that it was fitted on.
        share: the share of all videos that those models learned from.
    """
    videos = [one for one in videos if len(one.labels)]
    if share >= 1 or not videos or videos[0].log_probabilities.shape[1] < 2:
        return fitted
    from scipy.optimize import brentq

    doubt = 1 - _mean_shown(fitted, videos)

    def missing(logarithm: float) -> float:
        """By how much the videos are not sure enough, if the temperature changes by a factor."""
        shown = _mean_shown(replace(fitted, usual=fitted.usual * math.exp(logarithm)), videos)
        return 1 - doubt * float(share**LEARNING) - shown

    coldest = math.log(COLDEST / fitted.usual)
    if coldest >= 0 or missing(0.0) <= 0:
        return fitted
    logarithm = coldest if missing(coldest) >= 0 else brentq(missing, coldest, 0.0)
    return replace(fitted, usual=round(fitted.usual * math.exp(logarithm), 4))


def _mean_shown(temperature: Temperature, videos: Sequence[JudgedFrames]) -> float:
    """The mean confidence that is shown for these frames."""
    logs = (tempered(one.log_probabilities, temperature.at(one.confidence)) for one in videos)
    shown = np.exp(np.concatenate([one.max(1) for one in logs]))
    return float(np.average(shown, weights=np.concatenate([one.weights for one in videos])))


def _spread(confidences: NDArray[np.float64]) -> float:
    """The standard deviation from video to video; 0 if they are all alike."""
    found = round(float(confidences.std()), 6)
    return found if found > 1e-3 else 0.0
