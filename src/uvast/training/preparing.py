"""From a dataset and settings to a session that is ready to train."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from uvast.data import fit_scaling
from uvast.errors import CheckpointError, LabelError, SplitError
from uvast.models.checkpoint import read_scaling
from uvast.supervision import PseudoLabelOptions, full_segmentations, pseudo_segmentations
from uvast.training.batches import TrainingData
from uvast.training.levelling import videos_differ
from uvast.training.session import Session
from uvast.training.setting_checks import check_settings
from uvast.training.unlabelled import unlabelled_notes
from uvast.training.watching import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    import torch

    from uvast.config import Config
    from uvast.data import Dataset, Scaling, Timestamps
    from uvast.runs import RunFolder, RunInfo
    from uvast.segments import Segmentation
    from uvast.training.distributed import Processes
    from uvast.training.samples import Samples
    from uvast.training.watching import Watcher

LEVELLED = (
    "the videos differ in scale: each is brought to its own; --set train.scaling=true takes one "
    "scale for all"
)


def held_alone(folder: RunFolder, processes: Processes) -> AbstractContextManager[None]:
    """Locks the run; the first process does so for all of them."""
    return folder.locked() if processes.is_first else nullcontext()


def open_session(
    folder: RunFolder,
    config: Config,
    info: RunInfo,
    dataset: Dataset,
    samples: Samples,
    *,
    device: torch.device,
    processes: Processes,
    watcher: Watcher | None,
) -> Session:
    """Opens a session that reports only to the first process's watcher."""
    check_settings(config)
    if watcher is None or not processes.is_first:
        watcher = Silent()
    data = _training_data(folder, dataset, config, info, samples, watcher)
    return Session(folder, config, info, data, device=device, processes=processes, watcher=watcher)


def _training_data(
    folder: RunFolder,
    dataset: Dataset,
    config: Config,
    info: RunInfo,
    samples: Samples,
    watcher: Watcher,
) -> TrainingData:
    """Targets of the training and validation videos; ground truth only if supervision is full."""
    if not info.train:
        raise SplitError("no videos to train on", where=dataset.path, remedy="check the split")
    for video in (*info.train, *info.validation):
        dataset.source_frames_of_features(video)  # finds a missing file now, not in an epoch
        if video not in samples.by_video:
            raise LabelError(
                f"no longer has labels of video {video}, which the run learns from",
                where=dataset.path,
                remedy="restore them or start a new run",
            )
    for video in info.unlabelled:
        dataset.source_frames_of_features(video)
    train, validation = samples.of(info.train), samples.of(info.validation)
    names = (*train, *validation)
    timestamps: dict[str, Timestamps] = {}
    if config.supervision.kind == "full":
        targets = full_segmentations(dataset, names)
    else:
        videos = (*info.train, *info.validation)
        clicks = dataset.timestamps(info.timestamps, names=videos)
        timestamps = {name: clicks[name] for name in names}
        targets = pseudo_segmentations(
            dataset,
            names,
            timestamps,
            PseudoLabelOptions.from_config(config.supervision),
            progress=watcher.pseudo_labels,
        )
    scaling = _scaling(folder, dataset, config, {name: targets[name] for name in train})
    notes = (*samples.notes, *unlabelled_notes(config, info.unlabelled))
    if scaling is not None and scaling.levels:
        dataset = dataset.levelled()
        if config.train.scaling == "auto":
            notes = (*notes, LEVELLED)
    return TrainingData(dataset, targets, timestamps, train, validation, notes, scaling)


def _scaling(
    folder: RunFolder, dataset: Dataset, config: Config, targets: Mapping[str, Segmentation]
) -> Scaling | None:
    """The scaling of the run so far, else one fitted on the samples it learns from."""
    if not folder.last.exists():
        kind = config.train.scaling
        if not kind:
            return None
        levels = kind == "video" or (kind == "auto" and videos_differ(dataset, targets))
        seen = dataset.levelled() if levels else dataset
        videos = (seen.video(name, labels=False) for name in targets)
        return fit_scaling(videos, levels=levels)
    kept = read_scaling(folder.last)
    if kept is not None and kept.n_features != dataset.n_features:
        raise CheckpointError(
            f"does not fit the dataset (features of width {kept.n_features}, "
            f"not {dataset.n_features})",
            where=folder.last,
            remedy="if its features have changed, start a new run",
        )
    return kept
