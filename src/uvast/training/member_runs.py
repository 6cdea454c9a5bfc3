"""The members of one run folder: each is a run of its own below `RUN/members`.

The inner runs of the first member choose how all of them decode.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from uvast.errors import OutputError
from uvast.files import write_json, write_text
from uvast.files.names import RUN_FILE
from uvast.inference.ensemble import (
    check_members,
    ensemble_info,
    read_members,
    write_members,
)
from uvast.models.build import has_second_stage
from uvast.runs import CONFIG_FILE, MEMBERS_FOLDER, RunFolder, RunInfo, checkpoint_hash, is_run
from uvast.training.member_watcher import MemberWatcher
from uvast.training.resuming import has_work_left
from uvast.training.side_by_side import Task, train_side_by_side
from uvast.training.train import RESUMABLE, open_again, resume_run, train_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.config import Config
    from uvast.data import Dataset
    from uvast.training.watching import Watcher


def resume_member(run: Path, index: int, *, device: str, watcher: Watcher) -> None:
    """Resumes one member, counted from 0, of a run whose first member has been trained."""
    folder, config, info = RunFolder.open(run)
    members = MemberRuns(folder, config, info, device, watcher, None, jobs=1)
    members.train_member(index, open_again(info))


class MemberRuns:
    """Trains the members that are left, and makes one model of all members."""

    def __init__(
        self,
        folder: RunFolder,
        config: Config,
        info: RunInfo,
        device: str,
        watcher: Watcher,
        calibrated_by: Path | None,
        jobs: int,
    ) -> None:
        self._folder = folder
        self._config = config
        self._info = info
        self._device = device
        self._watcher = watcher
        self._calibrated_by = calibrated_by
        self._jobs = jobs

    def has_work_left(self) -> bool:
        """Whether any member that still exists has more to learn, or has learned more."""
        places = map(self._place, range(len(self._info.members)))
        return any(
            is_run(place) and (self._goes_on(place) or not self._has_hash(place, record.sha256))
            for place, record in zip(places, self._info.members, strict=True)
        )

    def train(self, dataset: Dataset) -> None:
        """Continues from whatever exists; the first member's inner runs choose for the others."""
        self.train_member(0, dataset)
        others = range(1, len(self._info.members))
        if self._jobs > 1:
            self._train_side_by_side([index for index in others if self._is_left(index)])
        else:
            for index in others:
                self.train_member(index, dataset)
        self._finish()

    def _train_side_by_side(self, indices: Sequence[int]) -> None:
        if not indices:
            return
        self._begin()
        tasks = [Task(str(self._folder.path), self._device, index) for index in indices]
        train_side_by_side(tasks, [self._watcher] * len(tasks), self._jobs)

    def train_member(self, index: int, dataset: Dataset) -> None:
        """Trains one member to its end, from wherever it stands."""
        place, n_members = self._place(index), len(self._info.members)
        n_epochs = sum(self._epochs.values())
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
                jobs=self._jobs,
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
                jobs=self._jobs,
            )

    def _is_left(self, index: int) -> bool:
        """Whether a member has not begun, or is not finished."""
        place = self._place(index)
        return not is_run(place) or self._goes_on(place)

    def _goes_on(self, place: Path) -> bool:
        """Whether a member is not finished, according to the settings of the whole run."""
        return has_work_left(RunFolder(place), self._config)

    def _changes(self, place: Path) -> list[str]:
        """The settings of the whole run that a member does not have yet."""
        theirs = RunFolder.open(place).config
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
        """Makes the folder a run, or updates its settings, once a member has passed all checks."""
        if not is_run(self._folder.path):
            self._folder.create(self._config, self._info)
        elif RunFolder.open(self._folder.path).config != self._config:
            write_text(self._folder.path / CONFIG_FILE, self._config.as_toml())

    def _check_begun(self, index: int) -> None:
        """Refuses a member with other settings, which a killed command may have left behind."""
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
        # first what the model has learned from, then the model, and last the hashes
        unsealed = tuple(replace(one, sha256=None) for one in info.members)
        write_json(self._folder.path / RUN_FILE, asdict(replace(info, members=unsealed)))
        write_members(self._folder, members)
        write_json(self._folder.path / RUN_FILE, asdict(info))

    @property
    def _epochs(self) -> dict[int, int]:
        """The epochs of each stage of a member."""
        has_second = has_second_stage(self._config.model)
        return self._config.train.epochs_of_stages(has_second=has_second)

    def _place(self, index: int) -> Path:
        return self._folder.path / MEMBERS_FOLDER / str(index + 1)

    def _seeded(self, index: int) -> Config:
        return self._config.replaced(**{"train.seed": self._info.members[index].seed})
