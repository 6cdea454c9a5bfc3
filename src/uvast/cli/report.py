"""`uvast report`: one page about a run, a benchmark, predictions or pseudo-labels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uvast.cli.console import note, progress_bar
from uvast.cli.options import DeviceOption, WorkersOption, names_of, refresh_labels, run_of
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from uvast.report import Report


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|PROJECT|BENCHMARK|PREDICTIONS|LABELS",
            help="The folder to report on.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The HTML file to write.", show_default="a temporary one with --open"),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            help="The dataset's folder, to score predictions or labels that do not name it.",
            show_default="the run's, or the one that was predicted",
        ),
    ] = None,
    split: Annotated[
        int | None,
        typer.Option(help="Show this split's test side.", show_default="the run's own, or all"),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Also show another run's cross-attention."),
    ] = None,
    pseudo_labels: Annotated[
        bool | None,
        typer.Option(
            "--pseudo-labels/--no-pseudo-labels",
            help="Show pseudo-labels of the training videos, by every method.",
            show_default="if the run was trained on timestamps",
        ),
    ] = None,
    decodings: Annotated[
        str | None,
        typer.Option(
            help="Names of decodings, separated by commas.", show_default="all of the model's"
        ),
    ] = None,
    ways: Annotated[str | None, typer.Option(hidden=True)] = None,
    video: Annotated[
        str | None,
        typer.Option(
            help="The video of the attention maps.", show_default="one with a middling score"
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write figures as PNG and SVG (extra `report`)."),
    ] = None,
    times: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Also write the time spent in each action as a table."),
    ] = None,
    device: DeviceOption = "auto",
    workers: WorkersOption = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that exist.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write one HTML page: scores, timelines, times, classes, attention, training, configuration.

    It draws whatever there is: predictions with their confidence, clicks, pseudo-labels, and the
    ground truth, with scores, where it is known. The page needs no network and no other file.

    For example:

    ```
    uvast report runs/gtea-1 --out report.html

    # new videos, with the time spent in each action
    uvast report predictions/ --open --times times.csv

    # any predictions
    uvast report predictions/ --dataset data/gtea --split 1 --out report.html

    # the paper's figures
    uvast report run --compare other-run --figures figures
    ```
    """
    from uvast.files import check_absent
    from uvast.report import check_figures, report_kind, write_action_times

    if out is None and figures is None and times is None and not show:
        raise ConfigError(
            "nothing to write",
            remedy="pass --out report.html, --open, --figures DIR or --times CSV",
        )
    if not overwrite:
        check_absent(*(path for path in (out, times) if path is not None))
    for path in (source, dataset):
        if path is not None:
            refresh_labels(path)
    source = run_of(source)
    kind = report_kind(source)
    if figures is not None:
        check_figures(figures, kind, overwrite=overwrite)
    only_of_runs = {
        "--compare": compare,
        "--pseudo-labels": pseudo_labels,
        "--decodings": decodings or ways,
        "--video": video,
    }
    for name, value in only_of_runs.items():
        if value is not None and kind != "run":
            raise ConfigError(f"{name} works only with a run", where=source, remedy="leave it out")
    if times is not None and kind == "benchmark":
        raise ConfigError("a benchmark has no timelines", where="--times", remedy="leave it out")
    if kind == "run":
        made = _of_run(
            source,
            dataset=dataset,
            split=split,
            compare_with=compare and run_of(compare),
            pseudo_labels=pseudo_labels,
            only=names_of(decodings or ways or ""),
            video=video,
            device=device,
            workers=workers,
        )
    else:
        made = _of_results(source, kind, dataset, split)
    if times is not None:
        write_action_times(made, times)
        note(f"wrote {times}")
    _write(made, out, figures, show=show)


def _write(made: Report, out: Path | None, figures: Path | None, *, show: bool) -> None:
    from uvast.report import write_figures, write_page

    if out is None and show:
        # kept: the browser may read it long after this command has ended
        out = Path(tempfile.mkdtemp(prefix="uvast-report-")) / "report.html"
    if out is not None:
        write_page(made, out)
        note(f"wrote {out}")
    if figures is not None:
        note(f"wrote {len(write_figures(made, figures))} figures to {figures}")
    if show and out is not None:
        typer.launch(out.resolve().as_uri())


def _of_run(source: Path, **arguments: Any) -> Report:  # those of `report_run`
    from uvast.report.of_run import report_run

    with progress_bar() as progress:
        task = progress.add_task("segmenting", total=None)
        return report_run(
            source,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
            **arguments,
        )


def _of_results(source: Path, kind: str, dataset: Path | None, split: int | None) -> Report:
    from uvast.report import report_benchmark, report_predictions

    if kind == "benchmark":
        return report_benchmark(source)
    if dataset is None and split is not None:
        raise ConfigError(
            "it is not known which dataset", where="--split", remedy="pass --dataset, too"
        )
    return report_predictions(source, dataset, split)
