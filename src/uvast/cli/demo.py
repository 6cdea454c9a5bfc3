"""`uvast demo`: the whole journey on generated videos, with the commands a user would type."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.options import DeviceOption, JsonOption
from uvast.cli.training_bar import TrainingBar
from uvast.errors import command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.benchmark.demo import DemoResult, Step
    from uvast.benchmark.demo_world import DemoPlace


def demo(
    out: Annotated[
        Path, typer.Option(help="A new folder for the videos, the project and the report.")
    ] = Path("uvast-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of videos and training.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="Train very little, for tests.")] = False,
    device: DeviceOption = "auto",
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Try everything in two minutes: from video files to the actions of new ones.

    Generates videos and runs the commands that you would type for your own: init, extract, import
    (one click per action), train, segment, overlay, report.

    For example:

    ```
    uvast demo --open
    ```
    """
    from uvast.benchmark.demo_world import DemoPlace, clear_place

    clear_place(out, overwrite=overwrite)
    place = DemoPlace(out)
    again = f"start again with: {command('demo', '--out', out, '--overwrite')}"
    try:
        run = _journey(place, again, seed=seed, fast=fast, device=device)
        result = _worth(place, run, seed=seed, fast=fast, device=device)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(again) from None
    if as_json:
        print_json(_as_json(result, place, run))
    else:
        _print(result)
    note(f"the report: {place.report}")
    note(f"in the browser: {command('app', place.project)} (extra web)")
    note("your turn: uvast init MY-PROJECT --videos FOLDER-OF-VIDEOS")
    if show:
        typer.launch(place.report.resolve().as_uri())


def _journey(place: DemoPlace, again: str, *, seed: int, fast: bool, device: str) -> Path:
    """Generates videos and runs the commands; returns the run.

    Ctrl-C prints how to do it all `again`.
    """
    from uvast.benchmark.demo import steps_to_look, steps_to_predictions
    from uvast.benchmark.demo_world import FAST, WorldSize, make_videos, write_truth
    from uvast.projects import Project

    size = FAST if fast else WorldSize()
    note(f"· {size.n_videos} videos to learn from, {size.n_new} new ones: motion is the action")
    truths = make_videos(place, size, seed=seed)
    _take(steps_to_predictions(place, seed=seed, fast=fast, device=device), again)
    run = Project.open(place.project).newest_run()
    write_truth(place, truths)
    _take(steps_to_look(place, run, device=device), again)
    return run


def _take(steps: Iterable[Step], again: str) -> None:
    """Runs each command as if it had been typed; its output goes to stderr."""
    from uvast.cli.main import app

    for step in steps:
        note(f"· {step.purpose}")
        note(f"  $ {command(*step.words)}")
        with redirect_stdout(sys.stderr):
            code = app(list(step.words), standalone_mode=False, obj=again)
        if code:
            raise typer.Exit(code)


def _worth(place: DemoPlace, run: Path, *, seed: int, fast: bool, device: str) -> DemoResult:
    from uvast.benchmark.demo import compare_models

    note("· for comparison: two models that were told the label of every frame")
    with progress_bar() as progress:
        return compare_models(
            place,
            run,
            lambda name: TrainingBar(progress, name),
            seed=seed,
            fast=fast,
            device=device,
        )


def _print(result: DemoResult) -> None:
    from uvast.evaluation.scores import HEADINGS, score_row

    columns = list(HEADINGS.values())
    rows = [[name, *score_row(scores)] for name, scores in result.pseudo_labels.items()]
    print_table("Pseudo-labels from one click per action", ["method", *columns], rows)
    rows = [
        [model, decoding, *score_row(scores)] for (model, decoding), scores in result.scores.items()
    ]
    print_table("New videos", ["model", "decoding", *columns], rows)


def _as_json(result: DemoResult, place: DemoPlace, run: Path) -> dict[str, object]:
    return {
        "pseudo_labels": result.pseudo_labels,
        "scores": [
            {"model": model, "decoding": decoding, **scores}
            for (model, decoding), scores in result.scores.items()
        ],
        "report": str(place.report),
        "run": str(run),
        "project": str(place.project),
        "truth": str(place.truth),
    }
