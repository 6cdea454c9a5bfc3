"""`uvast agree`: two annotators, or a prediction and an annotation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table
from uvast.cli.convert import (
    BackgroundOption,
    FpsOption,
    GapRule,
    GapsOption,
    MappingOption,
    OverlapRule,
    TierOption,
    chosen_rules,
    constant_times,
    tell,
)
from uvast.cli.options import JsonOption

if TYPE_CHECKING:
    from uvast.evaluation.agreement import Agreement, Differences
    from uvast.evaluation.annotations import Comparison

_MOST_LABELS = 12
"""A larger table of confusions is only in --json."""


def agree(
    first: Annotated[Path, typer.Argument(metavar="A", help="An annotation file or a folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The other annotator's.")],
    read_as: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Of both.", show_default="by content"),
    ] = None,
    fps: FpsOption = None,
    overlaps: Annotated[
        OverlapRule, typer.Option(help="Which interval counts.")
    ] = OverlapRule.error,
    gaps: GapsOption = GapRule.background,
    background: BackgroundOption = "background",
    tier: TierOption = None,
    mapping: MappingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two annotators: kappa, F1, boundary differences and a confusion table.

    Videos are matched by name. Frames that either side leaves unknown are not compared.

    Example: `uvast agree ann.eaf bo.eaf`

    A prediction: `uvast agree labels/ predictions/ --fps 30 --json`
    """
    from uvast.evaluation.annotations import compare_annotations
    from uvast.exchange import format_named, read_annotations

    times_of = constant_times(fps)
    kind = None if read_as is None else format_named(read_as, "--from")
    rules = chosen_rules(tier, None, mapping, None)
    sides = []
    for path in (first, second):
        reading = read_annotations(path, kind, times_of=times_of)
        tell(reading.warnings)
        ruled = rules.apply(reading.videos)
        tell(ruled.notes)
        sides.append(ruled.videos)
    found = compare_annotations(
        *sides,
        times_of=times_of,
        gaps=gaps.value,
        background=background,
        overlaps=overlaps.value,
    )
    if as_json:
        print_json(found.as_dict())
        return
    tell(found.notes)
    _print(found, str(first), str(second))


def _print(found: Comparison, first: str, second: str) -> None:
    headings = ["frames", "kappa", "F1@10", "F1@25", "F1@50", "Edit", "Acc"]
    rows = [[name, *_row(one)] for name, one in found.videos.items()]
    if len(rows) > 1:
        rows.append(["all videos", *_row(found.agreement)])
    print_table(f"{first} and {second}", ["video", *headings], rows)
    whole = found.agreement
    matched = f"{whole.n_matched} of {whole.n_first} and {whole.n_second} segments match"
    print_table(
        f"Boundaries in seconds, {matched}",
        ["", "boundaries", "median", "95 % below", f"mean shift of {second}"],
        [["starts", *_differences(whole.starts)], ["ends", *_differences(whole.ends)]],
    )
    names = found.classes.names
    if len(names) > _MOST_LABELS:
        note(f"note: the confusion table of {len(names)} labels is in --json")
        return
    frames = whole.confusion.tolist()
    print_table(
        f"Frames, rows {first}, columns {second}",
        ["", *names],
        [[name, *map(str, row)] for name, row in zip(names, frames, strict=True)],
    )


def _row(one: Agreement) -> list[str]:
    kappa = "–" if math.isnan(one.kappa) else f"{one.kappa:.3f}"
    scores = [*one.f1.values(), one.edit, one.acc]
    return [str(one.n_frames), kappa, *(f"{score:.1f}" for score in scores)]


def _differences(one: Differences) -> list[str]:
    values = (one.median, one.most, one.shift)
    return [str(one.n), *("–" if math.isnan(value) else f"{value:.3f}" for value in values)]
