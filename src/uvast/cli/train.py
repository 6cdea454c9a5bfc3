"""`uvast train`: a dataset to a run folder."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import is_first_process, note, progress_bar
from uvast.cli.options import (
    DeviceOption,
    EpochsOption,
    SettingsOption,
    TimestampsOption,
    chosen_config,
)
from uvast.cli.plans import leaves_all_to_data, note_plan, print_plan, timed_plan
from uvast.cli.project_runs import needs_no_place, own_supervision, run_place, say_supervision
from uvast.cli.training_bar import TrainingBar
from uvast.cli.training_settings import (
    Stage,
    as_settings,
    changes_of,
    named_as_typed,
    second_stage,
)
from uvast.errors import ConfigError, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.config import Config
    from uvast.training import Watcher


class Supervision(str, Enum):
    """Where targets come from."""

    full = "full"
    timestamps = "timestamps"


def train(
    dataset: Annotated[
        Path | None, typer.Argument(help="A project, or a dataset's folder.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder to make.", show_default="PROJECT/runs/1, 2, …"),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue this run instead.", metavar="RUN")
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
        typer.Option(min=0, help="Renew pseudo-labels every N epochs; 0 for never.", metavar="N"),
    ] = None,
    epochs: EpochsOption = None,
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
        int | None, typer.Option(min=0, help="Seed for everything random.", metavar="N")
    ] = None,
    stage: Annotated[
        Stage | None,
        typer.Option(help="Stages to train; 2 is the alignment decoder.", show_default="both"),
    ] = None,
    validation: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the videos held out to score and choose the model; 0 for none.",
            show_default="0; 0.2 without a split or folds, given 10 videos",
        ),
    ] = None,
    device: DeviceOption = "auto",
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what preset auto would do, and stop."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan and all its settings as JSON.")
    ] = False,
    members: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            help="Train N models with different seeds and average their predictions.",
            metavar="N",
            show_default="1",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many inner runs and members at a time, each with its share of the cores.",
            metavar="N",
            show_default="as many as pay off; 1 with a preset of your choice",
        ),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also log for TensorBoard (an extra).")
    ] = False,
) -> None:
    """Train a model.

    A run looks at the data, says its plan and trains. A resumed run may have another --device,
    --jobs or --stage, and --set for train.alignment_epochs, train.checkpoint_seconds and
    train.workers.

    For example:

    ```
    # a project, from labels or clicks, to its next numbered run
    uvast train my-project

    # any dataset; options change single choices
    uvast train my-videos --out run --epochs 20

    # the plan alone; with --json, all its settings, too
    uvast train my-videos --plan

    # one click per action
    uvast train my-videos --supervision timestamps --out run

    # three models averaged: more reliable, in less than twice the time
    uvast train my-videos --members 3 --out run

    # the paper's settings; --stage 1 leaves the alignment decoder out
    uvast train data/gtea --split 1 --preset gtea --out runs/gtea-1

    # after a break, Ctrl-C included
    uvast train --resume runs/gtea-1

    # several processes
    torchrun --nproc-per-node 2 -m uvast train data/gtea --out run
    ```
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
    changes = changes_of(settings or [], flags)
    if as_json and not plan:
        raise ConfigError("only a plan is printed as JSON", where="--json", remedy="add --plan")
    if resume is not None:
        _refuse_beside_resume(
            dataset, out, preset, config, split, timestamps, plan or None, members
        )
        with named_as_typed(settings or []):
            _resume(resume, changes, stage, device, jobs, tensorboard=tensorboard)
        return
    is_auto = leaves_all_to_data(preset, config, changes)
    if dataset is not None and not dataset.exists():
        from uvast.files import missing

        raise missing(dataset, remedy="give a project, or the folder of a dataset")
    if dataset is None or (out is None and not plan and not needs_no_place(dataset)):
        raise ConfigError(
            "a dataset and --out are needed", remedy="see uvast train --help, or pass --resume RUN"
        )
    _check_new(stage, plan=plan, is_auto=is_auto)
    with named_as_typed(settings or []):
        _check_settings(preset, config, model, changes, is_auto=is_auto)
    is_asked = "supervision.kind" in changes
    changes = own_supervision(dataset, run_follows=not plan) | changes

    from uvast.data import Dataset
    from uvast.runs import RunFolder
    from uvast.training import plan_training
    from uvast.training import train as train_model

    if out is not None and not plan and is_first_process():
        RunFolder(out).check_free()  # before the time is measured, which takes a while
    opened = Dataset.open(dataset)
    planned = None
    with named_as_typed(settings or []):
        if is_auto:
            planned = plan_training(
                opened, split=split, timestamps=timestamps, settings=as_settings(changes)
            )
            chosen = planned.config
        else:
            chosen = chosen_config(preset, config, model, as_settings(changes))
    chosen = chosen.replaced(**second_stage(chosen, stage, changes))
    _check_timestamps(dataset, chosen, timestamps)
    if not is_asked:
        say_supervision(dataset, chosen.supervision.kind)
    if planned is not None:
        whole = timed_plan(
            replace(planned, config=chosen), device, n_members=members or 1, jobs=jobs
        )
        if plan:
            print_plan(whole, as_json=as_json)
            return
        jobs = whole.jobs
        note_plan(whole)
    with run_place(dataset, out) as run, _followed(run, tensorboard=tensorboard) as watcher:
        train_model(
            opened,
            run,
            config=chosen,
            split=split,
            timestamps=timestamps,
            device=device,
            watcher=watcher,
            members=members or 1,
            jobs=jobs or 1,
        )
    if summary := opened.trim_summary():
        note(summary)
    side = () if split is None else ("--split", split)
    model_path = dataset if out is None else out
    segment = command("segment", model_path, dataset, *side, "--out", "predictions")
    note(f"the model is in {run}; try {segment}")


def _refuse_beside_resume(*given: object) -> None:
    if any(one is not None for one in given):
        raise ConfigError(
            "a resumed run has its dataset and settings already",
            where="--resume",
            remedy="leave out DATASET, --out, --preset, --config, --split, --timestamps, "
            "--plan and --members",
        )


def _check_new(stage: Stage | None, *, plan: bool, is_auto: bool) -> None:
    """Refuses options that cannot start a new run."""
    if plan and not is_auto:
        raise ConfigError(
            "only preset auto makes a plan",
            where="--plan",
            remedy="leave out --preset, --config and --model, or see uvast config",
        )
    if stage is Stage.two:
        raise ConfigError(
            "stage 2 goes on from a trained stage 1",
            where="--stage 2",
            remedy="pass --resume RUN --stage 2",
        )


def _check_settings(
    preset: str | None,
    file: Path | None,
    model: str | None,
    changes: dict[str, str],
    *,
    is_auto: bool,
) -> None:
    """Refuses what no dataset can make right, before the dataset is read or labels are written."""
    from uvast.models.build import builder_of

    chosen = chosen_config(None if is_auto else preset, file, model, as_settings(changes))
    builder_of(chosen.model.kind)


def _check_timestamps(dataset: Path, config: Config, timestamps: Path | None) -> None:
    """Refuses a timestamps file that would be ignored; notes those that the dataset ignores."""
    from uvast.data.timestamp_files import ignored_timestamps

    has_clicks = config.supervision.kind == "timestamps"
    if timestamps is not None and not has_clicks:
        raise ConfigError(
            "this run has full labels, so a timestamps file would be ignored",
            where="--timestamps",
            remedy="pass --supervision timestamps as well, or leave --timestamps out",
        )
    if has_clicks and timestamps is None and (ignored := ignored_timestamps(dataset)):
        note(ignored)


def _resume(
    run: Path,
    changes: dict[str, str],
    stage: Stage | None,
    device: str,
    jobs: int | None,
    *,
    tensorboard: bool,
) -> None:
    from uvast.runs import RunFolder
    from uvast.training import resume as resume_run

    if stage is not None:
        config = RunFolder.open(run).config
        if stage is Stage.two and "train.epochs" in changes:
            changes["train.alignment_epochs"] = changes.pop("train.epochs")
        added = second_stage(config, stage, changes)
        changes |= {name: f"={value}" for name, value in added.items()}
    with _followed(run, tensorboard=tensorboard) as watcher:
        resume_run(run, settings=as_settings(changes), device=device, watcher=watcher, jobs=jobs)
    note(f"the model is in {run}")


@contextmanager
def _followed(run: Path, *, tensorboard: bool) -> Iterator[Watcher]:
    """A progress bar, and TensorBoard if asked for; an interrupt says how to continue."""
    try:
        with progress_bar() as progress:
            watcher: Watcher = TrainingBar(progress)
            if tensorboard:
                from uvast.training.tensorboard import TensorBoard

                watcher = TensorBoard(run, watcher)
            yield watcher
    except KeyboardInterrupt:
        from uvast.runs import is_run

        how = (f"go on with: {command('train', '--resume', run)}",) if is_run(run) else ()
        raise KeyboardInterrupt(*how) from None
