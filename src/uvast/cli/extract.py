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
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.features.extraction import Outcome


def extract(
    videos: Annotated[
        list[Path], typer.Argument(help="Video files, or folders of them.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder for NAME.npy and NAME.json.")],
    model: Annotated[
        str,
        typer.Option(
            help="pixels, appearance, i3d, onnx:FILE.onnx, several by commas; poses or table."
        ),
    ] = "appearance",
    fps: Annotated[
        str, typer.Option("--fps", help="Features a second, or source for one a frame.")
    ] = "15",
    rows_per_second: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Of poses and tables.", show_default="unknown, one feature a row"
        ),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Videos side by side.")] = 1,
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

    Features that are there already, of the same model and video, are kept. A video that cannot
    be read is reported and skipped; the exit code is then 2.

    Example: `uvast extract videos/ --out data/features`

    Better and slower: `uvast extract videos/*.mp4 --model appearance,i3d --out features`

    From DeepLabCut or SLEAP: `uvast extract poses/ --model poses --out features`
    """
    from uvast.devices import n_cores
    from uvast.features.extraction import Order
    from uvast.features.models import parse_models
    from uvast.features.sources import find_sources

    models = parse_models(model)
    rate = _rate(fps)
    orders = [
        Order(
            source=path.absolute(),
            out=out.absolute(),
            models=tuple(one.absolute() for one in models),
            rate=rate,
            rows_per_second=rows_per_second,
            device=device,
            overwrite=overwrite,
            n_threads=max(1, min(4, n_cores() // processes)),
        )
        for path in find_sources(videos, models)
    ]
    cluster = None
    if engine is EngineName.ray:
        from uvast.inference.cluster import Cluster

        cluster = Cluster(address, cpus, gpus)
    outcomes = extract_with_bar(orders, f"extracting {model}", processes=processes, cluster=cluster)
    _report(outcomes, out, as_json=as_json)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(2)


def _rate(text: str) -> float | None:
    if text == "source":
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1000:
        raise ConfigError(
            f"{text!r} is no rate", where="--fps", remedy="write for example 15, or source"
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
