"""What decoding knows beside the network: lengths and order of actions, and a few weights.

It is fitted on the training segments, its weights are chosen on the validation part, and it is
stored in the checkpoint's model card.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvast.durations import LengthModel, Transitions
from uvast.durations.semi_markov import ALPHA
from uvast.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.segments import Segmentation

DECODER_WEIGHT = 0.5
"""Weight of the decoder's log-probability in `best` where no validation part chose one."""


@dataclass(frozen=True)
class Priors:
    """What decoding knows of the training side.

    Args:
        poisson: mean durations, for the paper's Viterbi.
        gamma: fitted Gamma lengths.
        transitions: which action follows which.
        chunk_fraction: the longest chunk the decoder was trained on; 0 for whole segments.
        alpha: power of the frame posteriors with Gamma lengths.
        decoder_weight: weight of the decoder's log-probability in `best`.
    """

    poisson: LengthModel
    gamma: LengthModel
    transitions: Transitions
    chunk_fraction: float = 0.0
    alpha: float = ALPHA
    decoder_weight: float = DECODER_WEIGHT

    @classmethod
    def fit(
        cls, segmentations: Sequence[Segmentation], n_classes: int, *, chunk_fraction: float = 0.0
    ) -> Priors:
        """From the training segments; repeated neighbours count as one segment."""
        whole = [one.merged() for one in segmentations]
        return cls(
            poisson=LengthModel.fit(whole, n_classes, "poisson"),
            gamma=LengthModel.fit(whole, n_classes, "gamma"),
            transitions=Transitions.fit([one.transcript for one in whole], n_classes),
            chunk_fraction=chunk_fraction,
        )

    def length_model(self, kind: str) -> LengthModel:
        """The length model of a setting's name."""
        if kind == "none":
            return LengthModel.none(self.poisson.n_classes)
        return self.gamma if kind == "gamma" else self.poisson

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for the model card."""
        parts = ("poisson", "gamma", "transitions")
        plain = {name: getattr(self, name).as_dict() for name in parts}
        rest = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**rest, **plain}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Priors:
        """Reads what `as_dict` gave."""
        try:
            return cls(
                **{
                    **values,
                    "poisson": LengthModel.from_dict(values["poisson"]),
                    "gamma": LengthModel.from_dict(values["gamma"]),
                    "transitions": Transitions.from_dict(values["transitions"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"the model card's decoding section cannot be read ({error})",
                remedy="use the version of uvast that wrote it, or train again",
            ) from error
