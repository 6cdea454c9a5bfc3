"""`uvast import`: other tools' labels into a project, and undoing such an import."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table
from uvast.cli.convert import (
    FpsOption,
    GapRule,
    GapsOption,
    LabelFromOption,
    MappingOption,
    OverlapRule,
    OverlapsOption,
    ReadAsOption,
    TierOption,
    chosen_rules,
    tell,
)
from uvast.cli.options import JsonOption
from uvast.errors import ConfigError, UvastError, command, counted

if TYPE_CHECKING:
    from uvast.exchange import VideoAnnotations
    from uvast.projects import Project


def import_command(
    project: Annotated[Path, typer.Argument(help="A project from uvast init.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE…", help="Annotation files, or folders of them.", show_default=False
        ),
    ] = None,
    read_as: ReadAsOption = None,
    fps: FpsOption = None,
    overlaps: OverlapsOption = OverlapRule.error,
    gaps: GapsOption = GapRule.background,
    background: Annotated[
        str | None,
        typer.Option(help="What the files call background.", show_default="as the project"),
    ] = None,
    tier: TierOption = None,
    label_from: LabelFromOption = None,
    mapping: MappingOption = None,
    names: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A file of lines 'name in the files,video', where names differ."
        ),
    ] = None,
    skip_unknown: Annotated[
        bool,
        typer.Option("--skip-unknown", help="Leave out videos that the project does not have."),
    ] = False,
    add: Annotated[
        bool, typer.Option("--add", help="Keep the videos' existing annotations, too.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the videos' existing annotations.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo the last import; repeat it for the one before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Import labels from other tools into a project; all files or none.

    The formats are those of uvast convert, recognised by content. Videos are matched by name.
    Frame numbers refer to the video's frames at their real presentation times.

    For example:

    ```
    uvast import my-project labels.eaf

    # a folder, with labels renamed
    uvast import my-project labels/ --mapping names.csv

    # labels of many videos, of which the project has some
    uvast import my-project labels/ --skip-unknown

    # take the last import back
    uvast import my-project --undo
    ```
    """
    from uvast.projects import Project

    if undo:
        if files or add:
            raise ConfigError(
                "takes an import back and reads no files",
                where="--undo",
                remedy="give the project alone",
            )
        _undo(Project.open(project), drop_changes=replace, as_json=as_json)
        return
    if not files:
        raise ConfigError("no files to import", remedy="name annotation files or folders of them")
    if add and replace:
        raise ConfigError(
            "--add keeps the annotations that videos have and --replace does not",
            remedy="choose one of them",
        )
    from uvast.exchange import format_named, parse_rate
    from uvast.exchange.files import read_pairs
    from uvast.projects.imports import import_labels
    from uvast.projects.incoming import HowToRead, read_incoming

    opened = _opened(project)
    how = HowToRead(
        None if read_as is None else format_named(read_as, "--from"),
        None if fps is None else parse_rate(fps),
        None if names is None else read_pairs(names),
        chosen_rules(tier, label_from, mapping, None),
        gaps.value,
        background,
        skip_unknown,
    )
    incoming = read_incoming(opened, files, how)
    done = import_labels(
        opened,
        incoming,
        existing="add" if add else "replace" if replace else "refuse",
        overlaps=overlaps.value,
    )
    notes = (*incoming.notes, *done.notes, *_materialised(opened))
    if as_json:
        rows = [_row(opened, video) for video in done.videos]
        paths = list(map(str, incoming.files))
        print_json({"import": done.number, "files": paths, "videos": rows, "notes": list(notes)})
        return
    tell(notes)
    _print(opened, done.number, done.videos)


def _opened(path: Path) -> Project:
    from uvast.files.names import GROUND_TRUTH
    from uvast.projects import Project, is_project

    if not is_project(path) and (path / GROUND_TRUTH).is_dir():
        raise ConfigError(
            "is a dataset with label files, not a project",
            where=path,
            remedy="write label files for it with uvast convert IN FOLDER --to ms-tcn --fps "
            "RATE, or make a project of its videos with uvast init",
        )
    return Project.open(path)


def _undo(project: Project, *, drop_changes: bool, as_json: bool) -> None:
    from uvast.projects.imports import undo_import

    number, record = undo_import(project, drop_changes=drop_changes)
    notes = _materialised(project)
    if as_json:
        values = {"undone": number, "files": list(record.files), "videos": list(record.videos)}
        print_json({**values, "notes": list(notes)})
        return
    tell(notes)
    videos = counted(len(record.videos), "video")
    note(f"import {number} of {_local(record.when)} is undone: {videos} as before")


def _local(when: str) -> str:
    """A moment by this machine's clock, to the minute."""
    try:
        return f"{datetime.fromisoformat(when).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return when


def _materialised(project: Project) -> tuple[str, ...]:
    """Brings the label files up to date; the annotations are safe whatever happens."""
    try:
        return project.materialise()
    except UvastError as error:
        return (f"the label files could not be written: {error}",)


def _row(project: Project, video: VideoAnnotations) -> dict[str, object]:
    """The seconds are those somebody looked at; None for clicks alone or an unknown length."""
    seconds = project.video(video.video).seconds or None
    if not video.intervals:
        seconds = None
    elif video.observed is not None:
        seconds = sum(span.end - span.start for span in video.observed)
    return {
        "video": video.video,
        "intervals": len(video.intervals),
        "points": len(video.points),
        "labelled_seconds": None if seconds is None else round(seconds, 3),
    }


def _print(project: Project, number: int, videos: tuple[VideoAnnotations, ...]) -> None:
    rows = [list(_row(project, video).values()) for video in videos]
    cells = [["–" if cell is None else str(cell) for cell in row] for row in rows]
    columns = ["video", "intervals", "points", "labelled seconds"]
    print_table(f"Import {number} into {project.path}", columns, cells)
    note(f"undo it with {command('import', project.path, '--undo')}")
