"""uvast's own timestamps.json and predictions are annotations, too."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from uvast.data.timestamp_files import write_timestamps
from uvast.data.timestamps import Annotation
from uvast.errors import LabelError
from uvast.exchange import ConstantRate, Event, Source, Span, read_annotations, recognised
from uvast.exchange.formats import format_named, read
from uvast.files.names import MANIFEST
from uvast.inference.output import write_prediction
from uvast.inference.prediction import Prediction
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary


def predicted(rate: float | None) -> Prediction:
    runs = Segmentation(np.array([0, 1]), np.array([10, 30]))
    sure = np.array([0.5, 0.75])
    return Prediction(runs.transcript, runs, sure, 0.6, Vocabulary(("idle", "cut")), rate)


@pytest.mark.parametrize("formats", [("json", "txt"), ("json", "csv", "txt"), ("csv",)])
def test_a_folder_of_predictions_has_one_record_a_video(formats, tmp_path: Path):
    (tmp_path / MANIFEST).write_text("{}")
    for name in ("a", "b.2"):
        write_prediction(tmp_path, name, predicted(20.0), formats)
    found = read_annotations(tmp_path).videos
    assert [video.video for video in found] == ["a", "b.2"]
    events = (Event("idle", 0.0, 0.5, confidence=0.5), Event("cut", 0.5, 2.0, confidence=0.75))
    assert [video.events for video in found] == [events, events]
    if "json" in formats:
        assert found[0].observed == (Span(0.0, 2.0),)
        assert (found[0].frame_rate, found[0].duration) == (20.0, 2.0)


def test_a_prediction_without_seconds_counts_frames(tmp_path: Path):
    write_prediction(tmp_path, "a", predicted(None), ["json"])
    with pytest.raises(LabelError, match=r"a.json: counts frames, but the frame rate of a is not"):
        read_annotations(tmp_path / "a.json")
    times = ConstantRate(Fraction(10))
    found = read_annotations(tmp_path / "a.json", times_of=lambda _: times).videos[0]
    assert [(event.start, event.end) for event in found.events] == [(0.0, 1.0), (1.0, 4.0)]


def test_a_bare_transcript_is_told(tmp_path: Path):
    bare = Prediction(np.array([1]), None, np.array([]), None, Vocabulary(("idle", "cut")))
    write_prediction(tmp_path, "a", bare, ["json"])
    with pytest.raises(LabelError, match="holds no segments, at most a bare transcript; predict"):
        read_annotations(tmp_path / "a.json")


def test_timestamps_are_points_in_the_middle_of_their_frames(tmp_path: Path):
    path = tmp_path / "timestamps.json"
    clicks = {"v": [Annotation(frame=4, label="cut")], "w": [Annotation(time=1.5, label="stir")]}
    write_timestamps(path, clicks)
    times = ConstantRate(Fraction(10))
    found = read_annotations(path, times_of=lambda _: times).videos
    assert [(v.video, v.events) for v in found] == [
        ("v", (Event("cut", 0.45),)), ("w", (Event("stir", 1.5),)),
    ]  # fmt: skip
    with pytest.raises(LabelError, match="the frame rate of v is not known; pass --fps"):
        read_annotations(path)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([{"frame": 1}], "video v, timestamp 1: has no label; name it"),
        ([{"label": "a"}], "video v, timestamp 1: needs either a frame or a time"),
        ([{"frame": 1, "time": 2.0, "label": "a"}], "needs either a frame or a time"),
        ([{"frame": -1, "label": "a"}], "videos.v.0.frame"),
    ],
    ids=["no label", "no time", "two times", "negative"],
)
def test_faulty_timestamps_are_sentences(entries, sentence):
    source = Source(json.dumps({"v": entries}).encode(), "timestamps.json")
    assert recognised(source).name == "uvast-timestamps"
    with pytest.raises(LabelError) as error:
        read(format_named("uvast-timestamps"), source)
    assert sentence in str(error.value)
