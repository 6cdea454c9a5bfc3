"""`uvast agree`: two annotators, or a prediction and an annotation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table
from uvast.cli.convert import (
    FpsOption,
    GapRule,
    GapsOption,
    MappingOption,
    OverlapRule,
    OverlapsOption,
    OwnBackgroundOption,
    ReadAsOption,
    TierOption,
    chosen_rules,
    constant_times,
    own_background,
    tell,
)
from uvast.cli.options import JsonOption

if TYPE_CHECKING:
    from uvast.evaluation.annotations import AnnotatorComparison
    from uvast.exchange import VideoAnnotations

_MOST_LABELS = 12
"""A larger confusion table appears only in --json and --report."""


def agree(
    first: Annotated[Path, typer.Argument(metavar="A", help="A file, a folder or a project.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The same, by the other annotator.")],
    read_as: ReadAsOption = None,
    fps: FpsOption = None,
    overlaps: OverlapsOption = OverlapRule.error,
    gaps: GapsOption = GapRule.background,
    background: OwnBackgroundOption = None,
    tier: TierOption = None,
    mapping: MappingOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="HTML", help="Also write a page with both timelines of each video."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a page that exists.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two annotators: kappa, F1, boundary differences and a confusion table.

    A side is a file or a folder of annotations, a project, or predictions. Videos are matched by
    name. Frames that either side leaves unknown are not compared.

    For example:

    ```
    uvast agree ann.eaf bo.eaf

    # predictions, with timelines
    uvast agree my-project predictions/ --report agreement.html
    ```
    """
    from uvast.evaluation.annotations import compare_annotations
    from uvast.exchange import format_named, read_annotations
    from uvast.files import check_absent

    if report is not None and not overwrite:
        check_absent(report)
    times_of = constant_times(fps)
    kind = None if read_as is None else format_named(read_as, "--from")
    rules = chosen_rules(tier, None, mapping, None)
    sides = []
    for path in (first, second):
        reading = read_annotations(_side(path), kind, times_of=times_of)
        tell(reading.warnings)
        ruled = rules.apply(_with_rates(path, reading.videos))
        tell(ruled.notes)
        sides.append(ruled.videos)
    found = compare_annotations(
        *sides,
        times_of=times_of,
        gaps=gaps.value,
        background=own_background(first, second) if background is None else background,
        overlaps=overlaps.value,
    )
    if report is not None:
        from uvast.report import write_page
        from uvast.report.of_agreement import report_agreement

        write_page(report_agreement(found, str(first), str(second)), report)
        note(f"wrote {report}")
    if as_json:
        print_json(found.as_dict())
        return
    tell(found.notes)
    _print(found, str(first), str(second))


def _side(path: Path) -> Path:
    """Where the annotations are; a project keeps them in a subfolder."""
    from uvast.projects import is_project

    return path / "annotations" if is_project(path) else path


def _with_rates(path: Path, videos: tuple[VideoAnnotations, ...]) -> tuple[VideoAnnotations, ...]:
    """The videos; those of a project with the rates and lengths that it knows."""
    from uvast.projects import Project, is_project

    if not is_project(path):
        return videos
    known = {video.name: video for video in Project.open(path).videos}
    return tuple(
        replace(
            one,
            frame_rate=known[one.video].frames_per_second,
            duration=known[one.video].seconds or None,
        )
        if one.video in known
        else one
        for one in videos
    )


def _print(found: AnnotatorComparison, first: str, second: str) -> None:
    from uvast.report.of_agreement import agreement_tables

    *tables, confusion = agreement_tables(found, first, second)
    if len(found.classes) <= _MOST_LABELS:
        tables.append(confusion)
    else:
        note(f"note: the confusion table of {len(found.classes)} labels is in --json and --report")
    for one in tables:
        print_table(one.title, list(one.columns), [list(row) for row in one.rows])
