"""`VideoLoader`: the batches of an epoch, in an order that depends on seed and epoch alone."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.batching import Batch, check_fit, collate
from uvast.data.feature_files import lengths_agree
from uvast.data.frame_dropping import drop_frames
from uvast.data.recombination import SegmentPool
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from uvast.data.dataset import Dataset
    from uvast.data.sample_augmentation import SampleAugmentation
    from uvast.data.scaling import Scaling
    from uvast.data.video import Video
    from uvast.segments import IntArray, Segmentation

# bucketing sorts videos by length within pools of this many batches
_POOL = 8


@dataclass(frozen=True)
class VideoLoader:
    """Batches of a dataset's videos.

    The batches of an epoch are a pure function of the arguments and the epoch's number, with any
    number of workers, so that a resumed run sees what an unbroken one would have seen.

    Args:
        dataset: where the videos are.
        names: which videos, in order.
        segmentations: what to learn, by video; None for batches without targets. No labels
            are read, see `Dataset.video`.
        timestamps: the annotated frames of each video `(S,)`, for batches that hold them; None
            for none.
        batch_size: videos per batch; the last batch may be smaller.
        shuffle: a new order every epoch.
        seed: of the order, of augmentation and of dropped frames.
        workers: threads that load ahead. Threads, not processes: reading and copying arrays
            release the interpreter lock, and a process would have to hand every array over.
        chunk_fraction: see `collate`.
        frame_dropping: probability that a video has frames dropped in an epoch, see
            `drop_frames`.
        augmentation: how else videos change in an epoch, before frames are dropped; None for no
            other change.
        bucketing: batches of videos of similar lengths, for less padding.
        pin_memory: batches in page-locked memory, for GPUs.
        scaling: of the features, see `collate`.
        rank: the number of this process among those that train together, from 0.
        n_ranks: how many there are; each loads every `n_ranks`-th batch of the common plan.
    """

    dataset: Dataset
    names: tuple[str, ...]
    segmentations: Mapping[str, Segmentation] | None = None
    timestamps: Mapping[str, IntArray] | None = None
    batch_size: int = 1
    shuffle: bool = False
    seed: int = 0
    workers: int = 0
    chunk_fraction: float = 0.0
    frame_dropping: float = 0.0
    augmentation: SampleAugmentation | None = None
    bucketing: bool = False
    pin_memory: bool = False
    scaling: Scaling | None = None
    rank: int = 0
    n_ranks: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        if not self.names:
            raise InputError("no videos to load", remedy="check the split")
        if self.batch_size < 1:
            raise InputError(f"a batch size of {self.batch_size}", remedy="choose at least 1")
        if self.workers < 0:
            raise InputError(f"{self.workers} workers", remedy="choose 0 or more")
        if not 0 <= self.frame_dropping <= 1:
            raise InputError(
                f"a frame dropping probability of {self.frame_dropping}",
                remedy="choose one from 0 to 1",
            )
        if not 0 <= self.rank < self.n_ranks:
            raise InputError(f"rank {self.rank} of {self.n_ranks}", remedy="count ranks from 0")
        if self.segmentations is None and self.frame_dropping:
            raise InputError("frames cannot be dropped without segmentations")
        if self.segmentations is None and self.augmentation is not None:
            raise InputError("videos cannot be augmented without segmentations")
        if self.segmentations is not None:
            for name in self.names:
                if name not in self.segmentations:
                    raise InputError(f"no segmentation for video {name}")

    def __len__(self) -> int:
        """Batches per epoch, of all ranks together."""
        return -(-len(self.names) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        """The batches of epoch 0."""
        return self.epoch(0)

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """This rank's batches of one epoch."""
        plan = self.plan(epoch)[self.rank :: self.n_ranks]
        if self.workers == 0:
            for names in plan:
                yield self._load(names, epoch)
            return
        with ThreadPoolExecutor(self.workers, thread_name_prefix="uvast-loader") as pool:
            ahead: deque[Future[Batch]] = deque()
            try:
                for names in plan:
                    ahead.append(pool.submit(self._load, names, epoch))
                    if len(ahead) > self.workers:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()

    def plan(self, epoch: int) -> list[tuple[str, ...]]:
        """The names in each batch of an epoch, of all ranks together."""
        generator = np.random.default_rng([self.seed, epoch])
        order = list(self.names)
        if self.shuffle:
            order = [order[index] for index in generator.permutation(len(order))]
        if self.bucketing:
            order = self._by_length(order)
        batches = [
            tuple(order[start : start + self.batch_size])
            for start in range(0, len(order), self.batch_size)
        ]
        if self.shuffle and self.bucketing:
            batches = [batches[index] for index in generator.permutation(len(batches))]
        return batches

    def _by_length(self, order: list[str]) -> list[str]:
        pool = self.batch_size * _POOL if self.shuffle else len(order)
        length = {name: self.dataset.source_frames(name) for name in order}
        return [
            name
            for start in range(0, len(order), pool)
            for name in sorted(order[start : start + pool], key=length.__getitem__)
        ]

    def _load(self, names: tuple[str, ...], epoch: int) -> Batch:
        videos = [self.dataset.video(name, labels=False) for name in names]
        if self.timestamps is not None:
            videos = [replace(one, timestamps=self.timestamps[one.name]) for one in videos]
        segmentations = None
        if self.segmentations is not None:
            pairs = [self._fitted(video, self.segmentations[video.name], epoch) for video in videos]
            videos, segmentations = [list(each) for each in zip(*pairs, strict=True)]
        batch = collate(
            videos, segmentations, chunk_fraction=self.chunk_fraction, scaling=self.scaling
        )
        if self.pin_memory:
            return batch.pin_memory()
        is_view = len(videos) == 1 and self.scaling is None
        if self.workers and is_view and _is_mapped(videos[0].features):
            # a view of its file: read it here in the worker, not in the loop at first use
            return replace(batch, features=batch.features.clone())
        return batch

    def _fitted(
        self, video: Video, segmentation: Segmentation, epoch: int
    ) -> tuple[Video, Segmentation]:
        """A video cut to the length of its segmentation, and both as the epoch sees them."""
        video = self._cut(video, segmentation.n_frames)
        if not self.frame_dropping and self.augmentation is None:
            return video, segmentation
        seed = (self.seed, epoch, self.names.index(video.name))
        if self.augmentation is not None:
            video, segmentation = self.augmentation.applied(
                video, segmentation, seed=seed, pool=self._pool, read=self._features
            )
        if not self.frame_dropping:
            return video, segmentation
        generator = np.random.default_rng(seed)
        return drop_frames(video, segmentation, generator, probability=self.frame_dropping)

    @cached_property
    def _pool(self) -> SegmentPool:
        """The segments of these videos and no others."""
        assert self.segmentations is not None, "checked at the start"
        return SegmentPool.of({name: self.segmentations[name] for name in self.names})

    def _features(self, name: str) -> NDArray[np.float32]:
        """The features of a video, as long as its segmentation."""
        target = self._pool.targets[name]
        video = self._cut(self.dataset.video(name, labels=False), target.n_frames)
        check_fit([video], [target])
        return video.features

    def _cut(self, video: Video, n_frames: int) -> Video:
        """Cuts features that are a little longer than the labels, see `DatasetSpec.tolerance`.

        The tolerance is in source frames: one more frame at the model's rate may stand for a
        single source frame.
        """
        source_frames = n_frames * video.sampling_rate
        if n_frames >= video.n_frames or not lengths_agree(
            source_frames, video.source_frames, self.dataset.spec.tolerance
        ):
            return video
        return replace(video, features=video.features[:n_frames], source_frames=source_frames)


def _is_mapped(array: NDArray[np.float32]) -> bool:
    """Whether an array is a view of a file that has not been read yet."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    return isinstance(owner, np.memmap)
