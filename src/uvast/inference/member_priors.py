"""The priors of an ensemble: averages of its members' priors."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.durations import LengthModel, Transitions
from uvast.inference.priors import Priors
from uvast.inference.temperature import Temperature
from uvast.inference.weights import DecodingWeights
from uvast.models.ensemble import members_of
from uvast.models.protocols import as_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from uvast.durations.result import FloatArray


def mean_priors(priors: Sequence[Priors], ensemble: nn.Module) -> Priors:
    """Weights and lengths are medians over the members, transitions mean probabilities.

    The votes of `best` and the length of the decoder's chunks come from members with a decoder.
    Transcripts come from the member that knows the most.
    Equal priors stay as they are.
    """
    pairs = zip(priors, members_of(ensemble), strict=True)
    finals = [one.transitions.final for one in priors]
    writing = [one for one, member in pairs if as_writer(member) is not None] or list(priors)
    return Priors(
        poisson=_median_lengths([one.poisson for one in priors]),
        gamma=_median_lengths([one.gamma for one in priors]),
        transitions=Transitions(
            _mean_logarithms([one.transitions.initial for one in priors]),
            _mean_logarithms([one.transitions.bigram for one in priors]),
            _mean_logarithms([one for one in finals if one is not None])
            if all(one is not None for one in finals)
            else None,
        ),
        chunk_fraction=writing[0].chunk_fraction,
        weights=_median_weights(priors, writing),
        temperature=Temperature(*_medians([astuple(one.temperature) for one in priors])),
        writer_chunks=tuple(one.chunk_fraction for one in writing),
        member_temperatures=tuple(one.temperature for one in priors),
        transcripts=max((one.transcripts for one in priors), key=len),
    )


def _median_weights(priors: Sequence[Priors], writing: Sequence[Priors]) -> DecodingWeights:
    """All members choose the power of semi-Markov decoding; only those that write choose votes.

    Of an even number of votes, the lower middle one counts: no value in between was ever judged.
    """
    alpha = float(np.median([one.weights.alpha for one in priors]))
    weights = [astuple(one.weights) for one in writing]
    votes = np.quantile(weights, 0.5, axis=0, method="lower").tolist()
    return replace(DecodingWeights(*votes), alpha=alpha)


def _medians(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column."""
    found: list[float] = np.median(rows, axis=0).tolist()
    return found


def _median_lengths(models: Sequence[LengthModel]) -> LengthModel:
    means = _medians([one.means for one in models])
    shapes = _medians([one.shapes for one in models])
    return LengthModel(models[0].kind, tuple(means), tuple(shapes))


def _mean_logarithms(tables: Sequence[FloatArray]) -> FloatArray:
    """The logarithm of the mean of probabilities; `-inf` only where all of them are."""
    stacked = np.stack(tables)
    highest = stacked.max(0)
    highest[np.isneginf(highest)] = 0.0
    with np.errstate(divide="ignore"):
        mean: FloatArray = highest + np.log(np.exp(stacked - highest).mean(0))
    return mean
