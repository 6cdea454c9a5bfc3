"""`uvast init`: videos to a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.options import JsonOption
from uvast.errors import ConfigError, command, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.progress import TaskID

    from uvast.errors import UvastError
    from uvast.projects import Project, ProjectVideo


def init(
    project: Annotated[Path, typer.Argument(help="The folder to make.", show_default=False)],
    videos: Annotated[
        list[Path] | None,
        typer.Option(
            help="Videos, pose files, or folders of them. May be given several times.",
            metavar="PATH",
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH…",
            help="More of them, as the shell writes them for --videos *.mp4.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a project from your videos, or add videos to it.

    Videos stay where they are: the project remembers their paths. Run it again to add new ones,
    or to say where videos have moved; without any, it reads the lengths of the project's again.
    A video that cannot be read is reported and skipped; the exit code is then 2. Feature files in
    PROJECT/features count as videos, too.

    For example:

    ```
    uvast init my-project --videos recordings/

    # some of them
    uvast init my-project --videos recordings/*.mp4

    # poses from DeepLabCut or SLEAP instead of videos
    uvast init my-project --videos poses/
    ```
    """
    from uvast.projects import Project, is_project

    sources = [*(videos or []), *(more or [])]
    before: tuple[ProjectVideo, ...] = ()
    with progress_bar() as progress:
        tasks: list[TaskID] = []

        def tell(n_done: int, n_files: int) -> None:
            if not tasks:
                tasks.append(progress.add_task("reading videos", total=n_files))
            progress.update(tasks[0], completed=n_done)

        errors: Sequence[UvastError]
        if is_project(project):
            made = Project.open(project)
            before = made.videos
            _, errors = made.add_videos(sources, tell)
        elif sources or (project / "features").is_dir():
            made, errors = Project.create(project, sources, tell)
        else:
            raise ConfigError(
                "a new project needs videos", remedy=command("init", project, "--videos", "DIR")
            )
    for error in errors:
        note(f"skipped: {error}")
    for sentence in _other_lengths(before, made.videos):
        note(sentence)
    _report(made, before, errors, as_json=as_json)
    note(f"next: {_next(made)}")
    if errors:
        raise typer.Exit(2)


def _next(project: Project) -> str:
    path = project.path
    if any(video.is_video for video in project.videos):
        return command("extract", path)
    if any(video.is_table for video in project.videos):
        by_hand = command("extract", path, "--model", "poses", "--rows-per-second", 30)
        return f"{by_hand} (or what their rate is)"
    return f"set frames_per_second in {path / 'dataset.toml'}, then add labels"


def _report(
    project: Project,
    before: Sequence[ProjectVideo],
    errors: Sequence[UvastError],
    *,
    as_json: bool,
) -> None:
    known = {video.name: video for video in before}
    states = {video.name: _state(video, known.get(video.name)) for video in project.videos}
    if as_json:
        listed = [
            vars(video) | {"path": str(video.path), "state": states[video.name]}
            for video in project.videos
        ]
        skipped = [str(error) for error in errors]
        print_json({"project": str(project.path), "videos": listed, "skipped": skipped})
        return
    title = f"{counted(len(states), 'video')} in {project.path}"
    rows = [[*_row(video), states[video.name]] for video in project.videos]
    print_table(title, ["video", "length", "frames a second", "codec", "size", "state"], rows)


def _state(video: ProjectVideo, before: ProjectVideo | None) -> str:
    if before is None:
        return "new"
    if video.path != before.path:
        return "moved"
    return "known" if video == before else "read again"


def _other_lengths(before: Sequence[ProjectVideo], now: Sequence[ProjectVideo]) -> list[str]:
    """Notes on lengths that are corrected."""
    from uvast.data.faults import some

    old = {video.name: video.seconds for video in before}
    other = [
        f"{video.name} ({old[video.name]:.2f} to {video.seconds:.2f} s)"
        for video in now
        if video.seconds is not None and old.get(video.name) not in (None, video.seconds)
    ]
    return [f"{counted(len(other), 'length')} corrected: {some(other)}"] if other else []


def _row(video: ProjectVideo) -> list[str]:
    from uvast.times import format_time

    rate = video.frames_per_second
    return [
        video.name,
        "–" if video.seconds is None else format_time(video.seconds, 1),
        "–" if rate is None else f"{rate:.2f}".removesuffix(".00"),
        video.codec or "–",
        "–" if video.width is None else f"{video.width}x{video.height}",
    ]
