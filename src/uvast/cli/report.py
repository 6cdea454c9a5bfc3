"""`uvast report`: one page about a run, a benchmark, or predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uvast.cli.console import note, progress_bar
from uvast.cli.options import DeviceOption, WorkersOption, names_of
from uvast.errors import ConfigError
from uvast.files import check_absent

if TYPE_CHECKING:
    from uvast.report import Report


def report(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|BENCHMARK|PREDICTIONS", help="The folder to report on.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file to write; --figures can do without.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="The dataset's folder; predictions need it.", show_default="the run's"),
    ] = None,
    split: Annotated[
        int | None,
        typer.Option(help="Score this split's test side.", show_default="the run's own, or all"),
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Another run's cross-attention beside this one's."),
    ] = None,
    pseudo_labels: Annotated[
        bool | None,
        typer.Option(
            "--pseudo-labels/--no-pseudo-labels",
            help="Compare pseudo-labels of the training videos with the truth.",
            show_default="if the run was trained on timestamps",
        ),
    ] = None,
    ways: Annotated[
        str | None,
        typer.Option(help="Ways of decoding, by commas.", show_default="all of the model's"),
    ] = None,
    video: Annotated[
        str | None,
        typer.Option(help="The video of the attention maps.", show_default="one of middling score"),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write figures as PNG and SVG (extra `report`)."),
    ] = None,
    device: DeviceOption = "auto",
    workers: WorkersOption = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a page and figures that exist.")
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write one HTML page: scores, classes, timelines, attention, training, configuration.

    The page needs no network and no other file.

    Example: `uvast report runs/gtea-1 --out report.html`

    Any predictions: `uvast report predictions/ --dataset data/gtea --split 1 --out report.html`

    The paper's figures: `uvast report run --compare other-run --figures figures`
    """
    from uvast.report import check_figures, report_kind, write_figures, write_page

    if out is None and figures is None:
        raise ConfigError("nothing to write", remedy="pass --out report.html or --figures DIR")
    if out is not None and not overwrite:
        check_absent(out)
    kind = report_kind(source)
    if figures is not None:
        check_figures(figures, kind, overwrite=overwrite)
    only_of_runs = {
        "--compare": compare,
        "--pseudo-labels": pseudo_labels,
        "--ways": ways,
        "--video": video,
    }
    for name, value in only_of_runs.items():
        if value is not None and kind != "run":
            raise ConfigError(f"{name} goes with a run", where=source, remedy="leave it out")
    made = (
        _of_run(
            source,
            dataset=dataset,
            split=split,
            compare_with=compare,
            pseudo_labels=pseudo_labels,
            only=names_of(ways or ""),
            video=video,
            device=device,
            workers=workers,
        )
        if kind == "run"
        else _of_results(source, kind, dataset, split)
    )
    if out is not None:
        write_page(made, out)
        note(f"wrote {out}")
    if figures is not None:
        note(f"wrote {len(write_figures(made, figures))} figures to {figures}")
    if show and out is not None:
        typer.launch(out.resolve().as_uri())


def _of_run(source: Path, **arguments: Any) -> Report:  # those of `report_run`
    from uvast.report import report_run

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
    if dataset is None:
        raise ConfigError(
            "holds neither a run nor a benchmark",
            where=source,
            remedy="for a folder of predictions, name their dataset with --dataset",
        )
    return report_predictions(source, dataset, split)
