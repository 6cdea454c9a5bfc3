"""`uvast export`: the labels of a project, or predictions, in any tool's format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import results
from uvast.cli.convert import (
    FpsOption,
    GapRule,
    GapsOption,
    OverlapRule,
    OverwriteOption,
    OwnBackgroundOption,
    WriteAsOption,
    constant_times,
    own_background,
    tell,
    written_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.exchange import Format, FrameTimes, VideoAnnotations

    Records = tuple[tuple[VideoAnnotations, ...], Callable[[str], FrameTimes | None]]


def export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="PROJECT|PREDICTIONS",
            help="A project, or what uvast segment wrote: a folder or a file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="A new file, or a folder for one file per video.")],
    write_as: WriteAsOption = None,
    fps: FpsOption = None,
    overlaps: Annotated[
        OverlapRule,
        typer.Option(
            help="Which of several overlapping intervals counts, if the format holds only one."
        ),
    ] = OverlapRule.error,
    gaps: GapsOption = GapRule.background,
    background: OwnBackgroundOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Export the labels of a project, or predictions, for another tool.

    The formats are those of uvast convert. The command lists what a format cannot hold.

    For example:

    ```
    uvast export my-project --to elan --out elan/

    # predictions, to be corrected in Label Studio
    uvast export predictions/ --to label-studio-predictions --out tasks.json
    ```
    """
    from uvast.exchange import Target, format_for, format_named, write_annotations

    kind = format_for(out) if write_as is None else format_named(write_as, "--to", to_write=True)
    videos, times_of = _records(source, kind, fps)
    name = own_background(source) if background is None else background
    target = Target(str(out), times_of, gaps.value, name, overlaps.value)
    files, warnings = write_annotations(out, videos, kind, target, overwrite=overwrite)
    tell(warnings)
    results.print(written_line(files, out, videos))


def _records(source: Path, kind: Format, fps: str | None) -> Records:
    from uvast.exchange import parse_rate, read_annotations
    from uvast.projects import Project, is_project
    from uvast.projects.exports import exported, exported_times
    from uvast.projects.video_times import predicted_times

    if is_project(source):
        project = Project.open(source)
        times = exported_times(project, None if fps is None else parse_rate(fps))
        return exported(project, kind), times
    times = constant_times(fps)
    reading = read_annotations(source, times_of=times)
    tell(reading.warnings)
    return reading.videos, predicted_times(source) if fps is None else times
