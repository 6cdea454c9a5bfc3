"""The table of formats, and how to recognise, read and write them, with a list of losses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from uvast.errors import ConfigError, CorruptFileError, LabelError, UvastError, counted
from uvast.exchange import (
    activitynet,
    anvil,
    audacity,
    bento,
    boris_project,
    boris_tables,
    cvat,
    datavyu,
    deepethogram,
    elan,
    frame_texts,
    label_studio,
    native,
    observer,
    own_files,
    spreadsheet,
    subtitles,
    tables,
    via,
)
from uvast.exchange.archive import is_zip
from uvast.exchange.source import Written
from uvast.files.kinds import ARCHIVE, N_BYTES, VIDEO, binary_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uvast.exchange.records import Event, VideoAnnotations
    from uvast.exchange.source import Reading, Source, Target

Held = Literal[
    "intervals", "points", "tier", "modifiers", "annotator", "confidence", "comment", "overlaps",
    "observed", "frame_rate", "duration", "videos",
]  # fmt: skip
"""What a record can hold; `overlaps`: several events at a time; `videos`: several in one file."""


@dataclass(frozen=True)
class Format:
    """One way to store annotations.

    Args:
        name: what `--from` and `--to` call it.
        title: what people call it.
        suffixes: of its files, the usual one first.
        recognise: whether a file's content is in this format.
        read: content to records.
        write: records to content; None if it is read only. Without `videos` it gets one record.
        holds: what it can hold.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    recognise: Callable[[Source], bool]
    read: Callable[[Source], Reading]
    write: Callable[[Sequence[VideoAnnotations], Target], Written] | None
    holds: frozenset[Held]

    @property
    def is_binary(self) -> bool:
        """Whether its files are zip archives, not text."""
        return self.suffixes[0] in (".xlsx", ".opf")


def _line(
    name: str,
    title: str,
    suffixes: str,
    recognise: Callable[[Source], bool],
    read: Callable[[Source], Reading],
    write: Callable[[Sequence[VideoAnnotations], Target], Written] | None,
    holds: Sequence[Held],
) -> Format:
    return Format(name, title, tuple(suffixes.split()), recognise, read, write, frozenset(holds))


_TABLE: tuple[Held, ...] = (
    "intervals", "points", "tier", "modifiers", "annotator", "confidence", "comment", "overlaps",
    "videos",
)  # fmt: skip
_BORIS: tuple[Held, ...] = (
    "intervals", "points", "tier", "modifiers", "comment", "overlaps", "frame_rate", "duration",
    "videos",
)  # fmt: skip
_EVERYTHING: tuple[Held, ...] = (*_TABLE, "observed", "frame_rate", "duration")
_TIMELINE: tuple[Held, ...] = (
    "intervals", "points", "tier", "overlaps", "frame_rate", "videos"
)  # fmt: skip

# Recognised from top to bottom: formats with a mark of their own first, bare words last.
FORMATS: tuple[Format, ...] = (
    _line("uvast", "uvast JSON", ".json",
          native.recognise, native.read, native.write, _EVERYTHING),
    _line("uvast-prediction", "prediction of uvast segment", ".json",
          own_files.recognise_prediction, own_files.read_prediction, None, ()),
    _line("uvast-timestamps", "uvast timestamps.json", ".json",
          own_files.recognise_timestamps, own_files.read_timestamps, None, ()),
    _line("elan", "ELAN", ".eaf",
          elan.recognise, elan.read, elan.write, ("intervals", "tier", "annotator", "overlaps")),
    _line("boris", "BORIS project", ".boris",
          boris_project.recognise, boris_project.read, boris_project.write,
          (*_BORIS, "observed")),
    _line("boris-tabular", "BORIS tabular events", ".csv .tsv",
          boris_tables.recognise_tabular, boris_tables.read_tabular, boris_tables.write_tabular,
          _BORIS),
    _line("boris-aggregated", "BORIS aggregated events", ".csv .tsv",
          boris_tables.recognise_aggregated, boris_tables.read_aggregated,
          boris_tables.write_aggregated, _BORIS),
    _line("observer", "The Observer XT (Noldus)", ".txt .csv",
          observer.recognise, observer.read, None, ()),
    _line("via", "VIA 3 project", ".json",
          via.recognise_json, via.read_json, via.write_json,
          ("intervals", "points", "tier", "overlaps", "videos")),
    _line("via-csv", "VIA 3 CSV", ".csv",
          via.recognise_csv, via.read_csv, via.write_csv,
          ("intervals", "tier", "overlaps", "videos")),
    _line("label-studio", "Label Studio annotations", ".json",
          label_studio.recognise, label_studio.read, label_studio.write_annotations, _TIMELINE),
    _line("label-studio-predictions", "Label Studio predictions", ".json",
          label_studio.recognise, label_studio.read, label_studio.write_predictions,
          (*_TIMELINE, "annotator", "confidence")),
    _line("activitynet", "ActivityNet JSON", ".json",
          activitynet.recognise, activitynet.read, activitynet.write,
          ("intervals", "confidence", "overlaps", "frame_rate", "duration", "videos")),
    _line("xlsx", "Excel table", ".xlsx",
          spreadsheet.recognise, spreadsheet.read, spreadsheet.write, _TABLE),
    _line("datavyu", "Datavyu", ".opf", datavyu.recognise, datavyu.read, None, ()),
    _line("cvat", "CVAT for video", ".xml", cvat.recognise, cvat.read, None, ()),
    _line("anvil", "Anvil", ".anvil .xml", anvil.recognise, anvil.read, None, ()),
    _line("bento", "Bento", ".annot", bento.recognise, bento.read, None, ()),
    _line("vtt", "WebVTT", ".vtt", subtitles.recognise_vtt, subtitles.read_vtt,
          subtitles.write_vtt, ("intervals", "tier", "overlaps")),
    _line("srt", "SRT", ".srt", subtitles.recognise_srt, subtitles.read_srt,
          subtitles.write_srt, ("intervals", "overlaps")),
    _line("deepethogram", "DeepEthogram CSV", ".csv",
          deepethogram.recognise, deepethogram.read, deepethogram.write,
          ("intervals", "overlaps", "observed", "frame_rate", "duration")),
    _line("csv", "CSV table", ".csv",
          tables.recognise_csv, tables.read, tables.write_csv, _TABLE),
    _line("tsv", "TSV table", ".tsv",
          tables.recognise_tsv, tables.read, tables.write_tsv, _TABLE),
    _line("audacity", "Audacity labels", ".txt",
          audacity.recognise, audacity.read, audacity.write,
          ("intervals", "points", "overlaps")),
    _line("intervals", "lines of start, end, label", ".txt",
          frame_texts.recognise_intervals, frame_texts.read_intervals,
          frame_texts.write_intervals, ("intervals", "overlaps", "frame_rate")),
    _line("ms-tcn", "MS-TCN frame labels", ".txt",
          frame_texts.recognise_frame_labels, frame_texts.read_frame_labels,
          frame_texts.write_frame_labels, ("intervals", "observed", "frame_rate", "duration")),
)  # fmt: skip

_OF_SUFFIX = {".json": "uvast", ".csv": "csv", ".tsv": "tsv"}
"""The format to write where several share a suffix."""


def format_named(name: str, option: str = "--from", *, to_write: bool = False) -> Format:
    """The format of that name; with `to_write`, only one that can be written."""
    found = next((one for one in FORMATS if one.name == name.lower()), None)
    if found is None or (to_write and found.write is None):
        names = [one.name for one in FORMATS if one.write is not None or not to_write]
        if found is not None:
            remedy = f"choose from {', '.join(names)}"
            raise ConfigError(
                f"{found.title} can be read but not written", where=option, remedy=remedy
            )
        similar = get_close_matches(name.lower(), names, n=1)
        remedy = f"did you mean {similar[0]}?" if similar else f"choose from {', '.join(names)}"
        raise ConfigError(f"no format {name!r}", where=option, remedy=remedy)
    return found


def recognised(source: Source) -> Format:
    """Recognises a file's format by its content; where several fit, the suffix decides.

    A format's own mark says more than a suffix, so the suffix decides only among formats without.
    """
    suffix = Path(source.place).suffix.lower()
    if (strange := _no_labels(source)) is not None:
        raise strange
    by_suffix = sorted(FORMATS, key=lambda one: suffix not in one.suffixes)
    marked = [one for one in FORMATS if one.name not in ("audacity", "intervals", "ms-tcn")]
    binary = is_zip(source.content)
    if not binary:
        _ = source.text  # raises if the content is not text
    for one in [*marked, *by_suffix]:
        if one.is_binary == binary and _is(one, source):
            return one
    if suffix in (".csv", ".tsv", ".xlsx"):
        what = "has no row that names its columns"
        remedy = "name them video, start, end, label, or say which format it is: --from"
    else:
        what, remedy = "is not in a format that uvast recognises", "say which it is: --from"
    names = ", ".join(one.name for one in FORMATS)
    raise LabelError(what, where=source.place, remedy=f"{remedy} {names}")


def _no_labels(source: Source) -> LabelError | None:
    """The error for a file that holds no labels of any kind."""
    if not source.content.strip():
        return LabelError("is empty", where=source.place, remedy="choose a file with labels")
    kind = binary_kind(source.content[:N_BYTES])
    if kind is None or is_zip(source.content):
        return None
    remedy = {
        VIDEO: "add it to a project with uvast init PROJECT --videos FILE",
        ARCHIVE: "unpack it first",
    }.get(kind, "export the labels as text, or as a workbook (.xlsx)")
    return LabelError(f"is {kind}, not labels", where=source.place, remedy=remedy)


def _is(one: Format, source: Source) -> bool:
    """Whether a file is in a format; an error while checking means that it is not."""
    try:
        return one.recognise(source)
    except LabelError:
        return False


def format_for(path: Path) -> Format:
    """The format to write for a new file's suffix."""
    suffix = path.suffix.lower()
    able = [one for one in FORMATS if one.write is not None and suffix in one.suffixes]
    if suffix in _OF_SUFFIX:
        return format_named(_OF_SUFFIX[suffix], to_write=True)
    if len(able) != 1:
        names = [one.name for one in able or FORMATS if one.write is not None]
        what = f"several formats use the suffix {suffix}" if able else "has no known suffix"
        raise ConfigError(what, where=path, remedy=f"say which: --to {' or '.join(names)}")
    return able[0]


def write(one: Format, videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes records in a format; the warnings say everything it could not hold."""
    assert one.write is not None, "format_named and format_for choose such ones"
    written = one.write(videos, target)
    return Written(written.content, (*losses(one, videos), *written.warnings))


def losses(one: Format, videos: Sequence[VideoAnnotations]) -> tuple[str, ...]:
    """What the records hold and the format cannot, one sentence each."""
    events = [event for video in videos for event in video.events]
    counts: Counter[str] = Counter()
    if "points" not in one.holds:
        counts["points, which are left out"] = sum(event.is_point for event in events)
        events = [event for event in events if not event.is_point]
    for name in ("tier", "modifiers", "annotator", "confidence", "comment"):
        if name not in one.holds:
            counts[_PLURALS[name]] = sum(map(_has(name), events))
    lost = [f"{one.title} has no place for {what} ({n})" for what, n in counts.items() if n]
    for what in ("observed", "frame_rate", "duration"):
        n_videos = sum(getattr(video, what) is not None for video in videos)
        if what not in one.holds and n_videos:
            lost.append(
                f"{one.title} has no place for {_PLURALS[what]} ({counted(n_videos, 'video')})"
            )
    return tuple(lost)


_PLURALS = {
    "tier": "tiers or subjects",
    "modifiers": "modifiers",
    "annotator": "annotators",
    "confidence": "confidences",
    "comment": "comments",
    "observed": "which spans were looked at",
    "frame_rate": "the frame rate",
    "duration": "the video's length",
}


def _has(name: str) -> Callable[[Event], bool]:
    return lambda event: getattr(event, name) not in ("", (), None)


_DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What a reader may raise on a file that no program would write."""


def read(one: Format, source: Source) -> Reading:
    """Reads a file of a known format; every error names the file."""
    if one.is_binary != is_zip(source.content):
        raise LabelError(
            f"is not in the format {one.title}",
            where=source.place,
            remedy="leave --from out to let its content decide",
        )
    try:
        return one.read(source)
    except UvastError as error:
        if error.where is not None:
            raise
        raise LabelError(error.what, where=source.place, remedy=error.remedy) from None
    except _DAMAGE as error:
        raise CorruptFileError(
            f"cannot be read as {one.title} ({type(error).__name__})",
            where=source.place,
            remedy="save it again with the program that made it",
        ) from error
