"""`uvast data`: check, split and generate datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import console
from uvast.cli.options import JsonOption

if TYPE_CHECKING:
    from uvast.data.check import Report

app = typer.Typer(
    help="""Check, split and generate datasets.

A dataset is a folder: `features/VIDEO.npy`, `groundTruth/VIDEO.txt` (one label a line), and
optionally `mapping.txt`, `splits/`, timestamps and `dataset.toml`.

Examples: `uvast data generate demo-data`, `uvast data check demo-data`
""",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

DatasetPath = Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset's folder.")]


@app.command()
def check(
    dataset: DatasetPath,
    as_json: JsonOption = False,
) -> None:
    """Print a dataset's statistics and all of its problems; exit code 2 if there are any.

    Example: `uvast data check data/gtea`
    """
    from uvast.data.check import check_dataset

    with console.progress_bar() as progress:
        task = progress.add_task("checking", total=None)
        report = check_dataset(
            dataset,
            advance=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if as_json:
        console.print_json(report.as_dict())
    else:
        _print_report(report)
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
            help="One group that finds the subject in a video's name; a subject never sits on "
            "both sides. Left out: group_by of dataset.toml, else every video for itself.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other splits.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace splits that exist.")
    ] = False,
) -> None:
    r"""Make train/test splits for cross-validation.

    Example: `uvast data split data/mine --folds 4 --group-by '^(P\d+)_'`
    """
    from uvast.data.dataset import Dataset
    from uvast.data.splits import make_splits, write_splits

    opened = Dataset.open(dataset)
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
    frames: Annotated[int, typer.Option(min=50, help="Mean number of frames a video.")] = 400,
    features: Annotated[int, typer.Option(min=2, help="Feature width.")] = 64,
    tasks: Annotated[
        int, typer.Option(min=1, help="Number of tasks, each a grammar of steps.")
    ] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal files.")] = 0,
) -> None:
    """Write the built-in generated dataset, with full labels, timestamps and splits.

    Example: `uvast data generate demo-data --videos 40 --classes 12 --seed 0`
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
    console.note(f"wrote {videos} videos to {out}; look at them with 'uvast data check {out}'")


def _print_report(report: Report) -> None:
    if report.statistics is not None:
        numbers = report.statistics
        mean = None if numbers.mean_frames is None else f"{numbers.mean_frames:.2f}"
        console.print_table(
            str(report.path),
            ["statistic", "value"],
            [
                ["classes", _shown(numbers.n_classes)],
                ["videos", _shown(numbers.n_videos)],
                ["frames, least", _shown(numbers.min_frames)],
                ["frames, most", _shown(numbers.max_frames)],
                ["frames, mean", _shown(mean)],
                ["segments, least", _shown(numbers.min_segments)],
                ["segments, most", _shown(numbers.max_segments)],
                ["feature width", _shown(numbers.n_features)],
            ],
        )
    for line in report.notes:
        console.note(f"note: {line}")
    for line in report.problems:
        console.results.print(f"problem: {line}", style="red", markup=False)
    n_problems = len(report.problems)
    console.results.print(f"{n_problems or 'no'} problem{'' if n_problems == 1 else 's'}")


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
