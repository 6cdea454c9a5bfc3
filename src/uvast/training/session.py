"""One training run from wherever it stands to its end: two stages, epochs, validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from uvast.inference.priors import Priors
from uvast.inference.segmenter import Segmenter
from uvast.models.build import build_model, mask_token
from uvast.models.protocols import as_aligner
from uvast.training.batches import chunk_fraction_of, draw_epoch, sample_augmentation
from uvast.training.checkpoints import Checkpoints
from uvast.training.drawn_targets import drawn_targets, uncertain_cuts
from uvast.training.loop import Loop, epoch_seed
from uvast.training.objectives import StageTwo, stage_one_objective
from uvast.training.refresh import is_refreshed, refreshed_targets
from uvast.training.resuming import Progress, State
from uvast.training.samples import cut_ends
from uvast.training.target_weights import TargetWeights
from uvast.training.validation import ValidationPart
from uvast.training.watching import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from uvast.config import Config
    from uvast.data import Dataset
    from uvast.runs import RunFolder, RunInfo
    from uvast.segments import Segmentation
    from uvast.training.batches import TrainingData
    from uvast.training.distributed import Processes
    from uvast.training.inner_runs import InnerRuns
    from uvast.training.objectives import Objective
    from uvast.training.watching import EpochReport, Watcher


class Session:
    """Trains one run folder to its end."""

    def __init__(
        self,
        folder: RunFolder,
        config: Config,
        info: RunInfo,
        data: TrainingData,
        *,
        device: torch.device,
        processes: Processes,
        watcher: Watcher,
    ) -> None:
        self._folder = folder
        self._config = config
        self._data = data
        self._device = device
        self._processes = processes
        self._watcher = watcher
        self._info = info
        self._validation = ValidationPart(
            data.dataset, data.validation, data.segmentations, data.timestamps
        )
        targets = {name: data.segmentations[name] for name in data.train}
        dataset = data.dataset
        priors = _fitted_priors(targets, config, dataset)
        self._state = State(Progress(), priors, targets)
        self._saved: dict[str, Tensor] = {}
        torch.manual_seed(epoch_seed(config.train.seed, stage=0, epoch=1))
        self._model = build_model(
            config.model, n_features=dataset.n_features, n_classes=len(dataset.vocabulary)
        ).to(device)
        self._checkpoints = Checkpoints(
            folder, config, info, dataset, self._model, processes, data.scaling
        )
        self._augmentation = sample_augmentation(dataset, config.train)
        weights = TargetWeights.fit(targets.values(), len(dataset.vocabulary), config.loss)
        self._stage_one_objective = stage_one_objective(
            self._model, dataset.vocabulary, config.loss, weights
        )
        self._cuts = uncertain_cuts(data, config.supervision)

    def run(self, inner: InnerRuns | None = None) -> None:
        """Trains what is left of the two stages; in a new run, `inner` chooses how to decode."""
        is_new = self._processes.from_first(not self._folder.last.exists())
        inner = inner if is_new else None
        self._state, self._saved = self._checkpoints.read_last(self._state)
        train, kind = self._config.train, self._config.model.kind
        epochs = train.epochs_of_stages(has_second=as_aligner(self._model) is not None)
        left = self._state.progress.left_of(epochs)
        notes, info = self._data.notes, self._info
        folds: dict[int, int] = {}
        if inner is not None:
            notes, folds = (*notes, *inner.notes), inner.left()
        plan = Plan(
            model=kind,
            n_videos=len(info.train),
            device=str(self._device),
            epochs=left,
            n_validation=len(info.validation),
            notes=notes,
            folds=folds,
            n_unlabelled=len(info.unlabelled),
            transductive=info.transductive,
        )
        self._watcher.begin(plan)
        if inner is not None and (found := inner.calibration(self._data)) is not None:
            self._state = replace(self._state, priors=found.applied(self._state.priors))
        if 1 in left:
            self._stage_one(last_stage=2 not in left)
        if 2 in left:
            self._stage_two()
        if not self._state.progress.finished:  # its second stage was begun and called off
            self._move_to(replace(self._state.progress, finished=True))

    def _stage_one(self, *, last_stage: bool) -> None:
        self._train(self._loop(self._stage_one_objective, 1, self._config.train.epochs))
        if self._validation:
            self._state = replace(self._state, priors=self._calibrated())
        self._checkpoints.write_best(self._state)
        if last_stage:
            self._move_to(replace(self._state.progress, finished=True))
        else:
            self._move_to(Progress(stage=2))

    def _stage_two(self) -> None:
        if self._state.progress.stage == 1:  # a finished first stage gets its second
            self._checkpoints.load_best()
            self._move_to(Progress(stage=2))
        torch.manual_seed(epoch_seed(self._config.train.seed, stage=0, epoch=2))
        objective = StageTwo(self._model, self._data.dataset.vocabulary)
        self._train(self._loop(objective, 2, self._config.train.alignment_epochs))
        self._checkpoints.write_best(self._state)
        self._move_to(replace(self._state.progress, finished=True))

    def _move_to(self, progress: Progress) -> None:
        self._state = replace(self._state, progress=progress)
        self._checkpoints.write_last(self._state, {})

    def _loop(self, objective: Objective, stage: int, epochs: int) -> Loop:
        train, processes = self._config.train, self._processes
        loop = Loop(objective, train, stage=stage, epochs=epochs, processes=processes)
        if self._state.progress.epoch:
            self._checkpoints.load_loop(loop, self._saved)
        self._saved = {}
        return loop

    def _train(self, loop: Loop) -> None:
        """Trains the epochs left; ends with the best epoch's weights, or with the average."""
        limits = self._config.train.patience, self._config.train.validate_every
        while (now := self._state.progress).epoch < loop.epochs and not now.is_over(*limits):
            report = self._epoch(loop, now.epoch)
            if self._processes.is_first:
                self._folder.append_log(report.as_row())
                # `best` was just written: `last`, which names its epoch, must not lag behind
                chosen = self._state.progress.best_epoch == report.epoch
                waited = self._checkpoints.seconds_since_last
                if chosen or waited >= self._config.train.checkpoint_seconds:
                    self._checkpoints.write_last(self._state, loop.tensors())
            self._watcher.epoch(report)
        if self._state.progress.best_epoch:
            self._checkpoints.load_best()
        else:
            loop.average.swap()

    def _epoch(self, loop: Loop, epoch: int) -> EpochReport:
        """Trains and validates one epoch, counted from 0."""
        if loop.stage == 1 and is_refreshed(epoch, self._config.supervision):
            self._refresh(loop)
        drawn = draw_epoch(
            self._data.dataset,
            self._targets(loop.stage, epoch),
            self._config,
            stage=loop.stage,
            epoch=epoch,
            device=self._device,
            processes=self._processes,
            timestamps=self._data.timestamps,
            scaling=self._data.scaling,
            augmentation=self._augmentation,
            mask_token=mask_token(self._model),
            unlabelled=self._info.unlabelled,
        )
        report = loop.run_epoch(epoch, drawn, self._watcher)
        self._state = self._state.having(epoch=epoch + 1)
        return replace(report, validation=self._validate(loop))

    def _targets(self, stage: int, epoch: int) -> Mapping[str, Segmentation]:
        """The targets of one epoch: as they are, or drawn where cuts are uncertain."""
        if not self._cuts:
            return self._state.targets
        return drawn_targets(self._cuts, seed=self._config.train.seed, stage=stage, epoch=epoch)

    def _refresh(self, loop: Loop) -> None:
        """Cuts the targets again from what the model has learned."""
        dataset, timestamps = self._data.dataset, self._data.timestamps
        mine = tuple(self._state.targets)[self._processes.rank :: self._processes.count]
        loop.average.swap()
        cut = refreshed_targets(
            self._segmenter(), dataset, mine, timestamps, self._config.supervision
        )
        loop.average.swap()
        targets = dict(self._state.targets)
        for part in self._processes.gather(cut):
            targets |= part
        before = self._state.priors
        fitted = _fitted_priors(targets, self._config, dataset)
        priors = replace(fitted, weights=before.weights, temperature=before.temperature)
        self._state = replace(self._state, targets=targets, priors=priors)

    def _validate(self, loop: Loop) -> dict[str, float]:
        """Scores the validation part every few epochs; writes `best` when the score rises."""
        now, every = self._state.progress, self._config.train.validate_every
        if not self._validation or (now.epoch % every and now.epoch != loop.epochs):
            return {}
        loop.average.swap()
        scores = {}
        if self._processes.is_first:
            scores = self._validation.scores(self._segmenter(), loop.stage)
        scores = self._processes.from_first(scores)
        score = scores["selection"]
        if now.best_score is None or score > now.best_score:
            self._state = self._state.having(best_score=score, best_epoch=now.epoch)
            self._checkpoints.write_best(self._state)
        loop.average.swap()
        return scores

    def _calibrated(self) -> Priors:
        priors = self._state.priors
        if self._processes.is_first:
            priors = self._validation.calibrated(self._segmenter())
        return self._processes.from_first(priors)

    def _segmenter(self) -> Segmenter:
        return Segmenter(
            self._model.eval(),
            vocabulary=self._data.dataset.vocabulary,
            config=self._config,
            priors=self._state.priors,
            scaling=self._data.scaling,
        ).of_levelled


def _fitted_priors(targets: Mapping[str, Segmentation], config: Config, dataset: Dataset) -> Priors:
    return Priors.fit(
        list(targets.values()),
        len(dataset.vocabulary),
        chunk_fraction=chunk_fraction_of(config),
        cuts=[cut_ends(dataset, sample) for sample in targets],
    )
