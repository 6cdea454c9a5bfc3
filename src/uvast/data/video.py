"""`Video`: what every later stage knows about one video."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.data.scaling import Moments, levelled
from uvast.errors import InputError
from uvast.sampling import sampled_length
from uvast.segments import check_timestamps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from uvast.segments import IntArray


@dataclass(frozen=True, eq=False)
class Video:
    """One video at the model's rate.

    Args:
        name: the stem of its files.
        features: `(T, F)` float32; a view of the file where possible, in any memory order.
        labels: class ids `(T,)`, or None if they were not asked for.
        source_frames: number of frames before sub-sampling; `T = ceil(source_frames / rate)`.
        sampling_rate: the model sees every `sampling_rate`-th source frame.
        frames_per_second: of the source, if known.
        edges: when each source frame starts and the last one ends, in seconds
            `(source_frames + 1,)`, if known more precisely than by the rate.
        timestamps: its annotated frames `(S,)`, increasing, if a model is to learn from them.
        source_features: of every source frame `(source_frames, F)`, where available; a view.
        whole: the features of the whole video at the model's rate, if these are only a part or a
            view of it; a view.
    """

    name: str
    features: NDArray[np.float32]
    labels: IntArray | None
    source_frames: int
    sampling_rate: int = 1
    frames_per_second: float | None = None
    edges: NDArray[np.float64] | None = None
    timestamps: IntArray | None = None
    source_features: NDArray[np.float32] | None = None
    whole: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.features.ndim != 2:
            raise InputError(f"features of shape {self.features.shape}, not (T, F)")
        if sampled_length(self.source_frames, self.sampling_rate) != self.n_frames:
            raise InputError(
                f"{self.source_frames} source frames at sampling rate {self.sampling_rate} "
                f"cannot be {self.n_frames} frames"
            )
        if self.labels is not None and self.labels.shape != (self.n_frames,):
            raise InputError(f"labels of shape {self.labels.shape}, not ({self.n_frames},)")
        if self.edges is not None and self.edges.shape != (self.source_frames + 1,):
            raise InputError(f"edges of shape {self.edges.shape}, not ({self.source_frames + 1},)")
        if self.timestamps is not None:
            check_timestamps(self.timestamps, self.n_frames)
        if self.source_features is not None and len(self.source_features) != self.source_frames:
            raise InputError(
                f"features of {len(self.source_features)} source frames, not {self.source_frames}"
            )

    @property
    def n_frames(self) -> int:
        """T."""
        return len(self.features)

    @property
    def moments(self) -> Moments:
        """Those of the whole video's features: its own scale."""
        return Moments.of(self.features if self.whole is None else self.whole)

    def levelled(self) -> Video:
        """The same frames at the video's own scale; see `uvast.data.levelled`.

        Its source features, which are many more, are left out.
        """
        features = levelled(self.features, self.moments)
        return replace(self, features=features, source_features=None, whole=None)
