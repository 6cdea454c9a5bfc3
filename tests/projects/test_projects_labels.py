"""Annotations in seconds to label files: planted answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from uvast.data.timestamps import Annotation
from uvast.errors import LabelError
from uvast.exchange import Event, PresentationTimes, Span, VideoAnnotations
from uvast.projects.labels import derived_files, label_video

TEN = PresentationTimes(np.arange(10) / 10)
"""Ten frames of a tenth of a second."""


def clicks(*pairs: tuple[int, str]) -> tuple[Annotation, ...]:
    return tuple(Annotation(frame=frame, label=label) for frame, label in pairs)


def video(*events: Event, observed: tuple[Span, ...] | None = None) -> VideoAnnotations:
    return VideoAnnotations("clip", events, observed)


def test_intervals_are_full_labels_and_gaps_are_background() -> None:
    found = label_video(video(Event("cut", 0.2, 0.5), Event("pour", 0.5, 0.9)), TEN, "rest")
    assert found.labels == (("rest", 2), ("cut", 3), ("pour", 4), ("rest", 1))
    assert found.timestamps == clicks((0, "rest"), (3, "cut"), (6, "pour"), (9, "rest"))
    assert found.stretches is None
    assert found.notes == ()


def test_frames_go_by_their_presentation_times() -> None:
    uneven = PresentationTimes([0.0, 0.1, 0.2, 1.0, 1.8, 1.9])
    found = label_video(video(Event("cut", 0.9, 1.84)), uneven, "rest")
    assert found.labels == (("rest", 3), ("cut", 1), ("rest", 2))
    clicked = label_video(video(Event("cut", 0.9), Event("pour", 1.85)), uneven, "rest")
    assert clicked.timestamps == clicks((2, "cut"), (4, "pour"))


def test_points_alone_are_clicks() -> None:
    found = label_video(video(Event("cut", 0.25), Event("pour", 0.7)), TEN, "rest")
    assert found.labels is None
    assert found.timestamps == clicks((2, "cut"), (7, "pour"))
    assert found.stretches is None


def test_clicks_beside_segments_are_told_and_not_used() -> None:
    found = label_video(video(Event("cut", 0.0, 1.0), Event("beep", 0.3)), TEN, "rest")
    assert found.labels == (("cut", 10),)
    assert found.timestamps == clicks((4, "cut"))
    assert found.notes == ("clip has segments, so its 1 click of beep will not be used",)


def test_clicks_outside_of_the_segments_of_their_class_are_told() -> None:
    events = (Event("cut", 0.0, 0.3), Event("cut", 0.1), Event("cut", 0.5), Event("cut", 0.8))
    found = label_video(video(*events, Event("pour", 0.8, 0.9), Event("beep", 0.1)), TEN, "rest")
    assert found.labels == (("cut", 3), ("rest", 5), ("pour", 1), ("rest", 1))
    assert found.notes == (
        "clip has segments, so its 1 click of beep will not be used",
        "clip has segments, so its 2 clicks of cut outside of them will not be used; "
        "draw segments there",
    )


def test_what_nobody_looked_at_is_unlabelled_and_not_background() -> None:
    looked = (Span(0.1, 0.4), Span(0.6, 0.8))
    found = label_video(video(Event("cut", 0.2, 0.3), observed=looked), TEN, "rest")
    assert found.labels == (
        *(("unlabelled", 1), ("rest", 1), ("cut", 1), ("rest", 1)),
        *(("unlabelled", 2), ("rest", 2), ("unlabelled", 2)),
    )
    assert found.stretches == ((1, 4), (6, 8))
    assert found.timestamps == clicks((1, "rest"), (2, "cut"), (3, "rest"), (6, "rest"))
    files = derived_files([found], "rest")
    assert json.loads(files["labelled.json"]) == {"clip": [[1, 4], [6, 8]]}
    assert files["mapping.txt"] == "0 rest\n1 cut\n"


def test_clicks_count_where_somebody_looked() -> None:
    looked = (Span(0.0, 0.3), Span(0.5, 0.7), Span(0.8, 1.0))
    events = (Event("cut", 0.1), Event("pour", 0.4), Event("pour", 0.9), Event("late", 7.0))
    found = label_video(video(*events, observed=looked), TEN, "rest")
    assert found.timestamps == clicks((1, "cut"), (9, "pour"))
    assert found.stretches == ((0, 3), (8, 10)), "a stretch without a click tells nothing"
    assert found.notes == (
        "clip: 2 clicks left out, after its end or outside of what was observed",
    )


@pytest.mark.parametrize(
    ("annotations", "sentence"),
    [
        (video(Event("cut", 9.0)), "clip: none of its clicks lies within the video"),
        (video(Event("a", 0.1, 0.5), Event("b", 0.3, 0.8)), "overlap"),
        (video(Event("a", 0.11), Event("b", 0.12)), "'a' and 'b' are both at frame 1"),
        (video(Event("unlabelled", 0.1, 0.2)), "'unlabelled' cannot be the name of an action"),
        (
            video(Event("a", 5.0, 6.0), observed=(Span(4.0, 7.0),)),
            "clip: none of its frames has been looked at",
        ),
    ],
    ids=["beyond", "overlap", "one frame", "word", "unobserved"],
)
def test_labels_that_cannot_be_used_are_one_sentence(
    annotations: VideoAnnotations, sentence: str
) -> None:
    with pytest.raises(LabelError, match=sentence):
        label_video(annotations, TEN, "rest")


def test_the_files_of_a_mixture() -> None:
    full = label_video(video(Event("b", 0.0, 0.5), Event("a", 0.5, 1.0)), TEN, "background")
    clicked = label_video(VideoAnnotations("other", (Event("c", 0.35),)), TEN, "background")
    files = derived_files([full, clicked], "background")
    assert sorted(files) == ["groundTruth/clip.txt", "mapping.txt", "timestamps.json"]
    assert files["groundTruth/clip.txt"] == "b\n" * 5 + "a\n" * 5
    assert files["mapping.txt"] == "0 a\n1 b\n2 c\n"
    assert json.loads(files["timestamps.json"]) == {
        "clip": [{"frame": 2, "label": "b"}, {"frame": 7, "label": "a"}],
        "other": [{"frame": 3, "label": "c"}],
    }
    assert derived_files([], "background") == {}
