"""`uvast convert`: annotation files from one tool's format to another's."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, results
from uvast.errors import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from uvast.exchange import FrameTimes, Rules, VideoAnnotations


class OverlapRule(str, Enum):
    """Which of several intervals at one time counts."""

    error = "error"
    first = "first"
    last = "last"
    longest = "longest"


class GapRule(str, Enum):
    """What frames without an interval count as."""

    background = "background"
    unknown = "unknown"


ReadAsOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="FORMAT", help="Format of what is read.", show_default="by its content"
    ),
]
WriteAsOption = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="FORMAT", help="Format of what is written.", show_default="by its suffix"
    ),
]
FpsOption = Annotated[
    str | None,
    typer.Option(
        "--fps",
        metavar="RATE",
        help="Frames per second, for files that count frames: 25, 29.97, 30000/1001.",
        show_default="from the files",
    ),
]
OverlapsOption = Annotated[
    OverlapRule,
    typer.Option("--overlaps", help="Which of several overlapping intervals counts."),
]
GapsOption = Annotated[
    GapRule,
    typer.Option("--gaps", help="What frames without an interval count as."),
]
BackgroundOption = Annotated[
    str, typer.Option("--background", help="The name of the background class.")
]
OwnBackgroundOption = Annotated[
    str | None,
    typer.Option(
        "--background", help="The name of the background class.", show_default="as the project"
    ),
]
TierOption = Annotated[
    list[str] | None,
    typer.Option("--tier", "--subject", help="Only this tier or subject; repeatable."),
]
LabelFromOption = Annotated[
    str | None,
    typer.Option(
        "--label-from", metavar="PARTS", help="Parts that form a label, such as label+modifier."
    ),
]
MappingOption = Annotated[
    Path | None,
    typer.Option(
        "--mapping", metavar="FILE", help="A file of lines 'old,new' that rename or merge labels."
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what exists.")]


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="An annotation file, or a folder of them.")
    ],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="A new file, or a folder for one file per video.")
    ],
    read_as: ReadAsOption = None,
    write_as: WriteAsOption = None,
    fps: FpsOption = None,
    overlaps: Annotated[
        OverlapRule | None,
        typer.Option(
            help="Which of several overlapping intervals counts.",
            show_default="all, where the format can",
        ),
    ] = None,
    gaps: GapsOption = GapRule.background,
    background: BackgroundOption = "background",
    tier: TierOption = None,
    label_from: LabelFromOption = None,
    mapping: MappingOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Convert annotation files: ELAN, BORIS, VIA, Label Studio, tables, subtitles and more.

    Formats: uvast, elan, boris, boris-tabular, boris-aggregated, via, via-csv, label-studio,
    label-studio-predictions, activitynet, csv, tsv, xlsx, audacity, srt, vtt, intervals, ms-tcn,
    deepethogram; only read: uvast-prediction, uvast-timestamps, observer, cvat, datavyu, anvil,
    bento. The command lists what OUT cannot hold.

    For example:

    ```
    uvast convert session.eaf session.csv

    # one label per frame
    uvast convert project.boris labels/ --to ms-tcn --fps 25 --overlaps longest

    # to pre-annotate
    uvast convert predictions/ tasks.json --to label-studio-predictions --fps 30
    ```
    """
    from uvast.exchange import Target, format_named, read_annotations, write_annotations

    times_of = constant_times(fps)
    read_format = None if read_as is None else format_named(read_as, "--from")
    write_format = None if write_as is None else format_named(write_as, "--to", to_write=True)
    reading = read_annotations(source, read_format, times_of=times_of)
    tell(reading.warnings)
    ruled = chosen_rules(tier, label_from, mapping, overlaps).apply(reading.videos)
    tell(ruled.notes)
    videos = ruled.videos
    target = Target(
        str(out),
        times_of,
        gaps.value,
        background,
        OverlapRule.error.value if overlaps is None else overlaps.value,
    )
    files, warnings = write_annotations(out, videos, write_format, target, overwrite=overwrite)
    tell(warnings)
    results.print(written_line(files, out, videos))


def constant_times(fps: str | None) -> Callable[[str], FrameTimes | None]:
    """The frame times that --fps gives, the same for every video."""
    from uvast.exchange import ConstantRate, parse_rate

    times = None if fps is None else ConstantRate(parse_rate(fps))
    return lambda _video: times


def own_background(*places: Path) -> str:
    """The first background class that the dataset.toml of a project or dataset names.

    Args:
        places: projects, datasets, or folders inside them; the first that names one counts.
    """
    from uvast.data.spec import read_spec
    from uvast.projects import is_project
    from uvast.vocabulary import BACKGROUND

    for place in places:
        if place.is_dir():
            folder = place if is_project(place) else place.absolute().parent
            if names := read_spec(place).background or read_spec(folder).background:
                return names[0]
    return BACKGROUND


def chosen_rules(
    tiers: list[str] | None,
    label_from: str | None,
    mapping: Path | None,
    overlaps: OverlapRule | None,
) -> Rules:
    """The rules that the options describe."""
    from uvast.exchange import Rules
    from uvast.exchange.files import read_pairs

    return Rules(
        tuple(tiers or ()),
        label_from,
        None if mapping is None else read_pairs(mapping),
        None if overlaps is None else overlaps.value,
    )


def tell(sentences: Iterable[str]) -> None:
    """Prints notes on stderr; those that differ only in the video become one, with a count."""
    alike: dict[str, list[str]] = {}
    for sentence in sentences:
        alike.setdefault(sentence.partition(": ")[2] or sentence, []).append(sentence)
    for first, *others in alike.values():
        more = f" (and {len(others)} more like it)" if others else ""
        note(f"note: {first}{more}")


def written_line(files: tuple[Path, ...], out: Path, videos: tuple[VideoAnnotations, ...]) -> str:
    """What was written where."""
    n_intervals = sum(len(video.intervals) for video in videos)
    n_points = sum(len(video.points) for video in videos)
    place = out if files == (out,) else f"{out} ({counted(len(files), 'file')})"
    counts = {"video": len(videos), "interval": n_intervals, "point": n_points}
    return f"wrote {place}: {', '.join(counted(n, what) for what, n in counts.items())}"
