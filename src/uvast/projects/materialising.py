"""Makes the label files and settings of a project's dataset from annotations and features."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock

from uvast.data.classes import alike_classes_note
from uvast.data.faults import some
from uvast.data.labelled import LABELLED_FILE
from uvast.data.spec import read_spec
from uvast.data.video_names import listed_stems
from uvast.errors import LabelError, command
from uvast.files.names import GROUND_TRUTH
from uvast.projects.derived import write_derived
from uvast.projects.labels import MAPPING, TIMESTAMPS, class_names, derived_files, label_video
from uvast.projects.settings import write_settings
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.projects.labels import VideoLabels
    from uvast.projects.project import Project


def materialise(project: Project, *, run_follows: bool = False) -> tuple[str, ...]:
    """See `Project.materialise`."""
    with _locked(project):
        return _materialised(project, run_follows=run_follows)


@contextmanager
def _locked(project: Project) -> Iterator[None]:
    """One at a time: two at once would mistake each other's files for somebody's own."""
    with ExitStack() as stack:
        with suppress(OSError):  # a read-only disk is fine if all is up to date
            stack.enter_context(FileLock(project.path / ".labels.lock"))
        yield


def _materialised(project: Project, *, run_follows: bool) -> tuple[str, ...]:
    write_settings(project.path, [card for name in project.names if (card := project.card(name))])
    named = read_spec(project.path).background or ()
    background = (named or (BACKGROUND,))[0]
    labelled: list[VideoLabels] = []
    bare: list[str] = []
    waiting: list[str] = []
    notes: list[str] = []
    for name in project.names:
        annotations = project.annotations(name)
        if annotations is None or not annotations.events:
            bare.append(name)
            continue
        times = project.frame_times(name)
        if times is None and not project.features_path(name).is_file():
            waiting.append(name)
            continue
        if times is None:
            why = f"the frame rate of {name} is unknown; set frames_per_second in dataset.toml"
            notes.append(f"left out: {why}")
            continue
        try:
            labelled.append(label_video(annotations, times, background))
        except LabelError as error:
            notes.append(f"left out: {error}")
    if waiting:
        have, extract = "has" if len(waiting) == 1 else "have", command("extract", project.path)
        what = f"{have} labels but no features yet; make them with {extract}"
        notes.insert(0, f"left out: {some(waiting)} {what}")
    texts, _ = listed_stems(project.path / GROUND_TRUTH, ".txt")
    stale = (*(f"{GROUND_TRUTH}/{name}.txt" for name in texts), TIMESTAMPS, MAPPING, LABELLED_FILE)
    write_derived(project.path, derived_files(labelled, background, named), stale)
    if (alike := alike_classes_note(class_names(labelled, background, named))) is not None:
        notes.append(alike)
    return (*notes, *_notes(labelled, bare, run_follows=run_follows))


def _notes(
    labelled: Sequence[VideoLabels], bare: Sequence[str], *, run_follows: bool
) -> Iterator[str]:
    """What a user should know before training."""
    for video in labelled:
        yield from video.notes
    if labelled and bare and not run_follows:
        yield f"not labelled yet, and left out: {some(bare)}"
    full = [video.name for video in labelled if video.labels is not None]
    clicked = [video.name for video in labelled if video.labels is None]
    if full and clicked:
        if not run_follows:
            yield f"with clicks only, and left out of training with full labels: {some(clicked)}"
        yield (
            "for training with --supervision timestamps, the middle of each segment is used as "
            f"a click: {some(full)}"
        )
