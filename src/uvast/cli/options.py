"""Options that several commands share: settings, engines, and comma-separated lists."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note
from uvast.errors import ConfigError, LabelError, MissingFileError, command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.benchmark.engine import Engine
    from uvast.config import Config


class EngineName(str, Enum):
    """Where runs are computed."""

    local = "local"
    ray = "ray"


class ProtocolName(str, Enum):
    """How the last segment ends."""

    standard = "standard"
    legacy = "legacy"


DatasetsArgument = Annotated[
    list[Path], typer.Argument(help="Folders of datasets.", show_default=False)
]
BaseOption = Annotated[
    str,
    typer.Option(
        "--base",
        help="A preset that each model's preset builds on: a name, none, or auto for the one "
        "with the dataset's name.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting, such as train.epochs=50; may be given several times.",
    ),
]
ProtocolOption = Annotated[
    ProtocolName,
    typer.Option(
        "--protocol",
        help="`legacy` ends the last segment one frame early, as published code does.",
    ),
]
SeedsOption = Annotated[str, typer.Option("--seeds", help="Random seeds, separated by commas.")]
TimestampsOption = Annotated[
    Path | None,
    typer.Option(
        "--timestamps",
        help="Timestamps: .json, .csv, .tsv, .xlsx or a published .npy.",
        show_default="the dataset's own",
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option("--engine", help="Run on this machine, or on a Ray cluster (an extra)."),
]
JobsOption = Annotated[
    int, typer.Option("--jobs", min=1, help="How many runs at a time on this machine.")
]
AddressOption = Annotated[
    str, typer.Option("--address", help="The Ray cluster: auto, local or host:port.")
]
CpusOption = Annotated[float, typer.Option("--cpus", min=0.1, help="CPUs for each task on Ray.")]
GpusOption = Annotated[float, typer.Option("--gpus", min=0, help="GPUs for each task on Ray.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=0, help="Threads that decode at the same time.")
]
EpochsOption = Annotated[
    int | None,
    typer.Option(
        "--epochs", min=1, metavar="N", help="Epochs of each stage.", show_default="the preset's"
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda, …")]


def chosen_config(
    preset: str | None, file: Path | None, model: str | None, settings: Iterable[str]
) -> Config:
    """The settings that the options of a training describe."""
    from uvast.config import load_config
    from uvast.presets import presets

    names = [preset] if preset else []
    if file is None and model in presets() and model not in names:
        names.append(model)  # a baseline brings its published settings
    kind = [] if model is None else [f"model.kind={model}"]
    return load_config(names or None, file, [*settings, *kind])


def make_engine(
    name: EngineName, *, jobs: int, device: str, address: str, cpus: float, gpus: float
) -> Engine:
    """The engine that the options describe."""
    if name is EngineName.ray:
        from uvast.benchmark.ray_engine import RayEngine
        from uvast.inference.cluster import Cluster

        return RayEngine(Cluster(address, cpus, gpus), device)
    from uvast.benchmark.engine import LocalEngine

    return LocalEngine(jobs, device)


def run_of(path: Path) -> Path:
    """The run that a path means: a project stands for its newest finished one."""
    from uvast.projects import Project, is_project

    return Project.open(path).newest_run() if is_project(path) else path


def refresh_labels(dataset: Path, *, needed: bool = True, run_follows: bool = False) -> bool:
    """Brings a project's label files up to date; False for a dataset that is not a project.

    A project without labels is an error where they are `needed`. Where `run_follows`, the videos
    without labels are left for its own notes.
    """
    from uvast.projects import Project, is_project

    if not is_project(dataset):
        return False
    project = Project.open(dataset)
    if not any(project.features_path(name).is_file() for name in project.names):
        remedy = f"make them with {command('extract', dataset)}"
        raise MissingFileError("has no features yet", where=dataset, remedy=remedy)
    for sentence in project.materialise(run_follows=run_follows):
        note(sentence)
    if needed and not project.has_labels:
        remedy = f"import them with {command('import', dataset, 'FILE')}"
        raise LabelError("has no labels to learn from yet", where=dataset, remedy=remedy)
    return True


def names_of(text: str) -> list[str]:
    """`a, b` -> its parts."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers_of(text: str, option: str) -> list[int]:
    """`0,1,2` -> the numbers, none below zero."""
    parts = names_of(text)
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(
            f"{text!r} is not a list of numbers", where=option, remedy="write for example 0,1,2"
        )
    return [int(part) for part in parts]
