"""`uvast sweep`: the best settings, found on the validation part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.options import (
    AddressOption,
    CpusOption,
    DeviceOption,
    EngineName,
    EngineOption,
    GpusOption,
    JobsOption,
    JsonOption,
    SettingsOption,
    TimestampsOption,
    make_engine,
)
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from uvast.benchmark.sweep import Trial


def sweep(
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    out: Annotated[Path, typer.Option(help="Folder of the sweep.")],
    ranges: Annotated[
        list[str],
        typer.Option(
            "--set-range",
            help="What to vary: train.learning_rate=1e-4..1e-2:log, model.width=32..96, or "
            "decode.transcript=decoder,best; repeatable.",
        ),
    ],
    trials: Annotated[
        int, typer.Option(min=1, help="Runs in the end, earlier ones included.")
    ] = 20,
    preset: Annotated[
        str | None, typer.Option(help="All other settings.", show_default="the defaults")
    ] = None,
    settings: SettingsOption = None,
    split: Annotated[int, typer.Option(help="Whose training side is used.")] = 1,
    validation: Annotated[
        float, typer.Option(help="Share of the training side that judges the settings.")
    ] = 0.2,
    timestamps: TimestampsOption = None,
    engine: EngineOption = EngineName.local,
    jobs: JobsOption = 1,
    address: AddressOption = "auto",
    cpus: CpusOption = 1,
    gpus: GpusOption = 0,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Search settings by the score on a validation part of the training side.

    The test side is never seen. Start it again after a break, or with more --trials, and it goes
    on. --jobs trials are chosen at a time, on Ray too. The best settings are in OUT/best.toml, for
    uvast train --config. It needs the extra: `pip install 'uvast[sweep]'`.

    Example: `uvast sweep data/gtea --preset gtea --set train.epochs=50 --out sweep --set-range
    train.learning_rate=1e-4..1e-2:log`
    """
    from uvast.benchmark.sweep import Sweep, parse_range
    from uvast.config import load_config

    config = load_config(preset, settings=[f"train.validation={validation}", *(settings or ())])
    task = Sweep(dataset, split, config, [parse_range(one) for one in ranges], timestamps)
    chosen = make_engine(engine, jobs=jobs, device=device, address=address, cpus=cpus, gpus=gpus)
    with progress_bar() as progress:
        bar = progress.add_task("trials", total=trials)
        for trial in task.run(out, chosen, n_trials=trials, jobs=jobs):
            progress.advance(bar)
            if trial.error is not None:
                note(f"failed: trial {trial.number}: {trial.error}")
    found = task.trials(out)
    if as_json:
        print_json([{"trial": t.number, "score": t.score, "values": dict(t.values)} for t in found])
    else:
        _print(found)
    if found[0].score is None:
        raise ConfigError("every trial failed", where=out, remedy="see the sentences above")
    note(f"the best settings are in {out}/best.toml; try uvast train --config {out}/best.toml")


def _print(trials: tuple[Trial, ...]) -> None:
    names = list(trials[0].values)
    rows = [
        [
            str(one.number),
            "failed" if one.score is None else f"{one.score:.2f}",
            *(_short(one.values.get(name, "–")) for name in names),
        ]
        for one in trials
    ]
    print_table(
        "Mean of Acc, Edit and F1@50 on the validation part", ["trial", "score", *names], rows
    )


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
