"""Writes epochs to TensorBoard; needs the extra `tensorboard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.training.watching import EpochReport, Plan, Step, Watcher


class TensorBoard:
    """Passes everything on to another watcher, and writes epochs to `RUN/tensorboard`."""

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

    def begin(self, plan: Plan) -> None:
        """Opens a writer: only now is there a run folder to write into."""
        member = f"member{plan.member}" if plan.n_members > 1 else ""
        self._writers[plan.member] = self._make_writer(self._run / "tensorboard" / member)
        self._then.begin(plan)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Only passes it on."""
        self._then.pseudo_labels(n_done, n_most)

    def step(self, step: Step) -> None:
        """Only passes it on."""
        self._then.step(step)

    def epoch(self, report: EpochReport) -> None:
        """Writes losses and validation scores by stage and member; inner runs are not logged."""
        if not report.part.fold:
            writer = self._writers[report.part.member]
            for group, values in (("loss", report.losses), ("validation", report.validation)):
                for name, value in values.items():
                    writer.add_scalar(f"stage{report.stage}/{group}/{name}", value, report.epoch)
            writer.flush()
        self._then.epoch(report)
