"""The one loop: epochs of an objective, in one or several processes, with a resumable state."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from uvast.data.scaling import OUT_OF_RANGE
from uvast.errors import TrainingError
from uvast.training.optimisation import (
    WeightAverage,
    build_optimiser,
    learning_rate,
    load_optimiser,
    optimiser_tensors,
)
from uvast.training.watching import EpochReport, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from uvast.config import TrainConfig
    from uvast.data import Batch
    from uvast.training.batches import EpochBatches
    from uvast.training.distributed import Processes
    from uvast.training.objectives import Objective
    from uvast.training.watching import Watcher


class Loop:
    """Trains one stage, epoch by epoch.

    Every epoch starts from a seed of its own, so that a resumed run draws what an uninterrupted
    one would have drawn: the random state is a function of `(seed, stage, epoch, process)`.
    """

    def __init__(
        self,
        objective: Objective,
        config: TrainConfig,
        *,
        stage: int,
        epochs: int,
        processes: Processes,
    ) -> None:
        self.stage = stage
        self.epochs = epochs
        self._objective = objective
        self._config = config
        self._processes = processes
        named = objective.parameters()
        self._parameters = list(named.values())
        self._statistics = objective.statistics()
        self._optimiser = build_optimiser(
            self._parameters,
            kind=config.optimiser,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
        )
        self.average = WeightAverage({**named, **self._statistics}, config.averaging)

    def run_epoch(self, epoch: int, drawn: EpochBatches, watcher: Watcher) -> EpochReport:
        """One pass over this process's batches; `epoch` counts from 0."""
        started = time.perf_counter()
        rate = learning_rate(self._config, epoch, self.epochs)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        torch.manual_seed(epoch_seed(self._config.seed, self.stage, epoch, self._processes.rank))
        self._objective.train_mode()
        meter = _Meter()
        for step in range(drawn.n_steps):
            batches = list(islice(drawn.batches, self._config.accumulation))
            self._step(batches, epoch, meter)
            watcher.step(Step(self.stage, epoch + 1, self.epochs, (step + 1) / drawn.n_steps))
        losses = _means(self._processes.gather(meter))
        seconds = time.perf_counter() - started
        return EpochReport(self.stage, epoch + 1, self.epochs, seconds, rate, losses)

    def _step(self, batches: list[Batch], epoch: int, meter: _Meter) -> None:
        self._optimiser.zero_grad(set_to_none=True)
        weight = float(sum(len(batch.names) for batch in batches))
        for batch in batches:
            losses = self._objective.losses(batch)
            torch.autograd.backward(losses.total * (len(batch.names) / weight))
            values = losses.as_floats()
            meter.add(values, len(batch.names))
            if not math.isfinite(values["total"]):
                weight = math.nan
                meter.failed = batch.names
        if not math.isfinite(self._processes.sum_gradients(self._parameters, weight)):
            raise self._not_finite(batches, meter, epoch)
        norm = get_total_norm([p.grad for p in self._parameters if p.grad is not None])
        if not torch.isfinite(norm):  # the same in every process: gradients are already summed
            raise self._not_finite(batches, meter, epoch)
        if self._config.clip_norm:
            clip_grads_with_norm_(self._parameters, self._config.clip_norm, norm)
        self._optimiser.step()
        self._processes.average_statistics(list(self._statistics.values()), weight)
        self.average.update()

    def _not_finite(self, batches: list[Batch], meter: _Meter, epoch: int) -> TrainingError:
        meter.largest = max((float(batch.features.abs().max()) for batch in batches), default=0.0)
        meters = self._processes.gather(meter)
        videos = ", ".join(name for meter in meters for name in meter.failed)
        what = "loss" if videos else "gradient"
        largest = max(meter.largest for meter in meters)
        remedy = (
            "look for broken features with uvast data check, fix them and resume; if there are "
            "none, start a new run with a lower train.learning_rate or train.clip_norm=1"
        )
        if largest > OUT_OF_RANGE and not self._config.scaling:
            remedy = (
                f"features reach {largest:.2g} and are not scaled: start a new run with "
                "train.scaling=true, or train.scaling=video if only some videos are so large"
            )
        return TrainingError(
            f"the {what} is not finite in epoch {epoch + 1} of stage {self.stage}",
            where=videos or None,
            remedy=remedy,
        )

    def tensors(self) -> dict[str, Tensor]:
        """What a resumed loop needs besides the model's weights."""
        return {**optimiser_tensors(self._optimiser), **self.average.tensors()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Loads what `tensors` returned; a KeyError or ValueError if it is from another loop."""
        load_optimiser(self._optimiser, tensors)
        self.average.load(tensors)


def epoch_seed(seed: int, stage: int, epoch: int, rank: int = 0) -> int:
    """A seed of its own for every epoch of every process."""
    return (((seed * 10 + stage) * 100_003 + epoch) * 4099 + rank) % 2**63


@dataclass
class _Meter:
    """Sums of losses over the videos of an epoch; after a failure, videos and largest feature."""

    n_videos: int = 0
    failed: tuple[str, ...] = ()
    largest: float = 0.0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, losses: dict[str, float], n_videos: int) -> None:
        self.n_videos += n_videos
        for name, value in losses.items():
            self.sums[name] += value * n_videos


def _means(meters: list[_Meter]) -> dict[str, float]:
    """Means over the videos of all processes."""
    n_videos = sum(meter.n_videos for meter in meters)
    names = {name: None for meter in meters for name in meter.sums}
    return {name: sum(meter.sums[name] for meter in meters) / n_videos for name in names}
