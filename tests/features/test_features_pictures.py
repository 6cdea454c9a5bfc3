"""Film strips show what a player shows at those moments, quickly, whatever the video's length."""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image
from video_files import HEIGHT, WIDTH, numbers_of, write_video

from uvast.errors import CorruptFileError, MissingFileError
from uvast.features import pictures as pictures_module
from uvast.features.clock import Clock
from uvast.features.pictures import exact_picture, film_strip


def seen(strip: list[bytes]) -> list[int]:
    """The frame numbers, modulo 30, that a strip shows."""
    return numbers_of([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in strip])


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than three frames are decoded on the way to one of ten moments."""
    monkeypatch.setattr(pictures_module, "_MOST_PIXELS", 10 * 3 * WIDTH * HEIGHT)


def test_each_picture_is_the_one_shown_then(tmp_path: Path) -> None:
    path = write_video(tmp_path / "video.mp4", 30, rate=10)
    assert seen(film_strip(path, [0.0, 0.05, 0.1, 0.95, 1.0, 2.85, 99.0])) == [
        0,
        0,
        1,
        9,
        10,
        28,
        29,
    ]


def test_the_order_of_the_moments_does_not_matter(tmp_path: Path) -> None:
    path = write_video(tmp_path / "video.mp4", 30, rate=10, stream_options={"g": "10"})
    assert seen(film_strip(path, [2.5, 0.5, 2.9, 1.1])) == [25, 5, 29, 11]


def test_variable_rates_go_by_presentation_time(tmp_path: Path) -> None:
    times = [*np.arange(20) / 20, 2.0, 2.05, 3.0, 3.05]
    path = write_video(tmp_path / "video.mp4", len(times), times=times)
    assert seen(film_strip(path, [0.11, 0.91, 1.9, 2.02, 2.9, 3.02, 9])) == [
        *(2, 18, 19, 20, 21, 22, 23),
    ]


@pytest.mark.parametrize("keys", ["1", "5", "250"])
def test_frames_of_a_burst_are_shown_each_at_its_time(keys: str, tmp_path: Path) -> None:
    times = [0.0, 1.0, *(1.5 + np.arange(20) / 100), 3.0, 4.0]
    path = write_video(tmp_path / "video.mp4", len(times), times=times, stream_options={"g": keys})
    exact = [exact_picture(path, time + 0.002) for time in times]
    assert numbers_of(exact) == list(range(len(times)))
    assert seen(film_strip(path, [time + 0.002 for time in times])) == list(range(len(times)))


@pytest.mark.parametrize(
    ("name", "codec", "container"),
    [
        ("video.mp4", "libx264", None),
        ("video.mkv", "libx264", None),
        ("video.avi", "mpeg4", "avi"),
        ("video.ts", "libx264", "mpegts"),
    ],
)
def test_jumps_are_exact_in_every_container(
    name: str, codec: str, container: str | None, tmp_path: Path, in_a_hurry: None
) -> None:
    """Key frames every third frame: three frames on the way always suffice."""
    path = write_video(
        tmp_path / name,
        120,
        rate=10,
        codec=codec,
        container=container,
        stream_options={"g": "3", "bf": "0"},
    )
    moments = [0.0, 1.3, 2.75, 4.0, 5.1, 6.45, 8.0, 9.2, 10.1, 11.9]
    expected = [int(moment * 10 + 0.25) % 30 for moment in moments]
    assert seen(film_strip(path, moments)) == expected


def test_where_the_way_is_long_the_nearest_key_frame_stands_in(
    tmp_path: Path, in_a_hurry: None
) -> None:
    path = write_video(
        tmp_path / "video.mp4",
        120,
        rate=10,
        stream_options={"g": "20", "keyint_min": "20", "sc_threshold": "0"},
    )
    # frames 0, 20, 40 … can be jumped to: numbers 0, 20, 10, 0 … modulo 30
    moments = [0.0, 0.7, 1.5, 2.2, 3.1, 4.0, 7.4, 9.1, 11.0, 11.9]
    assert seen(film_strip(path, moments)) == [0, 0, 20, 22, 10, 10, 20, 10, 10, 10]


def test_key_frames_too_far_apart_are_an_error_and_not_wrong_pictures(
    tmp_path: Path, in_a_hurry: None
) -> None:
    options = {"g": "9999", "keyint_min": "9999", "sc_threshold": "0"}
    path = write_video(tmp_path / "video.mp4", 30, rate=1, stream_options=options)
    with pytest.raises(CorruptFileError, match="has no key frame near second 25; convert it again"):
        film_strip(path, [1.0, 25.0, *[26.0] * 8])


def test_pictures_are_small_and_keep_the_shape(tmp_path: Path) -> None:
    path = write_video(tmp_path / "wide.mp4", 3, aspect=Fraction(2, 1))
    (content,) = film_strip(path, [0.0], width=80)
    picture = Image.open(io.BytesIO(content))
    assert picture.format == "WEBP"
    assert picture.size == (80, round(80 * HEIGHT / (2 * WIDTH)))
    rng = np.random.default_rng(0)
    path = write_video(
        tmp_path / "noise.mp4", 2, draw=lambda _: rng.integers(0, 256, (480, 640, 3), np.uint8)
    )
    assert len(film_strip(path, [0.0])[0]) < 5_000


def test_a_two_hour_video_is_looked_at_in_a_few_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in frames, since a clock would also measure the machine."""
    n_frames = 0

    class CountingClock(Clock):
        def time(self, frame: av.VideoFrame, last: float) -> float:
            nonlocal n_frames
            n_frames += 1
            return super().time(frame, last)

    monkeypatch.setattr(pictures_module, "Clock", CountingClock)
    monkeypatch.setattr(pictures_module, "_MOST_PIXELS", 12 * 5 * WIDTH * HEIGHT)
    path = write_video(tmp_path / "short.mp4", 30, rate=1, stream_options={"g": "10", "bf": "0"})
    long = looped(path, tmp_path / "long.mp4", n_times=240)
    moments = [(k + 0.5) * 600 + 12.5 for k in range(12)]
    assert seen(film_strip(long, moments)) == [12] * 12  # every loop takes 30 seconds
    assert n_frames < 100


def looped(source: Path, target: Path, n_times: int) -> Path:
    """The packets of a video over and over."""
    with av.open(str(source)) as given:
        packets = [packet for packet in given.demux(video=0) if packet.dts is not None]
        stream = given.streams.video[0]
        length = round(Fraction(stream.frames) / stream.average_rate / stream.time_base)
        with av.open(str(target), "w") as made:
            copy = made.add_stream_from_template(stream)
            for number in range(n_times):
                for packet in packets:
                    shifted = av.Packet(bytes(packet))
                    shifted.pts = packet.pts + number * length
                    shifted.dts = packet.dts + number * length
                    shifted.time_base, shifted.is_keyframe = packet.time_base, packet.is_keyframe
                    shifted.stream = copy
                    made.mux(shifted)
    return target


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="does not exist"):
        film_strip(tmp_path / "gone.mp4", [0.0])
    (tmp_path / "text.mp4").write_text("not a video\n" * 500)
    with pytest.raises(CorruptFileError, match="cannot be read as a video"):
        film_strip(tmp_path / "text.mp4", [0.0])
    write_video(tmp_path / "nothing.avi", 0, codec="mpeg4", container="avi")
    with pytest.raises(CorruptFileError, match="holds no picture that can be decoded"):
        film_strip(tmp_path / "nothing.avi", [0.0])
