"""One training run from start to finish: two stages, validation, checkpoints, resuming."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from uvast.data import VideoLoader
from uvast.inference.priors import Priors
from uvast.inference.segmenter import Segmenter
from uvast.models import Uvast
from uvast.models.build import build_model
from uvast.models.checkpoint import (
    MODEL_PREFIX,
    misfit,
    model_tensors,
    read_card,
    read_checkpoint,
    write_checkpoint,
)
from uvast.training.augmentation import augment
from uvast.training.checks import check_config
from uvast.training.loop import EpochReport, Loop, Plan, epoch_seed
from uvast.training.objectives import StageTwo, stage_one_objective
from uvast.training.refresh import refreshed_targets
from uvast.training.resuming import (
    Progress,
    model_card,
    read_state,
    read_targets,
    target_tensors,
)
from uvast.training.validation import ValidationPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

    from uvast.config import Config
    from uvast.data import Batch, Dataset, Timestamps
    from uvast.models.checkpoint import ModelCard
    from uvast.runs import RunFolder, RunInfo
    from uvast.segments import Segmentation
    from uvast.training.distributed import Processes
    from uvast.training.loop import Watcher
    from uvast.training.objectives import Objective


@dataclass(frozen=True)
class TrainingData:
    """What a run learns from.

    Args:
        dataset: the features.
        segmentations: targets of the training and validation videos, by name.
        timestamps: what pseudo-segmentations were made from; empty with full labels.
    """

    dataset: Dataset
    segmentations: Mapping[str, Segmentation]
    timestamps: Mapping[str, Timestamps]


class Session:
    """Trains one run folder to its end, from wherever it stands."""

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
        self._info = info
        self._data = data
        self._device = device
        self._processes = processes
        self._watcher = watcher
        self._targets = {name: data.segmentations[name] for name in info.train}
        self._validation = ValidationPart(data.dataset, info.validation, data.segmentations)
        self._priors = self._fitted_priors()
        self._progress = Progress()
        self._saved: dict[str, Tensor] = {}
        self._saved_at = time.monotonic()
        dataset = data.dataset
        torch.manual_seed(epoch_seed(config.train.seed, stage=0, epoch=1))
        self._model = build_model(
            config.model, n_features=dataset.n_features, n_classes=len(dataset.vocabulary)
        ).to(device)
        self._stage_one_objective = stage_one_objective(self._model, dataset.vocabulary, config)
        check_config(self._model, config)

    def run(self) -> None:
        """Trains what is left of the two stages."""
        self._restore()
        left = self._epochs_left()
        self._watcher.begin(
            Plan(self._config.model.kind, len(self._info.train), str(self._device), left)
        )
        if 1 in left:
            self._stage_one(last_stage=2 not in left)
        if 2 in left:
            self._stage_two()

    def _epochs_left(self) -> dict[int, int]:
        """Stage to epochs, of the stages that are not finished."""
        train, now = self._config.train, self._progress
        epochs = {1: train.epochs}
        if isinstance(self._model, Uvast) and train.alignment_epochs:
            epochs[2] = train.alignment_epochs
        return {
            stage: n - now.epoch * (stage == now.stage)
            for stage, n in epochs.items()
            if stage > now.stage or (stage == now.stage and not now.finished)
        }

    def _restore(self) -> None:
        """Reads the newest state, if there is one; rows of the log after it are dropped."""
        if not self._folder.last.exists():
            if self._processes.is_first:
                self._folder.truncate_log(1, 0)
            return
        self._progress, contents = read_state(self._folder.last)
        if any(name.startswith(f"{MODEL_PREFIX}alignment.") for name in contents.tensors):
            assert isinstance(self._model, Uvast), "only uvast has a second stage"
            self._model.add_alignment()
        self._load_weights(contents.tensors)
        self._targets.update(read_targets(contents.tensors))
        self._saved = contents.tensors
        self._priors = Priors.from_dict(read_card(self._folder.last, contents.metadata).decoding)
        if self._processes.is_first:
            self._folder.truncate_log(self._progress.stage, self._progress.epoch)

    def _stage_one(self, *, last_stage: bool) -> None:
        train = self._config.train
        loop = self._loop(self._stage_one_objective, stage=1, epochs=train.epochs)
        self._train(loop, chunk_fraction=train.chunk_fraction if self._full_labels else 0.0)
        if self._validation:
            self._priors = self._calibrated()
        self._write_best()
        if last_stage:
            self._write_last(loop, replace(self._progress, finished=True))
        else:
            self._write_last(None, Progress(stage=2))

    def _stage_two(self) -> None:
        if self._progress.stage == 1:  # a finished first stage gets its second
            self._load_weights(read_checkpoint(self._folder.best, prefix=MODEL_PREFIX).tensors)
            self._saved = {}
            self._write_last(None, Progress(stage=2))
        assert isinstance(self._model, Uvast), "only uvast has a second stage"
        torch.manual_seed(epoch_seed(self._config.train.seed, stage=0, epoch=2))
        objective = StageTwo(self._model, self._data.dataset.vocabulary)
        loop = self._loop(objective, stage=2, epochs=self._config.train.alignment_epochs)
        self._train(loop, chunk_fraction=0.0)
        self._write_best()
        self._write_last(loop, replace(self._progress, finished=True))

    def _loop(self, objective: Objective, *, stage: int, epochs: int) -> Loop:
        loop = Loop(
            objective,
            self._config.train,
            stage=stage,
            epochs=epochs,
            processes=self._processes,
        )
        if self._progress.epoch:
            loop.load(self._saved)
        return loop

    def _train(self, loop: Loop, *, chunk_fraction: float) -> None:
        """The epochs left; ends with the weights that validation, or the average, chose."""
        while self._progress.epoch < loop.epochs and not self._out_of_patience():
            epoch = self._progress.epoch
            self._refresh(loop, epoch)
            loader = self._loader(loop.stage, chunk_fraction)
            steps = -(-len(loader) // (self._processes.count * self._config.train.accumulation))
            result = loop.run_epoch(
                epoch, self._batches(loader, loop.stage, epoch), steps, self._watcher
            )
            self._progress = replace(self._progress, epoch=epoch + 1)
            validation = self._validate(loop)
            report = EpochReport(
                loop.stage,
                epoch + 1,
                loop.epochs,
                result.seconds,
                result.learning_rate,
                result.losses,
                validation,
            )
            if self._processes.is_first:
                self._folder.append_log(report.as_row())
                # `best` was written just now: `last`, which names its epoch, must not lag behind
                chosen = self._progress.best_epoch == epoch + 1
                waited = time.monotonic() - self._saved_at
                if chosen or waited >= self._config.train.checkpoint_seconds:
                    self._write_last(loop, self._progress)
            self._watcher.epoch(report)
        if self._progress.best_epoch:
            self._load_weights(read_checkpoint(self._folder.best, prefix=MODEL_PREFIX).tensors)
        else:
            loop.average.swap()

    def _out_of_patience(self) -> bool:
        patience = self._config.train.patience
        best = self._progress.best_epoch
        return bool(patience and best and self._progress.epoch - best >= patience)

    def _loader(self, stage: int, chunk_fraction: float) -> VideoLoader:
        train = self._config.train
        dropping = train.frame_dropping if stage == 1 else train.alignment_frame_dropping
        return VideoLoader(
            self._data.dataset,
            self._info.train,
            self._targets,
            batch_size=train.batch_size,
            shuffle=True,
            seed=epoch_seed(train.seed, stage, 0),
            workers=train.workers,
            max_fraction=chunk_fraction or None,
            frame_dropping=dropping,
            bucketing=train.batch_size > 1,
            pin_memory=self._device.type == "cuda",
            rank=self._processes.rank,
            n_ranks=self._processes.count,
        )

    def _batches(self, loader: VideoLoader, stage: int, epoch: int) -> Iterator[Batch]:
        train = self._config.train
        noise, masking = (train.feature_noise, train.time_masking) if stage == 1 else (0.0, 0.0)
        for batch in loader.epoch(epoch):
            moved = batch.to(self._device, non_blocking=True)
            yield augment(moved, noise=noise, masking=masking)

    def _refresh(self, loop: Loop, epoch: int) -> None:
        """Every so many epochs, targets are cut again from what the model has learned."""
        supervision = self._config.supervision
        every, after = supervision.refresh_every, supervision.refresh_after
        if loop.stage == 2 or not every or epoch < after or (epoch - after) % every:
            return
        loop.average.swap()
        segmenter = self._segmenter()
        mine = self._info.train[self._processes.rank :: self._processes.count]
        targets = refreshed_targets(
            segmenter, self._data.dataset, mine, self._data.timestamps, supervision
        )
        for part in self._processes.gather(targets):
            self._targets.update(part)
        loop.average.swap()
        self._priors = self._fitted_priors()

    def _validate(self, loop: Loop) -> dict[str, float]:
        """Scores of the validation part, every few epochs; writes `best` when they rise."""
        epoch, every = self._progress.epoch, self._config.train.validate_every
        if not self._validation or (epoch % every and epoch != loop.epochs):
            return {}
        loop.average.swap()
        scores = {}
        if self._processes.is_first:
            scores = self._validation.scores(self._segmenter(), loop.stage)
        scores = self._processes.from_first(scores)
        best, score = self._progress.best_score, scores["selection"]
        if best is None or score > best:
            self._progress = replace(self._progress, best_score=score, best_epoch=epoch)
            self._write_best()
        loop.average.swap()
        return scores

    def _calibrated(self) -> Priors:
        priors = self._priors
        if self._processes.is_first:
            priors = self._validation.calibrated(self._segmenter())
        return self._processes.from_first(priors)

    def _fitted_priors(self) -> Priors:
        chunks = self._config.train.chunk_fraction if self._full_labels else 0.0
        return Priors.fit(
            [self._targets[name] for name in self._info.train],
            len(self._data.dataset.vocabulary),
            chunk_fraction=chunks,
        )

    @property
    def _full_labels(self) -> bool:
        return self._config.supervision.kind == "full"

    def _segmenter(self) -> Segmenter:
        spec = self._data.dataset.spec
        return Segmenter(
            self._model.eval(),
            vocabulary=self._data.dataset.vocabulary,
            config=self._config,
            priors=self._priors,
            sampling_rate=spec.sampling_rate,
            frames_per_second=spec.frames_per_second,
        )

    def _card(self) -> ModelCard:
        """Of the weights to use: of the epoch that validation chose, or of the last one."""
        best = self._progress.best_epoch
        selection = f"epoch {best}, chosen on {len(self._validation)} validation videos"
        return self._described(best or self._progress.epoch, selection if best else "last epoch")

    def _described(self, epoch: int, selection: str) -> ModelCard:
        return model_card(
            self._model,
            self._config,
            self._data.dataset,
            self._priors,
            epoch=epoch,
            selection=selection,
        )

    def _load_weights(self, tensors: Mapping[str, Tensor]) -> None:
        start = len(MODEL_PREFIX)
        weights = {n[start:]: v for n, v in tensors.items() if n.startswith(MODEL_PREFIX)}
        try:
            self._model.load_state_dict(weights)
        except RuntimeError as error:
            raise misfit(
                error,
                "the dataset",
                where=self._folder.path,
                remedy="its features or classes have changed: start a new run",
            ) from error

    def _write_best(self) -> None:
        if self._processes.is_first:
            write_checkpoint(self._folder.best, model_tensors(self._model), self._card())
        self._processes.wait()  # the others may read it next

    def _write_last(self, loop: Loop | None, progress: Progress) -> None:
        """Everything a resumed run needs; a stage that is over needs no optimiser."""
        self._progress = progress
        self._saved_at = time.monotonic()
        if not self._processes.is_first:
            return
        tensors = model_tensors(self._model)
        if loop is not None and not progress.finished:
            tensors |= loop.tensors()
        tensors |= target_tensors(self._targets) if self._config.supervision.refresh_every else {}
        card = self._card() if progress.finished else self._described(progress.epoch, "newest")
        write_checkpoint(self._folder.last, tensors, card, extra={"progress": progress.as_json()})
