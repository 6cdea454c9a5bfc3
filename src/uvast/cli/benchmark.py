"""`uvast benchmark`: models compared on datasets, resumable."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.benchmark.results import ResultRow


def benchmark(
    datasets: Annotated[
        list[Path], typer.Argument(help="Folders of datasets.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder of the benchmark.")],
    models: Annotated[
        str, typer.Option(help="Presets by commas: small,gtea,asformer,ms-tcn,ms-tcn++ …")
    ] = "small",
    supervision: Annotated[
        str, typer.Option(help="full, timestamps, or full,timestamps.")
    ] = "full",
    decodings: Annotated[
        str | None,
        typer.Option(
            help="Names by semicolons, such as 'viterbi; fifa'.", show_default="all that fit"
        ),
    ] = None,
    splits: Annotated[str, typer.Option(help="Numbers by commas, or all.")] = "all",
    seeds: Annotated[str, typer.Option(help="Numbers by commas.")] = "0",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of every run, such as train.epochs=50; repeatable."),
    ] = None,
    timestamps: Annotated[
        Path | None, typer.Option(help="Timestamps file.", show_default="the datasets' own")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, …")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train and score models on every split, and print one table.

    A run that is finished is never run again: start the same command after a break, and it does
    what is left. Each run is an ordinary run folder below --out.

    Example: `uvast benchmark data/gtea --models gtea,asformer --out bench --set train.epochs=50`

    From clicks: `uvast benchmark data/gtea --supervision full,timestamps --out bench --jobs 2`
    """
    from uvast.benchmark.engine import LocalEngine
    from uvast.benchmark.matrix import Matrix
    from uvast.benchmark.results import collect, write_results

    matrix = Matrix(
        datasets=datasets,
        presets=_names(models),
        supervision=_names(supervision),
        decodings=None if decodings is None else _names(decodings, ";"),
        splits=None if splits == "all" else _numbers(splits, "--splits"),
        seeds=_numbers(seeds, "--seeds"),
        settings=settings or (),
        timestamps=timestamps,
    )
    cells = matrix.cells()
    failed = []
    with progress_bar() as progress:
        task = progress.add_task("runs", total=len(cells))
        for outcome in LocalEngine(jobs, device).run(cells, out):
            progress.advance(task)
            if outcome.error is not None:
                failed.append(outcome)
                note(f"failed: {outcome.cell.key}: {outcome.error}")
            write_results(out, collect(cells, out))
    rows = collect(cells, out)
    if as_json:
        print_json([row.as_dict() for row in rows])
    else:
        _print(rows)
    note(f"also in {out}/results.csv, results.json and results.md")
    if failed:
        note(f"{len(failed)} of {len(cells)} runs failed; the same command tries them again")
        raise typer.Exit(1)


def _print(rows: Sequence[ResultRow]) -> None:
    from uvast.benchmark.results import shown

    columns = ["decoding", "model", "supervision", "F1@10", "F1@25", "F1@50", "Edit", "Acc"]
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = [row for row in rows if row.dataset == dataset]
        title = f"{dataset}: mean of {mine[0].n_splits} splits, {mine[0].n_seeds} seeds"
        scores = ("f1@10", "f1@25", "f1@50", "edit", "acc")
        print_table(
            title,
            columns,
            [
                [row.decoding, row.model, row.supervision, *(shown(row, one) for one in scores)]
                for row in mine
            ],
        )


def _names(text: str, separator: str = ",") -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def _numbers(text: str, option: str) -> list[int]:
    try:
        return [int(part) for part in _names(text)]
    except ValueError:
        raise ConfigError(
            f"{text!r} are not numbers", where=option, remedy="write for example 0,1,2"
        ) from None
