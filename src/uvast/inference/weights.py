"""How much each vote counts when a segmentation is chosen: one record, kept with the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from uvast.durations.semi_markov import ALPHA

if TYPE_CHECKING:
    from numpy.typing import NDArray

DECODER_WEIGHT = 0.5
"""Weight of the decoder's log-probability in `best`, unless held-out videos chose another."""

ALONE = 100.0
"""From this vote on the decoder decides alone: its own transcript wins."""

Power = Annotated[float, Field(gt=0, le=100)]
Weight = Annotated[float, Field(ge=0, le=10**6)]


@dataclass(frozen=True)
class DecodingWeights:
    """The weights of decoding (docs/method.md, Durations).

    The last three are votes in `best`, where the lengths of the segments have weight 1.

    Args:
        alpha: power of the frame posteriors in semi-Markov decoding, and in Viterbi with Gamma
            lengths.
        durations: the same power when `best` cuts its candidates.
        frames: vote of the frames.
        decoder: vote of the transcript decoder; from `ALONE` on it decides alone.
        transitions: vote of the bigrams, which judge the order of actions, as the decoder does.
    """

    alpha: Power = ALPHA
    durations: Power = ALPHA
    frames: Weight = ALPHA
    decoder: Weight = DECODER_WEIGHT
    transitions: Weight = 1.0

    @classmethod
    def of_power(cls, alpha: float, decoder: float = DECODER_WEIGHT) -> DecodingWeights:
        """One power of the frame posteriors for everything, and the usual vote for bigrams."""
        return cls(alpha, alpha, alpha, decoder)

    def having_power(self, alpha: float) -> DecodingWeights:
        """The same weights, but with one power of the frame posteriors everywhere."""
        return replace(self, alpha=alpha, durations=alpha, frames=alpha)

    @property
    def votes(self) -> NDArray[np.float64]:
        """The votes of frames, lengths, transitions and decoder `(4,)`."""
        return np.array([self.frames, 1.0, self.transitions, self.decoder])
