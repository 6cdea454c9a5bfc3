"""`uvast benchmark`: models compared on datasets, resumable."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import options
from uvast.cli.console import note, print_json, progress_bar, results
from uvast.cli.plans import idle_cores, in_words
from uvast.errors import UvastError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uvast.benchmark.cell import Cell
    from uvast.benchmark.engine import CellOutcome
    from uvast.benchmark.layout import Printed

SECONDS_BETWEEN_TABLES = 5.0
"""While runs finish, the results files are rewritten at most this often."""


def benchmark(
    datasets: options.DatasetsArgument,
    out: Annotated[Path, typer.Option(help="Folder of the benchmark.")],
    models: Annotated[
        str,
        typer.Option(
            help="Presets, separated by commas: uvast, small, asformer, ms-tcn, ms-tcn++, …, or "
            ".toml files."
        ),
    ] = "small",
    base: options.BaseOption = "auto",
    supervision: Annotated[
        str, typer.Option(help="full, timestamps, or full,timestamps for both.")
    ] = "full",
    decodings: Annotated[
        str | None,
        typer.Option(
            help="Decodings, separated by commas: none, viterbi, fifa, semi-markov, best, …",
            show_default="all that fit the model",
        ),
    ] = None,
    durations: Annotated[str | None, typer.Option(hidden=True)] = None,
    splits: Annotated[
        str, typer.Option(help="Split numbers, separated by commas, or all.")
    ] = "all",
    seeds: options.SeedsOption = "0",
    members: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Also score every N seeds of a model together, as an ensemble; 1 for none.",
        ),
    ] = 1,
    epochs: options.EpochsOption = None,
    settings: options.SettingsOption = None,
    timestamps: options.TimestampsOption = None,
    protocol: options.ProtocolOption = options.ProtocolName.standard,
    engine: options.EngineOption = options.EngineName.local,
    jobs: options.JobsOption = 1,
    address: options.AddressOption = "auto",
    cpus: options.CpusOption = 1,
    gpus: options.GpusOption = 0,
    device: options.DeviceOption = "auto",
    as_json: options.JsonOption = False,
) -> None:
    r"""Train and score models on every split, and print one table.

    After a break, run the same command again: it does what is left and keeps finished runs. Each
    run is an ordinary run folder below --out. Several commands may share one --out: its
    results.csv, results.json and results.md hold the results of all of them. Those of --protocol
    legacy have files of their own, and finished runs are only scored again.

    For example:

    ```
    uvast benchmark data/gtea --models uvast,asformer --out bench --epochs 50

    # a setting for one model
    uvast benchmark data/gtea --models uvast,asformer --out bench \
        --set asformer:train.epochs=30

    # from full labels and from clicks, two runs at a time
    uvast benchmark data/gtea --supervision full,timestamps --out bench --jobs 2

    # ensembles of three, beside the single models they are made of
    uvast benchmark data/gtea --seeds 0,1,2 --members 3 --out bench

    # on a cluster
    uvast benchmark data/gtea --out /shared/bench --engine ray
    ```
    """
    from uvast.benchmark.earlier import with_earlier
    from uvast.benchmark.engine import run_cells
    from uvast.benchmark.ensembles import ensemble_cells, form_ensembles, with_shared_folds
    from uvast.benchmark.matrix import Matrix
    from uvast.benchmark.results import collect, layouts, write_results

    for dataset in datasets:
        options.refresh_labels(dataset)
    wanted = decodings or durations
    matrix = Matrix(
        datasets=datasets,
        presets=options.names_of(models),
        base=None if base == "none" else base,
        supervision=options.names_of(supervision),
        decodings=None if wanted is None else options.names_of(wanted),
        splits=None if splits == "all" else options.numbers_of(splits, "--splits"),
        seeds=options.numbers_of(seeds, "--seeds"),
        epochs=epochs,
        settings=settings or (),
        timestamps=timestamps,
        protocol=protocol.value,
    )
    cells = matrix.cells()
    groups = ensemble_cells(cells, members)
    cells = with_shared_folds(cells, groups)
    _note_unlabelled(datasets)
    chosen = options.make_engine(
        engine, jobs=jobs, device=device, address=address, cpus=cpus, gpus=gpus
    )

    if engine is options.EngineName.local:
        say_cost(cells, out, device, jobs)

    def write_all(without: Iterable[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Writes the results of all commands; returns the names of the files, and remarks."""
        known, remarks = with_earlier(cells, out, protocol.value, without=set(without))
        return write_results(out, collect(known, out), protocol.value), remarks

    def outcomes() -> Iterable[CellOutcome]:
        written = time.monotonic()
        for outcome in run_cells(cells, out, chosen):
            yield outcome
            if time.monotonic() - written > SECONDS_BETWEEN_TABLES:
                write_all()
                written = time.monotonic()

    n_failed = follow(outcomes(), len(cells))
    joined, faults = form_ensembles(groups, out)
    for fault in faults:
        note(fault)
    n_failed += len(faults) + follow(run_cells(joined, out, chosen), len(joined))
    cells = (*cells, *joined)
    ready = {cell.key for cell in joined}
    (table, records, text), remarks = write_all(
        without=[group.cell.key for group in groups if group.cell.key not in ready]
    )
    for remark in remarks:
        note(remark)
    rows = collect(cells, out)
    if as_json:
        print_json([row.as_dict() for row in rows])
    else:
        print_layouts(layouts(rows))
    note(f"also in {out}/{table}, {records} and {text}")
    end(n_failed, len(cells) + len(faults))


def _note_unlabelled(datasets: Iterable[Path]) -> None:
    """Notes what the scores leave out."""
    from uvast.data import Dataset
    from uvast.data.labelled import unlabelled_note

    for path in datasets:
        data = Dataset.open(path)
        bare = [name for name in data.names if not data.has_labels(name)]
        for line in (unlabelled_note(bare), data.partial_summary(data.names)):
            if line is not None:
                note(f"{data.name}: {line}")


def say_cost(cells: Sequence[Cell], out: Path, device: str, jobs: int) -> None:
    """Notes how many runs are left to train and how long they take; runs report errors."""
    from uvast.benchmark.cost import cells_to_train, seconds_to_train

    left = cells_to_train(cells, out)
    if not left:
        note(f"{counted(len(cells), 'run')}, all of them trained already")
        return
    try:
        seconds = seconds_to_train(left, device)
    except UvastError:
        return
    at_once = "" if jobs == 1 else f", {jobs} at a time, if there are cores for that many"
    note(
        f"{counted(len(cells), 'run')}, {len(left)} of them to train: {in_words(seconds / jobs)}"
        f"{at_once} ({device}), and the time to decode"
        f"{idle_cores(len(left), jobs, seconds, device)}"
    )


def follow(outcomes: Iterable[CellOutcome], n_cells: int) -> int:
    """Shows progress and notes failed runs; returns how many failed."""
    n_failed = 0
    if not n_cells:
        return n_failed
    with progress_bar() as progress:
        task = progress.add_task("runs", total=n_cells)
        for outcome in outcomes:
            progress.advance(task)
            if outcome.error is not None:
                n_failed += 1
                note(f"failed: {outcome.cell.key}: {outcome.error}")
    return n_failed


def print_layouts(layouts: Sequence[Printed]) -> None:
    """Prints tables on stdout."""
    from uvast.benchmark.layout import as_text

    for layout in layouts:
        results.print(as_text(layout))


def end(n_failed: int, n_cells: int) -> None:
    """Ends with exit code 1 if runs failed."""
    if n_failed:
        note(f"{n_failed} of {n_cells} runs failed; the same command tries them again")
        raise typer.Exit(1)
