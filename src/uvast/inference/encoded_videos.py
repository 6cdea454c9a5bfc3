"""The encoder's output for a batch of videos: the first half of segmenting them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.inference.doubts import member_divergences
from uvast.inference.prediction import FramePrediction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from uvast.data import Video
    from uvast.models import Encoded


@dataclass(frozen=True, eq=False)
class EncodedVideos:
    """B encoded videos, ready for any decoding; the mask is `(B, T)`."""

    videos: tuple[Video, ...]
    encoded: Encoded
    mask: Tensor
    frames: tuple[FramePrediction, ...]


def frame_predictions(encoded: Encoded, lengths: Sequence[int]) -> tuple[FramePrediction, ...]:
    """Takes a padded batch apart."""
    features, logs = (one.cpu().numpy() for one in (encoded.features, encoded.log_probabilities))
    optional = (encoded.boundaries, member_divergences(encoded))
    starts, divergences = (None if one is None else one.cpu().numpy() for one in optional)
    members = [one.log_probabilities.cpu().numpy() for one in encoded.members]
    return tuple(
        FramePrediction(
            features[i, :n],
            logs[i, :n],
            None if starts is None else starts[i, :n],
            None if divergences is None else divergences[i, :n],
            member_log_probabilities=np.stack([one[i, :n] for one in members]) if members else None,
        )
        for i, n in enumerate(lengths)
    )
