"""`uvast reproduce`: the tables of the paper, computed here."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import options
from uvast.cli.benchmark import end, follow, print_layouts
from uvast.cli.console import note, print_json, print_table
from uvast.errors import ConfigError, UvastError

if TYPE_CHECKING:
    from uvast.benchmark.engine import Engine
    from uvast.benchmark.layout import Layout
    from uvast.benchmark.reproduce import Reproduction
    from uvast.data import Dataset


class Budget(str, Enum):
    """How much a table may cost."""

    quick = "quick"
    paper = "paper"


def reproduce(
    table: Annotated[
        str | None, typer.Argument(help="A table that --list shows, or all.", show_default=False)
    ] = None,
    datasets: Annotated[
        list[Path] | None, typer.Argument(help="Folders of datasets.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for tables and runs.")] = None,
    list_tables: Annotated[
        bool, typer.Option("--list", help="List the tables, or the rows of TABLE.")
    ] = False,
    budget: Annotated[
        Budget,
        typer.Option(
            help="quick: a tiny network, to see that everything runs; paper: the paper's settings."
        ),
    ] = Budget.quick,
    preset: Annotated[
        str | None,
        typer.Option(
            help="The preset that the rows build on.", show_default="the one named like the dataset"
        ),
    ] = None,
    splits: Annotated[
        str | None,
        typer.Option(
            help="Split numbers, separated by commas, or all.",
            show_default="as in the paper's table",
        ),
    ] = None,
    seeds: options.SeedsOption = "0",
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
    """Compute a table of the paper, published numbers beside ours.

    Writes Markdown, LaTeX, CSV, and the data of a figure as JSON to --out. After a break, run the
    same command again: it does what is left. Rows with the same settings share a run.

    For example:

    ```
    uvast reproduce --list

    # to try it
    uvast data generate demo
    uvast reproduce all demo --out tables

    # in full
    uvast reproduce timestamps data/gtea --budget paper --out tables
    ```
    """
    from uvast.benchmark.paper_tables import find_table, tables

    if list_tables:
        _list(table, as_json=as_json)
        return
    if table is None or not datasets or out is None:
        raise ConfigError(
            "a table, a dataset and --out are needed",
            remedy="see uvast reproduce --list and --help",
        )

    from uvast.benchmark.engine import SerialEngine
    from uvast.benchmark.reproduce import Reproduction, write_table
    from uvast.data import Dataset
    from uvast.evaluation.scores import file_suffix

    chosen: Engine = options.make_engine(
        engine, jobs=jobs, device=device, address=address, cpus=cpus, gpus=gpus
    )
    if budget is Budget.quick and engine is options.EngineName.local and jobs == 1:
        chosen = SerialEngine(device)
    for path in datasets:
        options.refresh_labels(path)
    opened = _different([Dataset.open(path) for path in datasets])
    wanted = tuple(tables().values()) if table == "all" else (find_table(table),)
    tasks = [
        Reproduction(
            one,
            dataset,
            budget.value,
            preset,
            _splits(splits, dataset),
            options.numbers_of(seeds, "--seeds"),
            timestamps,
            settings or (),
            protocol.value,
        )
        for one in wanted
        for dataset in opened
    ]
    # for all tables before the first run, so that mistakes show while they cost nothing
    n_cells = [len(task.cells()) for task in tasks]
    n_failed, suffix = 0, file_suffix(protocol.value)
    layouts: dict[str, list[Layout]] = {one.name: [] for one in wanted}
    for task, n_mine in zip(tasks, n_cells, strict=True):
        n_failed += follow(task.run(out, chosen), n_mine) + _tell_failures(task)
        finished = layouts[task.table.name]
        finished.append(task.layout(out))
        write_table(out, f"{task.table.name}{suffix}", finished)
    shown = [layout for every in layouts.values() for layout in every]
    if as_json:
        print_json([layout.figure() for layout in shown])
    else:
        print_layouts(shown)
    note(
        f"tables in {out}: {', '.join(f'{name}{suffix}.md' for name in layouts)}, .tex, .csv, .json"
    )
    end(n_failed, sum(n_cells) + sum(len(task.pseudo_labels) for task in tasks))


def _tell_failures(task: Reproduction) -> int:
    """Notes failed pseudo-labels, as `follow` does failed runs; returns how many failed."""
    failed = {row: one for row, one in task.pseudo_labels.items() if isinstance(one, UvastError)}
    for row, error in failed.items():
        note(f"failed: {task.table.name}, {row}: {error}")
    return len(failed)


def _splits(text: str | None, dataset: Dataset) -> tuple[int, ...] | None:
    if text is None:
        return None
    return tuple(dataset.splits) if text == "all" else tuple(options.numbers_of(text, "--splits"))


def _different(datasets: list[Dataset]) -> list[Dataset]:
    names = [one.name for one in datasets]
    if len(set(names)) < len(names):
        raise ConfigError(
            f"two datasets are named {max(names, key=names.count)}",
            remedy="give their folders different names",
        )
    return datasets


def _list(name: str | None, *, as_json: bool) -> None:
    from uvast.benchmark.paper_tables import find_table, tables

    if name is None:
        rows = [[one.name, str(len(one.runnable)), one.caption] for one in tables().values()]
        columns = ["table", "rows", "what"]
    else:
        table = find_table(name)
        columns = ["row", "from", "in the paper"]
        rows = [[one.name, one.kind, "yes" if one.in_paper else "no"] for one in table.rows]
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("Tables of the paper" if name is None else name, columns, rows)
