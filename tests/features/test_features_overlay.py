"""A prediction under its video: the right colours at the right times, all of the picture above."""

from __future__ import annotations

import json

import av
import numpy as np
import pytest
from video_files import HEIGHT, WIDTH, grey, numbers_of, write_video

from uvast.errors import CorruptFileError
from uvast.features import presentation_times, video_info
from uvast.features.overlay import LabelStyle, write_overlay
from uvast.features.timed_segments import TimedSegment, read_timed_segments

RED, BLUE = (220, 40, 40), (40, 60, 220)
STYLES = {"take": LabelStyle(RED, (0, 0, 0)), "put": LabelStyle(BLUE, (0, 0, 0))}


def pictures(path):
    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


def test_labels_and_timeline_run_with_the_video(tmp_path):
    path = write_video(tmp_path / "a.mp4", 20, rate=10)
    segments = [TimedSegment("take", 0, 0.5, 0.9), TimedSegment("put", 0.5, 2.0, None)]
    shares: list[float] = []
    write_overlay(video_info(path), segments, STYLES, tmp_path / "o.mp4", on_progress=shares.append)
    drawn = pictures(tmp_path / "o.mp4")
    assert presentation_times(tmp_path / "o.mp4") == pytest.approx(np.arange(20) / 10, abs=1e-3)
    assert drawn[0].shape == (HEIGHT + 40, WIDTH, 3)
    assert numbers_of([one[:HEIGHT] for one in drawn]) == list(range(20))
    line = drawn[10][HEIGHT + 28 : -2].mean(0)
    assert line[: WIDTH // 4 - 4] == pytest.approx(np.tile(RED, (WIDTH // 4 - 4, 1)), abs=30)
    assert line[-20:] == pytest.approx(np.tile(BLUE, (20, 1)), abs=30)
    cursors = [int(one[HEIGHT + 28 : -2].min(2).mean(0).argmax()) for one in drawn]
    assert cursors == pytest.approx(np.arange(20) / 20 * WIDTH, abs=2)
    chips = [one[HEIGHT + 8 : HEIGHT + 16, 7:15].mean((0, 1)) for one in drawn]
    assert chips[4] == pytest.approx(RED, abs=40)
    assert chips[6] == pytest.approx(BLUE, abs=40)
    assert shares


def test_turned_and_odd_sizes_are_drawn(tmp_path):
    path = write_video(tmp_path / "a.mp4", 3, rotation=90)
    write_overlay(video_info(path), [TimedSegment("take", 0, 1, 1.0)], STYLES, tmp_path / "o.mp4")
    assert pictures(tmp_path / "o.mp4")[0].shape == (WIDTH + 40, HEIGHT, 3)
    write_video(
        tmp_path / "odd.mkv", 3, codec="ffv1", draw=lambda i: np.full((33, 51, 3), 90, "u1")
    )
    write_overlay(
        video_info(tmp_path / "odd.mkv"),
        [TimedSegment("take", 0, 1, 1.0)],
        STYLES,
        tmp_path / "odd.mp4",
    )
    assert pictures(tmp_path / "odd.mp4")[0].shape == (32 + 40, 50, 3)


def test_hatched_classes_look_different(tmp_path):
    path = write_video(tmp_path / "a.mp4", 2)
    styles = {
        name: LabelStyle((200, 200, 200), (0, 0, 0), name)
        for name in ("solid", "rising", "dots", "level", "crossed", "falling")
    }
    segments = [TimedSegment(name, i, i + 1, None) for i, name in enumerate(styles)]
    write_overlay(video_info(path), segments, styles, tmp_path / "o.mp4")
    line = pictures(tmp_path / "o.mp4")[0][-16:].astype(float)
    parts = np.split(line[:, 4:], [int(64 * i / 6) - 4 for i in range(1, 6)], axis=1)
    darkness = [part.mean() for part in parts]
    assert max(darkness) == darkness[0] > 180
    assert all(one < darkness[0] - 5 for one in darkness[1:])


def prediction(**changes) -> dict[str, object]:
    segments = [
        {"label": "take", "start": 0, "end": 15, "confidence": 0.9},
        {"label": "put", "start": 15, "end": 60, "confidence": 0.8},
    ]
    return {"video": "a", "frames": 60, "segments": segments, **changes}


def test_every_format_of_segment_is_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(prediction()))
    (tmp_path / "a.txt").write_text("take\n" * 15 + "put\n" * 45)
    (tmp_path / "a.csv").write_text(
        "label,start,end,confidence,start_seconds,end_seconds\n"
        "take,0,15,0.9000,0.000,1.000\nput,15,60,0.8000,1.000,4.000\n"
    )
    for name, seconds in (("a.json", 4.0), ("a.txt", 4.0), ("a.csv", 99.0)):
        found = read_timed_segments(tmp_path / name, seconds=seconds)
        assert [(one.label, one.start, one.end) for one in found] == [
            ("take", 0, pytest.approx(1.0)),
            ("put", pytest.approx(1.0), pytest.approx(4.0)),
        ]
        assert [one.confidence for one in found] == ([None] * 2 if name == "a.txt" else [0.9, 0.8])
    faster = read_timed_segments(tmp_path / "a.csv", seconds=99.0, frames_per_second=30.0)
    assert [one.end for one in faster] == [0.5, 2.0]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", "{}", "is not a prediction; name a file that uvast segment wrote"),
        ("a.json", '{"segments": []}', "holds no segments; segment the video again"),
        ("a.json", '{"segments": [{"label": "a", "start": 4, "end": 2}]}', "is not a prediction"),
        ("a.csv", "label,start,end,confidence\ntake,,,\n", "is not a prediction"),
        ("a.csv", "video,start,end,label\nv,0,2,groom\n", "is not a prediction"),
        ("a.csv", 'label,start,"end\n' + "take,0,15\n" * 20_000, "is not a prediction"),
        ("a.json", '{"segments": [{"label": "a", "start": 0, "end": 1e999}]}', "is not a predict"),
        ("a.txt", "\n", "holds no segments"),
    ],
)
def test_what_is_no_prediction_is_one_sentence(name, content, sentence, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(CorruptFileError) as error:
        read_timed_segments(tmp_path / name, seconds=1.0)
    assert str(error.value).startswith(f"{tmp_path / name}: {sentence}")


def test_grey_levels_survive(tmp_path):
    """The check above reads what it thinks it reads."""
    assert numbers_of([np.full((4, 4, 3), grey(7), np.uint8)]) == [7]
