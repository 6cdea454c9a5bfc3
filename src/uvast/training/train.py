"""`train` and `resume`: from a dataset to a run folder with a model ready to use."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import Config, load_config
from uvast.data import Dataset, validation_part
from uvast.devices import choose_device
from uvast.errors import ConfigError, LabelError, SplitError
from uvast.files import write_text
from uvast.supervision import full_segmentations, pseudo_segmentations
from uvast.training.distributed import Processes, join_processes, own_device
from uvast.training.loop import Silent
from uvast.training.refresh import pseudo_label_options
from uvast.training.run import RunFolder, RunInfo, versions
from uvast.training.session import Session, TrainingData
from uvast.training.state import read_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import torch

    from uvast.training.loop import Watcher

RESUMABLE = ("train.alignment_epochs", "train.checkpoint_seconds", "train.workers")
"""Settings that may change when a run goes on: they leave what was trained as it is."""


def train(
    dataset: Dataset | Path | str,
    out: Path | str,
    *,
    config: Config | None = None,
    split: int | None = None,
    timestamps: Path | str | None = None,
    device: str = "auto",
    watcher: Watcher | None = None,
) -> RunFolder:
    """Trains a model.

    Args:
        dataset: a dataset or its folder.
        out: the run folder to make.
        config: all settings; the defaults are the paper's.
        split: train on this split's training side; None takes every video.
        timestamps: the timestamps file for timestamp supervision; None finds the dataset's own.
        device: `auto`, `cpu`, `cuda`, …
        watcher: told of every step and epoch, for progress.

    Returns:
        The run folder; `uvast.load(out)` gives the model.
    """
    if not isinstance(config, Config | None):
        raise ConfigError(
            f"config is {config!r}", remedy='pass a Config, such as uvast.load_config("demo")'
        )
    config = config or Config()
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    names = data.side(split, "train")
    held_out: tuple[str, ...] = ()
    if config.train.validation:
        names, held_out = validation_part(
            names, config.train.validation, group_by=data.spec.group_by, seed=config.train.seed
        )
    info = RunInfo(
        dataset=str(data.path.resolve()),
        split=split,
        seed=config.train.seed,
        supervision=config.supervision.kind,
        timestamps=None if timestamps is None else str(Path(timestamps).resolve()),
        train=tuple(names),
        validation=tuple(held_out),
        versions=versions(),
    )
    folder = RunFolder(Path(out))
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes:
        if processes.is_first:  # the others may come when it has begun the run
            folder.check_free()
        session = _session(
            folder, config, info, data, device=chosen, processes=processes, watcher=watcher
        )
        if processes.is_first:
            folder.create(config, info)
        processes.wait()
        with _alone(folder, processes):
            session.run()
    return folder


def resume(
    run: Path | str,
    *,
    settings: Sequence[str] = (),
    device: str = "auto",
    watcher: Watcher | None = None,
) -> RunFolder:
    """Goes on with a run from its last checkpoint, or adds the second stage to a finished one.

    Args:
        run: the run folder.
        settings: changes such as `train.alignment_epochs=60`; only those that leave what was
            trained as it is.
        device: `auto`, `cpu`, `cuda`, …
        watcher: told of every step and epoch.
    """
    folder, config, info = RunFolder.open(Path(run))
    frozen = [one for one in settings if one.partition("=")[0].strip() not in RESUMABLE]
    if frozen:
        raise ConfigError(
            f"--set {frozen[0]} would change a run that has begun",
            where=run,
            remedy=f"start a new run, or change only {', '.join(RESUMABLE)}",
        )
    config = load_config(file=folder.path / "config.toml", settings=settings)
    if settings:
        _check_changeable(folder, config)
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes, _alone(folder, processes):
        if settings and processes.is_first:
            write_text(folder.path / "config.toml", config.as_toml())
        data = Dataset.open(info.dataset)
        session = _session(
            folder, config, info, data, device=chosen, processes=processes, watcher=watcher
        )
        session.run()
    return folder


def _check_changeable(folder: RunFolder, config: Config) -> None:
    """Settings are changed where they still change something."""
    last_stage = 2 if config.model.kind == "uvast" else 1
    if folder.last.exists():
        progress, _ = read_state(folder.last)
        if progress.stage == 2 and config.train.alignment_epochs < progress.epoch:
            raise ConfigError(
                f"has trained {progress.epoch} epochs of stage 2 already",
                where=folder.path,
                remedy=f"set train.alignment_epochs to {progress.epoch} or more",
            )
        if progress.finished and progress.stage == last_stage:
            raise ConfigError(
                f"has finished stage {last_stage}, the last one of {config.model.kind}",
                where=folder.path,
                remedy="start a new run with other settings",
            )


def _alone(folder: RunFolder, processes: Processes) -> AbstractContextManager[None]:
    """The first process holds the run for all of them."""
    return folder.locked() if processes.is_first else nullcontext()


def _session(
    folder: RunFolder,
    config: Config,
    info: RunInfo,
    dataset: Dataset,
    *,
    device: torch.device,
    processes: Processes,
    watcher: Watcher | None,
) -> Session:
    """A session that only the first process's watcher follows."""
    if watcher is None or not processes.is_first:
        watcher = Silent()
    data = _training_data(dataset, config, info, watcher)
    return Session(folder, config, info, data, device=device, processes=processes, watcher=watcher)


def _training_data(
    dataset: Dataset, config: Config, info: RunInfo, watcher: Watcher
) -> TrainingData:
    """Targets of the training and validation videos; ground truth only if supervision is full."""
    if not info.train:
        raise SplitError("no videos to train on", where=dataset.path, remedy="check the split")
    names = (*info.train, *info.validation)
    for name in names:
        dataset.source_frames_of_features(name)  # a missing file is found now, not in an epoch
    if config.supervision.kind == "full":
        if dataset.has_timestamps() and not any(map(dataset.has_labels, names)):
            raise LabelError(
                "has timestamps and no labels",
                where=dataset.path,
                remedy="pass --supervision timestamps",
            )
        return TrainingData(dataset, full_segmentations(dataset, names), {})
    timestamps = dataset.timestamps(info.timestamps)
    targets = pseudo_segmentations(
        dataset,
        names,
        timestamps,
        pseudo_label_options(config.supervision),
        progress=watcher.pseudo_labels,
    )
    return TrainingData(dataset, targets, {name: timestamps[name] for name in names})
