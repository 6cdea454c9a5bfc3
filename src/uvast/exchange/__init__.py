"""Other tools' annotation files <-> one record; one module per format, listed in `formats`."""

from uvast.exchange.files import find_sources, read_annotations, write_annotations
from uvast.exchange.formats import FORMATS, Format, format_for, format_named, losses, recognised
from uvast.exchange.frame_times import (
    ConstantRate,
    FrameTimes,
    PresentationTimes,
    exact_rate,
    parse_rate,
)
from uvast.exchange.frames import (
    FrameLabels,
    FrameTimestamps,
    frame_labels,
    frame_timestamps,
    from_frame_labels,
)
from uvast.exchange.names import match_videos
from uvast.exchange.overlaps import OVERLAPS, Overlaps
from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.rules import (
    GAPS,
    Gaps,
    Ruled,
    Rules,
    labelled_from,
    on_tiers,
    renamed,
    without_overlaps,
)
from uvast.exchange.source import Reading, Source, Target, Written

__all__ = [
    "FORMATS",
    "GAPS",
    "OVERLAPS",
    "ConstantRate",
    "Event",
    "Format",
    "FrameLabels",
    "FrameTimes",
    "FrameTimestamps",
    "Gaps",
    "Overlaps",
    "PresentationTimes",
    "Reading",
    "Ruled",
    "Rules",
    "Source",
    "Span",
    "Target",
    "VideoAnnotations",
    "Written",
    "exact_rate",
    "find_sources",
    "format_for",
    "format_named",
    "frame_labels",
    "frame_timestamps",
    "from_frame_labels",
    "labelled_from",
    "losses",
    "match_videos",
    "on_tiers",
    "parse_rate",
    "read_annotations",
    "recognised",
    "renamed",
    "without_overlaps",
    "write_annotations",
]
