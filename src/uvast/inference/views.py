"""A video seen more than once: slower and faster, and in the frames that the model's rate skips.

Each view is encoded by itself. Its posteriors are mapped back to the video's frames and averaged
like those of an ensemble (docs/method.md, Views).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.data import Video
from uvast.durations.result import LOG_FLOOR
from uvast.models.ensemble import mean_probabilities
from uvast.sampling import source_bounds
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from uvast.inference.prediction import FramePrediction

    Look: TypeAlias = Callable[[Sequence[Video]], Sequence[FramePrediction]]
    Logs: TypeAlias = NDArray[np.float32]


def averaged_frames(
    look: Look,
    videos: Sequence[Video],
    own: Sequence[FramePrediction],
    *,
    rates: Sequence[float] = (),
    phases: bool = False,
) -> tuple[FramePrediction, ...]:
    """A model's frame predictions after several looks at each video.

    Args:
        look: the model's predictions for any videos, each by itself.
        videos: at the model's rate.
        own: its predictions for these; their features and divergences are kept.
        rates: factors of a video's length; without any, it is seen as it is.
        phases: whether to look at the frames that the model's rate skips, too, if there are any.
    """
    if not phases:
        return tuple(_at_rates(look, videos, own, rates))
    found = [[one] for one in _at_rates(look, videos, own, rates)]
    for phase in range(1, max(video.sampling_rate for video in videos)):
        shifted = [_phase(video, phase) for video in videos]
        some = [one for one in shifted if one is not None]
        if some:
            seen = iter(_at_rates(look, some, look(some), rates))
            for row, video in zip(found, shifted, strict=True):
                if video is not None:
                    row.append(next(seen))
    return tuple(map(_interleaved, found, videos))


def fine_cuts(segmentation: Segmentation, log_probabilities: Logs, rate: int) -> Segmentation:
    """Moves cuts midway between two frames of the model to where the frames between put them.

    Args:
        segmentation: of the source frames, from the model's rate; see `uvast.sampling`.
        log_probabilities: of the classes in these frames `(source_frames, C)`.
        rate: the model's; its own frames keep their labels, so that no segment is lost.
    """
    cuts = segmentation.ends[:-1].copy()
    seen = -(-cuts // rate) * rate
    pairs = zip(segmentation.transcript[:-1], segmentation.transcript[1:], strict=True)
    for place, (before, after) in enumerate(pairs):
        cut, last = int(cuts[place]), int(seen[place])
        first = last - rate + 1
        logs = np.maximum(log_probabilities[first:last], LOG_FLOOR).astype(np.float64)
        gains = np.concatenate(([0.0], np.cumsum(logs[:, before] - logs[:, after])))
        if gains[cut - first] < gains.max():
            cuts[place] = first + int(gains.argmax())
    bounds = np.concatenate(([0], cuts, [segmentation.n_frames]))
    return Segmentation(segmentation.transcript, np.diff(bounds))


def _at_rates(
    look: Look, videos: Sequence[Video], own: Sequence[FramePrediction], rates: Sequence[float]
) -> list[FramePrediction]:
    """The mean over rates; one view's features are freed before the next is encoded."""
    logs: list[list[Logs]] = [[] for _ in videos]
    boundaries: list[list[Logs]] = [[] for _ in videos]
    for rate in rates:
        seen = own if rate == 1 else look([_resampled(video, rate) for video in videos])
        for place, (one, video) in enumerate(zip(seen, videos, strict=True)):
            logs[place].append(_brought_back(one.log_probabilities, video.n_frames))
            if one.boundaries is not None:
                boundaries[place].append(_interpolated(one.boundaries, video.n_frames))
    if not rates:
        return list(own)
    return [
        replace(
            one,
            log_probabilities=mean_probabilities([*map(torch.from_numpy, mine)]).numpy(),
            boundaries=np.mean(starts, axis=0) if starts else None,
            member_log_probabilities=None,
        )
        for one, mine, starts in zip(own, logs, boundaries, strict=True)
    ]


def _resampled(video: Video, rate: float) -> Video:
    """The same video with `rate` times as many frames, at least one."""
    n_frames = max(1, round(rate * video.n_frames))
    return _view(video, _interpolated(video.features, n_frames))


def _phase(video: Video, phase: int) -> Video | None:
    """The frames that come `phase` source frames after those of the video, if there are any."""
    source, rate = video.source_features, video.sampling_rate
    if source is None or phase >= min(rate, len(source)):
        return None
    return _view(video, source[phase::rate])


def _view(video: Video, features: NDArray[np.float32]) -> Video:
    """Other frames of a video; its own scale stays that of the frames that the model sees."""
    whole = video.features if video.whole is None else video.whole
    return Video(video.name, features, None, len(features), whole=whole)


def _interleaved(phases: Sequence[FramePrediction], video: Video) -> FramePrediction:
    """All phases of a video as one: each frame is the mean of the source frames it stands for."""
    own, rate = phases[0], video.sampling_rate
    if len(phases) == 1:
        return own
    logs = np.empty((video.source_frames, own.log_probabilities.shape[1]), np.float32)
    starts = None if own.boundaries is None else np.empty(video.source_frames, np.float32)
    for phase, one in enumerate(phases):
        logs[phase::rate] = one.log_probabilities
        if starts is not None:
            starts[phase::rate] = one.boundaries
    bounds = source_bounds(video.source_frames, rate)
    places, counts = bounds[:-1], np.diff(bounds)
    highest = np.maximum.reduceat(logs, places)
    highest[np.isneginf(highest)] = 0.0
    shares = np.add.reduceat(np.exp(logs - np.repeat(highest, counts, axis=0)), places)
    with np.errstate(divide="ignore"):
        means = highest + np.log(shares / counts[:, None].astype(np.float32))
    if starts is not None:
        starts = (np.add.reduceat(starts, places) / counts).astype(np.float32)
    return replace(
        own,
        log_probabilities=means,
        boundaries=starts,
        source_log_probabilities=logs,
        member_log_probabilities=None,
    )


def _places(n_before: int, n_after: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Where the middles of `n_after` equal frames lie among `n_before` others.

    Returns:
        For each, the frame before it `(n_after,)`, and how far it lies on the way to the next, 0
        to 1 `(n_after,)`.
    """
    places = (np.arange(n_after) + 0.5) * (n_before / n_after) - 0.5
    places = places.clip(0, n_before - 1)
    earlier = np.minimum(places.astype(np.int64), max(0, n_before - 2))
    return earlier, (places - earlier).astype(np.float32)


def _interpolated(values: NDArray[np.float32], n_frames: int) -> NDArray[np.float32]:
    """Values `(T, …)`, linearly interpolated at the middles of `n_frames` equal frames."""
    if len(values) == n_frames:
        return values
    earlier, shares = _places(len(values), n_frames)
    later = np.minimum(earlier + 1, len(values) - 1)
    shares = shares.reshape(-1, *[1] * (values.ndim - 1))
    found: NDArray[np.float32] = values[earlier] * (1 - shares) + values[later] * shares
    return found


def _brought_back(log_probabilities: Logs, n_frames: int) -> Logs:
    """The same for log-probabilities `(T, C)`; it interpolates the probabilities."""
    if len(log_probabilities) == n_frames:
        return log_probabilities
    earlier, shares = _places(len(log_probabilities), n_frames)
    later = np.minimum(earlier + 1, len(log_probabilities) - 1)
    with np.errstate(divide="ignore"):
        weights = np.log(1 - shares)[:, None], np.log(shares)[:, None]
    found: Logs = np.logaddexp(
        log_probabilities[earlier] + weights[0], log_probabilities[later] + weights[1]
    )
    return found
