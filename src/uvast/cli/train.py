"""`uvast train`: a dataset to a run folder."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, progress_bar
from uvast.cli.options import DeviceOption, SettingsOption, TimestampsOption, chosen_config
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID

    from uvast.training import EpochReport, Plan, Watcher


WIDE = 140
"""Columns of a terminal that has room for every term of the loss."""


class Supervision(str, Enum):
    """Where targets come from."""

    full = "full"
    timestamps = "timestamps"


class Stage(str, Enum):
    """Which stages to train."""

    one = "1"
    two = "2"
    both = "both"


def train(
    dataset: Annotated[
        Path | None, typer.Argument(help="Folder of the dataset.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder to make.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this run instead.", metavar="RUN")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="small, demo, gtea, 50salads, breakfast, a baseline's name, or a .toml file."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings from a TOML file.")] = None,
    settings: SettingsOption = None,
    model: Annotated[str | None, typer.Option(help="uvast or a baseline.")] = None,
    split: Annotated[
        int | None,
        typer.Option(help="Train on this split's training side.", show_default="all videos"),
    ] = None,
    supervision: Annotated[Supervision | None, typer.Option(help="Full labels, or clicks.")] = None,
    timestamps: TimestampsOption = None,
    refresh_pseudo_labels: Annotated[
        int | None,
        typer.Option(min=0, help="Cut pseudo-labels again every N epochs; 0 never.", metavar="N"),
    ] = None,
    stage: Annotated[Stage, typer.Option(help="Stage 2 is the alignment decoder.")] = Stage.both,
    validation: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of the training side that selects the model."),
    ] = None,
    device: DeviceOption = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Of everything random.")] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also log for TensorBoard (an extra).")
    ] = False,
) -> None:
    """Train a model.

    Example: `uvast train data/gtea --split 1 --preset gtea --out runs/gtea-1`

    A short one: `uvast train data/gtea --set train.epochs=20 --set train.alignment_epochs=5 --out
    run`; each stage counts its own epochs, and `--stage 1` leaves the second out

    One click per action: `uvast train my-videos --supervision timestamps --preset small --out run`

    After a break, Ctrl-C included: `uvast train --resume runs/gtea-1`; it may come with another
    `--device`, with `--stage 2`, and with `--set` of train.alignment_epochs,
    train.checkpoint_seconds and train.workers

    Several processes: `torchrun --nproc-per-node 2 -m uvast train data/gtea --out run`
    """
    changes = list(settings or [])
    flags = {
        "model.kind": model,
        "supervision.kind": supervision and supervision.value,
        "supervision.refresh_every": refresh_pseudo_labels,
        "train.validation": validation,
        "train.seed": seed,
    }
    changes += [f"{name}={value}" for name, value in flags.items() if value is not None]
    if resume is not None:
        _refuse_with_resume(dataset, out, preset, config, split, timestamps)
        _resume(resume, changes, stage, device, tensorboard=tensorboard)
        return
    if dataset is None or out is None:
        raise ConfigError(
            "a dataset and --out are needed", remedy="see uvast train --help, or pass --resume RUN"
        )
    if stage is Stage.two:
        raise ConfigError(
            "stage 2 goes on from a trained stage 1",
            where="--stage 2",
            remedy="pass --resume RUN --stage 2",
        )
    if stage is Stage.one:
        changes.append("train.alignment_epochs=0")

    from uvast.data import Dataset
    from uvast.data.timestamp_files import ignored_timestamps
    from uvast.training import train as train_model

    chosen = chosen_config(preset, config, model, changes)
    opened = Dataset.open(dataset)
    own_clicks = chosen.supervision.kind == "timestamps" and timestamps is None
    if own_clicks and (ignored := ignored_timestamps(dataset)):
        note(ignored)
    with _followed(out, tensorboard=tensorboard) as watcher:
        train_model(
            opened,
            out,
            config=chosen,
            split=split,
            timestamps=timestamps,
            device=device,
            watcher=watcher,
        )
    if summary := opened.trim_summary():
        note(summary)
    side = "" if split is None else f" --split {split}"
    note(f"the model is in {out}; try uvast segment {out} {dataset}{side} --out predictions")


def _refuse_with_resume(*given: object) -> None:
    if any(value is not None for value in given):
        raise ConfigError(
            "a resumed run has its dataset and settings already",
            where="--resume",
            remedy="leave out DATASET, --out, --preset, --config, --split and --timestamps",
        )


def _resume(run: Path, changes: list[str], stage: Stage, device: str, *, tensorboard: bool) -> None:
    from uvast.config import Config
    from uvast.runs import RunFolder
    from uvast.training import resume as resume_run

    if stage is Stage.two:
        _, config, _ = RunFolder.open(run)
        if not config.train.alignment_epochs and not any(
            change.startswith("train.alignment_epochs") for change in changes
        ):
            epochs = config.train.epochs or Config().train.alignment_epochs
            changes.append(f"train.alignment_epochs={epochs}")
    with _followed(run, tensorboard=tensorboard) as watcher:
        resume_run(run, settings=changes, device=device, watcher=watcher)
    note(f"the model is in {run}")


@contextmanager
def _followed(run: Path, *, tensorboard: bool) -> Iterator[Watcher]:
    """A progress bar, and TensorBoard if asked for; an interrupt says how to go on."""
    try:
        with progress_bar() as progress:
            watcher: Watcher = TrainingBar(progress)
            if tensorboard:
                from uvast.training.tensorboard import TensorBoard

                watcher = TensorBoard(run, watcher)
            yield watcher
    except KeyboardInterrupt:
        from uvast.runs import is_run

        begun = is_run(run)
        how = (f"go on with: uvast train --resume {run}",) if begun else ()
        raise KeyboardInterrupt(*how) from None


class TrainingBar:
    """Shows each stage as one bar over its epochs, and one for pseudo-labels before them."""

    def __init__(self, progress: Progress, name: str = "") -> None:
        self._progress = progress
        self._name = f"{name}, " if name else ""
        self._tasks: dict[int, TaskID] = {}
        self._labels: TaskID | None = None
        self._text = ""

    def begin(self, plan: Plan) -> None:
        """Tells what there is to do; a named bar is part of a story that tells it."""
        if self._labels is not None:  # they may have needed fewer rounds than there are at most
            self._progress.remove_task(self._labels)
            self._labels = None
        if not self._name:
            note(_sentence(plan))

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Moves a bar of its own."""
        if self._labels is None:
            self._labels = self._progress.add_task(f"{self._name}pseudo-labels", total=n_most)
        self._progress.update(self._labels, completed=n_done)

    def step(self, stage: int, epoch: int, epochs: int, fraction: float) -> None:
        """Moves the bar."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(f"{self._name}stage {stage}", total=epochs)
        self._progress.update(
            self._tasks[stage],
            completed=round(epoch - 1 + fraction, 2),
            description=f"{self._name}stage {stage}{self._text}",
        )

    def epoch(self, report: EpochReport) -> None:
        """Shows the losses."""
        self._text = f": loss {report.losses['total']:.2f}"
        if report.validation:
            self._text += f", validation {report.validation['score']:.1f}"
        if self._progress.console.width >= WIDE:
            terms = [f"{n} {value:.2f}" for n, value in report.losses.items() if n != "total"]
            self._text += f" ({', '.join(terms)})"
        self.step(report.stage, report.epoch, report.epochs, 1.0)


def _sentence(plan: Plan) -> str:
    if not plan.epochs:
        return "nothing is left to train: the run was finished already"
    (first, n_first), *others = plan.epochs.items()
    parts = [f"{_number(n_first, 'epoch')} of stage {first}"]
    parts += [f"{n} of stage {stage}" for stage, n in others]
    videos = _number(plan.n_videos, "video")
    return f"training {plan.model} on {videos} ({plan.device}): {', '.join(parts)}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
