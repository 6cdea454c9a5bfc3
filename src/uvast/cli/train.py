"""`uvast train`: a dataset to a run folder."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, progress_bar
from uvast.cli.options import DeviceOption, SettingsOption, TimestampsOption, chosen_config
from uvast.cli.plans import leaves_all_to_data, say_plan
from uvast.cli.project_runs import needs_no_place, own_supervision, run_place
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.progress import Progress, TaskID

    from uvast.config import Config
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
        Path | None, typer.Argument(help="A project, or a dataset's folder.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder to make.", show_default="PROJECT/runs/1, 2, …"),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this run instead.", metavar="RUN")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="auto, small, demo, gtea, 50salads, breakfast, a baseline, or a .toml file.",
            show_default="auto, which looks at the data",
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
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of each stage.", metavar="N")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Videos in a batch.", metavar="N")
    ] = None,
    sampling_rate: Annotated[
        int | None, typer.Option(min=1, help="The model sees every N-th frame.", metavar="N")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Step size of the optimiser, such as 5e-4.", metavar="X")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of everything random.", metavar="N")
    ] = None,
    stage: Annotated[
        Stage | None,
        typer.Option(help="Stage 2 is the alignment decoder.", show_default="both"),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the videos held out to score and choose the model; 0 for none.",
            show_default="0.2 of 10 videos or more without a split, else 0",
        ),
    ] = None,
    device: DeviceOption = "auto",
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what preset auto chooses, as JSON, and stop."),
    ] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also log for TensorBoard (an extra).")
    ] = False,
) -> None:
    """Train a model.

    Example: `uvast train my-videos --out run` looks at the data, says its plan and trains; options
    such as `--epochs 20` change single choices

    The paper's settings: `uvast train data/gtea --split 1 --preset gtea --out runs/gtea-1`;
    `--stage 1` leaves the second stage out, `--set train.alignment_epochs=5` gives it epochs of its
    own

    One click per action: `uvast train my-videos --supervision timestamps --out run`

    A project, from labels or clicks, to its next numbered run: `uvast train my-project`

    After a break, Ctrl-C included: `uvast train --resume runs/gtea-1`; it may come with another
    `--device`, with `--stage`, and with `--set` of train.alignment_epochs,
    train.checkpoint_seconds and train.workers

    Several processes: `torchrun --nproc-per-node 2 -m uvast train data/gtea --out run`
    """
    flags = {
        "model.kind": model,
        "supervision.kind": supervision and supervision.value,
        "supervision.refresh_every": refresh_pseudo_labels,
        "train.epochs": epochs,
        "train.batch_size": batch_size,
        "train.sampling_rate": sampling_rate,
        "train.learning_rate": learning_rate,
        "train.seed": seed,
        "train.validation": validation,
    }
    changes = _changes(settings or [], flags)
    if resume is not None:
        given = (dataset, out, preset, config, split, timestamps, plan or None)
        if any(one is not None for one in given):
            raise ConfigError(
                "a resumed run has its dataset and settings already",
                where="--resume",
                remedy="leave out DATASET, --out, --preset, --config, --split, --timestamps and "
                "--plan",
            )
        _resume(resume, changes, stage, device, tensorboard=tensorboard)
        return
    if dataset is None or (out is None and not plan and not needs_no_place(dataset)):
        raise ConfigError(
            "a dataset and --out are needed", remedy="see uvast train --help, or pass --resume RUN"
        )
    is_auto = leaves_all_to_data(preset, config, changes)
    if plan and not is_auto:
        raise ConfigError(
            "only preset auto plans",
            where="--plan",
            remedy="leave out --preset, --config and --model, or see uvast config",
        )
    if stage is Stage.two:
        raise ConfigError(
            "stage 2 goes on from a trained stage 1",
            where="--stage 2",
            remedy="pass --resume RUN --stage 2",
        )
    changes = own_supervision(dataset) | changes

    from uvast.data import Dataset
    from uvast.data.timestamp_files import ignored_timestamps
    from uvast.training import plan_training
    from uvast.training import train as train_model

    opened = Dataset.open(dataset)
    planned = None
    if is_auto:
        planned = plan_training(
            opened, split=split, timestamps=timestamps, settings=_settings(changes)
        )
        chosen = planned.config
    else:
        chosen = chosen_config(preset, config, model, _settings(changes))
    chosen = chosen.replaced(**_second_stage(chosen, stage, changes))
    has_clicks = chosen.supervision.kind == "timestamps"
    if timestamps is not None and not has_clicks:
        raise ConfigError(
            "this run has full labels, so a timestamps file would be ignored",
            where="--timestamps",
            remedy="pass --supervision timestamps as well, or leave --timestamps out",
        )
    if has_clicks and timestamps is None and (ignored := ignored_timestamps(dataset)):
        note(ignored)
    if planned is not None:
        say_plan(replace(planned, config=chosen), device, as_json=plan)
    if plan:
        return
    with run_place(dataset, out) as run, _followed(run, tensorboard=tensorboard) as watcher:
        train_model(
            opened,
            run,
            config=chosen,
            split=split,
            timestamps=timestamps,
            device=device,
            watcher=watcher,
        )
    if summary := opened.trim_summary():
        note(summary)
    side = "" if split is None else f" --split {split}"
    model_path = dataset if out is None else out
    note(f"the model is in {run}; try uvast segment {model_path} {dataset}{side} --out predictions")


def _changes(settings: list[str], flags: Mapping[str, object]) -> dict[str, str]:
    """Name to value, of what `--set` and the short forms say; both at once is a slip."""
    changes: dict[str, str] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        changes[name.strip()] = separator + value
    for name, given in flags.items():
        if given is not None:
            if name in changes:
                raise ConfigError(
                    f"{name} is set twice", where="--set", remedy="leave out this or its short form"
                )
            changes[name] = f"={given}"
    return changes


def _settings(changes: dict[str, str]) -> list[str]:
    return [f"{name}{value}" for name, value in changes.items()]


def _second_stage(
    config: Config, stage: Stage | None, changes: dict[str, str]
) -> dict[str, object]:
    """What the options make of the epochs of stage 2."""
    from uvast.config import TrainConfig

    own, name = config.train.alignment_epochs, "train.alignment_epochs"
    if stage in (Stage.two, Stage.both) and config.model.kind != "uvast":
        raise ConfigError(
            f"{config.model.kind} has no second stage",
            where=f"--stage {stage.value}",
            remedy="leave out --stage",
        )
    if stage is Stage.one:
        return {name: 0} if own else {}
    is_meant = own or stage is not None
    if not is_meant or name in changes or (own and "train.epochs" not in changes):
        return {}
    return {name: config.train.epochs or TrainConfig().alignment_epochs}


def _resume(
    run: Path, changes: dict[str, str], stage: Stage | None, device: str, *, tensorboard: bool
) -> None:
    from uvast.runs import RunFolder
    from uvast.training import resume as resume_run

    if stage is not None:
        _, config, _ = RunFolder.open(run)
        if stage is Stage.two and "train.epochs" in changes:
            changes["train.alignment_epochs"] = changes.pop("train.epochs")
        added = _second_stage(config, stage, changes)
        changes |= {name: f"={value}" for name, value in added.items()}
    with _followed(run, tensorboard=tensorboard) as watcher:
        resume_run(run, settings=_settings(changes), device=device, watcher=watcher)
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

        how = (f"go on with: uvast train --resume {run}",) if is_run(run) else ()
        raise KeyboardInterrupt(*how) from None


class TrainingBar:
    """One bar over the epochs of all stages, so that the time left is that of the whole run.

    Pseudo-labels have one of their own before it. A named bar is part of a story that tells the
    plan and the scores itself.
    """

    def __init__(self, progress: Progress, name: str = "") -> None:
        self._progress = progress
        self._name = f"{name}, " if name else ""
        self._left: dict[int, int] = {}
        self._task: TaskID | None = None
        self._labels: TaskID | None = None
        self._text = ""

    def begin(self, plan: Plan) -> None:
        """Tells what there is to do."""
        if self._labels is not None:  # they may have needed fewer rounds than there are at most
            self._progress.remove_task(self._labels)
            self._labels = None
        self._left = plan.epochs
        if not self._name:
            for line in (*plan.notes, _sentence(plan)):
                note(line)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Moves a bar of its own."""
        if self._labels is None:
            self._labels = self._progress.add_task(f"{self._name}pseudo-labels", total=n_most)
        self._progress.update(self._labels, completed=n_done)

    def step(self, stage: int, epoch: int, epochs: int, fraction: float) -> None:
        """Moves the bar; epochs of earlier sessions are none of its own."""
        text = f"{self._name}stage {stage}{self._text}"
        if self._task is None:
            self._task = self._progress.add_task(text, total=sum(self._left.values()))
        before = sum(n for number, n in self._left.items() if number < stage)
        done = before + self._left[stage] - (epochs - epoch + 1) + fraction
        self._progress.update(self._task, completed=round(done, 2), description=text)

    def epoch(self, report: EpochReport) -> None:
        """Shows the losses, and the scores of a validation in a line of their own."""
        self._text = f": loss {report.losses['total']:.2f}"
        if self._progress.console.width >= WIDE:
            terms = [f"{n} {value:.2f}" for n, value in report.losses.items() if n != "total"]
            self._text += f" ({', '.join(terms)})"
        if report.validation and not self._name:
            note(_scores(report))
        self.step(report.stage, report.epoch, report.epochs, 1.0)


def _scores(report: EpochReport) -> str:
    found = report.validation
    f1 = "/".join(f"{found[f'f1@{overlap}']:.1f}" for overlap in (10, 25, 50))
    return (
        f"stage {report.stage}, epoch {report.epoch}: validation Acc {found['acc']:.1f}, "
        f"Edit {found['edit']:.1f}, F1@10/25/50 {f1}"
    )


def _sentence(plan: Plan) -> str:
    if not plan.epochs:
        return "nothing is left to train: the run was finished already"
    (first, n_first), *others = plan.epochs.items()
    parts = [f"{_number(n_first, 'epoch')} of stage {first}"]
    parts += [f"{n} of stage {stage}" for stage, n in others]
    videos = _number(plan.n_videos, "video")
    if plan.n_validation:
        videos += f", {plan.n_validation} more held out for validation"
    return f"training {plan.model} on {videos} ({plan.device}): {', '.join(parts)}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
