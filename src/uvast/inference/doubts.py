"""How unsure a model is of a segmentation: where a person should look first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from uvast.models import Encoded
    from uvast.segments import IntArray, Segmentation

LONGEST_BAND = 1000
"""The most values in a band: about the width of a screen."""

BLOCK = 2**14
"""Frames at a time."""


@dataclass(frozen=True, eq=False)
class Doubts:
    """What the frame head says about a segmentation.

    Args:
        entropies: mean entropy of each segment's frames, 0 (sure) to 1 (any class) `(S,)`.
        agreements: the share of each segment's frames whose likeliest class is the segment's
            `(S,)`.
        band: the probability of the segment's class over time, in equal pieces of the video, at
            the source rate.
        divergences: how much the members of an ensemble disagree about each segment's frames, 0
            (all say the same) to 1 (each is sure of another class) `(S,)`; None for one model.
    """

    entropies: NDArray[np.float64]
    agreements: NDArray[np.float64]
    band: NDArray[np.float64]
    divergences: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        log_probabilities: NDArray[np.floating[Any]],
        segmentation: Segmentation,
        divergences: NDArray[np.float32] | None = None,
        counts: IntArray | None = None,
    ) -> Doubts:
        """From class scores `(T, C)` and a segmentation of the same frames.

        An ensemble also has `divergences (T,)`, see `member_divergences`. Where frames stand for
        several source frames, `counts (T,)` says how many.
        """
        labels = segmentation.labels
        n_frames, n_classes = log_probabilities.shape
        entropies, agrees, chosen = np.empty((3, n_frames))
        for first in range(0, n_frames, BLOCK):
            rows = slice(first, first + BLOCK)
            logs, own = log_probabilities[rows].astype(np.float64), labels[rows]
            # a class of probability 0 adds nothing, though its logarithm is -inf
            entropies[rows] = -(np.exp(logs) * np.maximum(logs, -1e9)).sum(1)
            agrees[rows] = logs.argmax(1) == own
            chosen[rows] = np.exp(logs[np.arange(len(own)), own])
        entropies /= np.log(max(2, n_classes))
        shown = chosen if counts is None else np.repeat(chosen, counts)
        n_pieces = min(len(shown), LONGEST_BAND)
        starts = np.arange(n_pieces) * len(shown) // n_pieces
        return cls(
            np.clip(_means(entropies, segmentation.starts), 0, 1),
            _means(agrees, segmentation.starts),
            np.clip(_means(shown, starts), 0, 1),
            None
            if divergences is None
            else np.clip(_means(divergences.astype(np.float64), segmentation.starts), 0, 1),
        )

    def by_segment(self) -> dict[str, NDArray[np.float64]]:
        """One number per segment `(S,)`, by its name in files."""
        found = {"entropy": self.entropies, "agreement": self.agreements}
        return found if self.divergences is None else {**found, "divergence": self.divergences}


def member_divergences(encoded: Encoded) -> Tensor | None:
    """How much an ensemble's members disagree about each frame `(B, T)`; None for one model.

    The Jensen-Shannon divergence: the entropy of their mean minus the mean of their entropies, as a
    share of the most that this many members can have.
    """
    if len(encoded.members) < 2:
        return None
    most = math.log(min(len(encoded.members), max(2, encoded.logits.shape[-1])))
    own = torch.stack([_entropies(one.log_probabilities) for one in encoded.members])
    apart = (_entropies(encoded.log_probabilities) - own.mean(0)) / most
    return apart.clamp(0, 1)


def _entropies(log_probabilities: Tensor) -> Tensor:
    """Entropies from log-probabilities `(…, C)`; a class of probability 0 adds nothing."""
    return -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(-1)


def _means(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean of each piece `(S,)` of values `(T,)` that are cut at `starts`."""
    means: NDArray[np.float64] = np.add.reduceat(values, starts) / np.diff(
        starts, append=len(values)
    )
    return means
