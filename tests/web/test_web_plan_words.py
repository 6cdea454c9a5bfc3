"""The plan of a training in the words of people who know their videos."""

from __future__ import annotations

import re
import sys

import pytest

from uvast.config.auto import DataFacts, plan
from uvast.web.own_words import MOST_NOTES, _asked
from uvast.web.plan_words import plan_sentence

FACTS: dict[str, object] = {
    "supervision": "timestamps",
    "n_videos": 3,
    "n_frames": 984,
    "longest": 400,
    "n_features": 6,
    "n_classes": 5,
    "short_segment": 20,
    "typical_segment": 28,
    "n_segments": 37,
    "most_segments": 12,
    "frames_per_second": 15.0,
}
JARGON = re.compile(r"--|`|decoder|stage|inner run|dark span|decode|features a second")


SLOW = {"short_segment": 60, "typical_segment": 200}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "take about 1.9 s, short ones 1.3 s: the model sees all 15 frames a second."),
        (SLOW, "the model sees every 6th of 15 frames a second."),
        (SLOW | {"least_gap": 2}, "every 2nd of 15 frames a second (two clicks are only 2 frames"),
        ({"frames_per_second": None}, "28 frames, short ones 20: the model sees every frame."),
        ({"n_folds": 5}, "Trains 5 more models, each without some of the videos"),
        ({"n_videos": 500}, "30 rounds through all videos (epochs) in batches of 4 videos, fewer"),
        ({"typical_segment": 3}, "Hides no parts of the videos while it learns"),
        ({"longest": 900_000, "sampling_rate": 2}, "a lot of memory; cut it into several files."),
    ],
)
def test_a_plan_has_no_jargon(facts: dict[str, object], words: str) -> None:
    said = plan(DataFacts(**FACTS | facts)).sentences  # type: ignore[arg-type]
    assert any(JARGON.search(one) for one in said)
    found = [one for line in said if (one := plan_sentence(line)) is not None]
    assert any(words in one for one in found), found
    assert not [one for one in found if JARGON.search(one)]
    assert len(found) >= len(said) - 1


def test_names_of_videos_stay_and_parts_of_videos_are_no_videos() -> None:
    names = ("s01", "s02")
    assert plan_sentence("s01 has segments, so 2 clicks go", names) == (
        "s01 has segments, so 2 clicks go."
    )
    assert plan_sentence("not labelled yet: s02", names) == "Not labelled yet: s02."
    whole = "2 videos with labels: 9 frames, 4 actions of 2 classes"
    assert plan_sentence(whole, names) == f"{whole}."
    assert plan_sentence(whole.replace("2 videos", "13 videos"), names) == (
        "13 labelled parts of videos: 9 frames, 4 actions of 2 classes."
    )


def test_notes_on_many_videos_leave_room_for_the_plan() -> None:
    notes = "; ".join(f"print('clip {one} is odd', file=sys.stderr)" for one in range(9))
    command = [sys.executable, "-c", f"import sys; {notes}; print('3 epochs, as you asked')"]
    said = _asked(command, ())
    assert said[:MOST_NOTES] == tuple(f"Clip {one} is odd." for one in range(MOST_NOTES))
    assert said[MOST_NOTES:] == (
        "5 more notes like this, which the log will have.",
        "3 rounds through all videos (epochs), as you asked.",
    )
