"""Live cuts between clicks, and the class models that they are made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from uvast.errors import CorruptFileError
from uvast.supervision import ClassModel
from uvast.web.cutting import Cutter
from uvast.web.full_pass import NamedModel

OFFSET = 60.0


def model(offset: float) -> ClassModel:
    """Two classes that the second feature tells apart; cuts are so far after it changes."""
    means = np.array([[0.0, -1.0], [0.0, 1.0]])
    offsets = np.array([[0.0, offset], [0.0, 0.0]])
    return ClassModel(means, np.ones((2, 2)), np.ones(2), np.array([500.0, 500.0]), offsets)


@pytest.mark.parametrize("n_frames", [500, 5000])  # the longer one is looked at every few frames
def test_cuts_move_by_the_offset_of_their_actions_whatever_is_thinned_out(n_frames: int) -> None:
    change = n_frames // 2
    features = np.zeros((n_frames, 2), np.float32)
    features[change:, 1] = 1.0
    clicks = ([n_frames // 10, n_frames - n_frames // 10], [0, 1])
    plain, moved = (Cutter(features, 2).cuts(*clicks, model(one))[0] for one in (0.0, OFFSET))
    coarse = n_frames // 100
    assert abs(plain - change) <= coarse
    assert abs(moved - plain - OFFSET) <= coarse


def test_cuts_are_counted_from_the_frame_that_the_first_thinned_out_row_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step, n_frames = 20, 900
    monkeypatch.setattr("uvast.web.cutting.MOST_BYTES", n_frames * 2 * 8 // step)
    for second in range(600, 600 + step, 3):
        features = np.zeros((n_frames, 2), np.float32)
        features[300:second, 1] = 1.0
        found = Cutter(features, 3).cuts([150, 450, 750], [0, 1, 0], model(0.0))
        assert abs(found[1] - second) <= step / 2


def test_class_models_survive_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    NamedModel(("a", "b"), model(3.0)).write(path)
    found = NamedModel.read(path)
    assert found.names == ("a", "b")
    for name, value in vars(model(3.0)).items():
        np.testing.assert_array_equal(getattr(found.model, name), value)


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [(np.zeros((2, 3)), "wrong shapes"), (np.full((2, 2), np.nan), "not finite")],
)
def test_class_models_that_do_not_fit_are_refused(
    tmp_path: Path, offsets: Any, sentence: str
) -> None:
    path, one = tmp_path / "model.npz", model(0.0)
    broken = ClassModel(one.means, one.variances, one.counts, one.lengths, offsets)
    NamedModel(("a", "b"), broken).write(path)
    with pytest.raises(CorruptFileError, match=f"{sentence}; remove it"):
        NamedModel.read(path)
