"""Generated videos: the labels are right, a picture alone tells nothing, motion tells it."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.errors import InputError, OutputError
from uvast.features import Order, extract, generate_videos, motion_vocabulary, presentation_times
from uvast.features.generate import MOTIONS, _angles
from uvast.features.models import parse_models
from uvast.segments import Segmentation


def test_every_frame_has_its_label(motion):
    folder, truth = motion
    assert sorted(truth) == ["s01_001", "s02_002", "s03_003"]
    for name, segmentation in truth.items():
        assert len(presentation_times(folder / f"{name}.mp4")) == segmentation.n_frames
        assert segmentation.merged() == segmentation
    assert motion_vocabulary().names == MOTIONS
    assert motion_vocabulary().background == ("rest",)


def test_equal_seeds_give_equal_videos(motion, tmp_path):
    folder, truth = motion
    options = {"n_videos": 1, "seconds": 6.0, "width": 64, "height": 48}
    again = generate_videos(tmp_path / "again", **options, seed=5)
    other = generate_videos(tmp_path / "other", **options, seed=6)
    name = "s01_001"
    assert again[name] == truth[name] != other[name]
    content = (tmp_path / "again" / f"{name}.mp4").read_bytes()
    assert content == (folder / f"{name}.mp4").read_bytes()


def test_places_do_not_tell_the_action_but_their_change_does():
    segmentation = Segmentation(np.tile([1, 2, 3, 4], 50), np.full(200, 60))
    angles = _angles(segmentation, np.random.default_rng(0))
    labels = segmentation.labels
    steps = np.diff(angles, prepend=angles[0])
    means = {name: steps[labels == i].mean() * 30 for i, name in enumerate(MOTIONS) if i}
    assert means["clockwise"] == pytest.approx(2.4, abs=0.2)
    assert means["counterclockwise"] == pytest.approx(-2.4, abs=0.2)
    assert means["hurry"] == pytest.approx(5.0, abs=0.3)
    assert abs(means["swing"]) < 0.8
    for action in (1, 2, 4):
        share, _ = np.histogram(angles[labels == action] % (2 * np.pi), 8, (0, 2 * np.pi))
        assert share.min() > 0.5 * share.mean()


def test_pixels_see_the_direction(motion, tmp_path):
    """The torque of the motion around the middle tells clockwise from counter-clockwise."""
    folder, truth = motion
    torques = {1: [], 2: []}
    across = (np.arange(8) - 3.5)[None, :]
    along = (np.arange(6) - 2.5)[:, None]
    for name, segmentation in truth.items():
        extract(Order(folder / f"{name}.mp4", tmp_path, parse_models("pixels")))
        blocks = np.load(tmp_path / f"{name}.npy").reshape(-1, 6, 8, 6)
        torque = (across * blocks[..., 5] - along * blocks[..., 4]).sum((1, 2))
        labels = segmentation.labels[::2][: len(torque)]
        for action, found in torques.items():
            found += torque[labels == action].tolist()
    assert np.mean(np.array(torques[1]) > 0) > 0.85
    assert np.mean(np.array(torques[2]) < 0) > 0.85


def test_nothing_is_overwritten(motion):
    folder, _ = motion
    with pytest.raises(OutputError, match="exists already"):
        generate_videos(folder, n_videos=1)
    with pytest.raises(InputError, match="0 videos of 24 seconds; at least 1 video of 4"):
        generate_videos(folder, n_videos=0)
