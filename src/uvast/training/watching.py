"""Who follows a run, and what they are told: the plan, steps, epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from uvast.runs import LOG_COLUMNS


@dataclass(frozen=True)
class Part:
    """What a step or an epoch is of.

    Args:
        member: counted from 1.
        fold: its inner run, counted from 1; 0 is the member itself.
        n_folds: how many inner runs it has.
    """

    member: int = 1
    fold: int = 0
    n_folds: int = 0


@dataclass(frozen=True)
class Step:
    """An optimiser step that is done.

    Args:
        stage: 1 or 2.
        epoch: counted from 1.
        epochs: of the stage.
        fraction: of the epoch that is done.
        part: what it is a step of.
    """

    stage: int
    epoch: int
    epochs: int
    fraction: float
    part: Part = Part()


@dataclass(frozen=True)
class EpochReport:
    """What an epoch gave: for the log, the progress bar and a caller's own use."""

    stage: int
    epoch: int
    epochs: int
    seconds: float
    learning_rate: float
    losses: dict[str, float]
    validation: dict[str, float] = field(default_factory=dict)
    part: Part = Part()

    def as_row(self) -> dict[str, object]:
        """A row of the log."""
        losses = {"loss" if n == "total" else n: value for n, value in self.losses.items()}
        others = [losses.pop(name) for name in tuple(losses) if name not in LOG_COLUMNS]
        if others:
            losses["other"] = sum(others)
        return {
            "stage": self.stage,
            "epoch": self.epoch,
            "seconds": f"{self.seconds:.3f}",
            "learning_rate": f"{self.learning_rate:.6g}",
            **{name: f"{value:.6g}" for name, value in losses.items()},
            **{f"validation_{name}": f"{value:.4f}" for name, value in self.validation.items()},
        }


@dataclass(frozen=True)
class Plan:
    """What a run is about to do.

    `epochs` has the epochs that are left of each stage and is empty if the run is finished;
    `n_validation` more videos are held out to score and choose the model; `notes` tell which
    videos and stretches stay out; `folds` has the epochs that are left of each inner run. Of
    several members, `member` is the one that begins, counted from 1, and `later_epochs` are those
    of the members that follow. From `n_unlabelled` more videos it learns without their labels,
    and is `transductive` if those are the ones to be scored.
    """

    model: str
    n_videos: int
    device: str
    epochs: dict[int, int]
    n_validation: int = 0
    notes: tuple[str, ...] = ()
    folds: dict[int, int] = field(default_factory=dict)
    member: int = 1
    n_members: int = 1
    later_epochs: int = 0
    n_unlabelled: int = 0
    transductive: bool = False


class Watcher(Protocol):
    """Whoever follows a run: a progress bar, TensorBoard, a caller's own code."""

    def begin(self, plan: Plan) -> None:
        """Before the first epoch, when nothing speaks against the run."""
        ...

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """While targets are made from timestamps, before the first epoch."""
        ...

    def step(self, step: Step) -> None:
        """After an optimiser step; those of parts that are trained side by side take turns."""
        ...

    def epoch(self, report: EpochReport) -> None:
        """After an epoch."""
        ...


class Silent:
    """Watches nothing."""

    def begin(self, plan: Plan) -> None:
        """Says nothing."""

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Says nothing."""

    def step(self, step: Step) -> None:
        """Says nothing."""

    def epoch(self, report: EpochReport) -> None:
        """Says nothing."""
