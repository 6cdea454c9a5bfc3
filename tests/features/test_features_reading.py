"""Videos of every kind: the right frames at the right times, or one clear sentence."""

from __future__ import annotations

import random
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from video_files import HEIGHT, WIDTH, Pictures, numbers_of, write_sound, write_video

from uvast.errors import CorruptFileError, MissingFileError
from uvast.features import FrameReader, Picture, View, presentation_times, video_info
from uvast.features.clock import due
from uvast.features.frames import _Sampler
from uvast.features.video_file import fingerprint

SMALL = Picture(24, 32)


def read(
    path: Path, rate: float | None = None, picture: Picture = SMALL
) -> tuple[list[Pictures], FrameReader]:
    reader = FrameReader(path, [View(picture, rate)])
    pictures = [shown.picture for shown in reader for _ in range(shown.n_ticks)]
    return pictures, reader


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("h264.mp4", {}),
        ("h264.mkv", {}),
        ("clock_starts_anywhere.ts", {}),
        ("vp9.webm", {"codec": "libvpx-vp9"}),
        ("no_presentation_times.avi", {"codec": "mpeg4"}),
        ("ten_bits.mov", {"codec": "prores_ks", "pixels": "yuv422p10le"}),
        ("ten_bits.mkv", {"codec": "ffv1", "pixels": "yuv420p10le"}),
        ("no_video_name.txt", {"container": "mp4"}),
        ("other_container.mp4", {"codec": "mpeg4", "container": "avi"}),
    ],
)
def test_every_frame_comes_once_and_in_time(name, options, tmp_path):
    path = write_video(tmp_path / name, 30, **options)
    pictures, reader = read(path)
    assert numbers_of(pictures) == list(range(30))
    assert reader.times == pytest.approx(np.arange(30) / 30, abs=1e-3)
    assert reader.seconds == pytest.approx(1.0, abs=2e-3)
    assert reader.remark is None
    info = video_info(path)
    assert (info.width, info.height, info.rotation) == (WIDTH, HEIGHT, 0)
    assert (info.n_frames, info.frames_per_second) == (30, pytest.approx(30))
    assert info.seconds == pytest.approx(1.0, abs=0.02)


def test_avi_with_b_frames_is_shown_in_order(tmp_path):
    """Its packets claim presentation times that are out of order."""
    path = tmp_path / "b_frames.avi"
    write_video(path, 12, codec="mpeg4", draw=_moving, stream_options={"bf": "2"})
    times = presentation_times(path)
    assert times == pytest.approx(np.arange(12) / 30, abs=1e-3)


def _moving(number: int) -> Pictures:
    picture = np.full((HEIGHT, WIDTH, 3), 60, np.uint8)
    picture[10:30, 2 * number : 2 * number + 20] = 200
    return picture


def test_a_variable_rate_keeps_its_times(tmp_path):
    times = [0.0, 0.1, 0.15, 0.5, 1.2, 1.25]
    path = write_video(tmp_path / "variable.mkv", 6, times=times)
    assert presentation_times(path) == pytest.approx(times, abs=1e-3)
    pictures, reader = read(path, rate=10.0)
    # what a player shows at 0.0, 0.1, 0.2 …
    assert numbers_of(pictures) == [0, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4]
    grid = reader.grid(10.0)
    assert grid.source_frames.tolist() == numbers_of(pictures)
    assert grid.times == pytest.approx(np.arange(13) / 10)


def test_missing_first_frames_leave_the_others_where_they_are(tmp_path):
    for name in ("late.mp4", "late.mkv"):
        path = write_video(tmp_path / name, 6, times=[0.5 + i / 30 for i in range(6)])
        pictures, reader = read(path, rate=10.0)
        assert reader.times[0] == pytest.approx(0.5, abs=1e-3)
        assert numbers_of(pictures) == [0, 0, 0, 0, 0, 0, 3]
        assert reader.seconds == pytest.approx(0.7, abs=1e-3)
        assert video_info(path).seconds == pytest.approx(0.7, abs=0.02)


def test_an_edit_list_hides_frames(tmp_path):
    path = write_video(tmp_path / "edited.mp4", 30, times=[(i - 10) / 30 for i in range(30)])
    pictures, reader = read(path)
    assert numbers_of(pictures) == list(range(10, 30))
    assert reader.times == pytest.approx(np.arange(20) / 30, abs=1e-3)


def test_a_trimmed_video_is_as_long_as_what_is_left(tmp_path):
    path = write_video(tmp_path / "trimmed.mp4", 90, stream_options={"bf": "0"})
    content = bytearray(path.read_bytes())
    start = content.index(b"elst") + 12  # the length and the first moment of the only edit
    length, moment = struct.unpack(">Ii", content[start : start + 8])
    scale = content.index(b"mdhd") + 16
    (rate,) = struct.unpack(">I", content[scale : scale + 4])
    content[start : start + 8] = struct.pack(">Ii", length - 1000, moment + rate)  # milliseconds
    path.write_bytes(content)
    pictures, reader = read(path)
    assert numbers_of(pictures) == [number % 30 for number in range(30, 90)]
    assert reader.seconds == video_info(path).seconds == pytest.approx(2.0, abs=1e-3)
    assert reader.remark is None


SLOWING = [*np.arange(60) / 30, *np.arange(4, 9) / 2]
HURRYING = [*np.arange(20) / 2, *10 + np.arange(20) / 100]


@pytest.mark.parametrize(
    ("name", "times", "declared", "end"),
    [
        ("slowing.mp4", SLOWING, 3.1, 4.0 + 31 / 650),  # after a mean step
        ("hurrying.mp4", HURRYING, 10.224, 10.224),  # earlier than after a mean step
        ("told_too_little.mkv", SLOWING, 2.0, 4.0 + 1 / 30),
        ("told_too_little.mkv", HURRYING, 3.0, 10.19 + 1 / 30),
    ],
)
def test_a_variable_rate_has_one_length_whatever_is_declared(name, times, declared, end, tmp_path):
    path = write_video(tmp_path / name, len(times), times=times)
    if path.suffix == ".mkv":
        content = bytearray(path.read_bytes())
        place = content.index(b"\x44\x89\x88") + 3  # the duration, in milliseconds
        content[place : place + 8] = struct.pack(">d", 1000 * declared)
        path.write_bytes(content)
    pictures, reader = read(path, rate=10.0)
    assert reader.declared == pytest.approx(declared, abs=1e-3)
    assert video_info(path).seconds == pytest.approx(end, abs=1e-3)
    assert reader.seconds == pytest.approx(end, abs=1e-3)
    assert len(pictures) == len(reader.grid(10.0).times)
    assert reader.remark is None


@pytest.mark.parametrize(("rate", "every"), [(30.0, 1), (15.0, 2), (10.0, 3)])
def test_a_lower_rate_is_every_nth_frame(rate, every, tmp_path):
    path = write_video(tmp_path / "video.mp4", 29)
    pictures, reader = read(path, rate=rate)
    assert numbers_of(pictures) == list(range(0, 29, every))
    assert len(reader.grid(rate).times) == len(pictures)


def test_a_higher_rate_repeats_frames(tmp_path):
    pictures, _ = read(write_video(tmp_path / "video.mp4", 4, rate=10), rate=20.0)
    assert numbers_of(pictures) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_no_frame_of_a_burst_is_seen_before_it_comes(tmp_path):
    # a still picture, then twenty frames in a ninth of a second, then a still picture again
    times = [0.0, 1.0, 2.0, *(2.5 + np.arange(20) / 180), 4.0, 5.0]
    path = write_video(tmp_path / "burst.mkv", len(times), times=times)
    pictures, reader = read(path, rate=90.0)
    grid = reader.grid(90.0)
    assert grid.source_frames.tolist() == numbers_of(pictures)
    burst = (grid.times > 2.501) & (grid.times < 2.6)
    early = reader.times[grid.source_frames] - grid.times
    assert early[burst].max() < 0.25 / 180 + 0.001
    assert early[~burst].max() < 0.25 * 5 / len(times) + 0.001


@given(
    st.lists(st.floats(0.004, 0.5), min_size=1, max_size=40),
    st.sampled_from([5.0, 12.5, 15.0, 29.97, 60.0]),
    st.sampled_from([0.001, 0.01, 0.1]),
)
@example([0.25], 60.0, 0.1)  # the end falls on a tick, but for rounding
@settings(max_examples=60, deadline=None)
def test_ticks_and_grid_agree_for_any_times(steps, rate, slack):
    """The frames that are handed out as they come are those that the table says."""
    reader = FrameReader(Path("unused"))
    reader._times.extend(np.cumsum([0.0, *steps[:-1]]))
    reader._end = reader._times[-1] + max(steps[-1], 4 * slack)
    reader._slack = slack
    sampler = _Sampler.__new__(_Sampler)
    sampler._rate, sampler._slack, sampler._n_ticks = rate, slack, 0
    ends = [*due(reader.times[:-1], reader.times[1:], slack), reader._end]
    handed_out = np.repeat(np.arange(len(ends)), [sampler.ticks(end) for end in ends])
    grid = reader.grid(rate)
    if len(handed_out):
        assert handed_out.tolist() == grid.source_frames.tolist()


def corner(number: int) -> Pictures:
    picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    picture[: HEIGHT // 2, : WIDTH // 2] = 255
    return picture


def brightest_corner(picture: Pictures) -> str:
    means = picture.reshape(2, picture.shape[0] // 2, 2, picture.shape[1] // 2, 3).mean((1, 3, 4))
    return ("top left", "top right", "bottom left", "bottom right")[int(means.argmax())]


@pytest.mark.parametrize(
    ("matrix", "place", "rotation"),
    [
        ((1, 0, 0, 1), "top left", 0),
        ((0, 1, -1, 0), "top right", 270),  # a phone held upright
        ((0, -1, 1, 0), "bottom left", 90),
        ((-1, 0, 0, -1), "bottom right", 180),
    ],
)
def test_a_turned_video_is_seen_upright(matrix, place, rotation, tmp_path):
    path = write_video(tmp_path / "turned.mp4", 3, draw=corner)
    content = bytearray(path.read_bytes())
    start = content.index(b"tkhd") + 44  # the matrix of the track's header
    a, b, c, d = (one * 0x10000 for one in matrix)
    content[start : start + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000)
    path.write_bytes(content)
    info = video_info(path)
    turned = rotation % 180 == 90
    assert info.rotation == rotation
    assert (info.width, info.height) == ((HEIGHT, WIDTH) if turned else (WIDTH, HEIGHT))
    pictures, _ = read(path, picture=Picture(32, 32))
    assert {brightest_corner(picture) for picture in pictures} == {place}


def test_pixels_need_not_be_square(tmp_path):
    path = write_video(tmp_path / "wide.mp4", 2, aspect=Fraction(2, 1))
    info = video_info(path)
    assert (info.width, info.height) == (2 * WIDTH, HEIGHT)
    pictures, _ = read(path, picture=Picture(64, 64, "keep"))
    assert pictures[0].shape == (32, 96, 3)


def test_cropping_takes_the_middle(tmp_path):
    def striped(number: int) -> Pictures:
        picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        picture[:, 8:-8] = 255
        return picture

    path = write_video(tmp_path / "striped.mp4", 2, draw=striped)
    whole, _ = read(path, picture=Picture(24, 24))
    middle, _ = read(path, picture=Picture(24, 24, "crop", short_side=24))
    assert whole[0][:, :2].mean() < 40
    assert middle[0].mean() > 230


def test_two_views_see_the_same_pass(tmp_path):
    path = write_video(tmp_path / "video.mp4", 12)
    reader = FrameReader(path, [View(Picture(24, 32), 15.0), View(Picture(8, 8), None)])
    seen = {0: [], 1: []}
    for shown in reader:
        seen[shown.view].append(shown.picture)
    assert numbers_of(seen[0]) == list(range(0, 12, 2))
    assert numbers_of(seen[1]) == list(range(12))
    assert seen[1][0].shape == (8, 8, 3)


def no_such_file(path: Path) -> None:
    pass


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text("not a video\n" * 500)


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(20_000))


def without_frames(path: Path) -> None:
    write_video(path, 0, codec="mpeg4", container="avi")


def without_packets(path: Path) -> None:
    write_video(path, 0)


def sound(path: Path) -> None:
    write_sound(path)


def song_with_cover(path: Path) -> None:
    write_sound(path.with_suffix(".mp3"), cover=True).rename(path)


def without_its_end(path: Path) -> None:
    """The index of an MP4 file comes last."""
    content = write_video(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (no_such_file, "does not exist"),
        (Path.mkdir, "is a folder, not a video; name its files"),
        (empty, "is empty; convert it again or leave it out"),
        (text, "cannot be read as a video (Invalid data found"),
        (noise, "cannot be read as a video (Invalid data found"),
        (without_frames, "holds no picture that can be decoded"),
        (without_packets, "holds no video; name a video file"),
        (sound, "holds sound but no video; name a video file"),
        (song_with_cover, "holds sound but no video; name a video file"),
        (without_its_end, "cannot be read as a video (Invalid data found"),
    ],
)
def test_what_is_no_video_is_one_sentence(make, sentence, tmp_path):
    path = tmp_path / "video.mp4"
    make(path)
    for call in (video_info, presentation_times):
        with pytest.raises((CorruptFileError, MissingFileError)) as error:
            call(path)
        assert str(error.value).startswith(f"{path}: {sentence}")
        assert "\n" not in str(error.value)


def test_a_video_that_was_cut_off_says_so(tmp_path):
    path = write_video(tmp_path / "cut.mkv", 120)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    pictures, reader = read(path)
    assert 10 < len(pictures) < 110
    assert numbers_of(pictures[:10]) == list(range(10))
    assert reader.remark == f"ends after {reader.seconds:.1f} of 4.0 seconds"


def test_damage_in_the_middle_is_passed_over(tmp_path):
    path = write_video(tmp_path / "damaged.mp4", 60)
    content = bytearray(path.read_bytes())
    start = content.index(b"mdat") + 800
    content[start : start + 400] = random.Random(1).randbytes(400)
    path.write_bytes(content)
    pictures, reader = read(path)
    assert 5 < len(pictures) <= 60
    assert reader.seconds == pytest.approx(2.0, abs=0.1)
    assert reader.remark is not None
    assert "damaged places were skipped" in reader.remark


def test_a_jump_of_hours_is_one_sentence(tmp_path):
    path = write_video(tmp_path / "jump.mkv", 3, times=[0.0, 0.1, 9000.0])
    with pytest.raises(CorruptFileError, match="jumps from second 0 to 9000; cut or convert it"):
        read(path, rate=15.0)


def test_a_fingerprint_is_of_content_and_of_nothing_else(tmp_path):
    content = np.random.default_rng(0).bytes(5_000_000)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "longer").write_bytes(content + b"x")
    (tmp_path / "other").write_bytes(b"x" + content[1:])
    prints = [fingerprint(tmp_path / name) for name in ("a", "b", "longer", "other")]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
