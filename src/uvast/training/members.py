"""`train` and `resume`, of one model or of several that are asked together.

Several are members of one run folder: each is a run of its own below `RUN/members`, with a seed of
its own, and the folder's checkpoint is made of theirs. The inner runs of the first one choose how
all of them decode.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.devices import choose_device
from uvast.errors import ConfigError, OutputError
from uvast.files import write_json, write_text
from uvast.inference.ensemble import (
    check_members,
    ensemble_info,
    read_members,
    write_members,
)
from uvast.models.build import has_second_stage
from uvast.runs import (
    CONFIG_FILE,
    MEMBERS_FOLDER,
    MOST_MEMBERS,
    RUN_FILE,
    MemberInfo,
    RunFolder,
    RunInfo,
    checkpoint_hash,
    is_run,
    versions,
)
from uvast.training.member_watcher import MemberWatcher
from uvast.training.resuming import read_state
from uvast.training.train import (
    RESUMABLE,
    check_resumable,
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
) -> RunFolder:
    """Trains a model, or several that are asked together.

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
        members: how many models; the seeds of the others follow `train.seed`.
        held_out: the videos of the training side that the model will be scored on, where `videos`
            are only a part of it; they stand for the test side in `train.unlabelled`.
        calibrated_by: a run whose inner runs choose how this one decodes, in place of its own.

    Returns:
        The run folder; `uvast.load(out)` gives the model.
    """
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
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
        )
    _check_number(members)
    if videos is not None or held_out is not None:
        raise ConfigError(
            "members learn from a whole training side",
            where="videos",
            remedy="train each model alone, and join them with uvast.ensemble",
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
        train=(),  # until it is known what the members have learned from
        validation=(),
        versions=versions(),
        members=tuple(
            MemberInfo(f"{MEMBERS_FOLDER}/{index + 1}", seed + index) for index in range(members)
        ),
    )
    run = _MembersRun(folder, config, info, device, watcher or Silent(), calibrated_by)
    run.train(data)
    return folder


def resume(
    run: Path | str,
    *,
    settings: Sequence[str] = (),
    device: str = "auto",
    watcher: Watcher | None = None,
    calibrated_by: Path | None = None,
) -> RunFolder:
    """Goes on with a run from its last checkpoint, or adds the second stage to a finished one.

    Args:
        run: the run folder.
        settings: changes such as `train.alignment_epochs=60`; only those that leave what was
            trained as it is.
        device: `auto`, `cpu`, `cuda`, …
        watcher: told of every step and epoch.
        calibrated_by: as in `train`.
    """
    folder, config, info = RunFolder.open(Path(run))
    if not info.members:
        return resume_run(
            run, settings=settings, device=device, watcher=watcher, calibrated_by=calibrated_by
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
    watcher = watcher or Silent()
    members = _MembersRun(folder, config, info, device, watcher, calibrated_by)
    if folder.is_finished() and not (trains_them and members.left()):
        chosen = str(choose_device(device))
        watcher.begin(Plan(config.model.kind, len(info.train), chosen, {}, len(info.validation)))
        return folder
    if not trains_them:  # such a folder comes into being with its model
        raise OutputError(
            "has lost its model", where=run, remedy="make it again with uvast ensemble"
        )
    members.train(Dataset.open(info.dataset))
    return folder


def _check_number(members: int) -> None:
    if not 1 <= members <= MOST_MEMBERS:
        raise ConfigError(
            f"{members} members", where="members", remedy=f"train between 1 and {MOST_MEMBERS}"
        )
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            "several processes cannot train the members of an ensemble together",
            remedy="train each model alone, and join them with uvast ensemble",
        )


class _MembersRun:
    """Trains the members that are left, one after the other, and makes one model of them."""

    def __init__(
        self,
        folder: RunFolder,
        config: Config,
        info: RunInfo,
        device: str,
        watcher: Watcher,
        calibrated_by: Path | None,
    ) -> None:
        self._folder = folder
        self._config = config
        self._info = info
        self._device = device
        self._watcher = watcher
        self._calibrated_by = calibrated_by

    def left(self) -> bool:
        """Whether members that are still there have more to learn, or have learned more."""
        places = map(self._place, range(len(self._info.members)))
        return any(
            is_run(place) and (self._goes_on(place) or not self._has_hash(place, record.sha256))
            for place, record in zip(places, self._info.members, strict=True)
        )

    def train(self, dataset: Dataset) -> None:
        """Goes on from whatever is there."""
        for index in range(len(self._info.members)):
            self._train_member(index, dataset)
        self._finish()

    def _train_member(self, index: int, dataset: Dataset) -> None:
        place, n_members = self._place(index), len(self._info.members)
        n_epochs = sum(_epochs(self._config).values())
        watcher = MemberWatcher(self._watcher, index, n_members, n_epochs, self._begin)
        first = self._place(0) if index else self._calibrated_by
        if not is_run(place):
            train_run(
                dataset,
                place,
                config=self._seeded(index),
                split=self._info.split,
                timestamps=self._info.timestamps,
                device=self._device,
                watcher=watcher,
                calibrated_by=first,
            )
            return
        if self._goes_on(place):
            self._check_begun(index)
            changes = self._changes(place)
            resume_run(
                place,
                settings=changes,
                device=self._device,
                watcher=watcher,
                calibrated_by=first,
            )

    def _goes_on(self, place: Path) -> bool:
        """Whether a member has epochs left, by the settings of the whole run."""
        last = RunFolder(place).last
        if not last.is_file():
            return True
        progress, _ = read_state(last)
        return bool(progress.left_of(_epochs(self._config)))

    def _changes(self, place: Path) -> list[str]:
        """The settings of the whole run that a member does not have yet."""
        _, theirs, _ = RunFolder.open(place)
        found = []
        for name in RESUMABLE:
            ours, own = (
                getattr(one.train, name.partition(".")[2]) for one in (self._config, theirs)
            )
            if ours != own:
                found.append(f"{name}={ours}")
        return found

    @staticmethod
    def _has_hash(place: Path, sha256: str | None) -> bool:
        best = RunFolder(place).best
        return best.is_file() and checkpoint_hash(best) == sha256

    def _begin(self) -> None:
        """The folder becomes a run, or has new settings, when nothing speaks against a member."""
        if not is_run(self._folder.path):
            self._folder.create(self._config, self._info)
        elif RunFolder.open(self._folder.path)[1] != self._config:
            write_text(self._folder.path / CONFIG_FILE, self._config.as_toml())

    def _check_begun(self, index: int) -> None:
        """A member that a kill left before its folder was a run may be of another command."""
        place = self._place(index)
        _, theirs, info = RunFolder.open(place)
        share = theirs.train.validation
        ours = self._seeded(index).replaced(**{"train.validation": share})
        same = (info.dataset, info.split) == (self._info.dataset, self._info.split)
        if is_run(self._folder.path) or (same and theirs == ours):
            return
        raise OutputError(
            "holds a run with other settings", where=place, remedy="choose another --out"
        )

    def _finish(self) -> None:
        records = self._info.members
        members = [
            member
            for index, record in enumerate(records)
            for member in read_members(self._place(index), record.source)
        ]
        check_members(members)
        info = ensemble_info(members)
        # what it has learned from is known before there is a model, the hashes come after it
        unsealed = tuple(replace(one, sha256=None) for one in info.members)
        write_json(self._folder.path / RUN_FILE, asdict(replace(info, members=unsealed)))
        write_members(self._folder, members)
        write_json(self._folder.path / RUN_FILE, asdict(info))

    def _place(self, index: int) -> Path:
        return self._folder.path / MEMBERS_FOLDER / str(index + 1)

    def _seeded(self, index: int) -> Config:
        return self._config.replaced(**{"train.seed": self._info.members[index].seed})


def _epochs(config: Config) -> dict[int, int]:
    """Of each stage."""
    second = config.train.alignment_epochs if has_second_stage(config.model) else 0
    return {1: config.train.epochs, **({2: second} if second else {})}
