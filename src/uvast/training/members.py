"""`train` and `resume`, for one model or several that predict together.

Several models are members of one run folder: each is a run of its own below `RUN/members`, with
its own seed, and the folder's checkpoint combines theirs. The inner runs of the first member
choose how all of them decode.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.data.spec import read_spec
from uvast.devices import choose_device, is_one_of_several, n_cores
from uvast.errors import ConfigError, OutputError
from uvast.runs import (
    CONFIG_FILE,
    MEMBERS_FOLDER,
    MOST_MEMBERS,
    MemberInfo,
    RunFolder,
    RunInfo,
    is_run,
    versions,
)
from uvast.training.member_runs import MemberRuns
from uvast.training.train import (
    check_resumable,
    open_again,
    plan_training,
    resume_run,
    train_run,
)
from uvast.training.watching import Plan, Silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.training.watching import Watcher


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
    members: int = 1,
    held_out: Sequence[str] | None = None,
    calibrated_by: Path | None = None,
    jobs: int = 1,
) -> RunFolder:
    """Trains a model, or several that predict together.

    Args:
        dataset: a dataset or its folder.
        out: the run folder to make.
        config: all settings; None lets `plan_training` choose them.
        split: train on this split's training side; None takes every video except the part that
            `train.validation` holds out. Videos without labels (or timestamps) are left out.
        videos: train only on these videos, all of which must be on that side.
        timestamps: the timestamps file for timestamp supervision; None uses the dataset's own.
        device: `auto`, `cpu`, `cuda`, …
        watcher: notified of every step and epoch, to show progress.
        members: how many models; the first has `train.seed`, the others the seeds after it.
        held_out: the videos of the training side that the model will be scored on, if `videos`
            are only a part of it; `train.unlabelled` treats them as the test side.
        calibrated_by: a run whose inner runs choose how this one decodes, instead of its own; it
            may not have learned from other videos.
        jobs: how many inner runs or members to train at a time, each in a process with its share
            of the cores.

    Returns:
        The run folder; `uvast.load(out)` gives the model.
    """
    if not isinstance(config, Config | None):
        raise ConfigError(
            f"config is {config!r}", remedy='pass a Config, such as uvast.load_config("demo")'
        )
    _check_jobs(jobs)
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    if jobs > 1 and data.spec != read_spec(data.path):
        raise ConfigError(
            "several processes read the dataset's own dataset.toml, not another spec",
            where="jobs",
            remedy="write the spec to dataset.toml, or leave jobs out",
        )
    if members == 1:
        return train_run(
            data,
            out,
            config=config,
            split=split,
            videos=videos,
            timestamps=timestamps,
            device=device,
            watcher=watcher,
            held_out=held_out,
            calibrated_by=calibrated_by,
            jobs=jobs,
        )
    _check_number(members)
    if videos is not None or held_out is not None:
        raise ConfigError(
            "members learn from a whole training side",
            where="videos",
            remedy="train each model alone, and join them with uvast ensemble",
        )
    folder = RunFolder(Path(out))
    folder.check_free()
    config = config or plan_training(data, split=split, timestamps=timestamps).config
    seed = config.train.seed
    info = RunInfo(
        dataset=str(data.path.resolve()),
        split=split,
        seed=seed,
        supervision=config.supervision.kind,
        timestamps=None if timestamps is None else str(Path(timestamps).resolve()),
        train=(),  # filled in when the members have been trained
        validation=(),
        versions=versions(),
        members=tuple(
            MemberInfo(f"{MEMBERS_FOLDER}/{index + 1}", seed + index) for index in range(members)
        ),
        jobs=jobs,
        classes=data.vocabulary.names,
    )
    run = MemberRuns(folder, config, info, device, watcher or Silent(), calibrated_by, jobs)
    run.train(data)
    return folder


def resume(
    run: Path | str,
    *,
    settings: Sequence[str] = (),
    device: str = "auto",
    watcher: Watcher | None = None,
    calibrated_by: Path | None = None,
    jobs: int | None = None,
) -> RunFolder:
    """Resumes a run from its last checkpoint, or adds the second stage to a finished one.

    Args:
        run: the run folder.
        settings: changes such as `train.alignment_epochs=60`; only those that do not affect what
            has been trained already.
        device: `auto`, `cpu`, `cuda`, …
        watcher: notified of every step and epoch.
        calibrated_by: as in `train`.
        jobs: as in `train`; None for as many as before, if there are enough cores.
    """
    folder, config, info = RunFolder.open(Path(run))
    if jobs is None:
        side_by_side = choose_device(device).type == "cpu" and not is_one_of_several()
        jobs = min(info.jobs, n_cores()) if side_by_side else 1
    _check_jobs(jobs)
    if not info.members:
        return resume_run(
            run,
            settings=settings,
            device=device,
            watcher=watcher,
            calibrated_by=calibrated_by,
            jobs=jobs,
        )
    trains_them = all(one.is_inside for one in info.members)
    if settings and not trains_them:
        raise ConfigError(
            "is made of other runs, whose settings cannot be changed here",
            where=run,
            remedy="resume those, and make the ensemble again",
        )
    if trains_them:
        check_resumable(run, settings)
        _check_number(len(info.members))
        config = load_config(file=folder.path / CONFIG_FILE, settings=settings, of_run=True)
    if settings and folder.is_finished():
        _check_kept(folder, info)
    watcher = watcher or Silent()
    runs = MemberRuns(folder, config, info, device, watcher, calibrated_by, jobs)
    if folder.is_finished() and not (trains_them and runs.has_work_left()):
        chosen = str(choose_device(device))
        watcher.begin(Plan(config.model.kind, len(info.train), chosen, {}, len(info.validation)))
        return folder
    if not trains_them:  # such a folder is created together with its model
        raise OutputError(
            "has lost its model", where=run, remedy="make it again with uvast ensemble"
        )
    runs.train(open_again(info))
    return folder


def _check_jobs(jobs: int) -> None:
    if jobs < 1:
        raise ConfigError(
            f"{jobs} trainings at a time", where="jobs", remedy="pass a number of at least 1"
        )
    if jobs > 1 and is_one_of_several():
        raise ConfigError(
            "several processes train one model already", where="jobs", remedy="leave it out"
        )


def _check_kept(folder: RunFolder, info: RunInfo) -> None:
    """Refuses to change the settings of a finished run whose members are gone."""
    for one in info.members:
        if not is_run(folder.path / one.source):
            raise ConfigError(
                f"its member {one.source} has been deleted, so no setting can be changed",
                where=folder.path,
                remedy="restore it, or start a new run",
            )


def _check_number(members: int) -> None:
    if not 1 <= members <= MOST_MEMBERS:
        raise ConfigError(
            f"{members} members", where="members", remedy=f"train between 1 and {MOST_MEMBERS}"
        )
    if is_one_of_several():
        raise ConfigError(
            "several processes cannot train the members of an ensemble together",
            remedy="train each model alone, and join them with uvast ensemble",
        )
