"""The encoder's output for a batch of videos: the first half of segmenting them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.data import collate, levelled
from uvast.inference.doubts import member_divergences
from uvast.inference.prediction import FramePrediction
from uvast.models.ensemble import encode_videos
from uvast.models.stretches import encode_scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor, nn

    from uvast.data import Scaling, Video
    from uvast.models import Encoded


@dataclass(frozen=True, eq=False)
class EncodedVideos:
    """B encoded videos, ready for any decoding; the mask is `(B, T)`."""

    videos: tuple[Video, ...]
    encoded: Encoded
    mask: Tensor
    frames: tuple[FramePrediction, ...]


def encoded_batch(
    module: nn.Module, videos: Sequence[Video], scaling: Scaling | None, device: torch.device
) -> tuple[Encoded, Tensor]:
    """Encodes B videos by any model; returns its last stage and the mask `(B, T)`.

    Where features are scaled, a single long video never has a scaled copy of all of them.
    """
    if scaling is not None and len(videos) == 1:
        mask = torch.ones((1, videos[0].n_frames), dtype=torch.bool, device=device)
        scaled = _scaled(videos[0], scaling, device)
        encoded = encode_scaled(module, videos[0].n_frames, mask, scaled)
    else:
        levels = scaling is not None and scaling.levels
        shown = [video.levelled() for video in videos] if levels else videos
        batch = collate(shown, scaling=scaling).to(device)
        mask = batch.mask
        encoded = encode_videos(module, batch.features, mask, videos)
    return replace(encoded, earlier=()), mask  # frees the memory of earlier stages


def _scaled(video: Video, scaling: Scaling, device: torch.device) -> Callable[[slice], Tensor]:
    """Gives the scaled features of some frames `(1, t, F)`."""
    moments = video.moments if scaling.levels else None

    def part(rows: slice) -> Tensor:
        features = video.features[rows]
        own = features if moments is None else levelled(features, moments)
        return torch.from_numpy(scaling.scaled(own)).unsqueeze(0).to(device)

    return part


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
