"""`train` and `resume`: from a dataset to a run folder with a model ready to use."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import Config, load_config, parse_setting
from uvast.config.auto import BASE, AutoPlan, plan
from uvast.data import Dataset, fit_scaling, validation_part
from uvast.data.facts import found_supervision, read_facts
from uvast.devices import choose_device
from uvast.errors import CheckpointError, ConfigError, InputError, LabelError, SplitError
from uvast.features.record import common_extractor
from uvast.files import write_text
from uvast.models.checkpoint import read_scaling
from uvast.runs import RunFolder, RunInfo, versions
from uvast.supervision import full_segmentations, pseudo_segmentations
from uvast.training.batches import TrainingData
from uvast.training.distributed import Processes, join_processes, own_device
from uvast.training.refresh import pseudo_label_options
from uvast.training.resuming import read_state
from uvast.training.samples import find_samples
from uvast.training.session import Session
from uvast.training.watching import Silent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import torch

    from uvast.config import TrainConfig
    from uvast.data import Scaling, Timestamps
    from uvast.training.samples import Samples
    from uvast.training.watching import Watcher

RESUMABLE = ("train.alignment_epochs", "train.checkpoint_seconds", "train.workers")
"""Settings that may change when a run goes on: they leave what was trained as it is."""

HELD_OUT = 0.2
LEAST_VIDEOS = 10
"""Where no split holds videos out, `train.validation = "auto"` does: a fifth of at least 10. One
video could not tell a good epoch from a lucky one, and of fewer than 10 each is missed."""


def train(
    dataset: Dataset | Path | str,
    out: Path | str,
    *,
    config: Config | None = None,
    split: int | None = None,
    videos: Sequence[str] | None = None,
    timestamps: Path | str | None = None,
    device: str = "auto",
    watcher: Watcher | None = None,
) -> RunFolder:
    """Trains a model.

    Args:
        dataset: a dataset or its folder.
        out: the run folder to make.
        config: all settings; None chooses them by `plan_training`.
        split: train on this split's training side; None takes every video, but for the part that
            `train.validation` holds out. Videos without labels (or timestamps) stay out.
        videos: train on these alone, all of which are on that side.
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
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    config = config or plan_training(data, split=split, timestamps=timestamps).config
    data = data.at_rate(config.train.sampling_rate)
    samples = _samples(data, config, _side(data, split, videos), timestamps)
    share, names, held_out = _parts(samples.videos, data.spec.group_by, split, config.train)
    config = config.replaced(**{"train.validation": share})
    info = RunInfo(
        dataset=str(data.path.resolve()),
        split=split,
        seed=config.train.seed,
        supervision=config.supervision.kind,
        timestamps=None if timestamps is None else str(Path(timestamps).resolve()),
        train=names,
        validation=held_out,
        versions=versions(),
        extractor=common_extractor(map(data.features_path, names)),
    )
    folder = RunFolder(Path(out))
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes:
        if processes.is_first:  # the others may come when it has begun the run
            folder.check_free()
        session = _session(
            folder, config, info, data, samples, device=chosen, processes=processes, watcher=watcher
        )
        if processes.is_first:
            folder.create(config, info)
        processes.wait()
        with _alone(folder, processes):
            session.run()
    return folder


def plan_training(
    dataset: Dataset | Path | str,
    *,
    split: int | None = None,
    timestamps: Path | str | None = None,
    settings: Sequence[str] = (),
) -> AutoPlan:
    """Preset `auto`: looks at the videos to learn from, and chooses all settings of a run.

    Args:
        dataset: a dataset or its folder.
        split: whose training side is looked at; None takes every video.
        timestamps: the timestamps file, if the run learns from one of its own.
        settings: what is not to be chosen, such as `train.epochs=20`.
    """
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    config = load_config(BASE, settings=settings)
    side = data.side(split, "train")
    if not any(parse_setting(one)[0] == "supervision.kind" for one in settings):
        config = config.replaced(**{"supervision.kind": found_supervision(data, side)})
    samples = _samples(data, config, side, timestamps)
    _, names, held_out = _parts(samples.videos, data.spec.group_by, split, config.train)
    facts = read_facts(
        data,
        samples.of(names),
        supervision=config.supervision.kind,
        timestamps=timestamps,
        n_validation=len(held_out),
    )
    return plan(facts, settings)


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
            f"{frozen[0]} would change a run that has begun",
            where=run,
            remedy=f"start a new run, or change only {', '.join(RESUMABLE)}",
        )
    config = load_config(file=folder.path / "config.toml", settings=settings, of_run=True)
    if settings:
        _check_changeable(folder, config)
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes, _alone(folder, processes):
        if settings and processes.is_first:
            write_text(folder.path / "config.toml", config.as_toml())
        data = Dataset.open(info.dataset).at_rate(config.train.sampling_rate)
        samples = _samples(data, config, (*info.train, *info.validation), info.timestamps)
        session = _session(
            folder, config, info, data, samples, device=chosen, processes=processes, watcher=watcher
        )
        session.run()
    return folder


def _samples(
    dataset: Dataset, config: Config, names: Sequence[str], timestamps: Path | str | None
) -> Samples:
    """What a run can learn from, of the videos on its side."""
    by_clicks = config.supervision.kind == "timestamps"
    clicks = dataset.timestamps(timestamps, names=names) if by_clicks else None
    return find_samples(dataset, names, clicks)


def _side(dataset: Dataset, split: int | None, videos: Sequence[str] | None) -> tuple[str, ...]:
    """The training side, or those videos of it that are asked for."""
    side = dataset.side(split, "train")
    if videos is None:
        return side
    for name in videos:
        if name not in side:
            raise SplitError(
                f"video {name} is not on the training side of split {split}",
                where=dataset.path,
                remedy="train on videos of that side alone",
            )
    return tuple(videos)


def _parts(
    names: tuple[str, ...], group_by: str | None, split: int | None, config: TrainConfig
) -> tuple[float, tuple[str, ...], tuple[str, ...]]:
    """The share of the validation part, the videos to learn from, and those of the part."""
    divide = partial(validation_part, names, group_by=group_by, seed=config.seed)
    if config.validation != "auto":
        share = config.validation
        return (share, *divide(share)) if share else (0.0, names, ())
    if split is None and len(names) >= LEAST_VIDEOS:
        with suppress(InputError):  # subjects, who stay together, may not be enough
            train, held_out = divide(HELD_OUT)
            if len(held_out) <= len(names) / 3:
                return HELD_OUT, train, held_out
    return 0.0, names, ()


def _check_changeable(folder: RunFolder, config: Config) -> None:
    """Settings are changed where they still change something."""
    last_stage = 2 if config.model.kind == "uvast" else 1
    if folder.last.exists():
        progress, _ = read_state(folder.last)
        if progress.stage == 2 and config.train.alignment_epochs < progress.epoch:
            raise ConfigError(
                f"has already trained {progress.epoch} epochs of stage 2",
                where=folder.path,
                remedy=f"set train.alignment_epochs to {progress.epoch} or more",
            )
        if progress.finished and progress.stage == last_stage:
            raise ConfigError(
                f"has already finished stage {last_stage}, the last of {config.model.kind}",
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
    samples: Samples,
    *,
    device: torch.device,
    processes: Processes,
    watcher: Watcher | None,
) -> Session:
    """A session that only the first process's watcher follows."""
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
        dataset.source_frames_of_features(video)  # a missing file is found now, not in an epoch
        if video not in samples.by_video:
            raise LabelError(
                f"has no labels of video {video} any more, on which the run was begun",
                where=dataset.path,
                remedy="restore them or start a new run",
            )
    train, validation = samples.of(info.train), samples.of(info.validation)
    names = (*train, *validation)
    timestamps: dict[str, Timestamps] = {}
    if config.supervision.kind == "full":
        targets = full_segmentations(dataset, names)
    else:
        clicks = dataset.timestamps(info.timestamps, names=(*info.train, *info.validation))
        timestamps = {name: clicks[name] for name in names}
        targets = pseudo_segmentations(
            dataset,
            names,
            timestamps,
            pseudo_label_options(config.supervision),
            progress=watcher.pseudo_labels,
        )
    scaling = _scaling(folder, dataset, config, train)
    return TrainingData(dataset, targets, timestamps, train, validation, samples.notes, scaling)


def _scaling(
    folder: RunFolder, dataset: Dataset, config: Config, samples: Sequence[str]
) -> Scaling | None:
    """That of the run so far, else fitted on the samples it learns from."""
    if not folder.last.exists():
        if not config.train.scaling:
            return None
        return fit_scaling(dataset.video(name, labels=False) for name in samples)
    kept = read_scaling(folder.last)
    if kept is not None and kept.n_features != dataset.n_features:
        raise CheckpointError(
            f"does not fit the dataset (features of width {kept.n_features}, "
            f"not {dataset.n_features})",
            where=folder.last,
            remedy="if its features have changed, start a new run",
        )
    return kept
