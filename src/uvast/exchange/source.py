"""What readers and writers take and return; decodes text of any encoding safely."""

from __future__ import annotations

import codecs
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic

from uvast.errors import CorruptFileError, InputError, LabelError
from uvast.exchange.frame_times import LARGEST_RATE, ConstantRate, exact_rate
from uvast.exchange.records import Event, merged, one_line
from uvast.exchange.video_paths import parts_of, short_names
from uvast.files import parse_json
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.overlaps import Overlaps
    from uvast.exchange.records import VideoAnnotations
    from uvast.exchange.rules import Gaps

Model = TypeVar("Model", bound=pydantic.BaseModel)

MAX_BYTES = 256 * 1024**2
"""No annotation file is larger; a hundred thousand events take about 20 MB."""

MAX_LINE = 1024**2
"""Characters per line, in formats read line by line."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Reading:
    """What a file says, and which parts of it could not be kept.

    Args:
        videos: one record per video, in the order of the file.
        warnings: one sentence each.
    """

    videos: tuple[VideoAnnotations, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Written:
    """The content of a file, and which parts of the records it could not hold."""

    content: bytes
    warnings: tuple[str, ...] = ()


def _no_times(_video: str) -> None:
    return None


@dataclass(frozen=True)
class Target:
    """What a writer needs to know besides the records.

    Args:
        place: what errors call the file.
        times_of: the frame times of a video, asked for by formats that count frames.
        gaps: what frames without an interval are, in formats that label every frame.
        background: the name of the background class.
        overlaps: which interval counts, in formats that hold one at a time.
    """

    place: str
    times_of: Callable[[str], FrameTimes | None] = _no_times
    gaps: Gaps = "background"
    background: str = BACKGROUND
    overlaps: Overlaps = "error"

    def times(self, video: VideoAnnotations) -> FrameTimes:
        """A video's frame times, for formats that count frames."""
        return _times(self.times_of(video.video), video.frame_rate, video.video, self.place)

    def fault(self, what: str, remedy: str) -> LabelError:
        """The error for records that the format cannot take."""
        return LabelError(what, where=self.place, remedy=remedy)


@dataclass(frozen=True)
class Source:
    """A file's content, and what its reader needs to know besides.

    Args:
        content: all bytes.
        place: what errors call the file.
        times_of: the frame times of a video, asked for by formats that count frames; None where
            unknown.
        paths: a video's name to its full path in the file, for paths with folders; the reader
            fills it in.
    """

    content: bytes
    place: str
    times_of: Callable[[str], FrameTimes | None] = _no_times
    paths: dict[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if len(self.content) > MAX_BYTES:
            raise too_large(self.place)

    @property
    def video(self) -> str:
        """The video of a file that names none: the file's own name without its last suffix."""
        return PurePosixPath(self.place.replace("\\", "/")).stem or "video"

    @cached_property
    def text(self) -> str:
        """The content as text, with the line ends of any platform as newlines."""
        text = decoded(self.content, self.place)
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    @property
    def head(self) -> str:
        """The beginning, enough to recognise a format that is read line by line."""
        return self.text[:65536]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Line numbers from 1, and the lines."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if len(line) > MAX_LINE:
                raise self.fault(
                    f"has {len(line)} characters",
                    f"line {number}",
                    "a line should hold one label or one row",
                )
            yield number, line

    def json(self) -> Any:
        """The content as JSON."""
        return parse_json(self.text, self.place)

    def names_of(self, paths: Iterable[str]) -> dict[str, str]:
        """The name of the video behind each path in the file.

        Two paths are two videos: where they share a file name, the names include folders.
        """
        names = {path: one_line(name) for path, name in short_names(paths).items()}
        whole = [(name, parts_of(path)) for path, name in names.items()]
        self.paths.update({name: "/".join(parts) for name, parts in whole if len(parts) > 1})
        return names

    def name_of(self, path: str) -> str:
        """The name of the only video."""
        return self.names_of([path])[path]

    def by_video(self, found: Sequence[VideoAnnotations]) -> tuple[VideoAnnotations, ...]:
        """Replaces paths in the file by names, and merges the records to one per video."""
        names = self.names_of(video.video for video in found)
        return merged(replace(video, video=names[video.video]) for video in found)

    def times(self, video: str, told: float | None = None) -> FrameTimes:
        """A video's frame times, for labels that count frames.

        Args:
            video: its name.
            told: the frame rate in the file, used where nothing better is known.
        """
        return _times(self.times_of(video), told, video, self.place)

    def fault(self, what: str, spot: str | None = None, remedy: str | None = None) -> LabelError:
        """The error for one place in the file."""
        where = self.place if spot is None else f"{self.place}, {spot}"
        return LabelError(what, where=where, remedy=remedy or "correct it or remove it")

    def event(
        self,
        spot: str,
        label: str,
        start: float,
        end: float | None = None,
        *,
        tier: str = "",
        modifiers: Sequence[str] = (),
        annotator: str = "",
        confidence: float | None = None,
        comment: str = "",
    ) -> Event:
        """Makes an event; the error for an invalid one names its place in the file."""
        try:
            return Event(label, start, end, tier, tuple(modifiers), annotator, confidence, comment)
        except InputError as error:
            raise self.fault(error.what, spot, error.remedy) from None

    def checked(self, model: type[Model], value: object, remedy: str) -> Model:
        """Reads JSON into a typed record; an error is one sentence with its place in the file."""
        try:
            return model.model_validate(value)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            spot = ".".join(map(str, first["loc"])) or None
            message = first["msg"][:1].lower() + first["msg"][1:]
            raise self.fault(message, spot, remedy) from None


def _times(known: FrameTimes | None, told: float | None, video: str, place: str) -> FrameTimes:
    if known is not None:
        return known
    if told is not None:
        rate = exact_rate(told) if 0 < told <= LARGEST_RATE else Fraction(0)
        if rate:
            return ConstantRate(rate)
        raise LabelError(
            f"says that {video} has {told:g} frames per second",
            where=place,
            remedy="correct it, or pass --fps, such as --fps 25",
        )
    raise LabelError(
        f"counts frames, but the frame rate of {video} is not known",
        where=place,
        remedy="pass --fps, such as --fps 25",
    )


def too_large(place: str) -> CorruptFileError:
    """The error for an unreasonably large file."""
    return CorruptFileError(
        f"is larger than {MAX_BYTES // 1024**2} MB",
        where=place,
        remedy="check that it is an annotation file, or write one file per video",
    )


def decoded(content: bytes, place: str) -> str:
    """Decodes UTF-8, or UTF-16 and UTF-32 with a mark; zero bytes give UTF-16 away without one."""
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), None)
    if encoding is None:
        zeros = content[:2].find(b"\0") if len(content) > 1 else -1
        encoding = {0: "utf-16-be", 1: "utf-16-le"}.get(zeros, "utf-8")
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CorruptFileError(
            f"cannot be read as text (line {line} is not {encoding.upper()})",
            where=place,
            remedy="save it as UTF-8 text",
        ) from None
    if "\0" in text:
        raise CorruptFileError(
            "is not text", where=place, remedy="choose an annotation file, or pass --from FORMAT"
        )
    return text


def counted(reasons: Iterable[str]) -> tuple[str, ...]:
    """Sentences in order, each once, with how often it occurred."""
    counts = Counter(reasons)
    return tuple(
        reason if times == 1 else f"{reason} ({times} times)" for reason, times in counts.items()
    )
