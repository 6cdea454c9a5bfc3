"""Inner runs choose the weights of decoding out of fold, before the run learns from all videos.

    RUN/folds/1, 2, …        an ordinary run each; its checkpoints go when the weights are chosen
    RUN/folds/weights.json   what the held-out videos of all of them chose

An interrupted inner run is resumed with the run, and a finished one is not trained again:
interruptions do not change the weights.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

from uvast.errors import CheckpointError, SplitError
from uvast.files import is_present, read_record, write_json
from uvast.inference.calibration import Calibration, calibrate
from uvast.inference.segmenter import load
from uvast.runs import RunFolder, is_run
from uvast.training.folds import LEAST_FOR_FOLDS, folds_of
from uvast.training.preparing import held_alone, open_session
from uvast.training.resuming import read_progress
from uvast.training.side_by_side import Task, train_side_by_side
from uvast.training.validation import ValidationPart
from uvast.training.watching import Part, Silent

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from uvast.config import Config
    from uvast.data import Dataset
    from uvast.data.folds import Fold
    from uvast.inference.held_out import HeldOut
    from uvast.runs import RunInfo
    from uvast.training.batches import TrainingData
    from uvast.training.distributed import Processes
    from uvast.training.samples import Samples
    from uvast.training.watching import EpochReport, Plan, Step, Watcher

FOLDS = "folds"
WEIGHTS_FILE = "weights.json"
CHOOSE_AGAIN = "remove the file: the inner runs are trained again"


def read_calibration(run: Path) -> Calibration | None:
    """What the inner runs of a run chose; None if it has none, or not yet."""
    path = run / FOLDS / WEIGHTS_FILE
    if not is_present(path):
        return None
    return read_record(path, Calibration, error=CheckpointError, remedy=CHOOSE_AGAIN)


def check_other(other: Path, info: RunInfo) -> None:
    """Refuses another run's choice if one of its videos is not on this run's training side.

    That video may be on this run's test side, and its labels took part in the choice.
    """
    own = {*info.train, *info.validation}
    strange = next((name for name in RunFolder.open(other).info.train if name not in own), None)
    if strange is not None:
        raise SplitError(
            f"chose how to decode on video {strange}, which this run does not learn from",
            where=other,
            remedy="name a run of the same split and videos, or none",
        )


@dataclass(frozen=True, eq=False)
class InnerRuns:
    """The inner runs of a run; none if its settings or a validation part make them unnecessary."""

    run: RunFolder
    config: Config
    info: RunInfo
    dataset: Dataset
    samples: Samples
    device: torch.device
    processes: Processes
    watcher: Watcher | None
    jobs: int = 1

    @cached_property
    def folds(self) -> tuple[Fold, ...]:
        """The parts of the training side."""
        return folds_of(self.config, self.info.train, self.info.validation, self.dataset)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why a run cannot choose its weights, if it cannot."""
        train = self.config.train
        wanted = train.folds and train.epochs and not self.info.validation
        if not wanted or self.folds:
            return ()
        return (
            f"fewer than {LEAST_FOR_FOLDS} videos cannot choose how to decode: "
            "the usual weights are kept",
        )

    def take_over(self, other: Path) -> None:
        """Copies what another run's inner runs chose, before any of this run's are trained."""
        path = self.run.path / FOLDS / WEIGHTS_FILE
        found = read_calibration(other)
        if found is None or not self.folds or not self.processes.is_first or is_present(path):
            return
        path.parent.mkdir(exist_ok=True)
        write_json(path, asdict(found))

    def left(self) -> dict[int, int]:
        """The epochs left for each unfinished inner run, by its number."""
        if is_present(self.run.path / FOLDS / WEIGHTS_FILE):
            return {}
        epochs = self.config.train.epochs_of_fold
        found = {fold.number: epochs - self._n_trained(fold) for fold in self.folds}
        return {number: n for number, n in found.items() if n}

    def calibration(self, data: TrainingData) -> Calibration | None:
        """Trains the inner runs that are left; chooses the weights, or reads those chosen before.

        `data` has the truths of all videos, each of which is held out once.
        """
        if not self.folds:
            return None
        watcher = self.watcher if self.watcher and self.processes.is_first else Silent()
        path = self.run.path / FOLDS / WEIGHTS_FILE
        if not self.processes.from_first(is_present(path)):
            self._train_all(watcher, self._config(data))
            if self.processes.is_first:
                found = [one for fold in self.folds for one in self._held_out(fold, data)]
                write_json(path, asdict(calibrate(found, share=self._share)))
        calibration = None
        if self.processes.is_first:
            calibration = read_calibration(self.run.path)
            self._remove_checkpoints()
        return self.processes.from_first(calibration)

    @property
    def _share(self) -> float:
        """The share of the videos that an inner run learns from."""
        return fmean(len(fold.train) for fold in self.folds) / len(self.info.train)

    def _place(self, fold: Fold) -> RunFolder:
        return RunFolder(self.run.path / FOLDS / str(fold.number))

    def _n_trained(self, fold: Fold) -> int:
        last = self._place(fold).last
        return read_progress(last).epoch if is_present(last) else 0

    def _train_all(self, watcher: Watcher, config: Config) -> None:
        """Trains the unfinished inner runs, one after the other or side by side."""
        places = {fold: self._place(fold) for fold in self.folds}
        left = self.processes.from_first(
            [fold for fold in self.folds if not places[fold].is_finished()]
        )
        for fold in left:
            if self.processes.is_first and not is_run(places[fold].path):
                places[fold].create(config, self._info(fold))
        self.processes.wait()
        told = [_Inner(watcher, Part(fold=one.number, n_folds=len(self.folds))) for one in left]
        if self.jobs > 1:
            tasks = [Task(str(places[fold].path), str(self.device)) for fold in left]
            train_side_by_side(tasks, told, self.jobs)
            return
        for fold, its_watcher in zip(left, told, strict=True):
            self._train(places[fold], its_watcher)

    def _train(self, place: RunFolder, watcher: Watcher) -> None:
        """Trains one inner run to its end, from wherever it stands."""
        processes = self.processes
        _, config, info = RunFolder.open(place.path)
        session = open_session(
            place,
            config,
            info,
            self.dataset,
            self.samples,
            device=self.device,
            processes=processes,
            watcher=watcher,
        )
        with held_alone(place, processes):
            session.run()

    def _info(self, fold: Fold) -> RunInfo:
        """The info of an inner run: its held-out videos take the place of the test side."""
        # the labels of all videos are checked when the run itself is resumed
        info = replace(self.info, train=fold.train, validation=(), labels="")
        return replace(info, unlabelled=fold.held_out) if info.transductive else info

    def _config(self, data: TrainingData) -> Config:
        """The settings of an inner run, which scales as the run itself does.

        It has no second stage, since no weight depends on it.
        """
        levels = data.scaling is not None and data.scaling.levels
        return self.config.replaced(
            **{
                "train.folds": 0,
                "train.epochs": self.config.train.epochs_of_fold,
                "train.alignment_epochs": 0,
                "train.scaling": "video" if levels else data.scaling is not None,
            }
        )

    def _held_out(self, fold: Fold, data: TrainingData) -> list[HeldOut]:
        """What an inner run predicts for the videos that it did not learn from."""
        place = self._place(fold)
        info = RunFolder.open(place.path).info
        names = self.samples.of(name for name in self.info.train if name not in info.train)
        part = ValidationPart(data.dataset, names, data.segmentations, data.timestamps)
        return part.held_out(load(place.path, device=str(self.device)).of_levelled)

    def _remove_checkpoints(self) -> None:
        """Leaves a few kilobytes of each inner run: its settings, its videos, its log."""
        for fold in self.folds:
            place = self._place(fold)
            for path in (place.last, place.best):
                path.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Inner:
    """Passes on what happens in an inner run, except its plan: the run has announced its own."""

    then: Watcher
    of: Part

    def begin(self, plan: Plan) -> None:
        """Does nothing: the run has already begun."""

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Only passes it on."""
        self.then.pseudo_labels(n_done, n_most)

    def step(self, step: Step) -> None:
        """Adds the inner run."""
        self.then.step(replace(step, part=self.of))

    def epoch(self, report: EpochReport) -> None:
        """Adds the inner run."""
        self.then.epoch(replace(report, part=self.of))
