"""Epochs to TensorBoard; needs the extra `tensorboard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError

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
        self._writer: Any = None
        self._in_fold = False

    def begin(self, plan: Plan) -> None:
        """Only now there is a run folder to write into."""
        member = f"member{plan.member}" if plan.n_members > 1 else ""
        self._writer = self._make_writer(self._run / "tensorboard" / member)
        self._then.begin(plan)

    def fold(self, number: int, count: int) -> None:
        """Inner runs are not logged."""
        self._in_fold = number > 0
        self._then.fold(number, count)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Only passed on."""
        self._then.pseudo_labels(n_done, n_most)

    def step(self, stage: int, epoch: int, epochs: int, fraction: float) -> None:
        """Only passed on."""
        self._then.step(stage, epoch, epochs, fraction)

    def epoch(self, report: EpochReport) -> None:
        """Losses and validation scores, by stage."""
        groups = {"loss": report.losses, "validation": report.validation}
        for group, values in groups.items() if not self._in_fold else ():
            for name, value in values.items():
                tag = f"stage{report.stage}/{group}/{name}"
                self._writer.add_scalar(tag, value, report.epoch)
        self._writer.flush()
        self._then.epoch(report)
