"""The reliability diagram: what is counted, and what is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.evaluation import Track
from uvast.report.compare import compare
from uvast.report.confidence import confidence_section, trust
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import Vocabulary

WORDS = Vocabulary(("a", "b"))
TRACK = Track(Segmentation([0, 1], [6, 4]), np.array([0.9, 0.5]))


def comparison(true, track=TRACK, **options):
    return compare({"best": {None: {"v": track}}}, true, WORDS, **options)


def test_frames_have_the_confidence_of_their_segment():
    """Six frames with 0.9, all right; four with 0.5, one of them right."""
    found = trust(comparison({"v": Segmentation([0, 1], [9, 1])}))
    assert found.error == pytest.approx(0.6 * 0.1 + 0.4 * 0.25)
    assert found.share.sum() == pytest.approx(1)


def test_frames_that_nobody_labelled_do_not_count():
    found = trust(comparison({"v": Segmentation([0, UNLABELLED], [6, 4])}))
    assert found.error == pytest.approx(0.1)


def test_videos_that_were_learned_do_not_count():
    true = {"v": Segmentation([0, 1], [9, 1])}
    learned = comparison(true, in_training={None: {"v"}})
    assert trust(learned) is None
    assert confidence_section(learned) == ""


def test_without_confidences_there_is_no_diagram():
    assert (
        confidence_section(comparison({"v": TRACK.segmentation}, Track(TRACK.segmentation))) == ""
    )


def test_the_diagram_has_a_dot_for_each_bin_and_names_the_error():
    drawn = confidence_section(comparison({"v": Segmentation([0, 1], [9, 1])}))
    assert drawn.count("<circle") == 2
    assert "Expected calibration error of best: 16.0 %" in drawn
    assert "50 % sure, 25 % right, 40 % of the frames" in drawn
