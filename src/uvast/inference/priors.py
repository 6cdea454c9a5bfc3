"""What decoding knows besides the network: lengths and order of actions, and a few weights.

It is fitted on the training segments, its weights are chosen on held-out videos, and it is stored
in the checkpoint's model card.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pydantic
from pydantic import Field

from uvast.config.sections import STRICT
from uvast.durations import CutEnds, LengthModel, Transitions
from uvast.errors import CheckpointError
from uvast.files import checked
from uvast.inference.recipes import Actions, Recipe, fit_recipes
from uvast.inference.temperature import StoredTemperature, Temperature
from uvast.inference.weights import DecodingWeights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.config import DecodeConfig
    from uvast.durations.result import FloatArray
    from uvast.segments import Segmentation

MOST_TRANSCRIPTS = 200
"""The most that are kept for recipes; if there are more, an evenly spread selection."""

REMEDY = "use the version of uvast that wrote it, or train again"


@dataclass(frozen=True)
class Priors:
    """What decoding knows about the training side.

    Args:
        poisson: mean durations, for the paper's Viterbi.
        gamma: fitted Gamma lengths.
        transitions: which actions start a video, follow each other and end it.
        chunk_fraction: the longest chunk the decoder was trained on; 0 for whole segments.
        weights: how much each vote counts.
        temperature: what log-probabilities are divided by before they are shown.
        writer_chunks: for an ensemble, the `chunk_fraction` of each member that writes.
        member_temperatures: for an ensemble, the `temperature` of each member.
        transcripts: of the training videos, for recipes; models of earlier versions have none.
    """

    poisson: LengthModel
    gamma: LengthModel
    transitions: Transitions
    chunk_fraction: float = 0.0
    weights: DecodingWeights = field(default_factory=DecodingWeights)
    temperature: Temperature = field(default_factory=Temperature)
    writer_chunks: tuple[float, ...] = ()
    member_temperatures: tuple[Temperature, ...] = ()
    transcripts: tuple[Actions, ...] = ()

    @classmethod
    def fit(
        cls,
        segmentations: Sequence[Segmentation],
        n_classes: int,
        *,
        chunk_fraction: float = 0.0,
        cuts: Sequence[CutEnds] | None = None,
    ) -> Priors:
        """Fits the training segments; repeated neighbours count as one segment.

        If `cuts` says that a segmentation is cut out of a video, only segments seen in full count
        for lengths, and only true first and last actions as such. Recipes come from whole videos.
        If nothing would be left, everything counts.
        """
        cuts = (CutEnds(),) * len(segmentations) if cuts is None else cuts
        pairs = list(zip(segmentations, cuts, strict=True))
        seen = [cut.inside(one) for one, cut in pairs]
        seen = [one for one in seen if len(one)] or list(segmentations)
        whole = [one for one, cut in pairs if not any(cut)] or segmentations
        return cls(
            poisson=LengthModel.fit(seen, n_classes, "poisson"),
            gamma=LengthModel.fit(seen, n_classes, "gamma"),
            transitions=Transitions.fit(segmentations, n_classes, ends=True, cuts=cuts),
            chunk_fraction=chunk_fraction,
            transcripts=_some_transcripts(whole),
        )

    def recipes(self, options: DecodeConfig) -> tuple[Recipe, ...]:
        """The orders of actions that decoding tries; one, unless the settings ask for more."""
        found: tuple[Recipe, ...] = (Recipe(0.0, self.transitions),)
        if options.recipes:
            found = fit_recipes(self.transcripts, self.transitions.n_classes, options.recipes)
        if options.ends:
            return found
        return tuple(Recipe(one.log_share, one.transitions.without_ends) for one in found)

    def chunks_of(self, n_writers: int) -> tuple[float, ...]:
        """The longest chunk of each of a model's transcript decoders."""
        same = (self.chunk_fraction,) * n_writers
        return self.writer_chunks if len(self.writer_chunks) == n_writers else same

    def length_model(self, kind: str) -> LengthModel:
        """The length model that a setting names."""
        if kind == "none":
            return LengthModel.none(self.poisson.n_classes)
        return self.gamma if kind == "gamma" else self.poisson

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the model card; `-inf`, which JSON lacks, becomes None."""
        initial, bigram = self.transitions.initial, self.transitions.bigram
        plain = {"initial": _without_infinity(initial), "bigram": [*map(_without_infinity, bigram)]}
        if (final := self.transitions.final) is not None:
            plain["final"] = _without_infinity(final)
        values = {**asdict(self), "transitions": plain}
        for name in ("writer_chunks", "member_temperatures"):
            values.pop(name)  # an ensemble finds them in its members' cards
        return values

    @classmethod
    def from_dict(
        cls, values: dict[str, Any], n_classes: int, *, where: Path | None = None
    ) -> Priors:
        """Reads and checks what `as_dict` wrote to the card of a model of `n_classes`."""
        card = checked(_today(values), _Card, where=where, error=CheckpointError, remedy=REMEDY)
        try:
            transitions = Transitions(
                _with_infinity([card.transitions.initial])[0],
                _with_infinity(card.transitions.bigram),
                None if (final := card.transitions.final) is None else _with_infinity([final])[0],
            )
        except ValueError as error:  # also for rows of different lengths
            raise CheckpointError(
                f"its transitions cannot be read ({error})", where=where, remedy=REMEDY
            ) from error
        found = cls(**{**vars(card), "transitions": transitions})
        kinds = (found.poisson.kind, found.gamma.kind)
        sizes = {one.n_classes for one in (found.poisson, found.gamma, found.transitions)}
        if kinds != ("poisson", "gamma") or sizes != {n_classes}:
            raise CheckpointError(
                f"its lengths ({', '.join(kinds)}) and transitions are of "
                f"{', '.join(map(str, sorted(sizes)))} classes, the model of {n_classes}",
                where=where,
                remedy=REMEDY,
            )
        if any(max(one) >= n_classes for one in found.transcripts):
            raise CheckpointError(
                f"its transcripts have more classes than the model, {n_classes}",
                where=where,
                remedy=REMEDY,
            )
        return found


def _some_transcripts(segmentations: Sequence[Segmentation]) -> tuple[Actions, ...]:
    found = [tuple(one.merged().transcript.tolist()) for one in segmentations]
    places = np.linspace(0, len(found) - 1, min(len(found), MOST_TRANSCRIPTS)).astype(np.int64)
    return tuple(found[place] for place in places)


LogProbability = Annotated[float, Field(ge=-1e9, le=1e-9)] | None


_Transcript = Annotated[
    tuple[Annotated[int, Field(ge=0, le=10**6)], ...], Field(min_length=1, max_length=10**6)
]


@dataclass(frozen=True)
class _Tables:
    initial: tuple[LogProbability, ...]
    bigram: tuple[tuple[LogProbability, ...], ...]
    final: tuple[LogProbability, ...] | None = None


@dataclass(frozen=True)
class _Card:
    """The decoding section of a model card."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    poisson: LengthModel
    gamma: LengthModel
    transitions: _Tables
    chunk_fraction: Annotated[float, Field(ge=0, le=1)]
    weights: DecodingWeights
    temperature: StoredTemperature = field(default_factory=Temperature)
    transcripts: Annotated[tuple[_Transcript, ...], Field(max_length=MOST_TRANSCRIPTS)] = ()


def _today(values: dict[str, Any]) -> dict[str, Any]:
    """Updates cards of earlier versions: one power and the decoder's vote, and no temperature."""
    if "weights" in values or not values.keys() >= {"alpha", "decoder_weight"}:
        return values
    others = dict(values)
    weights = DecodingWeights.of_power(others.pop("alpha"), others.pop("decoder_weight"))
    return {**others, "weights": asdict(weights)}


def _without_infinity(row: FloatArray) -> list[float | None]:
    return [None if np.isneginf(one) else one for one in row.tolist()]


def _with_infinity(rows: Sequence[Sequence[float | None]]) -> FloatArray:
    return np.array([[-np.inf if one is None else one for one in row] for row in rows])
