"""Several models as one: all frame posteriors are averaged, and all transcript decoders write.

Each member levels and scales the features in its own way: an ensemble takes them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from uvast.data.scaling import Moments, Scaling, levelled
from uvast.models.encoded import Encoded
from uvast.models.protocols import as_frame_model, as_writer, gives_boundaries
from uvast.models.stretches import encode_scaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.data import Video
    from uvast.models.protocols import Writer

_BLOCK = 2**12
"""Frames scaled at a time, because float64 takes twice the memory."""


@dataclass(frozen=True)
class EnsembleDimensions:
    """What all members have in common: F and C."""

    n_features: int
    n_classes: int


class Scaler(nn.Module):
    """Scales features as `Scaling` does, to the bit; the numbers are part of the weights."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, n_features: int, *, levels: bool) -> None:
        super().__init__()
        self.levels = levels
        self.register_buffer("mean", torch.zeros(n_features, dtype=torch.float64))
        self.register_buffer("deviation", torch.ones(n_features, dtype=torch.float64))

    @property
    def scaling(self) -> Scaling:
        """The same as a record; raises InputError if the numbers are not a scaling."""
        return Scaling(self.mean.cpu().numpy(), self.deviation.cpu().numpy(), self.levels)

    def forward(
        self, features: Tensor, mask: Tensor | None, moments: Sequence[Moments] | None = None
    ) -> Tensor:
        """Features `(B, T, F)`, valid frames `(B, T)` -> float32 `(B, T, F)`, 0 on padding."""
        if self.levels:
            features = _levelled(features, mask, moments)
        scaled = torch.empty_like(features)
        for start in range(0, features.shape[1], _BLOCK):
            rows = slice(start, start + _BLOCK)
            scaled[:, rows] = (features[:, rows].double() - self.mean) / self.deviation
        return scaled if mask is None else scaled.masked_fill_(~mask.unsqueeze(2), 0.0)


class Ensemble(nn.Module):
    """Models of the same classes and features that work as one.

    Args:
        members: at least one, of any kinds.
        scaled: whether each of them has its own scaling.
        levels: whether it brings each video to its own scale first.
    """

    def __init__(
        self, members: Sequence[nn.Module], scaled: Sequence[bool], levels: Sequence[bool]
    ) -> None:
        super().__init__()
        first = as_frame_model(members[0]).dimensions
        self.dimensions = EnsembleDimensions(first.n_features, first.n_classes)
        self.members = nn.ModuleList(members)
        self.scalers = nn.ModuleDict(
            {
                str(i): Scaler(first.n_features, levels=levels[i])
                for i, has_own in enumerate(scaled)
                if has_own
            }
        )

    @property
    def gives_boundaries(self) -> bool:
        """Whether all members say where segments start."""
        return all(map(gives_boundaries, self.members))

    @property
    def levels(self) -> bool:
        """Whether some members bring each video to its own scale."""
        return any(cast("Scaler", one).levels for one in self.scalers.values())

    def set_scaling(self, index: int, scaling: Scaling) -> None:
        """Sets the scaling of a member that has one."""
        scaler = cast("Scaler", self.scalers[str(index)])
        scaler.mean.copy_(torch.from_numpy(scaling.mean))
        scaler.deviation.copy_(torch.from_numpy(scaling.deviation))

    def encode(
        self, features: Tensor, mask: Tensor | None, moments: Sequence[Moments] | None = None
    ) -> Encoded:
        """Unscaled features `(B, T, F)` -> the members' features side by side, mean posteriors.

        `moments` are those of the whole videos (B of them), if some features are only a part or a
        view of one.
        """
        if self.levels and moments is None:
            moments = _moments(features, mask)
        found = []
        for index, member in enumerate(self.members):
            if str(index) in self.scalers:
                scaled = partial(_scaled_rows, self.scalers[str(index)], features, mask, moments)
                one = encode_scaled(member, features.shape[1], mask, scaled)
            else:
                # the protocol asks for a mask, but all models take None for one without padding
                one = as_frame_model(member).encode(features, cast("Tensor", mask))
            found.append(replace(one, earlier=()))  # frees their memory
        boundaries = [one.boundaries for one in found if one.boundaries is not None]
        return Encoded(
            torch.cat([one.features for one in found], dim=-1),
            mean_probabilities([one.log_probabilities for one in found]),
            torch.stack(boundaries).mean(0) if self.gives_boundaries else None,
            members=tuple(found),
        )


def encode_videos(
    module: nn.Module, features: Tensor, mask: Tensor, videos: Sequence[Video]
) -> Encoded:
    """Encodes a batch of videos `(B, T, F)` by any model.

    A member of an ensemble that brings videos to their own scale takes that of the whole video, of
    which these may be only a part or a view.
    """
    if isinstance(module, Ensemble) and module.levels:
        return module.encode(features, mask, [video.moments for video in videos])
    return as_frame_model(module).encode(features, mask)


def _scaled_rows(
    scaler: nn.Module,
    features: Tensor,
    mask: Tensor | None,
    moments: Sequence[Moments] | None,
    rows: slice,
) -> Tensor:
    """Some frames of features `(B, T, F)`, scaled."""
    own_mask = None if mask is None else mask[:, rows]
    return scaler(features[:, rows], own_mask, moments)  # type: ignore[no-any-return]


def _levelled(features: Tensor, mask: Tensor | None, moments: Sequence[Moments] | None) -> Tensor:
    """Each video of `(B, T, F)` at its own scale; `mask` has the valid frames `(B, T)`.

    It leaves torch for a moment, so that a member does exactly what the run it comes from does.
    """
    found = torch.zeros_like(features)
    own = _moments(features, mask) if moments is None else moments
    for row, video, n_frames, scale in zip(
        found, features, _lengths(features, mask), own, strict=True
    ):
        row[:n_frames] = torch.from_numpy(levelled(video[:n_frames].cpu().numpy(), scale))
    return found


def _moments(features: Tensor, mask: Tensor | None) -> list[Moments]:
    """Those of each video of `(B, T, F)`; `mask` has the valid frames `(B, T)`."""
    pairs = zip(features, _lengths(features, mask), strict=True)
    return [Moments.of(video[:n_frames].cpu().numpy()) for video, n_frames in pairs]


def _lengths(features: Tensor, mask: Tensor | None) -> list[int]:
    """The valid frames of each video of `(B, T, F)`."""
    return [features.shape[1]] * len(features) if mask is None else mask.sum(1).tolist()


def mean_probabilities(log_probabilities: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean of probabilities; equal ones stay the same to the bit."""
    stacked = torch.stack(list(log_probabilities))
    highest = stacked.amax(0)
    highest = torch.where(highest.isneginf(), torch.zeros_like(highest), highest)
    return highest + (stacked - highest).exp().mean(0).log()


def members_of(model: nn.Module) -> tuple[nn.Module, ...]:
    """The models that a model is made of: itself, if it is not an ensemble."""
    return tuple(model.members) if isinstance(model, Ensemble) else (model,)


def writers(model: nn.Module) -> tuple[Writer, ...]:
    """The members of a model that write transcripts; a frame-wise model does not."""
    found = (as_writer(one) for one in members_of(model))
    return tuple(one for one in found if one is not None)


def writers_of(model: nn.Module, encoded: Encoded) -> tuple[tuple[Writer, Encoded], ...]:
    """The same, each with its own output for the frames."""
    pairs = zip(members_of(model), encoded.members or (encoded,), strict=True)
    found = ((as_writer(one), own) for one, own in pairs)
    return tuple((one, own) for one, own in found if one is not None)


def scalings_of(model: nn.Module) -> tuple[Scaling | None, ...]:
    """The scaling that each member of an ensemble holds; other models hold none."""
    if not isinstance(model, Ensemble):
        return (None,)
    scalers = {index: cast("Scaler", one).scaling for index, one in model.scalers.items()}
    return tuple(scalers.get(str(index)) for index in range(len(model.members)))
