"""What an ensemble knows beside its networks: the mean of what its members know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.durations import LengthModel, Transitions
from uvast.inference.priors import Priors
from uvast.models import Uvast
from uvast.models.ensemble import members_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from uvast.durations.result import FloatArray


def mean_priors(priors: Sequence[Priors], ensemble: nn.Module) -> Priors:
    """Weights and lengths are medians over the members, transitions mean probabilities.

    The decoder's weight and the length of its chunks are those of members that have one. Of equal
    priors, the mean is the same.
    """
    pairs = zip(priors, members_of(ensemble), strict=True)
    writing = [one for one, member in pairs if isinstance(member, Uvast)] or list(priors)
    return Priors(
        poisson=_median_lengths([one.poisson for one in priors]),
        gamma=_median_lengths([one.gamma for one in priors]),
        transitions=Transitions(
            _mean_logarithms([one.transitions.initial for one in priors]),
            _mean_logarithms([one.transitions.bigram for one in priors]),
        ),
        chunk_fraction=writing[0].chunk_fraction,
        alpha=float(np.median([one.alpha for one in priors])),
        decoder_weight=float(np.median([one.decoder_weight for one in writing])),
        writer_chunks=tuple(one.chunk_fraction for one in writing),
    )


def _median_lengths(models: Sequence[LengthModel]) -> LengthModel:
    means = np.median([one.means for one in models], axis=0)
    shapes = np.median([one.shapes for one in models], axis=0)
    return LengthModel(models[0].kind, tuple(means.tolist()), tuple(shapes.tolist()))


def _mean_logarithms(tables: Sequence[FloatArray]) -> FloatArray:
    """The logarithm of the mean of probabilities; `-inf` stays so where all have it."""
    stacked = np.stack(tables)
    highest = stacked.max(0)
    highest[np.isneginf(highest)] = 0.0
    with np.errstate(divide="ignore"):
        mean: FloatArray = highest + np.log(np.exp(stacked - highest).mean(0))
    return mean
