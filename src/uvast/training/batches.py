"""What a run learns from, and the batches of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from uvast.data import SampleAugmentation, VideoLoader
from uvast.training.augmentation import augment
from uvast.training.clicks import frames_to_keep, learns_clicks_alone, of_clicks_alone
from uvast.training.loop import epoch_seed
from uvast.training.margins import without_margins
from uvast.training.unlabelled import beside, paired

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import torch
    from torch import Tensor

    from uvast.config import Config, SupervisionConfig, TrainConfig
    from uvast.data import Batch, Dataset, Scaling, Timestamps
    from uvast.segments import Segmentation
    from uvast.training.distributed import Processes


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from.

    Args:
        dataset: has the features, at each video's own scale if `scaling` asks for that.
        segmentations: the target of each sample (see `Dataset.samples`).
        timestamps: what pseudo-segmentations were made from; empty with full labels.
        train: the samples to learn from.
        validation: those that are held out.
        notes: what is left out, one sentence each.
        scaling: fitted on the training videos; None leaves features as they are.
    """

    dataset: Dataset
    segmentations: Mapping[str, Segmentation]
    timestamps: Mapping[str, Timestamps]
    train: tuple[str, ...]
    validation: tuple[str, ...]
    notes: tuple[str, ...] = ()
    scaling: Scaling | None = None


@dataclass(frozen=True)
class EpochBatches:
    """The batches of one epoch, in this process.

    Args:
        n_steps: optimiser steps of the process that has the most; the others idle at the end.
        batches: this process's own, on its device.
    """

    n_steps: int
    batches: Iterator[Batch]


def chunk_fraction_of(config: Config) -> float:
    """The largest share of its video that a chunk of stage 1 may have; 0 for whole segments.

    Pseudo-segmentations are not cut: their ends are guesses already.
    """
    return config.train.chunk_fraction if config.supervision.kind == "full" else 0.0


def sample_augmentation(dataset: Dataset, config: TrainConfig) -> SampleAugmentation | None:
    """How the samples of stage 1 are augmented; None if they are not."""
    symmetry = dataset.symmetry if config.symmetry else None
    is_off = not config.recombination and config.speed == config.time_warp == 1
    if is_off and symmetry is None:
        return None
    return SampleAugmentation(
        recombination=config.recombination,
        reordering=config.reordering,
        speed=config.speed,
        time_warp=config.time_warp,
        mirroring=config.symmetry,
        symmetry=symmetry,
    )


def draw_epoch(
    dataset: Dataset,
    targets: Mapping[str, Segmentation],
    config: Config,
    *,
    stage: int,
    epoch: int,
    device: torch.device,
    processes: Processes,
    timestamps: Mapping[str, Timestamps] | None = None,
    scaling: Scaling | None = None,
    augmentation: SampleAugmentation | None = None,
    mask_token: Tensor | None = None,
    unlabelled: Sequence[str] = (),
) -> EpochBatches:
    """Draws an epoch (counted from 0) over the samples that have targets.

    Batches hold the samples' timestamps if a loss of the epoch needs them. Chunks, unlabelled
    videos and all augmentation except dropped frames are for stage 1 only.
    """
    train = config.train
    first = stage == 1
    loader = VideoLoader(
        dataset,
        tuple(targets),
        targets,
        timestamps=frames_to_keep(timestamps or {}, config, epoch) if first else None,
        batch_size=train.batch_size,
        shuffle=True,
        seed=epoch_seed(train.seed, stage, 0),
        workers=train.workers,
        chunk_fraction=chunk_fraction_of(config) if first else 0.0,
        frame_dropping=train.frame_dropping if first else train.alignment_frame_dropping,
        augmentation=augmentation if first else None,
        bucketing=train.batch_size > 1,
        pin_memory=device.type == "cuda",
        scaling=scaling,
        rank=processes.rank,
        n_ranks=processes.count,
    )
    n_steps = -(-len(loader) // (processes.count * train.accumulation))
    batches = _on(device, loader.epoch(epoch))
    if first:
        change = partial(
            augment,
            noise=train.feature_noise,
            masking=train.time_masking,
            channel_warp=train.channel_warp,
            mask_token=mask_token,
        )
        batches = map(change, batches)
        if unlabelled:
            seed = epoch_seed(train.seed, stage, epoch)
            others, progress = beside(
                loader, unlabelled, seed=seed, epoch=epoch, epochs=train.epochs
            )
            batches = paired(batches, map(change, _on(device, others.epoch(0))), progress)
        batches = _where_certain(batches, epoch, config.supervision)
    return EpochBatches(n_steps, batches)


def _where_certain(
    batches: Iterator[Batch], epoch: int, config: SupervisionConfig
) -> Iterator[Batch]:
    """Limits the frame labels to the clicks, or to frames away from cuts, if so configured."""
    if learns_clicks_alone(epoch, config):
        return map(of_clicks_alone, batches)
    if config.kind == "full" or not config.margin:
        return batches
    return (without_margins(batch, config.margin) for batch in batches)


def _on(device: torch.device, batches: Iterator[Batch]) -> Iterator[Batch]:
    return (batch.to(device, non_blocking=True) for batch in batches)
