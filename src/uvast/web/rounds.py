"""Rounds of train, segment, review: what each predicted, kept to be scored later."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from uvast.files import read_record, write_json
from uvast.files.names import MANIFEST

if TYPE_CHECKING:
    from uvast.web.app import App

_Label = Annotated[str, Field(min_length=1, max_length=1000)]
_Seconds = Annotated[float, Field(ge=0, le=1e9)]


@dataclass(frozen=True)
class Round:
    """What one model predicted.

    Args:
        at: when, in seconds since 1970.
        run: its run folder.
        train: the videos it had learned from.
        videos: the segments of each video: label, start and end in seconds.
    """

    at: float
    run: str
    train: tuple[_Label, ...]
    videos: dict[_Label, tuple[tuple[_Label, _Seconds, _Seconds], ...]]


@dataclass(frozen=True)
class _Manifest:
    """What is read from the manifest that `uvast segment` writes."""

    model: Annotated[str, Field(max_length=10_000)]
    train: tuple[_Label, ...] = ()


def keep_round(app: App) -> None:
    """Saves the current predictions as the newest round."""
    manifest = read_record(app.project.path / "predictions" / MANIFEST, _Manifest)
    videos = {
        name: tuple((one.label, one.start, one.end) for one in events if one.end is not None)
        for name in app.project.names
        if (events := app.predictions.events(name))
    }
    folder = rounds_folder(app)
    number = 1 + max((int(path.stem) for path in round_files(folder)), default=0)
    kept = Round(time.time(), Path(manifest.model).name, manifest.train, videos)
    write_json(folder / f"{number}.json", asdict(kept))


def rounds_folder(app: App) -> Path:
    """`PROJECT/app/rounds`."""
    return app.project.path / "app" / "rounds"


def round_files(folder: Path) -> list[Path]:
    """The rounds, by number, in no order."""
    return [path for path in folder.glob("*.json") if path.stem.isdecimal()]
