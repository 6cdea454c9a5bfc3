"""What held-out videos choose for decoding: its weights, and a temperature.

These videos are a validation part or what each fold holds out, never the test side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import pydantic
from pydantic import Field

from uvast.evaluation.confidence import reliability
from uvast.inference.held_out import POWERS
from uvast.inference.temperature import (
    StoredTemperature,
    Temperature,
    fit_temperature,
    learned_from_all,
    tempered,
)
from uvast.inference.weight_grid import choose_cell, of_cell
from uvast.inference.weights import ALONE, DecodingWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.inference.held_out import HeldOut
    from uvast.inference.priors import Priors
    from uvast.inference.temperature import JudgedFrames

TRANSITION_WEIGHTS = (0.0, 0.5, 1.0)
DECODER_WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, ALONE)

_Percent = Annotated[float, Field(ge=0, le=100)]


@dataclass(frozen=True)
class Calibration:
    """What held-out videos chose.

    Args:
        weights: the weights of decoding.
        temperature: the temperature of the frame confidences.
        n_videos: how many videos (or labelled stretches) there were.
        scores: their mean of Acc, Edit and F1@50, by decoding: `semi-markov`, `decoder`, `best`,
            and `best` with the `default` weights.
        error: expected calibration error of their frame confidences, without a temperature and
            with the one that fits them best.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(allow_inf_nan=False)
    weights: DecodingWeights
    temperature: StoredTemperature
    n_videos: Annotated[int, Field(ge=0, le=10**9)]
    scores: dict[Annotated[str, Field(max_length=100)], _Percent]
    error: tuple[_Percent, _Percent]

    def applied(self, priors: Priors) -> Priors:
        """The same priors, with these weights and this temperature."""
        return replace(priors, weights=self.weights, temperature=self.temperature)


def calibrate(videos: Sequence[HeldOut], *, share: float = 1.0) -> Calibration:
    """Chooses the power of semi-Markov decoding, the weights of `best`, and the temperature.

    `best` is judged on the whole grid of its weights. Both pure decodings are corners of it:
    semi-Markov decoding has one power and no decoder, the decoder alone has the last weight.

    Args:
        videos: predicted by models that have not learned from them.
        share: the share of all videos that these models learned from, if the choice is for a model
            that learns from all of them.
    """
    default = DecodingWeights()
    alone = np.stack([one.alone for one in videos])
    (alpha,) = choose_cell(alone, (POWERS.index(default.alpha),))
    scores = {"semi-markov": float(alone[:, alpha].mean())}
    weights = DecodingWeights.of_power(POWERS[alpha])
    if all(one.ballots is not None for one in videos):
        grid = best_grid(videos, alpha)
        usual = _place(weights)
        chosen = choose_cell(grid, usual)
        weights = _weights(alpha, chosen)
        scores |= {
            "decoder": _written_score(videos, alpha),
            "default": float(of_cell(grid, usual).mean()),
            "best": float(of_cell(grid, chosen).mean()),
        }
    frames = [one.frames for one in videos]
    temperature = fit_temperature(frames)
    return Calibration(
        weights=weights,
        temperature=learned_from_all(temperature, frames, share),
        n_videos=len(videos),
        scores={name: round(value, 4) for name, value in scores.items()},
        error=(_error(frames, Temperature()), _error(frames, temperature)),
    )


def best_grid(videos: Sequence[HeldOut], alpha: int) -> NDArray[np.float64]:
    """Scores of `best` by video, power of its durations, and votes of frames, bigrams and decoder.

    `alpha` is the index of semi-Markov decoding's power in `POWERS`, which are also the votes
    that the frames may have.
    """
    axes = np.meshgrid(POWERS, 1.0, TRANSITION_WEIGHTS, DECODER_WEIGHTS, indexing="ij")
    votes = np.stack([axis.ravel() for axis in axes], axis=-1)
    shape = (len(videos), len(POWERS), len(POWERS), len(TRANSITION_WEIGHTS), len(DECODER_WEIGHTS))
    found = [one.best(alpha, power, votes) for one in videos for power in range(len(POWERS))]
    return np.stack(found).reshape(shape)


def _place(weights: DecodingWeights) -> tuple[int, int, int, int]:
    return (
        POWERS.index(weights.durations),
        POWERS.index(weights.frames),
        TRANSITION_WEIGHTS.index(weights.transitions),
        DECODER_WEIGHTS.index(weights.decoder),
    )


def _weights(alpha: int, place: tuple[int, ...]) -> DecodingWeights:
    durations, frames, transitions, decoder = place
    return DecodingWeights(
        alpha=POWERS[alpha],
        durations=POWERS[durations],
        frames=POWERS[frames],
        decoder=DECODER_WEIGHTS[decoder],
        transitions=TRANSITION_WEIGHTS[transitions],
    )


def _written_score(videos: Sequence[HeldOut], alpha: int) -> float:
    """The mean score of the decoder's own transcripts with durations by Viterbi."""
    ballots = [one.ballots for one in videos if one.ballots is not None]
    found = [one.scores[alpha, one.candidates[alpha].written] for one in ballots]
    return float(np.mean(found))


def _error(videos: Sequence[JudgedFrames], temperature: Temperature) -> float:
    """Expected calibration error of the likeliest class, in percent."""
    logs = [tempered(one.log_probabilities, temperature.at(one.confidence)) for one in videos]
    found = np.minimum(np.exp(np.concatenate(logs)), 1.0)
    right = found.argmax(1) == np.concatenate([one.labels for one in videos])
    weights = np.concatenate([one.weights for one in videos])
    return round(100 * reliability(found.max(1), right, weights=weights).error, 4)
