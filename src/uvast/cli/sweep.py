"""`uvast sweep`: the best settings, found on the validation part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import options
from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.errors import ConfigError, command, counted

if TYPE_CHECKING:
    from uvast.benchmark.study import Trial


def sweep(
    dataset: Annotated[Path, typer.Argument(help="Folder of a dataset.")],
    out: Annotated[Path, typer.Option(help="Folder for the sweep.")],
    ranges: Annotated[
        list[str],
        typer.Option(
            "--set-range",
            metavar="NAME=VALUES",
            help="What to vary: single values, model.width=32,48,64,96, or a range, "
            "train.averaging=0.5..0.99; add :log to spread a range by its logarithm. Each number "
            "of a list can have its own range: 'model.dilations=[1..4, 1..16:log]'. May be given "
            "several times.",
        ),
    ],
    trials: Annotated[
        int, typer.Option(min=1, help="How many trials in all, earlier ones included.")
    ] = 20,
    preset: Annotated[
        str | None,
        typer.Option(help="The preset for all other settings.", show_default="the defaults"),
    ] = None,
    epochs: options.EpochsOption = None,
    settings: options.SettingsOption = None,
    split: Annotated[int, typer.Option(help="The split whose training side is used.")] = 1,
    validation: Annotated[
        float | None,
        typer.Option(
            help="Share of the training side that the settings are judged on.",
            show_default="train.validation, or 0.2 if that is auto or 0",
        ),
    ] = None,
    timestamps: options.TimestampsOption = None,
    engine: options.EngineOption = options.EngineName.local,
    jobs: Annotated[
        int, typer.Option(min=1, help="Trials chosen and run at the same time, on Ray too.")
    ] = 1,
    address: options.AddressOption = "auto",
    cpus: options.CpusOption = 1,
    gpus: options.GpusOption = 0,
    device: options.DeviceOption = "auto",
    as_json: options.JsonOption = False,
) -> None:
    r"""Find good settings, judged on a validation part of the training side.

    The test side is never used. After a break, run the same command again, with more --trials if
    you like: it goes on. The best settings are written to OUT/best.toml, for uvast train --config.
    This needs an extra: `pip install '.[sweep]'` in uvast's folder.

    For example:

    ```
    uvast sweep data/gtea --preset gtea --epochs 50 --out sweep \
        --set-range train.learning_rate=1e-4..1e-2:log
    ```
    """
    from uvast.benchmark.matrix import epoch_settings
    from uvast.benchmark.ranges import parse_ranges
    from uvast.benchmark.sweep import VALIDATION, Sweep
    from uvast.config import load_config

    given = settings or ()
    config = load_config(
        preset, settings=(*epoch_settings(load_config(preset), epochs, given), *given)
    )
    if validation is None:
        own = config.train.validation
        validation = VALIDATION if own == "auto" or not own else own
    varied = [one for text in ranges for one in parse_ranges(text)]
    options.refresh_labels(dataset)
    task = Sweep(dataset, split, config, varied, timestamps, validation)
    chosen = options.make_engine(
        engine, jobs=jobs, device=device, address=address, cpus=cpus, gpus=gpus
    )
    told = set()
    n_done = task.n_scored(out)
    with progress_bar() as progress:
        bar = progress.add_task("trials", total=max(trials, n_done), completed=n_done)
        for trial in task.run(out, chosen, n_trials=trials, jobs=jobs):
            progress.advance(bar)
            if trial.error is not None:
                told.add(trial.number)
                note(f"failed: {_failure(trial)}")
    found = task.trials(out)
    for trial in found:
        if trial.error is not None and trial.number not in told:
            note(f"failed earlier: {_failure(trial)}")
    if as_json:
        print_json([_as_dict(trial) for trial in found])
    else:
        _print(found, list(dict.fromkeys(one.setting for one in varied)))
    if told:
        note(f"{counted(len(told), 'trial')} failed; the same command tries as many others")
    if found[0].score is None:
        raise ConfigError("every trial failed", where=out, remedy="see the messages above")
    best = out / "best.toml"
    clicks = () if timestamps is None else ("--timestamps", timestamps)
    words = ("train", dataset, "--split", split, *clicks, "--config", best, "--out", "RUN")
    note(f"the best settings are in {best}; try {command(*words)}")


def _failure(trial: Trial) -> str:
    from uvast.benchmark.ranges import setting_values

    chosen = setting_values(trial.values)
    values = ", ".join(f"{name}={_short(value)}" for name, value in chosen.items())
    return f"trial {trial.number} ({values}): {trial.error}"


def _as_dict(trial: Trial) -> dict[str, object]:
    from uvast.benchmark.ranges import setting_values

    return {
        "trial": trial.number,
        "score": trial.score,
        "values": setting_values(trial.values),
        "error": trial.error,
    }


def _print(trials: tuple[Trial, ...], names: list[str]) -> None:
    from uvast.benchmark.ranges import setting_values

    chosen = [setting_values(one.values) for one in trials]
    rows = [
        [
            str(one.number),
            "failed" if one.score is None else f"{one.score:.2f}",
            *(_short(values.get(name, "–")) for name in names),
        ]
        for one, values in zip(trials, chosen, strict=True)
    ]
    print_table(
        "Mean of Acc, Edit and F1@50 on the validation part", ["trial", "score", *names], rows
    )


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
