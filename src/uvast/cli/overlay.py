"""`uvast overlay`: a prediction drawn under its video."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.features.overlay import LabelStyle


def overlay(
    video: Annotated[Path, typer.Argument(help="The video.", show_default=False)],
    prediction: Annotated[
        Path,
        typer.Argument(
            help="What uvast segment wrote: its folder, or the video's json, csv or txt file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The annotated video, an .mp4 file.")],
    dataset: Annotated[
        Path | None,
        typer.Option(
            help="Take the colours of this dataset's report.", show_default="the labels by name"
        ),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            "--fps",
            min=0.001,
            help="The frame rate that the prediction counts in.",
            show_default="as the file says, else spread over the video",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a video that exists.")
    ] = False,
) -> None:
    """Draw labels, confidences and a timeline under a video; its sound is left out.

    For example:

    ```
    uvast overlay new.mp4 predictions --out annotated.mp4
    ```
    """
    from uvast.devices import n_cores
    from uvast.errors import OutputError
    from uvast.features.overlay import write_overlay
    from uvast.features.timed_segments import read_timed_segments
    from uvast.features.video_file import video_info
    from uvast.files import check_absent

    if out.suffix.lower() != ".mp4":
        raise OutputError("is not a name for an .mp4 file", where=out, remedy="end it with .mp4")
    if not overwrite:
        check_absent(out)
    info = video_info(video)
    file = _of_video(prediction, video.stem) if prediction.is_dir() else prediction
    segments = read_timed_segments(file, seconds=info.seconds, frames_per_second=fps)
    styles = _styles({segment.label for segment in segments}, dataset)
    with progress_bar() as progress:
        task = progress.add_task(f"drawing {out.name}", total=100)
        write_overlay(
            info,
            segments,
            styles,
            out,
            n_threads=min(4, n_cores()),
            on_progress=lambda share: progress.update(task, completed=100 * share),
        )
        progress.update(task, completed=100)
    note(f"the annotated video is in {out}")


def _of_video(folder: Path, name: str) -> Path:
    from uvast.errors import MissingFileError
    from uvast.evaluation import find_predictions

    found = find_predictions(folder, [name], tables_first=True).get(name)
    if found is None:
        raise MissingFileError(
            f"has no prediction of video {name}",
            where=folder,
            remedy="segment that video, or name its file",
        )
    return found


def _styles(labels: Iterable[str], dataset: Path | None) -> dict[str, LabelStyle]:
    """Label to style: the dataset's classes first, then labels that it does not have."""
    from uvast.data import Dataset
    from uvast.features.overlay import LabelStyle
    from uvast.report.palette import class_styles, rgb
    from uvast.vocabulary import BACKGROUND, Vocabulary

    known = None if dataset is None else Dataset.open(dataset).vocabulary
    names = list(known.names) if known else []
    names += sorted(set(labels) - set(names))
    background = known.background if known else tuple({BACKGROUND} & set(names))
    looks = class_styles(Vocabulary(tuple(names), background))
    return {
        name: LabelStyle(rgb(look.colour), rgb(look.ink), look.pattern)
        for name, look in zip(names, looks, strict=True)
    }
