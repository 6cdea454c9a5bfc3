"""Batches: videos of any length, padded to the longest, with masks and targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from uvast.data.scaling import Scaling
    from uvast.data.video import Video
    from uvast.segments import Segmentation

PADDING = -1

Record = TypeVar("Record", bound="Batch | Targets | Unlabelled")


@dataclass(frozen=True, eq=False)
class Targets:
    """What a model learns to predict for a batch. Integers are padded with `PADDING`.

    Args:
        labels: class of each frame `(B, T)`.
        transcript: class of each segment `(B, S)`.
        n_segments: segments of each video `(B,)`.
        segment_of_frame: index of the segment that holds each frame `(B, T)`.
        fractions: each segment's share of its video's frames `(B, S)`, padded with 0.
        is_certain: the frames `(B, T)` whose label may be learned; None for all.
        is_timestamp: the annotated frames `(B, T)`; None if the videos have no timestamps.
    """

    labels: Tensor
    transcript: Tensor
    n_segments: Tensor
    segment_of_frame: Tensor
    fractions: Tensor
    is_certain: Tensor | None = None
    is_timestamp: Tensor | None = None

    @property
    def frame_labels(self) -> Tensor:
        """The class to learn for each frame `(B, T)`; `PADDING` where there is none."""
        return (
            self.labels if self.is_certain is None else self.labels.where(self.is_certain, PADDING)
        )


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Extra videos that a training step sees, without their labels.

    Args:
        features: `(B, T, F)`, padded with 0.
        mask: `(B, T)`, True where there is a frame.
        progress: the share of training done so far, from 0 to 1.
    """

    features: Tensor
    mask: Tensor
    progress: float


@dataclass(frozen=True, eq=False)
class Batch:
    """Videos side by side.

    Args:
        names: the B videos.
        features: `(B, T, F)` float32, padded with 0, in the memory order of the files. A single
            video that is not scaled is a view of its file, so use `reshape`, not `view`.
        mask: `(B, T)`, True where there is a frame.
        lengths: frames of each video `(B,)`.
        targets: what to learn, or None.
        unlabelled: what else a training step sees, or None.
    """

    names: tuple[str, ...]
    features: Tensor
    mask: Tensor
    lengths: Tensor
    targets: Targets | None = None
    unlabelled: Unlabelled | None = None

    def __len__(self) -> int:
        return len(self.names)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """The same batch on a device."""
        return _each(self, lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """The same batch in page-locked memory, for copies to a GPU that do not block."""
        return _each(self, torch.Tensor.pin_memory)


def collate(
    videos: Sequence[Video],
    segmentations: Sequence[Segmentation] | None = None,
    *,
    chunk_fraction: float = 0.0,
    scaling: Scaling | None = None,
) -> Batch:
    """Puts videos (and their segmentations) into one batch.

    Args:
        videos: B videos of one feature width.
        segmentations: what to learn, one per video and of its length; None for no targets.
        chunk_fraction: largest share of a video that one segment may take up (docs/method.md,
            Losses of stage 1); longer ones are cut into chunks. 0 leaves them whole.
        scaling: of the features; None leaves them as they are. Padding is 0 either way.
    """
    if not videos:
        raise InputError("a batch without videos")
    lengths = [video.n_frames for video in videos]
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    targets = None
    if segmentations is not None:
        check_fit(videos, segmentations)
        if chunk_fraction:
            segmentations = [each.chunked(chunk_fraction) for each in segmentations]
        targets = replace(_targets(segmentations), is_timestamp=_annotated(videos, mask))
    return Batch(
        names=tuple(video.name for video in videos),
        features=_padded_features([video.features for video in videos], scaling),
        mask=mask,
        lengths=torch.tensor(lengths),
        targets=targets,
    )


def _padded_features(features: Sequence[NDArray[np.float32]], scaling: Scaling | None) -> Tensor:
    """Features `(T_b, F)` to one tensor `(B, T, F)`, in the memory order of the first."""
    first = features[0]
    if len({each.shape[1] for each in features}) > 1:
        widths = ", ".join(str(each.shape[1]) for each in features)
        raise InputError(f"videos of feature widths {widths} in one batch")
    if scaling is not None and scaling.n_features != first.shape[1]:
        raise InputError(
            f"features of width {first.shape[1]} with a scaling of {scaling.n_features} channels"
        )
    if len(features) == 1 and scaling is None:
        writable = first if first.flags.writeable else first.copy(order="K")
        return torch.from_numpy(writable)[None]
    longest = max(len(each) for each in features)
    time_runs_fastest = abs(first.strides[0]) < abs(first.strides[1])
    if time_runs_fastest:
        padded = np.zeros((len(features), first.shape[1], longest), np.float32).transpose(0, 2, 1)
    else:
        padded = np.zeros((len(features), longest, first.shape[1]), np.float32)
    for row, each in zip(padded, features, strict=True):
        if scaling is None:
            row[: len(each)] = each
        else:
            scaling.scaled(each, out=row[: len(each)])
    return torch.from_numpy(padded)


def _targets(segmentations: Sequence[Segmentation]) -> Targets:
    fractions = [each.durations / each.n_frames for each in segmentations]
    return Targets(
        labels=_padded([each.labels for each in segmentations]),
        transcript=_padded([each.transcript for each in segmentations]),
        n_segments=torch.tensor([len(each) for each in segmentations]),
        segment_of_frame=_padded([each.segment_of_frame for each in segmentations]),
        fractions=_padded([each.astype(np.float32) for each in fractions], 0),
    )


def _annotated(videos: Sequence[Video], mask: Tensor) -> Tensor | None:
    """The annotated frames `(B, T)` of videos that all have timestamps."""
    places = [video.timestamps for video in videos if video.timestamps is not None]
    if len(places) < len(videos):
        return None
    found = torch.zeros_like(mask)
    for row, each in zip(found, places, strict=True):
        row[each.tolist()] = True
    return found


def _padded(rows: Sequence[NDArray[np.generic]], padding: int = PADDING) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), padding, dtype=rows[0].dtype)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return torch.from_numpy(padded)


def check_fit(videos: Sequence[Video], segmentations: Sequence[Segmentation]) -> None:
    """Raises unless there is one segmentation per video, each as long as its video."""
    if len(videos) != len(segmentations):
        raise InputError(f"{len(videos)} videos with {len(segmentations)} segmentations")
    for video, segmentation in zip(videos, segmentations, strict=True):
        if video.n_frames != segmentation.n_frames:
            raise InputError(
                f"a segmentation of {segmentation.n_frames} frames for {video.n_frames} frames",
                where=f"video {video.name}",
                remedy="give one at the model's rate, as long as the features",
            )


def _each(record: Record, change: Callable[[Tensor], Tensor]) -> Record:
    """A batch, or a record in it, with every tensor changed."""
    changed: dict[str, Any] = {}
    for name, value in vars(record).items():
        if isinstance(value, torch.Tensor):
            changed[name] = change(value)
        elif isinstance(value, Targets | Unlabelled):
            changed[name] = _each(value, change)
    return replace(record, **changed)
