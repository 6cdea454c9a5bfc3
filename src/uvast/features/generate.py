"""Generated videos in which only motion reveals the action, fixed by their seed.

A shape sits on a ring and goes round it, back and forth, or rests. A single picture shows a shape
somewhere on a ring, whatever the action; shapes, colours and a second shape that wanders about
differ from video to video and mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError
from uvast.features.encode import video_writer
from uvast.files import atomic_path, check_absent
from uvast.segments import Segmentation, round_durations
from uvast.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

MOTIONS = ("rest", "clockwise", "counterclockwise", "swing", "hurry")
RATE = 30.0
_SPEEDS = {"rest": 0.0, "clockwise": 2.4, "counterclockwise": -2.4, "swing": 2.4, "hurry": 5.0}
"""Radians per second."""
_SWING_SECONDS = 0.6
_CYCLES = ((1, 3, 2), (2, 4, 3), (1, 4, 2, 3), (3, 1, 4))
"""The motions between two rests."""


def motion_vocabulary() -> Vocabulary:
    """The actions of generated videos; rest is background."""
    return Vocabulary(MOTIONS, ("rest",))


@dataclass(frozen=True)
class _Looks:
    """What a video looks like, which says nothing about its actions."""

    sky: FloatArray
    ground: FloatArray
    colour: FloatArray
    other_colour: FloatArray
    size: float
    corners: float
    noise: float


def generate_videos(
    folder: Path,
    *,
    n_videos: int = 12,
    seconds: float = 24.0,
    width: int = 160,
    height: int = 120,
    seed: int = 0,
) -> dict[str, Segmentation]:
    """Writes `s01_001.mp4` and so on; a name begins with one of four subjects.

    Args:
        folder: for the videos; existing ones are an error, and are kept.
        n_videos: at least 1.
        seconds: mean length; lengths vary by a fifth.
        width: in pixels, even.
        height: in pixels, even.
        seed: equal seeds give equal pictures.

    Returns:
        The true segmentation of each video, one label per frame at 30 frames per second, with the
        classes of `motion_vocabulary`.
    """
    if n_videos < 1 or seconds < 4:
        raise InputError(
            f"{n_videos} videos of {seconds:g} seconds", remedy="at least 1 video of 4 seconds"
        )
    names = [f"s{index % 4 + 1:02d}_{index + 1:03d}" for index in range(n_videos)]
    check_absent(*(folder / f"{name}.mp4" for name in names))
    made = {}
    for index, name in enumerate(names):
        generator = np.random.default_rng([seed, index])
        made[name] = _segmentation(seconds, generator)
        with atomic_path(folder / f"{name}.mp4") as temporary:
            _write_video(temporary, made[name], width, height, generator)
    return made


def _segmentation(seconds: float, generator: np.random.Generator) -> Segmentation:
    length = seconds * generator.uniform(0.8, 1.2)
    transcript = [0]
    while len(transcript) < max(3, length / 2.2):
        transcript += [*_CYCLES[generator.integers(len(_CYCLES))], 0]
    shares = np.exp(0.3 * generator.normal(size=len(transcript)))
    durations = round_durations(shares, max(round(length * RATE), len(transcript)))
    return Segmentation(np.array(transcript), durations)


def _angles(segmentation: Segmentation, generator: np.random.Generator) -> FloatArray:
    """Where on the ring the shape is in each frame `(T,)`; it never jumps."""
    pieces = []
    for segment in segmentation.segments:
        name = MOTIONS[segment.action]
        n_frames = segment.end - segment.start
        speed = np.full(n_frames, _SPEEDS[name] * generator.uniform(0.85, 1.15))
        if name == "swing":
            phase = np.arange(n_frames) / RATE / _SWING_SECONDS
            speed *= np.where(phase.astype(int) % 2 == 0, 1.0, -1.0)
        pieces.append(speed)
    steps = np.concatenate(pieces) / RATE + generator.normal(0, 0.01, segmentation.n_frames)
    angles: FloatArray = generator.uniform(0, 2 * np.pi) + np.cumsum(steps)
    return angles


def _write_video(
    path: Path, segmentation: Segmentation, width: int, height: int, generator: np.random.Generator
) -> None:
    looks = _Looks(
        sky=generator.uniform(40, 120, 3),
        ground=generator.uniform(40, 120, 3),
        colour=generator.uniform(150, 250, 3),
        other_colour=generator.uniform(120, 220, 3),
        size=generator.uniform(0.07, 0.1) * height,
        corners=generator.choice([1.0, 2.0, 8.0]),
        noise=generator.uniform(3, 7),
    )
    angles = _angles(segmentation, generator)
    radius = 0.32 * height
    path_of_shape = np.stack(
        (width / 2 + radius * np.cos(angles), height / 2 + radius * np.sin(angles)), 1
    )
    wander = np.cumsum(generator.normal(0, 0.6, (segmentation.n_frames, 2)), 0)
    path_of_other = np.abs((wander + generator.uniform(0, 1, 2) * (width, height)) % (2 * width))
    path_of_other = np.minimum(path_of_other, 2 * width - path_of_other) * (1, height / width)
    down = np.linspace(0, 1, height)[:, None, None]
    scene = (1 - down) * looks.sky + down * looks.ground + np.zeros((height, width, 1))
    grain = generator.normal(0, looks.noise, (2 * height, 2 * width, 1))
    shifts = generator.integers((height, width), size=(segmentation.n_frames, 2))
    with video_writer(path, width=width, height=height, rate=RATE, repeatable=True) as write:
        for frame in range(segmentation.n_frames):
            y, x = shifts[frame]
            picture = scene + grain[y : y + height, x : x + width]
            _draw(picture, path_of_other[frame], looks.other_colour, looks)
            _draw(picture, path_of_shape[frame], looks.colour, looks)
            write(np.clip(picture, 0, 255).astype(np.uint8), frame / RATE)


def _draw(picture: FloatArray, place: FloatArray, colour: FloatArray, looks: _Looks) -> None:
    """Draws a diamond, a disc or a square with soft edges into a picture `(H, W, 3)`."""
    reach = int(looks.size) + 2
    left, top = (max(0, int(middle) - reach) for middle in place)
    part = picture[top : int(place[1]) + reach, left : int(place[0]) + reach]
    height, width = part.shape[:2]
    along = np.abs(np.arange(top, top + height) - place[1])[:, None] / looks.size
    across = np.abs(np.arange(left, left + width) - place[0])[None, :] / looks.size
    distance = (across**looks.corners + along**looks.corners) ** (1 / looks.corners)
    part += np.clip((1 - distance) * looks.size + 0.5, 0, 1)[:, :, None] * (colour - part)
