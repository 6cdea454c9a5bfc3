"""One run: from a dataset to a run folder with a model ready to use."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import Config, load_config, parse_setting
from uvast.config.auto import BASE, AutoPlan, plan
from uvast.data import Dataset, validation_part
from uvast.data.facts import found_supervision, read_facts
from uvast.data.label_digest import has_changed, label_digest
from uvast.devices import choose_device
from uvast.errors import ConfigError, InputError, SplitError, TrainingError, printable
from uvast.features.record import common_extractor
from uvast.files import write_text
from uvast.models.build import has_second_stage
from uvast.runs import CONFIG_FILE, RunFolder, RunInfo, versions
from uvast.training.distributed import join_processes, own_device
from uvast.training.folds import folds_of
from uvast.training.inner_runs import InnerRuns, check_other
from uvast.training.preparing import held_alone, open_session
from uvast.training.resuming import has_work_left, read_progress
from uvast.training.samples import samples_of
from uvast.training.unlabelled import find_unlabelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.config import TrainConfig
    from uvast.training.watching import Watcher

RESUMABLE = ("train.alignment_epochs", "train.checkpoint_seconds", "train.workers")
"""Settings that may change when a run is resumed: they do not affect what has been trained."""

VALIDATION_SHARE = 0.2
LEAST_FOR_VALIDATION = 10
"""If neither a split nor folds hold videos out, `train.validation = "auto"` does: a fifth of at
least 10. A single video could not tell a good epoch from a lucky one, and with fewer than 10,
training would miss each of them."""


def train_run(
    dataset: Dataset | Path | str,
    out: Path | str,
    *,
    config: Config | None = None,
    split: int | None = None,
    videos: Sequence[str] | None = None,
    timestamps: Path | str | None = None,
    device: str = "auto",
    watcher: Watcher | None = None,
    held_out: Sequence[str] | None = None,
    calibrated_by: Path | None = None,
    jobs: int = 1,
) -> RunFolder:
    """Trains one model; see `uvast.training.train`.

    The inner runs of the run `calibrated_by` replace its own.
    """
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    if config is None:
        config = plan_training(data, split=split, timestamps=timestamps, videos=videos).config
    data = data.at_rate(config.train.sampling_rate)
    samples = samples_of(data, config, _side(data, split, videos), timestamps)
    share, names, validation = _parts(samples.videos, data.spec.group_by, split, config.train)
    config = config.replaced(**{"train.validation": share})
    unlabelled = find_unlabelled(data, config.train, split, (*names, *validation), held_out)
    info = RunInfo(
        dataset=str(data.path.resolve()),
        split=split,
        seed=config.train.seed,
        supervision=config.supervision.kind,
        timestamps=None if timestamps is None else str(Path(timestamps).resolve()),
        train=names,
        validation=validation,
        versions=versions(),
        extractor=common_extractor(map(data.features_path, names)),
        unlabelled=unlabelled,
        transductive=config.train.unlabelled == "test",
        jobs=jobs,
        classes=data.vocabulary.names,
        labels=label_digest(
            data,
            (*names, *validation),
            by_clicks=config.supervision.kind == "timestamps",
            timestamps=timestamps,
        ),
        sampling_rate=data.sampling_rate,
    )
    if calibrated_by is not None:
        check_other(calibrated_by, info)
    folder = RunFolder(Path(out))
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes:
        if processes.is_first:  # the others may arrive after it has begun the run
            folder.check_free()
        session = open_session(
            folder, config, info, data, samples, device=chosen, processes=processes, watcher=watcher
        )
        inner = InnerRuns(folder, config, info, data, samples, chosen, processes, watcher, jobs)
        if processes.is_first:
            folder.create(config, info)
            if calibrated_by is not None:
                inner.take_over(calibrated_by)
        processes.wait()
        with held_alone(folder, processes):
            session.run(inner)
    return folder


def plan_training(
    dataset: Dataset | Path | str,
    *,
    split: int | None = None,
    timestamps: Path | str | None = None,
    settings: Sequence[str] = (),
    videos: Sequence[str] | None = None,
) -> AutoPlan:
    """Preset `auto`: looks at the videos to learn from, and chooses all settings of a run.

    Args:
        dataset: a dataset or its folder.
        split: the split whose training side to look at; None takes every video.
        timestamps: the timestamps file, if it is not the dataset's own.
        settings: fixed settings, which are not chosen, such as `train.epochs=20`.
        videos: those of the training side to learn from; None for all of them.
    """
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    config = load_config(BASE, settings=settings)
    side = _side(data, split, videos)
    if not any(parse_setting(one)[0] == "supervision.kind" for one in settings):
        config = config.replaced(**{"supervision.kind": found_supervision(data, side)})
    samples = samples_of(data, config, side, timestamps)
    _, names, validation = _parts(samples.videos, data.spec.group_by, split, config.train)
    facts = read_facts(
        data,
        samples.of(names),
        supervision=config.supervision.kind,
        timestamps=timestamps,
        validation=samples.of(validation),
        n_folds=len(folds_of(config, names, validation, data)),
    )
    return plan(facts, settings)


def resume_run(
    run: Path | str,
    *,
    settings: Sequence[str] = (),
    device: str = "auto",
    watcher: Watcher | None = None,
    calibrated_by: Path | None = None,
    jobs: int = 1,
) -> RunFolder:
    """Resumes one model; see `uvast.training.resume` and `train_run`."""
    folder, config, info = RunFolder.open(Path(run))
    check_resumable(run, settings)
    if calibrated_by is not None:
        check_other(calibrated_by, info)
    config = load_config(file=folder.path / CONFIG_FILE, settings=settings, of_run=True)
    if settings:
        _check_changeable(folder, config)
    chosen = own_device(choose_device(device))
    with join_processes(chosen) as processes, held_alone(folder, processes):
        data = open_again(info).at_rate(config.train.sampling_rate)
        if has_work_left(folder, config):
            _check_unchanged(data, info)
        samples = samples_of(data, config, (*info.train, *info.validation), info.timestamps)
        session = open_session(
            folder, config, info, data, samples, device=chosen, processes=processes, watcher=watcher
        )
        if settings and processes.is_first:  # now that nothing refuses them any more
            write_text(folder.path / CONFIG_FILE, config.as_toml())
        inner = InnerRuns(folder, config, info, data, samples, chosen, processes, watcher, jobs)
        if calibrated_by is not None:
            if processes.is_first:
                inner.take_over(calibrated_by)
            processes.wait()
        session.run(inner)
    return folder


def open_again(info: RunInfo) -> Dataset:
    """Opens the dataset that a run was begun with; its classes must not have changed."""
    data = Dataset.open(info.dataset)
    if info.classes and info.classes != data.vocabulary.names:
        changed = sorted(set(info.classes) ^ set(data.vocabulary.names))
        what = f" ({', '.join(map(printable, changed[:3]))})" if changed else ""
        raise TrainingError(
            f"its classes have changed since the training began{what}",
            where=data.path,
            remedy="start a new run, or restore the old classes",
        )
    return data


def _check_unchanged(data: Dataset, info: RunInfo) -> None:
    """Refuses to continue with other targets or frames than a run was begun with."""
    by_clicks = info.supervision == "timestamps"
    names = (*info.train, *info.validation)
    if has_changed(info.labels, data, names, by_clicks=by_clicks, timestamps=info.timestamps):
        raise TrainingError(
            f"the {'timestamps' if by_clicks else 'labels'} of the run's videos have changed since "
            "the training began",
            where=data.path,
            remedy="start a new run, or restore the old ones",
        )
    if info.sampling_rate not in (0, data.sampling_rate):
        raise TrainingError(
            f"its sampling rate is {data.sampling_rate}, and was {info.sampling_rate} when the "
            "training began",
            where=data.path,
            remedy="start a new run, or set the old rate in dataset.toml",
        )


def check_resumable(run: Path | str, settings: Sequence[str]) -> None:
    """Refuses settings that would change a run that has begun."""
    frozen = [one for one in settings if one.partition("=")[0].strip() not in RESUMABLE]
    if frozen:
        raise ConfigError(
            f"{frozen[0]} would change a run that has begun",
            where=run,
            remedy=f"start a new run, or change only {', '.join(RESUMABLE)}",
        )


def _side(dataset: Dataset, split: int | None, videos: Sequence[str] | None) -> tuple[str, ...]:
    """The training side, or the requested videos of it."""
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
    """The share of the validation part, the videos to learn from, and the validation videos."""
    divide = partial(validation_part, names, group_by=group_by, seed=config.seed)
    if config.validation != "auto":
        share = config.validation
        return (share, *divide(share)) if share else (0.0, names, ())
    if split is None and not config.folds and len(names) >= LEAST_FOR_VALIDATION:
        with suppress(InputError):  # there may be too few subjects, which stay whole
            train, validation = divide(VALIDATION_SHARE)
            if len(validation) <= len(names) / 3:
                return VALIDATION_SHARE, train, validation
    return 0.0, names, ()


def _check_changeable(folder: RunFolder, config: Config) -> None:
    """Refuses settings that can no longer change anything."""
    last_stage = 2 if has_second_stage(config.model) else 1
    if folder.last.exists():
        progress = read_progress(folder.last)
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
