"""Epochs to TensorBoard; needs the extra `tensorboard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError
from uvast.training.watching import Part

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.training.watching import EpochReport, Plan, Watcher


class TensorBoard:
    """Passes on what it sees to another watcher, and writes it to `RUN/tensorboard`."""

    def __init__(self, run: Path, then: Watcher) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "TensorBoard is not installed",
                where="--tensorboard",
                remedy="pip install '.[tensorboard]' in uvast's folder",
            ) from error
        self._make_writer = SummaryWriter
        self._run = run
        self._then = then
        self._writers: dict[int, Any] = {}
        self._part = Part()

    def begin(self, plan: Plan) -> None:
        """Only now there is a run folder to write into."""
        member = f"member{plan.member}" if plan.n_members > 1 else ""
        self._writers[plan.member] = self._make_writer(self._run / "tensorboard" / member)
        self._part = Part(plan.member)
        self._then.begin(plan)

    def part(self, part: Part) -> None:
        """Each member has a log of its own."""
        self._part = part
        self._then.part(part)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Only passed on."""
        self._then.pseudo_labels(n_done, n_most)

    def step(self, stage: int, epoch: int, epochs: int, fraction: float) -> None:
        """Only passed on."""
        self._then.step(stage, epoch, epochs, fraction)

    def epoch(self, report: EpochReport) -> None:
        """Losses and validation scores, by stage; inner runs are not logged."""
        if not self._part.fold:
            writer = self._writers[self._part.member]
            for group, values in (("loss", report.losses), ("validation", report.validation)):
                for name, value in values.items():
                    writer.add_scalar(f"stage{report.stage}/{group}/{name}", value, report.epoch)
            writer.flush()
        self._then.epoch(report)
