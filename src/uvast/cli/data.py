"""`uvast data`: check, split and generate datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import console
from uvast.cli.commands import QuickGroup
from uvast.cli.options import JsonOption, refresh_labels
from uvast.errors import command, counted

if TYPE_CHECKING:
    from uvast.data.check import DatasetCheck
    from uvast.data.statistics import ClassStatistics, Statistics

app = typer.Typer(
    help="""Check, split and generate datasets.

A dataset is a folder: `features/VIDEO.npy`, `groundTruth/VIDEO.txt` (one label per line), and
optionally `mapping.txt`, `splits/`, timestamps and `dataset.toml`.

For example:

```
uvast data generate demo-data
uvast data check demo-data
```
""",
    cls=QuickGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

DatasetPath = Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset's folder.")]


@app.command()
def check(
    dataset: DatasetPath,
    classes: Annotated[
        bool, typer.Option("--classes", help="Also list each class: segments, frames, mean length.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a dataset's statistics and all of its problems; exit code 2 if there are any.

    Of many similar problems it prints one; --json lists them all.

    For example:

    ```
    uvast data check data/gtea

    # with the classes
    uvast data check data/gtea --classes
    ```
    """
    from uvast.data.check import check_dataset

    refresh_labels(dataset, needed=False)
    with console.progress_bar() as progress:
        task = progress.add_task("checking", total=None)
        report = check_dataset(
            dataset, advance=lambda done, total: progress.update(task, completed=done, total=total)
        )
    if as_json:
        console.print_json(report.as_dict())
    else:
        _print_report(report, classes=classes)
    if not report.ok:
        raise typer.Exit(2)


@app.command()
def split(
    dataset: DatasetPath,
    folds: Annotated[int, typer.Option(min=2, help="Number of splits.")] = 4,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="A pattern whose one group is the subject in a video's name; no subject is on "
            "both sides. Default: group_by of dataset.toml, else every video is its own subject.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other splits.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace splits that exist.")
    ] = False,
) -> None:
    r"""Make train/test splits for cross-validation.

    For example:

    ```
    # names such as P03_lunch: each person is on one side of a split
    uvast data split data/mine --folds 4 --group-by '^(P\d+)_'
    ```
    """
    from uvast.data.dataset import Dataset
    from uvast.data.splits import make_splits, write_splits

    opened = Dataset.open(dataset)
    for fault in opened.skipped:
        console.note(str(fault))
    splits = make_splits(
        opened.names, folds=folds, group_by=group_by or opened.spec.group_by, seed=seed
    )
    write_splits(dataset / "splits", splits, overwrite=overwrite)
    console.print_table(
        f"splits of {opened.name}",
        ["split", "train", "test"],
        [[str(n), str(len(each.train)), str(len(each.test))] for n, each in splits.items()],
    )


@app.command()
def generate(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.")],
    videos: Annotated[int, typer.Option(min=2, help="Number of videos.")] = 40,
    classes: Annotated[
        int, typer.Option(min=3, help="Number of classes, background included.")
    ] = 12,
    frames: Annotated[int, typer.Option(min=50, help="Mean number of frames per video.")] = 400,
    features: Annotated[int, typer.Option(min=2, help="Feature width.")] = 64,
    tasks: Annotated[
        int, typer.Option(min=1, help="Number of tasks, each a grammar of steps.")
    ] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal files.")] = 0,
) -> None:
    """Write the built-in generated dataset, with full labels, timestamps and splits.

    For example:

    ```
    uvast data generate demo-data --videos 40 --classes 12 --seed 0
    ```
    """
    from uvast.data.generate import generate_dataset

    generate_dataset(
        out,
        n_videos=videos,
        n_classes=classes,
        n_frames=frames,
        n_features=features,
        n_tasks=tasks,
        seed=seed,
    )
    look = command("data", "check", out)
    console.note(f"wrote {videos} videos to {out}; look at them with {look}")


def _print_report(report: DatasetCheck, *, classes: bool) -> None:
    if report.statistics is not None:
        console.print_table(str(report.path), ["statistic", "value"], _rows(report.statistics))
        if classes:
            rows = [_class_row(one) for one in report.statistics.classes]
            columns = ["class", "segments", "frames", "share %", "mean frames"]
            console.print_table("Classes", columns, rows)
    for line in report.notes:
        console.note(f"note: {line}")
    for line in report.causes:
        console.results.print(f"problem: {line}", style="red", markup=False)
    n_problems = len(report.causes)
    console.results.print(counted(n_problems, "problem") if n_problems else "no problems")


def _rows(numbers: Statistics) -> list[list[str]]:
    stamps, splits = numbers.timestamps, numbers.splits.values()
    found = "none"
    if stamps is not None:
        found = f"{stamps.n_timestamps} in {stamps.n_videos} videos ({stamps.file})"
    sides = "none"
    if splits:
        train, test = ([getattr(one, side) for one in splits] for side in ("train", "test"))
        names = ", ".join(map(str, numbers.splits))
        sides = f"{names} (train {_span(train)}, test {_span(test)} videos)"
    return [
        ["classes", _shown(numbers.n_classes)],
        ["background", ", ".join(numbers.background) or "none"],
        ["videos", _videos(numbers)],
        ["splits", sides],
        ["timestamps", found],
        ["frames, least", _shown(numbers.min_frames)],
        ["frames, most", _shown(numbers.max_frames)],
        ["frames, mean", _shown(numbers.mean_frames)],
        ["frames a second", _shown(numbers.frames_per_second)],
        ["sampling rate", _shown(numbers.sampling_rate)],
        ["segments, least", _shown(numbers.min_segments)],
        ["segments, most", _shown(numbers.max_segments)],
        ["feature width", _shown(numbers.n_features)],
        ["feature axis", _shown(numbers.feature_axis)],
        ["channels", _channels(numbers)],
    ]


def _channels(numbers: Statistics) -> str:
    """Such as `66, deviations from 0.008 to 119, 2 constant; scaled in training`."""
    found = numbers.channels
    if found is None:
        return "-"
    if found.min_deviation is None:
        return f"{numbers.n_features}, all constant"
    constant = f", {found.n_constant} constant" if found.n_constant else ""
    span = f"deviations from {found.min_deviation:.2g} to {found.max_deviation:.3g}"
    return f"{numbers.n_features}, {span}{constant}; scaled in training"


def _videos(numbers: Statistics) -> str:
    lacks = {"labelled in part": numbers.n_partial, "without labels": numbers.n_unlabelled}
    found = ", ".join(f"{count} {what}" for what, count in lacks.items() if count)
    return f"{numbers.n_videos} ({found})" if found else str(numbers.n_videos)


def _class_row(one: ClassStatistics) -> list[str]:
    mean = "-" if one.mean_frames is None else f"{one.mean_frames:.1f}"
    return [one.name, str(one.n_segments), str(one.n_frames), f"{100 * one.share:.1f}", mean]


def _span(numbers: list[int]) -> str:
    """The numbers in short: `7`, or `5 to 8`."""
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".removesuffix(".00")
    return "-" if value is None else str(value)
