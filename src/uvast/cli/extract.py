"""`uvast extract`: videos, poses and tables to features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table
from uvast.cli.extracting import extract_with_bar
from uvast.cli.options import (
    AddressOption,
    CpusOption,
    DeviceOption,
    EngineName,
    EngineOption,
    GpusOption,
    JsonOption,
)
from uvast.errors import ConfigError, UvastError, command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.features.extraction import Outcome
    from uvast.features.models import ModelName
    from uvast.projects import Project


def extract(
    videos: Annotated[
        list[Path],
        typer.Argument(help="A project; or video files, or folders of them.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for NAME.npy and NAME.json.", show_default="PROJECT/features of a project"
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="pixels, appearance, i3d, onnx:FILE.onnx, or several, separated by commas; "
            "or poses or table."
        ),
    ] = "appearance",
    fps: Annotated[
        str, typer.Option("--fps", help="Features per second, or source for one per frame.")
    ] = "15",
    rows_per_second: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=10**6,
            help="The rate of poses and tables.",
            show_default="unknown: one feature per row",
        ),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Videos to extract at the same time.")] = 1,
    engine: EngineOption = EngineName.local,
    address: AddressOption = "auto",
    cpus: CpusOption = 1,
    gpus: GpusOption = 0,
    device: DeviceOption = "auto",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace features that exist.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Extract features from videos.

    Existing features of the same model and video are kept. A video that cannot be read is reported
    and skipped; the exit code is then 2.

    For example:

    ```
    uvast extract my-project

    # without a project
    uvast extract videos/ --out data/features

    # better and slower
    uvast extract videos/*.mp4 --model appearance,i3d --out features

    # from DeepLabCut or SLEAP
    uvast extract poses/ --model poses --out features
    ```
    """
    from uvast.devices import n_cores
    from uvast.features.extraction import Order
    from uvast.features.models import parse_models
    from uvast.projects import Project, is_project

    models = parse_models(model)
    rate = _rate(fps)
    project = Project.open(videos[0]) if len(videos) == 1 and is_project(videos[0]) else None
    sources, outcomes = _sources(videos, project, models)
    out = _folder(out, project)
    orders = [
        Order(
            source=path.absolute(),
            out=out.absolute(),
            name=name,
            models=tuple(one.absolute() for one in models),
            rate=rate,
            rows_per_second=rows_per_second,
            device=device,
            overwrite=overwrite,
            n_threads=max(1, min(4, n_cores() // processes)),
        )
        for name, path in sources.items()
    ]
    cluster = None
    if engine is EngineName.ray:
        from uvast.inference.cluster import Cluster

        cluster = Cluster(address, cpus, gpus)
    outcomes += extract_with_bar(
        orders, f"extracting {model}", processes=processes, cluster=cluster
    )
    _report(sorted(outcomes, key=lambda one: one.name), out, as_json=as_json)
    if project is not None and any(outcome.error is None for outcome in outcomes):
        _finish(project)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(2)


def _folder(out: Path | None, project: Project | None) -> Path:
    if out is not None:
        return out
    if project is None:
        raise ConfigError(
            "is needed without a project",
            where="--out",
            remedy="pass --out DIR, or name a project that uvast init has made",
        )
    return project.path / "features"


def _sources(
    paths: Sequence[Path], project: Project | None, models: Sequence[ModelName]
) -> tuple[dict[str, Path], list[Outcome]]:
    """Feature name to source file, and the project's videos that are missing."""
    from uvast.features.extraction import Outcome
    from uvast.features.models import TABLES
    from uvast.features.sources import find_sources

    if project is None:
        return {path.stem: path for path in find_sources(paths, models)}, []
    wants_tables = models[0].kind in TABLES
    kind, other = ("tables", "videos") if wants_tables else ("videos", "tables")
    found: dict[str, Path] = {}
    failed: list[Outcome] = []
    for video in project.videos:
        if video.is_table if wants_tables else video.is_video:
            try:
                found[video.name] = project.source(video.name)
            except UvastError as error:
                failed.append(Outcome(video.name, "failed", error=error))
    if not found and not failed:
        raise ConfigError(
            f"has no {kind} to extract {models[0].kind} from",
            where=project.path,
            remedy=f"add some with {command('init', project.path, '--videos', 'DIR')}, "
            f"or choose a --model for {other}",
        )
    return found, failed


def _finish(project: Project) -> None:
    """Writes the features' rate to the dataset, and says what comes next."""
    project.materialise()
    if project.has_labels:
        note(f"next: {command('train', project.path)}")
    else:
        note(f"next: add labels or clicks with {command('import', project.path, 'FILE')}")


def _rate(text: str) -> float | None:
    if text == "source":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1000:
        raise ConfigError(
            f"{text!r} is not a rate", where="--fps", remedy="write for example 15, or source"
        )
    return rate


def _report(outcomes: Sequence[Outcome], out: Path, *, as_json: bool) -> None:
    failed = [one for one in outcomes if one.error is not None]
    for one in failed:
        note(f"skipped: {one.error}")
    if as_json:
        print_json(
            {
                "out": str(out),
                "videos": {one.name: _as_dict(one) for one in outcomes if one.error is None},
                "skipped": {one.name: str(one.error) for one in failed},
            }
        )
        return
    rows = [
        [
            one.name,
            str(one.n_frames),
            str(one.n_features),
            "–" if one.seconds is None else f"{one.seconds:.1f}",
            "already there" if one.state == "kept" else "new",
        ]
        for one in outcomes
        if one.error is None
    ]
    if rows:
        title = f"{len(rows)} video{'' if len(rows) == 1 else 's'} in {out}"
        print_table(title, ["video", "frames", "features", "seconds", "state"], rows)


def _as_dict(one: Outcome) -> dict[str, object]:
    return {
        "state": one.state,
        "frames": one.n_frames,
        "features": one.n_features,
        "seconds": one.seconds,
        "remark": one.remark,
    }
