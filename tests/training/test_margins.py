"""Frames near a cut that is a guess take no part in the frames' losses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import Config, LossConfig
from uvast.data import Dataset, Video, collate
from uvast.models import Encoded
from uvast.segments import Segmentation
from uvast.training import batches as epochs
from uvast.training import train
from uvast.training.loss_sums import framewise_losses
from uvast.training.margins import far_from_cuts, without_margins

DURATIONS = st.lists(st.integers(1, 12), min_size=1, max_size=5)


@settings(deadline=None)  # a busy machine
@given(st.lists(DURATIONS, min_size=1, max_size=3), st.floats(0, 0.499))
def test_frames_are_left_out_one_by_one_as_said(videos: list[list[int]], margin: float) -> None:
    longest = max(map(sum, videos))
    segment_of_frame = torch.full((len(videos), longest), -1)
    expected = torch.zeros(len(videos), longest, dtype=torch.bool)
    for row, durations in enumerate(videos):
        frame = 0
        for segment, length in enumerate(durations):
            for place in range(length):
                segment_of_frame[row, frame] = segment
                starts = segment > 0 and place < int(margin * length)
                ends = segment < len(durations) - 1 and length - 1 - place < int(margin * length)
                expected[row, frame] = not (starts or ends)
                frame += 1
            assert expected[row, frame - length : frame].any()
    n_segments = torch.tensor([len(one) for one in videos])
    assert torch.equal(far_from_cuts(segment_of_frame, n_segments, margin), expected)


def test_what_is_left_out_changes_no_frame_loss_and_smoothing_stays() -> None:
    target = Segmentation(np.array([0, 1]), np.array([4, 4]))
    video = Video("one", np.zeros((8, 2), np.float32), None, 8)
    batch = without_margins(collate([video], [target]), 0.25)
    targets = batch.targets
    assert targets is not None
    assert targets.frame_labels.tolist() == [[0, 0, 0, -1, -1, 1, 1, 1]]
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 8, 2, generator=generator)
    other = logits.clone()
    other[:, 3:5] += torch.tensor([3.0, -3.0])
    config = LossConfig(smoothing=0.15)
    one, two = (
        framewise_losses(Encoded(each, each), targets, config).as_floats()
        for each in (logits, other)
    )
    assert one["frame"] == two["frame"]
    assert one["smoothing"] != two["smoothing"]


@pytest.mark.parametrize(("kind", "has_margins"), [("timestamps", True), ("full", False)])
def test_only_guessed_cuts_have_margins(
    tiny: Dataset,
    small_config: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    has_margins: bool,
) -> None:
    asked: list[float] = []
    real = epochs.without_margins

    def seeing(batch: object, margin: float) -> object:
        asked.append(margin)
        return real(batch, margin)

    monkeypatch.setattr(epochs, "without_margins", seeing)
    config = small_config.replaced(
        **{
            "train.epochs": 1,
            "train.alignment_epochs": 0,
            "supervision.kind": kind,
            "supervision.margin": 0.2,
        }
    )
    train(tiny, tmp_path / "run", config=config, split=1)
    assert asked == [0.2] * len(tiny.side(1, "train")) * has_margins
