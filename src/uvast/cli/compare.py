"""`uvast compare`: settings compared on training sides alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uvast.cli import options
from uvast.cli.benchmark import end, follow, print_layouts, say_cost
from uvast.cli.console import note, print_json


def compare(
    datasets: options.DatasetsArgument,
    out: Annotated[Path, typer.Option(help="Folder of the comparison.")],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            metavar="'NAME=VALUE …'",
            help="Settings to compare with the base, such as train.feature_noise=0.5; several in "
            "one text make one change. May be given several times; without it, only the base is "
            "scored.",
        ),
    ] = None,
    models: Annotated[
        str, typer.Option(help="Presets of the base, separated by commas, or .toml files.")
    ] = "small",
    base: options.BaseOption = "auto",
    supervision: Annotated[
        str,
        typer.Option(
            help="full, timestamps, or full,timestamps for both. Scores are against full labels "
            "either way."
        ),
    ] = "full",
    decodings: Annotated[
        str | None,
        typer.Option(
            help="Decodings, separated by commas: viterbi, semi-markov, best, …",
            show_default="all that fit the model but fifa and the bare transcript",
        ),
    ] = None,
    splits: Annotated[
        str, typer.Option(help="Splits whose training sides are used, such as 1,2, or all.")
    ] = "1",
    folds: Annotated[
        int, typer.Option(min=2, help="Parts of each training side, each held out once.")
    ] = 3,
    seeds: options.SeedsOption = "0",
    epochs: options.EpochsOption = None,
    settings: options.SettingsOption = None,
    timestamps: options.TimestampsOption = None,
    engine: options.EngineOption = options.EngineName.local,
    jobs: options.JobsOption = 1,
    address: options.AddressOption = "auto",
    cpus: options.CpusOption = 1,
    gpus: options.GpusOption = 0,
    device: options.DeviceOption = "auto",
    as_json: options.JsonOption = False,
) -> None:
    r"""Compare settings by cross-validation inside training sides; test sides stay unseen.

    Each training side is cut into folds, by whole subjects where they are known. The base and every
    change are trained on all folds but one and scored on that one. The table shows their means and
    the paired differences from the base with 95 % intervals. After a break, run the same command
    again: it does what is left. More changes, seeds or splits only add runs.

    For example:

    ```
    # two changes, each against the base
    uvast compare data/gtea --epochs 80 --out noise \
        --change train.feature_noise=0.5 --change train.time_masking=0.1

    # one change of two settings
    uvast compare data/gtea --out both \
        --change 'train.feature_noise=0.5 train.averaging=0.99'
    ```
    """
    from uvast.benchmark.compared import (
        compared_rows,
        compared_tables,
        few_pairs,
        write_comparison,
        write_comparison_figure,
    )
    from uvast.benchmark.comparison import Comparison
    from uvast.benchmark.engine import run_cells
    from uvast.benchmark.matrix import Matrix

    for dataset in datasets:
        options.refresh_labels(dataset)
    matrix = Matrix(
        datasets=datasets,
        presets=options.names_of(models),
        base=None if base == "none" else base,
        supervision=options.names_of(supervision),
        decodings=None if decodings is None else options.names_of(decodings),
        splits=None if splits == "all" else options.numbers_of(splits, "--splits"),
        seeds=options.numbers_of(seeds, "--seeds"),
        epochs=epochs,
        settings=settings or (),
        timestamps=timestamps,
    )
    comparison = Comparison(matrix, changes or (), folds)
    cells = comparison.cells()
    for sentence in comparison.notes():
        note(sentence)
    chosen = options.make_engine(
        engine, jobs=jobs, device=device, address=address, cpus=cpus, gpus=gpus
    )
    if engine is options.EngineName.local:
        say_cost(cells, out, device, jobs)
    n_failed = follow(run_cells(cells, out, chosen), len(cells))
    rows = compared_rows(comparison.variants, out)
    write_comparison(out, rows)
    figures = write_comparison_figure(out, rows)
    if as_json:
        print_json([row.as_dict() for row in rows])
    else:
        print_layouts(compared_tables(rows))
    if (warning := few_pairs(rows)) is not None:
        note(warning)
    drawn = " (and .png, .svg)" if figures else ""
    note(f"also in {out}/comparison.csv, comparison.json and comparison.md{drawn}")
    end(n_failed, len(cells))
