"""A prediction drawn under its video: label, confidence, and a timeline with a running cursor.

A band is added below the picture, so that none of it is hidden. One decode, one encode.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.features.encode import video_writer
from uvast.features.extractor import Picture, View
from uvast.features.extras import extra
from uvast.features.frames import FrameReader
from uvast.files import atomic_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from PIL.Image import Image

    from uvast.features.extractor import Pictures
    from uvast.features.timed_segments import TimedSegment
    from uvast.features.video_file import VideoInfo

    Rgb = tuple[int, int, int]

_PAPER: Rgb = (24, 26, 30)
_INK: Rgb = (240, 240, 240)
_FAINT: Rgb = (150, 155, 160)


@dataclass(frozen=True)
class LabelStyle:
    """How a class is drawn.

    Args:
        colour: red, green and blue.
        ink: of the hatching.
        pattern: a name from `uvast.report`'s palette; `solid` has no hatching.
    """

    colour: tuple[int, int, int]
    ink: tuple[int, int, int]
    pattern: str = "solid"


def write_overlay(
    video: VideoInfo,
    segments: Sequence[TimedSegment],
    styles: Mapping[str, LabelStyle],
    out: Path,
    *,
    n_threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
) -> None:
    """Writes an MP4 file without sound.

    Args:
        video: the video to draw under.
        segments: in order.
        styles: the look of each label.
        out: the file.
        n_threads: of decoder and encoder.
        on_progress: called with the share that is done.
    """
    width, height = video.width // 2 * 2, video.height // 2 * 2
    band = _Band(segments, styles, width, max(40, height // 8 // 2 * 2), video.seconds)
    reader = FrameReader(video.path, [View(Picture(height, width), None)], n_threads=n_threads)
    canvas = np.empty((height + band.height, width, 3), np.uint8)
    with (
        atomic_path(out) as temporary,
        video_writer(
            temporary,
            width=width,
            height=len(canvas),
            rate=video.frames_per_second,
            n_threads=n_threads,
        ) as write,
    ):
        for number, shown in enumerate(reader):
            canvas[:height] = shown.picture
            band.draw(canvas[height:], shown.seconds)
            write(canvas, shown.seconds)
            if on_progress is not None and number % 64 == 0:
                on_progress(min(1.0, shown.seconds / (video.seconds or 1.0)))


class _Band:
    """The band below the picture; its parts are drawn once, and copied frame by frame."""

    def __init__(
        self,
        segments: Sequence[TimedSegment],
        styles: Mapping[str, LabelStyle],
        width: int,
        height: int,
        seconds: float,
    ) -> None:
        self.height = height
        self._segments = segments
        self._styles = styles
        self._width = width
        self._starts = [segment.start for segment in segments]
        self._seconds = max(seconds, segments[-1].end)
        self._text_height = height * 3 // 5
        self._timeline = self._drawn_timeline()
        self._text: tuple[int, Pictures] = (-2, np.empty(0, np.uint8))

    def draw(self, target: Pictures, seconds: float) -> None:
        """Draws the band of a moment into `(height, width, 3)`."""
        index = bisect_right(self._starts, seconds) - 1
        if self._text[0] != index:
            self._text = (index, self._drawn_text(index))
        target[: self._text_height] = self._text[1]
        target[self._text_height :] = self._timeline
        cursor = min(self._width - 1, int(seconds / self._seconds * self._width))
        target[self._text_height :, max(0, cursor - 1) : cursor + 2] = _PAPER
        target[self._text_height :, cursor] = _INK

    def _drawn_timeline(self) -> Pictures:
        timeline = np.full((self.height - self._text_height, self._width, 3), _PAPER, np.uint8)
        for segment in self._segments:
            start, end = (
                min(self._width, round(time / self._seconds * self._width))
                for time in (segment.start, segment.end)
            )
            _fill(timeline, start, max(end, start + 1), self._styles[segment.label])
        return timeline

    def _drawn_text(self, index: int) -> Pictures:
        """The label and confidence of a segment; nothing before the first."""
        image_module = extra("PIL.Image")
        image = image_module.new("RGB", (self._width, self._text_height), _PAPER)
        if index >= 0:
            self._write(image, self._segments[index])
        return np.asarray(image, np.uint8)

    def _write(self, image: Image, segment: TimedSegment) -> None:
        from PIL import ImageDraw, ImageFont

        size = self._text_height * 3 // 5
        font = ImageFont.load_default(size)
        draw = ImageDraw.Draw(image)
        margin = (self._text_height - size) // 2
        style = self._styles[segment.label]
        draw.rectangle((margin, margin, margin + size, margin + size), fill=style.colour)
        middle = self._text_height // 2
        sure = "" if segment.confidence is None else f"{segment.confidence:.0%} sure"
        room = self._width - draw.textlength(sure, font) - 4 * margin - size
        label = segment.label
        while len(label) > 1 and draw.textlength(label, font) > room:
            label = label[:-2] + "…"
        draw.text((size + 2 * margin, middle), label, fill=_INK, font=font, anchor="lm")
        draw.text((self._width - margin, middle), sure, fill=_FAINT, font=font, anchor="rm")


def _fill(timeline: Pictures, start: int, end: int, style: LabelStyle) -> None:
    """Colours the columns `[start, end)`, with the hatching of the class."""
    part = timeline[:, start:end]
    part[:] = style.colour
    y, x = np.mgrid[: part.shape[0], start : start + part.shape[1]]
    part[_hatching(style.pattern, y, x)] = style.ink


def _hatching(pattern: str, y: NDArray[np.int64], x: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the ink of a pattern is."""
    rising, falling = (y + x) % 8 < 2, (y - x) % 8 < 2
    masks = {
        "rising": rising,
        "falling": falling,
        "crossed": rising | falling,
        "level": y % 6 < 2,
        "dots": (y % 6 < 2) & (x % 6 < 2),
    }
    return masks.get(pattern, np.zeros(y.shape, bool))
