"""Watchers of a run, and what they hear about: the plan, steps and epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from uvast.runs import LOG_COLUMNS


@dataclass(frozen=True)
class Part:
    """The part of a run that a step or an epoch belongs to.

    Args:
        member: counted from 1.
        fold: its inner run, counted from 1; 0 is the member itself.
        n_folds: how many inner runs the member has.
    """

    member: int = 1
    fold: int = 0
    n_folds: int = 0


@dataclass(frozen=True)
class Step:
    """A finished optimiser step.

    Args:
        stage: 1 or 2.
        epoch: counted from 1.
        epochs: how many the stage has.
        fraction: how much of the epoch is done.
        part: the part of the run it belongs to.
    """

    stage: int
    epoch: int
    epochs: int
    fraction: float
    part: Part = Part()


@dataclass(frozen=True)
class EpochReport:
    """The results of an epoch, for the log, the progress bar and a caller's own use."""

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

    `epochs` has the epochs left for each stage and is empty if the run is finished;
    `n_validation` more videos are held out to score and choose the model; `notes` say which
    videos and stretches are left out; `folds` has the epochs left for each inner run. `member` is
    the member that begins, counted from 1, and `later_epochs` are those of the members that
    follow. The run learns from `n_unlabelled` more videos without their labels, and is
    `transductive` if those are the ones to be scored.
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
    """Anything that follows a run: a progress bar, TensorBoard, a caller's own code."""

    def begin(self, plan: Plan) -> None:
        """Called before the first epoch, once the run has passed all checks."""
        ...

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Called while targets are made from timestamps, before the first epoch."""
        ...

    def step(self, step: Step) -> None:
        """Called after an optimiser step; parts that are trained side by side take turns."""
        ...

    def epoch(self, report: EpochReport) -> None:
        """Called after an epoch."""
        ...


class Silent:
    """A watcher that ignores everything."""

    def begin(self, plan: Plan) -> None:
        """Does nothing."""

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Does nothing."""

    def step(self, step: Step) -> None:
        """Does nothing."""

    def epoch(self, report: EpochReport) -> None:
        """Does nothing."""
